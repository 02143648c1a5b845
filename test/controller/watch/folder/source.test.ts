// A folder as a cluster: what it holds, and how changes arrive.
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { pathOf, route, startFolder, temporaryFolder } from './rig.ts';

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
    rig.write('a.yaml', route('one', '/again'));
    await rig.until('the first path counts, whenever it came', () => pathOf(rig.object('HTTPRoute', 'default/one')) === '/again');
    assert.match(rig.problems().join(), /^b\.yaml:1:1: /);
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

  test('are found without a hint as well: the target of a link is in no directory that is watched', async (context) => {
    const target = path.join(temporaryFolder(context), 'target.yaml');
    writeFileSync(target, route('one', '/1'));
    const dir = temporaryFolder(context);
    symlinkSync(target, path.join(dir, 'a.yaml'));
    const rig = startFolder(context, {}, { dir });
    await rig.synced();
    writeFileSync(target, route('one', '/2'));
    await rig.until('changed', () => pathOf(rig.object('HTTPRoute', 'default/one')) === '/2');
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
    assert.deepEqual(rig.problems(), []);
  });
});
