// Reads what the suite prints while it runs: which of its tests started, which ended how, and which lines belong to which. Pure.

export type Outcome = 'pass' | 'fail' | 'skip';

export interface TestEnd {
  readonly name: string;
  readonly outcome: Outcome;
  readonly seconds: number;
}

/** What the marks in the output say. The program is started with -test.v=test2json, which reports each end at once and marks such lines. */
const MARK = '\u0016';
const ROOT = 'TestConformance';
const SWITCH = /^=== (?:RUN|PAUSE|CONT|NAME)\s+(\S*)/;
const END = /^\s*--- (PASS|FAIL|SKIP): (\S+) \((\d+(?:\.\d+)?)s\)/;
const outcomes: Readonly<Record<string, Outcome>> = { PASS: 'pass', FAIL: 'fail', SKIP: 'skip' };

/** The suite's short name in a Go test's name; null for its own set-up. */
const shortName = (goName: string): string | null => (goName.startsWith(`${ROOT}/`) ? (goName.split('/')[1] ?? null) : null);

export class SuiteOutput {
  /** Sub-tests that failed, by short name. */
  readonly failedParts = new Map<string, string[]>();
  readonly #lines = new Map<string, string[]>();
  #current: string | null = null;

  /** Takes one line without its end; gives the test that ended with it. */
  read(raw: string): TestEnd | null {
    const line = raw.startsWith(MARK) ? raw.slice(1) : raw;
    const [, running] = SWITCH.exec(line) ?? [];
    if (running !== undefined) {
      this.#current = shortName(running);
      return null;
    }
    const [, word = '', goName = '', seconds] = END.exec(line) ?? [];
    if (seconds === undefined) {
      this.#keep(this.#current, line);
      return null;
    }
    const [, name, ...part] = goName.split('/');
    const outcome = outcomes[word];
    if (name === undefined || outcome === undefined) return null;
    if (part.length === 0) return { name, outcome, seconds: Number(seconds) };
    if (outcome === 'fail') this.failedParts.set(name, [...(this.failedParts.get(name) ?? []), part.join('/')]);
    this.#keep(name, line);
    return null;
  }

  /** Everything that was printed while the test was the one that printed; of the set-up without a name. */
  linesOf(name: string | null): readonly string[] {
    return this.#lines.get(name ?? '') ?? [];
  }

  #keep(name: string | null, line: string): void {
    const lines = this.#lines.get(name ?? '') ?? [];
    lines.push(line);
    this.#lines.set(name ?? '', lines);
  }
}
