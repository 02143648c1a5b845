// Secrets and ConfigMaps come one by one, when something refers to them, with no more rights than those objects need.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { eventually } from '#test/kube/eventually.ts';
import { refuse } from '#test/kube/fault-server.ts';
import { startRig } from './source-rig.ts';

const secrets = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets`;
const secret = (name: string, value = 'djE=') => ({ metadata: { name }, type: 'Opaque', data: { key: value }, immutable: false });
const none: ReadonlySet<string> = new Set();
const wantSecrets = (...keys: readonly string[]) => ({ secrets: new Set(keys), configMaps: none });

suite('wanted objects', () => {
  test('only what is asked for is read, each by its own name in its own namespace', async (t) => {
    const { server, source, keys } = await startRig(t, {
      kinds: ['Secret', 'HTTPRoute'],
      prepare: (server) => {
        for (const name of ['wanted', 'other']) server.table.put(secrets('a'), secret(name));
        server.table.put('/api/v1/namespaces/a/configmaps', { metadata: { name: 'ca' }, data: { 'ca.crt': 'pem' }, binaryData: {} });
      },
    });
    assert.equal(server.requests('secrets').length, 0);
    source.want({ secrets: new Set(['a/wanted']), configMaps: new Set(['a/ca']) });
    assert.equal(source.synced, false, 'what is merely unread must not look absent');
    await eventually('synced', () => source.synced);
    const { Secret, ConfigMap } = source.snapshot().objects;
    assert.deepEqual([...Secret.keys(), ...ConfigMap.keys()], ['a/wanted', 'a/ca']);
    assert.deepEqual(Object.keys(Secret.get('a/wanted') ?? {}).sort(), ['apiVersion', 'data', 'kind', 'metadata', 'type']);
    assert.deepEqual(Object.keys(ConfigMap.get('a/ca') ?? {}).sort(), ['apiVersion', 'data', 'kind', 'metadata']);
    for (const seen of server.requests('secrets')) {
      assert.equal(seen.path, secrets('a'));
      assert.equal(seen.query.get('fieldSelector'), 'metadata.name=wanted');
    }
    server.table.put(secrets('a'), secret('wanted', 'djI='));
    await eventually('rotated', () => source.snapshot().objects.Secret.get('a/wanted')?.data?.['key'] === 'djI=');
    assert.deepEqual(keys('Secret'), ['a/wanted']);
  });

  test('a missing one is absent and synced, and appears when it is created', async (t) => {
    const { server, source, keys } = await startRig(t);
    source.want(wantSecrets('a/later'));
    await eventually('synced', () => source.synced);
    assert.deepEqual(keys('Secret'), []);
    assert.deepEqual(source.problems(), []);
    server.table.put(secrets('a'), secret('later'));
    await eventually('there', () => keys('Secret').length === 1);
    server.table.remove(`${secrets('a')}/later`);
    await eventually('gone', () => keys('Secret').length === 0);
  });

  test('listeners hear when the last wanted object is known to be absent', async (t) => {
    const { source } = await startRig(t);
    let heardSynced = false;
    source.onChange(() => (heardSynced ||= source.synced));
    source.want(wantSecrets('a/missing'));
    await eventually('heard', () => heardSynced);
  });

  test('an unreadable one is a problem and absent, and holds nothing up', async (t) => {
    const { server, source, keys } = await startRig(t, {
      prepare: (server) => {
        server.table.put(secrets('a'), secret('denied'));
        server.intercept = (seen, response) => seen.resource.plural === 'secrets' && refuse(response, 403, 'Forbidden');
      },
    });
    source.want(wantSecrets('a/denied'));
    await eventually('synced', () => source.synced);
    assert.deepEqual(keys('Secret'), []);
    const [problem] = source.problems();
    assert.equal(problem?.where, 'Secret a/denied');
    assert.match(problem?.message ?? '', /secrets named denied in namespace a: grant the verbs get, list and watch/);
    server.intercept = () => false;
    await eventually('granted', () => keys('Secret').length === 1 && source.problems().length === 0);
  });

  test('one that was read stays while an API server that starts does not know our rights yet', async (t) => {
    const { server, source, keys } = await startRig(t, {
      prepare: (server) => void server.table.put(secrets('a'), secret('x')),
      timings: { giveUpMs: 60_000, confirmMs: 2 },
    });
    source.want(wantSecrets('a/x'));
    await eventually('read', () => keys('Secret').length === 1 && server.openWatches === 2);
    let smallest = 1;
    source.onChange(() => (smallest = Math.min(smallest, keys('Secret').length)));
    let refused = 0;
    server.intercept = (seen, response) => seen.resource.plural === 'secrets' && ++refused > 0 && refuse(response, 403, 'Forbidden');
    server.endWatches('secrets', 'cut');
    await eventually('refused again and again', () => refused > 5 && source.problems().length === 1);
    server.intercept = () => false;
    await eventually('healed', () => source.problems().length === 0);
    assert.equal(smallest, 1);
  });

  test('one that we may really not read any more is given up', async (t) => {
    const { server, source, keys } = await startRig(t, { prepare: (server) => void server.table.put(secrets('a'), secret('x')) });
    source.want(wantSecrets('a/x'));
    await eventually('read', () => keys('Secret').length === 1 && server.openWatches === 2);
    server.intercept = (seen, response) => seen.resource.plural === 'secrets' && refuse(response, 403, 'Forbidden');
    server.endWatches('secrets', 'cut');
    await eventually('given up', () => keys('Secret').length === 0);
    assert.equal(source.problems().length, 1);
  });

  test('what is wanted no longer is forgotten, and its watch closed', async (t) => {
    const { server, source, keys } = await startRig(t, {
      prepare: (server) => {
        for (const name of ['x', 'y']) server.table.put(secrets('a'), secret(name));
      },
    });
    source.want(wantSecrets('a/x', 'a/y'));
    await eventually('both', () => keys('Secret').length === 2 && server.openWatches === 3);
    const x = source.snapshot().objects.Secret.get('a/x');
    source.want(wantSecrets('a/x'));
    assert.deepEqual(keys('Secret'), ['a/x']);
    await eventually('closed', () => server.openWatches === 2);
    assert.equal(source.snapshot().objects.Secret.get('a/x'), x);
    source.want(wantSecrets());
    source.want(wantSecrets('a/x'));
    await eventually('back', () => keys('Secret').join() === 'a/x' && source.synced);
  });

  test('what cannot be a name never becomes part of a request', async (t) => {
    const { server, source } = await startRig(t);
    const requests = server.seen.length;
    source.want(
      wantSecrets('../../nodes', '../x', 'a/b/c', 'a', '/', 'a/', '/a', 'A/b', 'a/x,metadata.name=y', `a/${'x'.repeat(254)}`, 'a/b c'),
    );
    assert.equal(source.synced, true);
    assert.equal(server.seen.length, requests);
  });

  test('hundreds are read a few at a time', async (t) => {
    let open = 0;
    let most = 0;
    const { source, keys } = await startRig(t, {
      prepare: (server) => {
        for (let index = 0; index < 100; index++) server.table.put(secrets('a'), secret(`s${index}`));
        server.intercept = (seen, response) => {
          if (seen.watch) return false;
          most = Math.max(most, ++open);
          response.on('finish', () => open--);
          return false;
        };
      },
    });
    source.want(wantSecrets(...Array.from({ length: 100 }, (_, index) => `a/s${index}`)));
    await eventually('all', () => source.synced);
    assert.equal(keys('Secret').length, 100);
    assert.ok(most <= 8, `${most} lists at once`);
  });
});
