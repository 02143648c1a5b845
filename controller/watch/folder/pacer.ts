// Gives way to everything else now and then during long work.
import { setImmediate } from 'node:timers/promises';

const STRETCH_MS = 8;

export class Pacer {
  readonly #now: () => number;
  #since: number;

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
    this.#since = now();
  }

  /** null while there is time left: awaiting nothing would cost more than the work. */
  pause(): Promise<void> | null {
    if (this.#now() - this.#since < STRETCH_MS) return null;
    return setImmediate().then(() => {
      this.#since = this.#now();
    });
  }
}
