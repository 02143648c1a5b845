// Gives way to everything else now and then during long work.
import { setImmediate } from 'node:timers/promises';

/** Awaited between small pieces of work; null while there is time left, as awaiting nothing would cost more than the work. */
export type Pause = () => Promise<void> | null;

const STRETCH_MS = 8;

export class Pacer {
  readonly #now: () => number;
  #since: number;
  #stopped = false;

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#since = now();
  }

  /** From now on `pause` throws: whoever works ends there. */
  stop(): void {
    this.#stopped = true;
  }

  readonly pause: Pause = () => {
    if (this.#stopped) throw new Error('stopped');
    if (this.#now() - this.#since < STRETCH_MS) return null;
    return setImmediate().then(() => {
      this.#since = this.#now();
    });
  };
}
