// Which processes run, for tests that nothing is left behind.
import { execFileSync } from 'node:child_process';

export interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  readonly commandLine: string;
}

/** The processes with `text` in their command line. Zombies are gone: whoever should collect them is not ours. */
export function runningWith(text: string): readonly RunningProcess[] {
  const lines = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [, pid, parent, state = '', commandLine = ''] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return commandLine.includes(text) && !state.startsWith('Z') ? [{ pid: Number(pid), parent: Number(parent), commandLine }] : [];
  });
}
