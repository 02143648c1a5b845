// What every reflector of a source shares, and what each tells about itself.
import type { KubeClient } from '#controller/kube/client.ts';
import type { Clock } from '#controller/kube/clock.ts';
import type { Log } from '#controller/kube/log.ts';
import type { Slots } from '#controller/kube/slots.ts';
import type { ListLimits } from './list.ts';
import type { Store } from './store.ts';
import type { ReflectorTimings } from './timings.ts';

export interface ReflectorContext {
  readonly client: KubeClient;
  readonly store: Store;
  readonly log: Log;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly timings: ReflectorTimings;
  readonly listLimits?: ListLimits;
  /** Shared by many reflectors, bounds the lists at the same time. */
  readonly slots: Slots;
  /** After each change of the store, of `settled` or of the problems. */
  readonly changed: () => void;
}

/** Unread until the first answer; later answers move between the others. */
export type Verdict = 'unread' | 'listed' | 'not served' | 'forbidden';

export interface ReflectorStats {
  readonly where: string;
  readonly verdict: Verdict;
  readonly lists: number;
  readonly events: number;
  /** Ms since something came from the server; infinite before the first time. */
  readonly silentMs: number;
}
