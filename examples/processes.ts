// The controller and the proxy of the quick start, as the separate processes that they are everywhere else.
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { spawnTethered } from '#proxy/connector/tethered-process.ts';

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

const STOP_MS = 15_000;

/** Starts one of our programs; it ends with this process, however that ends. Log lines that are not JSON are handed on as errors. */
export function startProgram(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  onLine: (line: LogLine) => void,
): Program {
  const child = spawnTethered(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on('line', (line) => onLine(parse(line)));
  }
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  return { name, ended, stop: () => stop(child, ended) };
}

async function stop(child: ChildProcess, ended: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(timer);
}

function parse(line: string): LogLine {
  try {
    const value = JSON.parse(line) as unknown;
    if (typeof value === 'object' && value !== null && 'msg' in value) return value as LogLine;
  } catch {
    // Not JSON: a crash or a warning of the runtime.
  }
  return { level: 'error', msg: line };
}
