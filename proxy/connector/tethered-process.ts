// A child process that cannot outlive this one, however this one ends: nothing built or started here is ever orphaned.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';

/**
 * The child leads a process group of its own. A watcher in that group holds one end of a pipe whose other end only we hold; the kernel
 * closes ours when we end, SIGKILL included, and the watcher then kills the whole group. That needs neither root nor Linux, and unlike
 * killing by a remembered id it has no window: a child that starts after our death finds the pipe closed at once.
 * The watcher ignores what asks the program to end politely: a program that takes its time, or refuses, is still tethered.
 * The program is not started before it does: the substitution lasts until the watcher has let go of its output.
 * `exec` keeps the child's own id, so signals and exit codes are those of the program itself.
 */
const script = `
  : "$( ( trap '' HUP INT TERM; exec >/dev/null 2>&1; while read -r _ <&3; do :; done; kill -s KILL -- "-$$" ) </dev/null & )"
  exec 3<&-
  exec "$@"
`;

export interface TetherOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** What the program gets as stdin, stdout and stderr; all ignored by default. */
  readonly stdio?: readonly ['ignore' | 'pipe', 'ignore' | 'pipe' | 'inherit' | number, 'ignore' | 'pipe' | 'inherit' | number];
}

/** Starts `program`. One that cannot be started ends with code 126 or 127 and the shell's message on stderr. */
export function spawnTethered(program: string, args: readonly string[], options: TetherOptions): ChildProcess {
  const stdio: StdioOptions = [...(options.stdio ?? ['ignore', 'ignore', 'ignore']), 'pipe'];
  const child = spawn('/bin/sh', ['-c', script, 'sh', program, ...args], {
    stdio,
    detached: true,
    env: options.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  // Whatever the program itself left running in its group ends with it.
  child.once('exit', () => child.stdio[3]?.destroy());
  child.stdio[3]?.on('error', () => {});
  return child;
}

/** Resolves when the child has ended, with what ended it in words. */
export function ended(child: ChildProcess): Promise<string> {
  const words = (code: number | null, signal: NodeJS.Signals | null): string => (signal === null ? `exit code ${code}` : signal);
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(words(child.exitCode, child.signalCode));
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(words(code, signal)));
    child.once('error', (error) => resolve(error.message));
  });
}

/** Sends a signal to the child and all that it started. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
