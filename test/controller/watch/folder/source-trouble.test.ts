// What errors in files and missing disks must not take away.
import assert from 'node:assert/strict';
import { chmodSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { pathOf, route, startFolder, temporaryFolder } from './rig.ts';

suite('errors', () => {
  test('name file, line and column, and are gone when mended', async (context) => {
    const rig = startFolder(context, { 'shop/route.yaml': `${route('one')}---\n${route('two', 'nowhere')}` });
    await rig.synced();
    assert.deepEqual(rig.problems(), [
      "shop/route.yaml:24:11: HTTPRoute default/two: spec.rules[0].matches[0].path: value must be an absolute path and start with '/' when type one of ['Exact', 'PathPrefix']",
    ]);
    assert.deepEqual(rig.keys('HTTPRoute'), ['default/one']);
    rig.write('shop/route.yaml', `${route('one')}---\n${route('two', '/')}`);
    await rig.until('mended', () => rig.problems().length === 0);
    assert.equal(rig.keys('HTTPRoute').length, 2);
  });

  test('keep the last good version of an object; what is fine beside it goes on', async (context) => {
    const rig = startFolder(context, { 'a.yaml': `${route('one')}---\n${route('two')}---\n${route('three')}` });
    await rig.synced();
    rig.write('a.yaml', `${route('one', 'broken')}---\n${route('two', '/new')}`);
    await rig.until('broken', () => rig.problems().length === 1);
    assert.match(rig.problems()[0] ?? '', /^a\.yaml:11:11: HTTPRoute default\/one: .*; its last good version stays in use$/);
    assert.equal(pathOf(rig.object('HTTPRoute', 'default/one')), '/');
    assert.equal(pathOf(rig.object('HTTPRoute', 'default/two')), '/new');
    assert.ok(rig.object('HTTPRoute', 'default/three'), 'nothing is deleted by a file that is in error');
    rig.write('a.yaml', `${route('one', '/mended')}---\n${route('two', '/new')}`);
    await rig.until('mended', () => rig.problems().length === 0);
    assert.equal(pathOf(rig.object('HTTPRoute', 'default/one')), '/mended');
    assert.equal(rig.object('HTTPRoute', 'default/three'), undefined);
  });

  test('of syntax keep everything of the file', async (context) => {
    const rig = startFolder(context, { 'a.yaml': `${route('one')}---\n${route('two')}` });
    await rig.synced();
    rig.write('a.yaml', 'kind: [HTTPRoute\nmetadata: {');
    await rig.until('broken', () => rig.problems().length === 1);
    assert.match(rig.problems()[0] ?? '', /^a\.yaml:\d+:\d+: .*; 2 objects of this file stay in use$/);
    assert.equal(rig.keys('HTTPRoute').length, 2);
  });

  test('keep over a restart what they kept before it', async (context) => {
    const stateDir = temporaryFolder(context);
    const first = startFolder(context, { 'a.yaml': route('one'), 'b.yaml': route('two'), 'c.yaml': route('three') }, { stateDir });
    await first.synced();
    first.write('a.yaml', route('one', 'broken'));
    first.write('b.yaml', '');
    await first.until('broken', () => first.problems().length === 2);
    await first.stop();
    rmSync(path.join(first.dir, 'c.yaml'));
    const second = startFolder(context, {}, { dir: first.dir, stateDir });
    await second.synced();
    assert.deepEqual(second.keys('HTTPRoute').toSorted(), ['default/one', 'default/two']);
    assert.match(second.problems()[0] ?? '', /^a\.yaml:11:11: .*; its last good version stays in use$/);
    assert.match(second.problems()[1] ?? '', /^b\.yaml:1:1: the file is empty; 1 object of this file stays in use/);
    await second.stop();
    const kept = readdirSync(path.join(stateDir, 'last-good'));
    assert.equal(kept.length, 2, 'nothing is kept of a file that is gone');
    for (const name of kept) assert.equal(statSync(path.join(stateDir, 'last-good', name)).mode & 0o077, 0);
  });

  test('an emptied file deletes nothing, one with a comment and a deleted one do', async (context) => {
    const rig = startFolder(context, { 'a.yaml': route('one'), 'b.yaml': route('two') });
    await rig.synced();
    rig.write('a.yaml', '\n');
    await rig.until('empty', () => rig.problems().length === 1);
    assert.deepEqual(rig.problems(), ['a.yaml:1:1: the file is empty; 1 object of this file stays in use; delete it to delete them']);
    assert.equal(rig.keys('HTTPRoute').length, 2);
    rig.write('a.yaml', '# nothing any more\n');
    await rig.until('gone', () => rig.keys('HTTPRoute').length === 1);
    assert.deepEqual(rig.problems(), []);
  });

  test('moving an object out of a file that is in error works', async (context) => {
    const rig = startFolder(context, { 'b.yaml': `${route('one')}---\n${route('two')}` });
    await rig.synced();
    rig.write('b.yaml', route('two', 'broken'));
    await rig.until('broken', () => rig.problems().length === 1);
    rig.write('c.yaml', route('one', '/moved'));
    await rig.until('moved', () => pathOf(rig.object('HTTPRoute', 'default/one')) === '/moved');
    assert.equal(rig.problems().length, 1, 'the stale one is no duplicate');
  });
});

suite('a disk that is missing is no deletion', () => {
  test('an emptied folder', async (context) => {
    const rig = startFolder(context, { 'a.yaml': route('one') });
    await rig.synced();
    rmSync(path.join(rig.dir, 'a.yaml'));
    await rig.until('noticed', () => rig.problems().length === 1);
    assert.deepEqual(rig.problems(), [`${rig.dir}: is empty; 1 object of it stays in use`]);
    assert.deepEqual(rig.keys('HTTPRoute'), ['default/one']);
    rig.write('b.yaml', route('two'));
    await rig.until('a folder again', () => rig.problems().length === 0);
    assert.deepEqual(rig.keys('HTTPRoute'), ['default/two']);
  });

  test('a folder that is gone, and comes back', async (context) => {
    const rig = startFolder(context, { 'a.yaml': route('one') });
    await rig.synced();
    renameSync(rig.dir, `${rig.dir}-away`);
    context.after(() => rmSync(`${rig.dir}-away`, { recursive: true, force: true }));
    await rig.until('noticed', () => rig.problems().length === 1);
    assert.deepEqual(rig.problems(), [`${rig.dir}: cannot be read (ENOENT); 1 object of it stays in use`]);
    assert.deepEqual(rig.keys('HTTPRoute'), ['default/one']);
    rig.write('a.yaml', route('one', '/back'));
    await rig.until('back', () => pathOf(rig.object('HTTPRoute', 'default/one')) === '/back');
    rig.write('a.yaml', route('one', '/again'));
    await rig.until('followed again', () => pathOf(rig.object('HTTPRoute', 'default/one')) === '/again');
  });

  test('an emptied directory below; removing the directory as well is meant', async (context) => {
    const rig = startFolder(context, { 'a.yaml': route('one'), 'team/b.yaml': route('two') });
    await rig.synced();
    rmSync(path.join(rig.dir, 'team/b.yaml'));
    await rig.until('noticed', () => rig.problems().length === 1);
    assert.match(
      rig.problems()[0] ?? '',
      /^team: is empty \(delete the directory as well, if that is meant\); 1 object of it stays in use$/,
    );
    assert.equal(rig.keys('HTTPRoute').length, 2);
    rmSync(path.join(rig.dir, 'team'), { recursive: true });
    await rig.until('removed', () => rig.keys('HTTPRoute').length === 1);
    assert.deepEqual(rig.problems(), []);
  });

  test('a link that leads nowhere', async (context) => {
    const rig = startFolder(context, { 'a.yaml': route('one'), 'b.yaml': route('two') });
    await rig.synced();
    rmSync(path.join(rig.dir, 'b.yaml'));
    symlinkSync('nowhere.yaml', path.join(rig.dir, 'b.yaml'));
    await rig.until('noticed', () => rig.problems().length === 1);
    assert.match(rig.problems()[0] ?? '', /^b\.yaml: cannot be read \(ENOENT\); 1 object of it stays in use$/);
    assert.equal(rig.keys('HTTPRoute').length, 2);
  });

  test('a file that may not be read', { skip: process.getuid?.() === 0 && 'root may read everything' }, async (context) => {
    const rig = startFolder(context, { 'a.yaml': route('one') });
    await rig.synced();
    chmodSync(path.join(rig.dir, 'a.yaml'), 0o000);
    await rig.until('noticed', () => rig.problems().length === 1);
    assert.deepEqual(rig.keys('HTTPRoute'), ['default/one']);
  });

  test('nothing acts before the folder is there', async (context) => {
    const dir = temporaryFolder(context);
    rmSync(dir, { recursive: true });
    const rig = startFolder(context, {}, { dir });
    await rig.until('noticed', () => rig.problems().length === 1);
    assert.equal(rig.source.synced, false);
    rig.write('a.yaml', route('one'));
    await rig.synced();
    assert.deepEqual(rig.keys('HTTPRoute'), ['default/one']);
  });
});
