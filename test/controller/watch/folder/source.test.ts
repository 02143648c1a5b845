// A folder as a cluster: what it holds, how changes arrive, and what errors and missing disks must not take away.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { route, startFolder, temporaryFolder } from './rig.ts';

const pathOf = (object: unknown): unknown =>
  (object as { spec: { rules: { matches: { path: { value: string } }[] }[] } } | undefined)?.spec.rules[0]?.matches[0]?.path.value;

suite('what a folder holds', () => {
  test('objects of all files, of any depth, form and number', async (context) => {
    const rig = startFolder(context, {
      'a.yaml': `# first\n${route('one')}---\n${route('two', '/two', 'team')}---\n`,
      'deep/er/b.yml': route('three'),
      'c.json': JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: 'b' } }],
      }),
      'notes.txt': 'not: [yaml',
      '.hidden.yaml': 'not: [yaml',
    });
    await rig.synced();
    assert.deepEqual(rig.problems(), []);
    assert.deepEqual(rig.keys('HTTPRoute').toSorted(), ['default/one', 'default/three', 'team/two']);
    assert.deepEqual(rig.keys('ConfigMap'), ['default/x']);
    assert.equal(pathOf(rig.object('HTTPRoute', 'team/two')), '/two');
  });

  test('what a cluster would add: defaults, identities, namespaces, the release of the Gateway API', async (context) => {
    const labelled = 'apiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {domain: example.com}}\n';
    const rig = startFolder(context, { 'a.yaml': `${route('one')}---\n${labelled}---\n${route('two', '/', 'team')}` });
    await rig.synced();
    const { metadata } = rig.object('HTTPRoute', 'default/one') ?? {};
    assert.match(metadata?.uid ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.match(metadata?.creationTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.equal(metadata?.generation, 1);
    assert.ok(metadata?.resourceVersion);
    assert.deepEqual(rig.object('Namespace', 'default')?.metadata.labels, { 'kubernetes.io/metadata.name': 'default' });
    assert.deepEqual(rig.object('Namespace', 'team')?.metadata.labels, { domain: 'example.com', 'kubernetes.io/metadata.name': 'team' });
    const crd = rig.object('CustomResourceDefinition', 'gatewayclasses.gateway.networking.k8s.io');
    assert.equal(crd?.metadata.annotations?.['gateway.networking.k8s.io/bundle-version'], 'v1.6.3');
    assert.ok(rig.source.snapshot().served.has('GRPCRoute'));
  });

  test('services with endpoints written by hand, also on loopback', async (context) => {
    const rig = startFolder(context, {
      'a.yaml': `apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: shop-1, labels: {kubernetes.io/service-name: shop}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{name: http, port: 9000}]
`,
    });
    await rig.synced();
    assert.deepEqual(rig.problems(), []);
    assert.deepEqual(rig.object('EndpointSlice', 'default/shop-1')?.ports, [{ name: 'http', port: 9000, protocol: 'TCP' }]);
  });

  test('kinds of others are noted once', async (context) => {
    const rig = startFolder(context, { 'a.yaml': `${route('one')}---\napiVersion: apps/v1\nkind: Deployment\n` });
    await rig.synced();
    rig.write('a.yaml', `${route('one', '/b')}---\napiVersion: apps/v1\nkind: Deployment\n`);
    await rig.until('changed', () => pathOf(rig.object('HTTPRoute', 'default/one')) === '/b');
    assert.deepEqual(rig.problems(), []);
    const notes = rig.log.filter(({ fields }) => fields['file'] === 'a.yaml');
    assert.deepEqual(
      notes.map(({ fields }) => fields['kinds']),
      ['Deployment (apps/v1)'],
    );
  });

  test('the same identity twice is an error of the later file', async (context) => {
    const rig = startFolder(context, { 'a.yaml': `\n${route('one', '/a')}`, 'b.yaml': route('one', '/b') });
    await rig.synced();
    assert.equal(pathOf(rig.object('HTTPRoute', 'default/one')), '/a');
    assert.deepEqual(rig.problems(), [
      'b.yaml:1:1: HTTPRoute default/one: is defined already in a.yaml:2, which counts; remove one of them',
    ]);
    rmSync(path.join(rig.dir, 'a.yaml'));
    await rig.until('the other counts', () => pathOf(rig.object('HTTPRoute', 'default/one')) === '/b');
    assert.deepEqual(rig.problems(), []);
  });
});

