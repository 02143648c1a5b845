// A program of ours as a process of its own: its log lines one by one, and an end that is never missed.
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ended, spawnTethered } from '#proxy/connector/tethered-process.ts';

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface Program {
  readonly name: string;
  /** How it ended. */
  readonly ended: Promise<string>;
  /** SIGTERM, then SIGKILL after a while. */
  stop(): Promise<void>;
}

export interface ProgramOptions {
  readonly name: string;
  /** Of Node: file and arguments. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Lines that are not JSON (a crash, a complaint about the settings) come as errors. */
  readonly onLine: (line: LogLine) => void;
}

const STOP_MS = 10_000;

/** Starts the program; it ends with this process, however that ends. */
export function startProgram({ name, args, env, onLine }: ProgramOptions): Program {
  const child = spawnTethered(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: process.env['TMPDIR'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr])
    if (stream) createInterface({ input: stream }).on('line', (line) => onLine(parse(line)));
  const end = ended(child);
  return { name, ended: end, stop: () => stop(child, end) };
}

async function stop(child: ChildProcess, end: Promise<string>): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await end;
  clearTimeout(timer);
}

function parse(line: string): LogLine {
  try {
    const value = JSON.parse(line) as unknown;
    if (typeof value === 'object' && value !== null && 'msg' in value) return value as LogLine;
  } catch {
    // Not JSON.
  }
  return { level: 'error', msg: line };
}
