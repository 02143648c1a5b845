// Keeps the process below Cloudflare's rate limit, and away from a token that was told to wait.

/**
 * Cloudflare allows 1,200 calls in five minutes, summed over everything that a user or account does, and answers 429 to all of it for the
 * rest of the window once they are used up. At most `burst + refill × window` calls fall into any window: 200 + 800 = 1,000.
 */
const BURST = 200;
const REFILL_PER_MS = 800 / 300_000;

/** A longer wait than the API's own window is not believed: a wrong header must not stop the controller for a day. */
const LONGEST_HOLD_MS = 10 * 60_000;

export interface RateLimiterOptions {
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** Calls that may be made at once; default 200. */
  readonly burst?: number;
  /** Calls that come back per millisecond; default 800 in five minutes. */
  readonly refillPerMs?: number;
}

/** One for the whole process, shared by every client. It never waits itself: the caller has a queue and other things to do. */
export class RateLimiter {
  readonly #now: () => number;
  readonly #burst: number;
  readonly #refillPerMs: number;
  readonly #heldUntil = new Map<string, number>();
  #available: number;
  #at: number;

  constructor(options: RateLimiterOptions) {
    this.#now = options.now;
    this.#burst = options.burst ?? BURST;
    this.#refillPerMs = options.refillPerMs ?? REFILL_PER_MS;
    this.#available = this.#burst;
    this.#at = this.#now();
  }

  /** Takes one call for `holder` (any stable name of the API token). Returns 0, or the milliseconds to wait instead of calling. */
  admit(holder: string): number {
    const now = this.#now();
    const held = this.#heldUntil.get(holder);
    if (held !== undefined) {
      if (held > now) return Math.ceil(held - now);
      this.#heldUntil.delete(holder);
    }
    this.#available = Math.min(this.#burst, this.#available + (now - this.#at) * this.#refillPerMs);
    this.#at = now;
    if (this.#available >= 1) {
      this.#available -= 1;
      return 0;
    }
    return Math.ceil((1 - this.#available) / this.#refillPerMs);
  }

  /** No calls for `holder` during the next `milliseconds`; returns the wait as it was taken. Other tokens are not touched. */
  holdOff(holder: string, milliseconds: number): number {
    const wait = Math.min(Math.max(milliseconds, 1000), LONGEST_HOLD_MS);
    const until = this.#now() + wait;
    this.#heldUntil.set(holder, Math.max(until, this.#heldUntil.get(holder) ?? 0));
    return wait;
  }
}
