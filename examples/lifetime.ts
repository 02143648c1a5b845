// How the quick start ends: by Ctrl-C, by itself or killed. Each time nothing of it remains: no process, no port, no file.
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

type Cleanup = () => Promise<unknown> | void;

const PARENT_CHECK_MS = 500;
const SAME_SIGNAL_MS = 500;

export class Lifetime {
  /** For files of this run. */
  readonly folder: string;
  readonly #cleanups: Cleanup[] = [];
  #isEnding = false;

  /** `onSignal` is called once, before everything is ended because somebody asks for it. */
  constructor(onSignal: () => void) {
    const { folder, remove } = temporaryFolder();
    this.folder = folder;
    this.#cleanups.push(remove);
    let askedAt = Infinity;
    const asked = (): void => {
      // Who asks again does not want to wait: what was started here ends with this process. But npm hands on what the terminal has sent
      // to both of us.
      if (performance.now() - askedAt > SAME_SIGNAL_MS) process.exit(1);
      if (askedAt !== Infinity) return;
      askedAt = performance.now();
      onSignal();
      void this.end(0);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, asked);
    // Whoever reads the output is gone: the terminal was closed, or `| head` has seen enough.
    process.stdout.on('error', () => void this.end(0));
    if (process.env['npm_lifecycle_event'] !== undefined) this.#endWithNpm();
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** What was started last ends first. */
  onEnd(cleanup: Cleanup): void {
    if (this.#isEnding) void cleanup();
    else this.#cleanups.push(cleanup);
  }

  /** Ends everything, then the process. Only the first call counts. */
  async end(code: number): Promise<never> {
    if (!this.#isEnding) {
      this.#isEnding = true;
      for (const cleanup of this.#cleanups.reverse()) {
        try {
          await cleanup();
        } catch {
          // The rest must end too.
        }
      }
      process.exit(code);
    }
    return new Promise<never>(() => undefined);
  }

  /** An npm that is killed cannot hand the signal on. */
  #endWithNpm(): void {
    const npm = process.ppid;
    setInterval(() => {
      if (process.ppid !== npm) void this.end(1);
    }, PARENT_CHECK_MS).unref();
  }
}

/** A shell that waits for the end of its input removes the folder: that end comes however this process ends, SIGKILL included. */
function temporaryFolder(): { readonly folder: string; remove(): Promise<void> } {
  const folder = mkdtempSync(path.join(tmpdir(), 'quickstart-'));
  const script = `trap '' HUP INT TERM; read -r _; rm -rf -- "$1"`;
  const remover = spawn('/bin/sh', ['-c', script, 'sh', folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  const removed = new Promise<void>((resolve) => remover.once('close', () => resolve()).once('error', () => resolve()));
  return {
    folder,
    remove: () => {
      remover.stdin.end();
      return removed;
    },
  };
}
