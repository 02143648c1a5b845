// Time that only moves when a test says so.
import type { Clock } from '#controller/kube/clock.ts';

export class ManualClock implements Clock {
  #time = 0;
  readonly #timers = new Set<{ readonly at: number; readonly action: () => void }>();

  now(): number {
    return Date.parse('2026-01-01T00:00:00Z') + this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { at: this.#time + ms, action };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Moves on step by step, so that each timer sees its own time, and lets promises settle in between. */
  async advance(ms: number): Promise<void> {
    const until = this.#time + ms;
    for (;;) {
      await new Promise(setImmediate);
      const [next] = [...this.#timers].filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#time = Math.max(this.#time, next.at);
      this.#timers.delete(next);
      next.action();
    }
    this.#time = until;
    await new Promise(setImmediate);
  }
}
