// A tethered process ends with its parent, whatever ends that, and is an ordinary child otherwise.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { ended, signalGroup, spawnTethered } from '#proxy/connector/tethered-process.ts';
import { until } from '#test/cluster/until.ts';
import { runningWith } from '#test/tools/processes.ts';

const env = { PATH: process.env['PATH'] };
const source = new URL('../../../proxy/connector/tethered-process.ts', import.meta.url).href;
let serial = 0;
/** Something that runs for ever and can be found again: this many seconds of sleep. */
const endless = (): string => `${process.pid}${(serial += 1)}`;

const gone = (mark: string): Promise<void> =>
  until(`no "sleep ${mark}" runs`, AbortSignal.timeout(20_000), async () => runningWith(`sleep ${mark}`).length === 0);

// The shell of the parent prints the mark only when both sleeps are on their way.
const parentOf = (mark: string, ending: string): string => `
  import { signalGroup, spawnTethered } from ${JSON.stringify(source)};
  const child = spawnTethered('sh', ['-c', 'trap "" TERM; sleep ${mark} & echo up; sleep ${mark}'], { env: process.env, stdio: ['ignore', 'inherit', 'ignore'] });
  ${ending}
`;

test('the child and its children end when the parent is killed with SIGKILL', async () => {
  const mark = endless();
  const parent = spawn(process.execPath, ['--input-type=module', '-e', parentOf(mark, '')], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(parent.stdout, 'data');
  assert.ok(runningWith(`sleep ${mark}`).length > 0);
  parent.kill('SIGKILL');
  await gone(mark);
});

test('a program that refuses to end when asked is tethered nevertheless', async () => {
  const mark = endless();
  const ending = "process.on('SIGUSR2', () => { signalGroup(child, 'SIGTERM'); process.exit(0); });";
  const parent = spawn(process.execPath, ['--input-type=module', '-e', parentOf(mark, ending)], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(parent.stdout, 'data');
  parent.kill('SIGUSR2');
  await gone(mark);
});

test('no program runs before it is tethered, however many start at once', async () => {
  const stubborn = async (): Promise<string> => {
    const child = spawnTethered('sh', ['-c', 'trap "" TERM; echo up; sleep 60 & wait'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    assert.ok(child.stdout);
    await once(child.stdout, 'data');
    signalGroup(child, 'SIGTERM');
    child.stdio[3]?.destroy();
    const end = await Promise.race([ended(child), setTimeout(20_000, 'not ended', { ref: false })]);
    signalGroup(child, 'SIGKILL');
    return end;
  };
  assert.deepEqual([...new Set(await Promise.all(Array.from({ length: 30 }, stubborn)))], ['SIGKILL']);
});

test('the child ends when the parent exits without a word to it', async () => {
  const mark = endless();
  const parent = spawn(process.execPath, ['--input-type=module', '-e', parentOf(mark, 'process.exit(0)')], { stdio: 'ignore' });
  await once(parent, 'exit');
  await gone(mark);
});

test('what the program leaves running ends with it', async () => {
  const mark = endless();
  const child = spawnTethered('sh', ['-c', `sleep ${mark} & exit 3`], { env });
  assert.equal(await ended(child), 'exit code 3');
  await gone(mark);
});

test('input, output and exit code are those of the program', async () => {
  const child = spawnTethered('sh', ['-c', 'cat; echo problem >&2; exit 7'], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  assert.ok(child.stdin && child.stdout && child.stderr);
  child.stdin.end('through');
  const [end, stdout, stderr] = await Promise.all([ended(child), text(child.stdout), text(child.stderr)]);
  assert.deepEqual([end, stdout, stderr], ['exit code 7', 'through', 'problem\n']);
});

test('a signal reaches the whole group, and none is sent to a process that has ended', async () => {
  const mark = endless();
  const child = spawnTethered('sh', ['-c', `sleep ${mark}; exit 0`], { env });
  signalGroup(child, 'SIGKILL');
  assert.equal(await ended(child), 'SIGKILL');
  await gone(mark);
  signalGroup(child, 'SIGKILL');
});

test('a program that does not exist ends with 127 and says its name', async () => {
  const child = spawnTethered('/nowhere/program', [], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  assert.ok(child.stderr);
  const [end, stderr] = await Promise.all([ended(child), text(child.stderr)]);
  assert.equal(end, 'exit code 127');
  assert.match(stderr, /\/nowhere\/program/);
});
