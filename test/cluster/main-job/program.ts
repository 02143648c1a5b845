// A program of ours as a process of its own, with everything that it printed: what it says is part of what is tested.
import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { ended, spawnTethered } from '#proxy/connector/tethered-process.ts';

const root = path.join(import.meta.dirname, '..', '..', '..');
const LONGEST_TAIL = 4000;

export interface ProgramOptions {
  /** `controller` or `proxy` first, then flags. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Command that enters a sandbox. */
  readonly enter?: readonly string[];
}

export class Program {
  readonly name: string;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  /** Both streams, as they came. */
  output = '';
  hasEnded = false;
  readonly #child: ChildProcess;

  constructor(name: string, { args, env, enter = [] }: ProgramOptions) {
    this.name = name;
    const [program = '', ...rest] = [
      ...enter,
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      path.join(root, 'main.ts'),
      ...args,
    ];
    this.#child = spawnTethered(program, rest, { env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.ended = ended(this.#child);
    void this.ended.then(() => (this.hasEnded = true));
  }

  /** Sends the signal; resolves when the process is gone, with how it ended. */
  end(signal: NodeJS.Signals): Promise<string> {
    this.signal(signal);
    return this.ended;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The parsed lines with this message. */
  lines(message: string): readonly Readonly<Record<string, unknown>>[] {
    return this.output
      .split('\n')
      .filter((line) => line.includes(JSON.stringify(message)))
      .flatMap((line) => {
        try {
          const value = JSON.parse(line) as Record<string, unknown>;
          return value['msg'] === message ? [value] : [];
        } catch {
          return [];
        }
      });
  }

  /** The end of the output, for the message of a failed test. */
  get tail(): string {
    return `${this.name}:\n${this.output.slice(-LONGEST_TAIL)}`;
  }
}
