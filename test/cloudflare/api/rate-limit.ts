// Cloudflare's rate limit: so many calls in a window for each API token, and 429 for the rest of the window.
import type { Response } from 'express';
import { ApiFault } from './envelope.ts';
import type { ApiToken } from './state.ts';

export interface RateLimit {
  readonly limit: number;
  readonly windowMs: number;
}

export class RateWindows {
  readonly #rate: RateLimit;
  readonly #now: () => number;
  readonly #windows = new Map<string, { start: number; used: number }>();

  constructor(rate: RateLimit, now: () => number) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Counts one call and sets the headers that every answer carries; throws 429 when the window is used up. */
  count(token: ApiToken, response: Response): void {
    const { limit, windowMs } = this.#rate;
    const now = this.#now();
    let window = this.#windows.get(token.id);
    if (window === undefined || now - window.start >= windowMs) {
      window = { start: now, used: 0 };
      this.#windows.set(token.id, window);
    }
    window.used += 1;
    const seconds = Math.max(1, Math.ceil((window.start + windowMs - now) / 1000));
    response.set('ratelimit', `"default";r=${Math.max(0, limit - window.used)};t=${seconds}`);
    response.set('ratelimit-policy', `"default";q=${limit};w=${Math.round(windowMs / 1000)}`);
    if (window.used > limit) {
      throw new ApiFault(
        429,
        { code: 971, message: 'Please wait and consider throttling your request speed' },
        { 'retry-after': String(seconds) },
      );
    }
  }
}
