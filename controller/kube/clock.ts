// Time as a parameter, so that leases, backoff and coalescing can be tested without waiting.

export interface Clock {
  /** Wall time in ms since 1970; may jump. Only for what people and other programs read. */
  now(): number;
  /** Milliseconds that never go back; only differences mean something. */
  monotonic(): number;
  /** Runs the action once after that many ms; returns the function that cancels it. */
  after(ms: number, action: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after that many ms, or at once when the signal is aborted; never rejects. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || ms <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = clock.after(ms, done);
    signal.addEventListener('abort', done, { once: true });
    function done(): void {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}

/** A random duration between two bounds, so that many clients do not act in step. */
export const between = (random: () => number, [from, to]: readonly [number, number]): number => from + random() * (to - from);
