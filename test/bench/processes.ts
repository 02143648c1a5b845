// Processes of the bench, pinned to cores, and what the kernel says they cost.
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import net from 'node:net';

const SEARCH = `${process.env['PATH']}:/usr/sbin`;
const children = new Set<ChildProcess>();

/** Which of these programs the machine does not have. */
export const missingPrograms = (programs: readonly string[]): readonly string[] =>
  programs.filter((program) => {
    try {
      execFileSync('/bin/sh', ['-c', `command -v ${program}`], { env: { PATH: SEARCH }, stdio: 'ignore' });
      return false;
    } catch {
      return true;
    }
  });

/** Starts a command on one core; it ends with `endAll`. */
export function pinned(core: number, command: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = spawn('taskset', ['-c', String(core), ...command], { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: SEARCH, ...env } });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

export const endAll = (): void => children.forEach((child) => void child.kill('SIGTERM'));

export async function ended(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve));
}

/** Resolves once something listens. */
export async function listening(port: number): Promise<void> {
  for (;;) {
    const answered = await new Promise<boolean>((resolve) => {
      const socket = net.connect(port, '127.0.0.1', () => resolve(true));
      socket.on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
    if (answered) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A process and its children. */
function family(pid: number): readonly number[] {
  try {
    const direct = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
    return [pid, ...direct.flatMap((child) => family(Number(child)))];
  } catch {
    return [];
  }
}

const TICK_MICROSECONDS = 1e6 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** User and system time, microseconds. */
export const cpuOf = (pid: number): number =>
  family(pid).reduce((sum, one) => {
    const fields = readFileSync(`/proc/${one}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return sum + (Number(fields[11]) + Number(fields[12])) * TICK_MICROSECONDS;
  }, 0);

/** Resident memory, MB. */
export const memoryOf = (pid: number): number =>
  family(pid).reduce((sum, one) => sum + Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${one}/status`, 'utf8'))?.[1] ?? 0) / 1024, 0);

export interface Load {
  readonly requests: number;
  /** Microseconds. */
  readonly p50: number;
  readonly errors: number;
}

/** One run of wrk. */
export async function wrk(
  core: number,
  script: string,
  port: number,
  how: { readonly connections: number; readonly seconds: number },
): Promise<Load> {
  const child = pinned(core, [
    'wrk',
    '-t1',
    `-c${how.connections}`,
    `-d${how.seconds}s`,
    '--latency',
    '-s',
    script,
    `http://127.0.0.1:${port}/`,
  ]);
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await new Promise((resolve) => child.once('close', resolve));
  const [, requests, p50, errors] = /RESULT (\d+) (\d+) \d+ (\d+)/.exec(text) ?? [];
  if (requests === undefined) throw new Error(`wrk said: ${text}`);
  return { requests: Number(requests), p50: Number(p50), errors: Number(errors) };
}
