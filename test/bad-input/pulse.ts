// Asks the same again and again and counts the answers: whoever stalls or fails is noticed.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

const INTERVAL_MS = 5;

export class Pulse {
  readonly #name: string;
  readonly #ask: () => Promise<void>;
  #answers = 0;
  #failures: string[] = [];
  /** The longest that an answer took, in milliseconds: told, not judged. */
  #longest = 0;
  #stopped = false;
  readonly #running: Promise<void>;

  /** `ask` rejects when the answer is not as it should be. */
  constructor(name: string, ask: () => Promise<void>) {
    this.#name = name;
    this.#ask = ask;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const started = performance.now();
      try {
        await this.#ask();
        this.#answers += 1;
      } catch (error) {
        this.#failures.push((error as Error).message);
      }
      this.#longest = Math.max(this.#longest, performance.now() - started);
      await pause(INTERVAL_MS);
    }
  }

  /** Answers so far. */
  mark(): number {
    this.#longest = 0;
    return this.#answers;
  }

  /** Resolves with the next answer, or failure, to a question that is asked from now on. */
  async next(): Promise<void> {
    const from = this.#answers + this.#failures.length;
    while (this.#answers + this.#failures.length < from + 2) await pause(INTERVAL_MS);
  }

  /** No failure, and at least so many answers since the mark. */
  check(what: string, mark: number, beats: number): void {
    assert.deepEqual(this.#failures, [], `${this.#name} during: ${what}`);
    const answers = this.#answers - mark;
    if (process.env['SHOW']) console.log(`${what}: ${this.#name}: ${answers} answers, the longest took ${Math.round(this.#longest)} ms`);
    assert.ok(answers >= beats, `${this.#name} during: ${what}: ${answers} answers, the longest took ${Math.round(this.#longest)} ms`);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }
}
