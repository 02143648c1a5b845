// Turns any number of "something changed" into few runs: never two at once, soon after the last change, and not starved by a steady stream of them.
import { Backoff, type BackoffLimits } from '#controller/kube/backoff.ts';
import { type Clock, systemClock } from '#controller/kube/clock.ts';
import { describeError } from '#controller/kube/errors.ts';
import type { Log } from '#controller/kube/log.ts';

export interface WakerOptions {
  /** A rejection means: try again, with growing pauses. */
  readonly run: () => Promise<unknown>;
  readonly log: Log;
  /** A run starts so long after the last change, ms. */
  readonly quietMs?: number;
  /** But at most so long after the first change that no run has seen, ms. */
  readonly maxDelayMs?: number;
  readonly backoff?: BackoffLimits;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** After a failure a change may cure it, but not more often than this, ms. */
const FAILING_SPACE_MS = 1_000;

export class Waker {
  readonly #options: WakerOptions;
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #quietMs: number;
  readonly #maxDelayMs: number;
  /** Monotonic times of the first and the last change that no run has seen; null when every one has been. */
  #changed: { readonly first: number; last: number } | null = null;
  /** After a failure: no run before, and one at this monotonic time even without a change. */
  #failing: { readonly notBefore: number; readonly retryAt: number } | null = null;
  #timer: { readonly due: number; readonly cancel: () => void } | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(options: WakerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#quietMs = options.quietMs ?? 50;
    this.#maxDelayMs = options.maxDelayMs ?? 500;
    this.#backoff = new Backoff(options.backoff ?? { firstMs: 1_000, maxMs: 30_000 }, options.random ?? Math.random);
  }

  /** Something changed. Cheap, however often it is called. */
  wake(): void {
    const now = this.#clock.monotonic();
    if (this.#changed === null) this.#changed = { first: now, last: now };
    else this.#changed.last = now;
    this.#plan();
  }

  /** Ends waiting, and resolves when a run in progress has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = null;
    await this.#running;
  }

  /** Monotonic time of the next run; infinite without a reason for one. */
  #due(): number {
    const { notBefore, retryAt } = this.#failing ?? { notBefore: 0, retryAt: Number.POSITIVE_INFINITY };
    if (this.#changed === null) return retryAt;
    const { first, last } = this.#changed;
    return Math.min(retryAt, Math.max(notBefore, Math.min(last + this.#quietMs, first + this.#maxDelayMs)));
  }

  #plan(): void {
    const due = this.#due();
    // A timer that fires earlier looks again then: changes that keep coming do not each cost a new timer.
    if (this.#stopped || this.#running !== null || due >= (this.#timer?.due ?? Number.POSITIVE_INFINITY)) return;
    this.#timer?.cancel();
    const fire = (): void => {
      this.#timer = null;
      if (this.#due() > this.#clock.monotonic()) this.#plan();
      else this.#start();
    };
    this.#timer = { due, cancel: this.#clock.after(Math.max(0, due - this.#clock.monotonic()), fire) };
  }

  #start(): void {
    this.#changed = null;
    this.#failing = null;
    this.#running = this.#attempt().finally(() => {
      this.#running = null;
      this.#plan();
    });
  }

  async #attempt(): Promise<void> {
    try {
      await this.#options.run();
      this.#backoff.reset();
    } catch (error) {
      this.#options.log.error({ error: describeError(error), stack: error instanceof Error ? error.stack : undefined }, 'run failed');
      const now = this.#clock.monotonic();
      const pause = this.#backoff.next();
      this.#failing = { notBefore: now + Math.min(pause, FAILING_SPACE_MS), retryAt: now + pause };
    }
  }
}
