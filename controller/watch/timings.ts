// How patient and how persistent a reflector is.
import type { BackoffLimits } from '#controller/kube/backoff.ts';

/** All in ms; a pair is a range from which each use draws, so that watches do not end in step. */
export interface ReflectorTimings {
  /** How long the server may keep one watch open. */
  readonly serverTimeoutMs: readonly [number, number];
  /** Longest silence of a watch. Bookmarks come every minute, so a longer one means that the connection is dead though nothing says so. */
  readonly idleMs: number;
  /** A full list now and then, as insurance against whatever else goes missing. */
  readonly relistMs: readonly [number, number];
  /** A watch that lived so long ends the backoff. */
  readonly healthyMs: number;
  /** Pause before "not there" or "not allowed" is asked again although we have objects: API servers say both while they start. */
  readonly confirmMs: number;
  /** So long "not allowed" must be all we hear before an object that we have is given up: a server that starts knows its roles late. */
  readonly giveUpMs: number;
  /** How often a kind that is not served is looked for. */
  readonly notServedMs: readonly [number, number];
  readonly forbiddenMs: readonly [number, number];
  readonly backoff: BackoffLimits;
}

export const defaultTimings: ReflectorTimings = {
  serverTimeoutMs: [300_000, 600_000],
  idleMs: 100_000,
  relistMs: [600_000, 1_800_000],
  healthyMs: 10_000,
  confirmMs: 2_000,
  giveUpMs: 60_000,
  notServedMs: [2_500, 3_500],
  forbiddenMs: [10_000, 20_000],
  backoff: { firstMs: 400, maxMs: 30_000 },
};