suite('changes', () => {
  test('arrive, and leave everything else the same object', async (context) => {
    const rig = startFolder(context, { 'a.yaml': `${route('one')}---\n${route('two')}`, 'b.yaml': route('three') });
    await rig.synced();
    const before = rig.source.snapshot();
    assert.equal(rig.source.snapshot(), before);
    rig.write('a.yaml', `${route('one', '/new')}---\n${route('two')}`);
    await rig.until('changed', () => pathOf(rig.object('HTTPRoute', 'default/one')) === '/new');
    const after = rig.source.snapshot();
    assert.ok(after.revision > before.revision);
    for (const key of ['default/two', 'default/three']) assert.equal(after.objects.HTTPRoute.get(key), before.objects.HTTPRoute.get(key));
    assert.equal(after.objects.Namespace, before.objects.Namespace);
    const [old, now] = [before, after].map(({ objects }) => objects.HTTPRoute.get('default/one')?.metadata);
    assert.equal(now?.generation, 2);
    assert.equal(now?.uid, old?.uid);
    assert.equal(now?.creationTimestamp, old?.creationTimestamp);
    assert.notEqual(now?.resourceVersion, old?.resourceVersion);
  });

  test('of metadata alone do not count as a new generation', async (context) => {
    const rig = startFolder(context, { 'a.yaml': route('one') });
    await rig.synced();
    rig.write('a.yaml', route('one').replace('name: one', 'name: one\n  labels: {a: b}'));
    await rig.until('labelled', () => rig.object('HTTPRoute', 'default/one')?.metadata.labels?.['a'] === 'b');
    assert.equal(rig.object('HTTPRoute', 'default/one')?.metadata.generation, 1);
  });

  test('that change nothing are none', async (context) => {
    const rig = startFolder(context, { 'a.yaml': route('one') });
    await rig.synced();
    const before = rig.source.snapshot();
    rig.write('a.yaml', `# a comment\n${route('one')}`);
    rig.write('b.yaml', route('two'));
    await rig.until('added', () => rig.keys('HTTPRoute').length === 2);
    assert.equal(rig.object('HTTPRoute', 'default/one'), before.objects.HTTPRoute.get('default/one'));
  });

  test('by rename over the file, as editors save', async (context) => {
    const rig = startFolder(context, { 'a.yaml': route('one') });
    await rig.synced();
    writeFileSync(path.join(rig.dir, '.a.yaml.swp'), route('one', '/saved'));
    renameSync(path.join(rig.dir, '.a.yaml.swp'), path.join(rig.dir, 'a.yaml'));
    await rig.until('changed', () => pathOf(rig.object('HTTPRoute', 'default/one')) === '/saved');
  });

  test('by a swapped link, as a mounted ConfigMap does', async (context) => {
    const dir = temporaryFolder(context);
    const version = (name: string, text: string): void => {
      mkdirSync(path.join(dir, name));
      writeFileSync(path.join(dir, name, 'a.yaml'), text);
      symlinkSync(name, path.join(dir, '..data_tmp'));
      renameSync(path.join(dir, '..data_tmp'), path.join(dir, '..data'));
    };
    version('..1', route('one', '/1'));
    symlinkSync('..data/a.yaml', path.join(dir, 'a.yaml'));
    const rig = startFolder(context, {}, { dir });
    await rig.synced();
    assert.equal(pathOf(rig.object('HTTPRoute', 'default/one')), '/1');
    version('..2', route('one', '/2'));
    await rig.until('changed', () => pathOf(rig.object('HTTPRoute', 'default/one')) === '/2');
    assert.deepEqual(rig.problems(), []);
  });

  test('in directories that appear and disappear', async (context) => {
    const rig = startFolder(context, { 'a.yaml': route('one') });
    await rig.synced();
    rig.write('new/deep/b.yaml', route('two'));
    await rig.until('added', () => rig.keys('HTTPRoute').length === 2);
    rig.write('new/deep/b.yaml', route('two', '/b'));
    await rig.until('changed', () => pathOf(rig.object('HTTPRoute', 'default/two')) === '/b');
    rmSync(path.join(rig.dir, 'new'), { recursive: true });
    await rig.until('removed', () => rig.keys('HTTPRoute').length === 1);
    assert.deepEqual(rig.problems(), []);
  });

  test('are told to listeners until they end', async (context) => {
    const rig = startFolder(context, { 'a.yaml': route('one') });
    await rig.synced();
    let heard = 0;
    const end = rig.source.onChange(() => heard++);
    rig.write('b.yaml', route('two'));
    await rig.until('added', () => rig.keys('HTTPRoute').length === 2);
    assert.equal(heard, 1);
    end();
    rig.write('c.yaml', route('three'));
    await rig.until('added', () => rig.keys('HTTPRoute').length === 3);
    assert.equal(heard, 1);
  });

  test('a directory that leads back to itself ends', async (context) => {
    const dir = temporaryFolder(context);
    symlinkSync('.', path.join(dir, 'loop'));
    const rig = startFolder(context, { 'a.yaml': route('one') }, { dir });
    await rig.synced();
    assert.deepEqual(rig.keys('HTTPRoute'), ['default/one']);
  });
});

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
    assert.deepEqual(
      rig.log.filter(({ fields }) => fields['file'] === undefined).map(({ level, message }) => `${level}: ${message}`),
      ['warn: something in the folder is wrong', 'info: everything in the folder is right again'],
    );
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
