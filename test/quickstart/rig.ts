// The quick start as a person runs it: a process group and a temporary folder of its own; what it prints is read as it comes.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ended, signalGroup, spawnTethered } from '#proxy/connector/tethered-process.ts';
import { runningWith, type RunningProcess } from '#test/tools/processes.ts';

const root = path.join(import.meta.dirname, '../..');
/** Only keeps a broken test from hanging. */
const LIMIT_MS = 60_000;

export interface RunOptions {
  readonly args?: readonly string[];
  /** Through `npm run`, or the script itself. */
  readonly npm?: boolean;
  readonly cwd?: string;
  /** Started by a shell that stays when it ends, as a person's does. */
  readonly inShell?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Where a test or a whole file leaves what must be done at its end. */
export interface Ending {
  after(cleanup: () => unknown): void;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** A copy of the example's YAML, in a folder whose name a shell would split. */
export function copyOfExample(context: Ending): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'quick start test '));
  context.after(() => rmSync(dir, { recursive: true, force: true }));
  cpSync(path.join(root, 'examples/quickstart'), dir, { recursive: true });
  return dir;
}

export class QuickStart {
  /** Everything so far. */
  output = '';
  /** Where it puts its files: empty when nothing is left of it. */
  readonly temporary: string;
  readonly ended: Promise<string>;
  readonly #child: ReturnType<typeof spawnTethered>;
  readonly #listeners = new Set<() => void>();
  #read = 0;

  /** Ends with the test, if not before. */
  constructor(context: Ending, { args = [], npm = false, cwd = root, inShell = false, env = {} }: RunOptions = {}) {
    this.temporary = mkdtempSync(path.join(tmpdir(), 'quickstart-test-'));
    const words = npm
      ? ['npm', '--prefix', root, 'run', 'quickstart', '--ignore-scripts', '--', ...args]
      : [process.execPath, '--disable-warning=ExperimentalWarning', path.join(root, 'examples/quickstart.ts'), ...args];
    const [program = '', ...given] = inShell ? ['/bin/sh', '-c', '"$@" & wait; exec tail -f /dev/null', 'sh', ...words] : words;
    this.#child = spawnTethered(program, given, {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        npm_config_update_notifier: 'false',
        NODE_DISABLE_COMPILE_CACHE: '1',
        ...env,
        TMPDIR: this.temporary,
      },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
        for (const listener of this.#listeners) listener();
      });
    const closed = new Promise<void>((resolve) => this.#child.once('close', () => resolve()));
    this.ended = ended(this.#child).then(async (how) => {
      await closed;
      for (const listener of this.#listeners) listener();
      return how;
    });
    context.after(async () => {
      const processes = this.descendants();
      signalGroup(this.#child, 'SIGKILL');
      await this.ended;
      // One that is about to end may still write a file.
      await eventually(() => remaining(processes).length === 0);
      rmSync(this.temporary, { recursive: true, force: true });
    });
  }

  /** The next place of the output that matches, after the one found last. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const look = (): RegExpExecArray | null => pattern.exec(this.output.slice(this.#read));
    const found = await new Promise<RegExpExecArray>((resolve, reject) => {
      const check = (): void => {
        const match = look();
        if (match) done(() => resolve(match));
        else if (this.#child.exitCode !== null) done(() => reject(new Error(`ended without saying ${pattern}:\n${this.output}`)));
      };
      const timer = setTimeout(() => done(() => reject(new Error(`never said ${pattern}:\n${this.output.slice(this.#read)}`))), LIMIT_MS);
      const done = (settle: () => void): void => {
        clearTimeout(timer);
        this.#listeners.delete(check);
        settle();
      };
      this.#listeners.add(check);
      check();
    });
    this.#read += found.index + found[0].length;
    return found;
  }

  /** Everything is up; the folder whose files are to be edited. */
  async isReady(): Promise<string> {
    const [, dir = ''] = await this.says(/^Edit a file in (.*) and send again/m);
    await this.says(/^Ctrl-C ends everything\.\n/m);
    return path.resolve(root, dir);
  }

  /** Ctrl-C in a terminal: the signal reaches every process of the group. */
  interrupt(): void {
    signalGroup(this.#child, 'SIGINT');
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The process and all below it, however deep. */
  descendants(of = this.#child.pid): readonly number[] {
    const all = runningWith('');
    const found = new Set([of ?? 0]);
    for (let before = 0; before !== found.size;) {
      before = found.size;
      for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
    }
    return [...found];
  }

  /** Processes of this run with `text` in their command line. */
  pidsOf(text: string): readonly number[] {
    const ours = this.descendants();
    return runningWith(text).flatMap(({ pid, commandLine }) => (ours.includes(pid) && !commandLine.startsWith('/bin/sh') ? [pid] : []));
  }

  /** Sends what the printed `curl` lines would, to another host perhaps. */
  get(host: string, at: string): Promise<Answer> {
    const [, port, ip] = /--resolve app\.example\.com:(\d+):(\S+)/.exec(this.output) ?? [];
    const [, caFile = ''] = /--cacert (\S+)/.exec(this.output) ?? [];
    return new Promise((resolve, reject) => {
      const options = { host: ip, port, path: at, servername: host, ca: readFileSync(caFile), headers: { host }, agent: false } as const;
      const request = https.get({ ...options, timeout: LIMIT_MS }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => (body += text));
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      });
      request.on('timeout', () => request.destroy(new Error('no answer')));
      request.on('error', reject);
    });
  }

  /** No process and no file is left, at the latest after a moment; ports end with their processes, and may be others' by now. */
  async leavesNothing(processes: readonly number[]): Promise<void> {
    const isNothing = (): boolean => remaining(processes).length === 0 && readdirSync(this.temporary).length === 0;
    await eventually(isNothing);
    assert.deepEqual({ processes: remaining(processes), files: readdirSync(this.temporary) }, { processes: [], files: [] });
  }

  /** What must not be shown: connector token (JSON in Base64), API token, token shared by controller and proxy. */
  showsNoSecret(): void {
    assert.doesNotMatch(this.output, /eyJ[\w+/=]{20}|local-quickstart-token|\b[0-9a-f]{64}\b/);
  }
}

const remaining = (processes: readonly number[]): readonly RunningProcess[] => runningWith('').filter(({ pid }) => processes.includes(pid));

/** Returns at the limit too: what is wrong then is for the caller to show. */
async function eventually(holds: () => boolean): Promise<void> {
  const until = performance.now() + LIMIT_MS;
  while (!holds() && performance.now() < until) await pause(20);
}
