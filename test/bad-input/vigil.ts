// Somebody who all the time looks whether programs are alive and whether what is good is served, whatever happens beside it.
import assert from 'node:assert/strict';
import { eventually } from '#test/kube/eventually.ts';
import { get, type Answer } from './network.ts';
import type { Program } from './program.ts';
import { Pulse } from './pulse.ts';

export const MIB = 2 ** 20;
/** Nothing here takes long; a machine that is busy may need this. */
const LIMIT_MS = 60_000;
const TAIL = 4000;

export interface Expectations {
  /** What has not come, if the outcome does not. */
  readonly missing?: () => readonly string[];
  /** How often each must answer meanwhile: long work must not be done in one stretch. */
  readonly beats?: number;
}

export class Vigil {
  readonly #programs: readonly Program[];
  readonly #pulses: Pulse[] = [];

  constructor(programs: readonly Program[]) {
    this.#programs = programs;
  }

  /** From now on asks again and again; the answer must always be `status` and `body`. */
  watch(what: string, ask: () => Promise<Answer>, { status, body }: Answer): void {
    const check = async (): Promise<void> => {
      const answer = await ask();
      if (answer.status !== status || answer.body !== body) throw new Error(`${answer.status} ${answer.body}`);
    };
    this.#pulses.push(new Pulse(what, check));
  }

  watchHealth(what: string, port: number): void {
    this.watch(`/healthz of the ${what}`, () => get(port, '/healthz'), { status: 200, body: 'ok\n' });
  }

  /** Waits for the condition; a rejection counts as not yet. A program that ends is a failure at once. */
  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    let last: unknown = null;
    let isHolding = false;
    const look = async (): Promise<void> => {
      try {
        isHolding = await holds();
      } catch (error) {
        last = error;
      }
    };
    let looking: Promise<void> | null = null;
    const check = (): boolean => {
      looking ??= look().finally(() => (looking = null));
      return isHolding || this.#ended() !== null;
    };
    await eventually(what, check, LIMIT_MS).catch((error: Error) => {
      throw new Error(`${error.message} (${String(last)})\n${this.#tails()}`, { cause: error });
    });
    if (!isHolding) throw new Error(`${this.#ended()} while waiting until ${what}\n${this.#tails()}`);
  }

  /** Does something bad and waits for its outcome. Meanwhile everything that is watched must answer, and never wrongly. */
  async endures(
    what: string,
    act: () => void | Promise<void>,
    outcome: () => boolean | Promise<boolean>,
    { missing = () => [], beats = 1 }: Expectations = {},
  ): Promise<void> {
    const before = this.#pulses.map((pulse) => pulse.mark());
    await act();
    await this.until(`${what}: has its outcome`, outcome).catch((error: Error) => {
      throw new Error([...missing(), error.message].join('\n'), { cause: error });
    });
    await Promise.all(this.#pulses.map((pulse) => pulse.next()));
    for (const [index, pulse] of this.#pulses.entries()) pulse.check(what, before[index] ?? 0, beats);
  }

  /** All programs are alive, never met an error of their own, and use no more memory than stated. */
  check(boundsMiB: Readonly<Record<string, number>>): void {
    assert.equal(this.#ended(), null);
    for (const program of this.#programs) {
      const used = program.rss() / MIB;
      assert.ok(used < (boundsMiB[program.name] ?? 0), `the ${program.name} uses ${Math.round(used)} MiB`);
      assert.doesNotMatch(program.output, /"level":"fatal"|unexpected error|run failed|Warning:/);
    }
  }

  async stop(): Promise<void> {
    for (const pulse of this.#pulses) await pulse.stop();
    await Promise.all(this.#programs.map((program) => program.stop()));
  }

  #ended(): string | null {
    const program = this.#programs.find(({ end }) => end !== null);
    return program === undefined ? null : `the ${program.name} ended (${program.end})`;
  }

  #tails(): string {
    return this.#programs.map(({ name, output }) => `${name}:\n${output.slice(-TAIL)}`).join('\n');
  }
}
