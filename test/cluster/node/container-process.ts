// One run of a container's program: from its start to its end, with what it printed.
import { ended, signalGroup, spawnTethered } from '#proxy/connector/tethered-process.ts';
import type { ChildProcess } from 'node:child_process';
import { containerCommand, type ContainerRoot } from './container-root.ts';
import type { ContainerLog } from './log.ts';
import { sleeps } from './probe.ts';

/** As shells and container runtimes tell the end by a signal. */
const SIGNAL_EXIT_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGABRT: 134, SIGKILL: 137, SIGSEGV: 139, SIGTERM: 143 };

export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

type Environment = Readonly<Record<string, string>>;

export class ContainerProcess {
  readonly startedAt = new Date();
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;

  constructor(root: Omit<ContainerRoot, 'path'>, command: readonly string[], env: Environment, log: ContainerLog) {
    const [program = '', ...args] = containerCommand({ ...root, path: env['PATH'] ?? PATH }, command);
    this.#child = spawnTethered(program, args, { env: { ...env, PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
    log.read(this.#child.stdout, this.#child.stderr);
    this.ended = ended(this.#child).then(() => this.#child.exitCode ?? SIGNAL_EXIT_CODES[this.#child.signalCode ?? ''] ?? 1);
  }

  /** Asks it to end, and after the grace period makes it; resolves when it has. */
  async end(graceMs: number): Promise<void> {
    this.#child.kill('SIGTERM');
    const lost = new AbortController();
    void sleeps(graceMs, lost.signal).then((isOver) => isOver && signalGroup(this.#child, 'SIGKILL'));
    await this.ended;
    lost.abort();
  }
}
