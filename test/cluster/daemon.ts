// One server process of the test cluster: its log, its end, and what to say when it ends by itself.
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ended, signalGroup, spawnTethered } from '#proxy/connector/tethered-process.ts';

const TAIL_LINES = 15;

export class Daemon {
  readonly name: string;
  readonly #program: string;
  readonly #log: string;
  readonly #folder: string;
  #child: ChildProcess | null = null;
  #stopping = false;

  /** `program` is an absolute path; everything the process writes goes to `<folder>/<name>.log`. */
  constructor(program: string, folder: string) {
    this.name = path.basename(program);
    this.#program = program;
    this.#folder = folder;
    this.#log = path.join(folder, `${this.name}.log`);
  }

  get isRunning(): boolean {
    return this.#child !== null;
  }

  /** Starts the process. `onDeath` hears, with the end of the log, that it ended although nobody stopped it. */
  start(args: readonly string[], onDeath: (reason: string) => void): void {
    if (this.#child !== null) throw new Error(`${this.name} is running already`);
    const log = openSync(this.#log, 'a', 0o600);
    // Our own environment would reach in: etcd reads ETCD_…, Go programs read proxies and GODEBUG.
    const env = { PATH: process.env['PATH'], HOME: this.#folder, TMPDIR: this.#folder };
    const child = spawnTethered(this.#program, args, { cwd: this.#folder, env, stdio: ['ignore', log, log] });
    closeSync(log);
    this.#child = child;
    this.#stopping = false;
    void ended(child).then((how) => {
      this.#child = null;
      if (!this.#stopping) onDeath(`${this.name} ended by itself (${how}):\n${this.logTail()}`);
    });
  }

  /** Ends the process and waits until it is gone. SIGKILL is the default: a crash is what others must survive. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#stopping = true;
    signalGroup(child, signal);
    await ended(child);
  }

  logTail(): string {
    return readFileSync(this.#log, 'utf8').trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  }
}
