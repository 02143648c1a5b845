// Growing, jittered pauses between attempts, so that a struggling server is not met by all its clients at the same moment.

export interface BackoffLimits {
  /** Upper bound of the first pause, ms. */
  readonly firstMs: number;
  /** Upper bound of every pause, ms. */
  readonly maxMs: number;
}

/**
 * Exponential with full jitter: each pause is uniform between 0 and a bound that doubles. The caller decides what counts as healthy
 * and calls `reset` then; a connection that merely opened is no proof.
 */
export class Backoff {
  readonly #limits: BackoffLimits;
  readonly #random: () => number;
  #attempt = 0;

  constructor(limits: BackoffLimits, random: () => number) {
    this.#limits = limits;
    this.#random = random;
  }

  /** The next pause in ms. */
  next(): number {
    const bound = Math.min(this.#limits.maxMs, this.#limits.firstMs * 2 ** Math.min(this.#attempt, 30));
    this.#attempt++;
    return this.#random() * bound;
  }

  reset(): void {
    this.#attempt = 0;
  }
}
