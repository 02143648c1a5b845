// The controller or the proxy as a process of its own, with everything that it prints: what it says is part of what is tested.
import { execFileSync, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { spawnTethered } from '#proxy/connector/tethered-process.ts';

const main = path.join(import.meta.dirname, '..', '..', 'main.ts');

export class Program {
  readonly name: string;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  /** How it ended; null while it runs. */
  end: string | null = null;
  /** Both streams, as they came. */
  output = '';
  readonly #child: ChildProcess;

  constructor(name: 'controller' | 'proxy', args: readonly string[], env: Readonly<Record<string, string>>) {
    this.name = name;
    this.#child = spawnTethered(process.execPath, ['--disable-warning=ExperimentalWarning', main, name, ...args], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    // Not before everything that it said has been read.
    this.ended = new Promise((resolve) => this.#child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`)));
    void this.ended.then((how) => (this.end = how));
  }

  /** Resident memory now, in bytes. */
  rss(): number {
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(this.#child.pid)], { encoding: 'utf8' })) * 1024;
  }

  async stop(): Promise<string> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
    const how = await this.ended;
    clearTimeout(timer);
    return how;
  }
}
