// What is remembered over restarts: when an object was first seen, and how often it changed.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock, type Clock } from '#controller/kube/clock.ts';
import { route, startFolder, temporaryFolder } from './rig.ts';

/** The system's clock, some years off. */
const clockIn = (year: number): Clock => {
  const offset = Date.UTC(year, 0, 1) - Date.now();
  return { ...systemClock, now: () => Date.now() + offset };
};

function folders(context: TestContext): { readonly dir: string; readonly stateDir: string } {
  const dir = temporaryFolder(context);
  return { dir, stateDir: path.join(dir, 'state') };
}

test('an object keeps its age, identity and generation over restarts; a new one is younger', async (context) => {
  const { dir, stateDir } = folders(context);
  const first = startFolder(context, { 'a.yaml': route('one') }, { dir, stateDir, clock: clockIn(2030) });
  await first.synced();
  const before = first.object('HTTPRoute', 'default/one')?.metadata;
  await first.stop();
  const second = startFolder(context, { 'a.yaml': route('one', '/new'), 'b.yaml': route('two') }, { dir, stateDir, clock: clockIn(2031) });
  await second.synced();
  const [one, two] = ['default/one', 'default/two'].map((key) => second.object('HTTPRoute', key)?.metadata);
  assert.equal(one?.creationTimestamp, before?.creationTimestamp);
  assert.match(one?.creationTimestamp ?? '', /^2030-/);
  assert.equal(one?.uid, before?.uid);
  assert.equal(one?.generation, 2);
  assert.match(two?.creationTimestamp ?? '', /^2031-/);
  assert.match(second.object('Namespace', 'default')?.metadata.creationTimestamp ?? '', /^2030-/);
});

test('a deleted object that comes back is a new one, also within one run', async (context) => {
  const { dir, stateDir } = folders(context);
  const rig = startFolder(context, { 'a.yaml': route('one'), 'b.yaml': route('two') }, { dir, stateDir, clock: clockIn(2030) });
  await rig.synced();
  rmSync(path.join(dir, 'b.yaml'));
  await rig.until('deleted', () => rig.keys('HTTPRoute').length === 1);
  await rig.stop();
  const second = startFolder(context, { 'b.yaml': route('two') }, { dir, stateDir, clock: clockIn(2031) });
  await second.synced();
  assert.match(second.object('HTTPRoute', 'default/two')?.metadata.creationTimestamp ?? '', /^2031-/);
});

test('an object that is in error at the start is not forgotten, even where its last good version is lost', async (context) => {
  const { dir, stateDir } = folders(context);
  const good = startFolder(context, { 'a.yaml': route('one') }, { dir, stateDir, clock: clockIn(2030) });
  await good.synced();
  await good.stop();
  rmSync(path.join(stateDir, 'last-good'), { recursive: true });
  const bad = startFolder(context, { 'a.yaml': route('one', 'broken') }, { dir, stateDir, clock: clockIn(2031) });
  await bad.synced();
  assert.equal(bad.object('HTTPRoute', 'default/one'), undefined);
  bad.write('a.yaml', route('one'));
  await bad.until('mended', () => bad.keys('HTTPRoute').length === 1);
  assert.match(bad.object('HTTPRoute', 'default/one')?.metadata.creationTimestamp ?? '', /^2030-/);
});

test('a creation time in the file counts', async (context) => {
  const rig = startFolder(context, {
    'a.yaml': route('one').replace('name: one', 'name: one\n  creationTimestamp: "2020-02-02T00:00:00Z"'),
  });
  await rig.synced();
  assert.equal(rig.object('HTTPRoute', 'default/one')?.metadata.creationTimestamp, '2020-02-02T00:00:00Z');
});

test('an empty folder that had objects in an earlier run is waited for', async (context) => {
  const { dir, stateDir } = folders(context);
  const first = startFolder(context, { 'a.yaml': route('one') }, { dir, stateDir });
  await first.synced();
  await first.stop();
  rmSync(path.join(dir, 'a.yaml'));
  const second = startFolder(context, {}, { dir, stateDir });
  await second.until('noticed', () => second.problems().length === 1);
  assert.match(second.problems()[0] ?? '', /an earlier run had some: waiting for them/);
  assert.equal(second.source.synced, false);
  second.write('a.yaml', route('one'));
  await second.synced();
  assert.deepEqual(second.keys('HTTPRoute'), ['default/one']);
});

test('what is remembered is private, and a broken memory is only a loss', async (context) => {
  const { dir, stateDir } = folders(context);
  const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {token: hunter2}\n';
  const first = startFolder(context, { 'a.yaml': `${route('one')}---\n${secret}` }, { dir, stateDir });
  await first.synced();
  await first.stop();
  const file = path.join(stateDir, 'folder-ages');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.doesNotMatch(readFileSync(file, 'utf8'), /hunter2|aHVudGVyMg/);
  writeFileSync(file, '{"version": 1, "objects": {"x": 5}}');
  const second = startFolder(context, {}, { dir, stateDir });
  await second.synced();
  assert.deepEqual(second.keys('HTTPRoute'), ['default/one']);
  assert.ok(second.log.some(({ level, message }) => level === 'warn' && message.startsWith('the remembered ages')));
});

test('a state directory that cannot be written is only a loss', async (context) => {
  const { dir } = folders(context);
  const file = path.join(mkdtempSync(path.join(dir, '.blocked-')), 'file');
  writeFileSync(file, '');
  const rig = startFolder(context, { 'a.yaml': route('one') }, { dir, stateDir: path.join(file, 'below') });
  await rig.synced();
  await rig.stop();
  assert.ok(rig.log.some(({ message }) => message.startsWith('the state directory cannot be written')));
});
