// The applier of our own objects against a server that counts: no request without need, no object of others touched, failures again later.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Service } from '#controller/api/core.ts';
import type { ObjectPlan } from '#controller/api/plan.ts';
import { ObjectApplier } from '#controller/apply/objects.ts';
import { KubeClient } from '#controller/kube/client.ts';
import { silentLog } from '#controller/kube/log.ts';
import { ManualClock } from '#test/controller/loop/manual-clock.ts';
import { startRig } from '#test/controller/watch/source-rig.ts';
import { eventually } from '#test/kube/eventually.ts';
import { refuse } from '#test/kube/fault-server.ts';

const services = '/api/v1/namespaces/default/services';
const OURS = { 'cf.k8s.lex.la/controller': 'example.com_ours' };

const plan = (name: string, spec: object = {}, labels: object = {}): ObjectPlan => ({
  kind: 'Service',
  key: `default/${name}`,
  manifest: {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default', labels: { ...labels, ...OURS }, ownerReferences: [{ name: 'gateway' }] },
    spec: { type: 'ClusterIP', ports: [{ name: 'http-80', port: 80 }], ...spec },
  },
});

async function start(t: TestContext) {
  const { server, source } = await startRig(t, { kinds: ['Service', 'EndpointSlice'] });
  const refusals = new Map<string, number>();
  const bodies: object[] = [];
  server.onBody = (seen, body) => void (seen.method === 'PATCH' && bodies.push(JSON.parse(body) as object));
  server.intercept = ({ method, path, resource }, response) => {
    const status = refusals.get(resource.name === '' ? method : `${method} ${resource.name}`);
    if (status !== undefined) return refuse(response, status, 'Invalid');
    if (method === 'DELETE') server.table.remove(path);
    else if (method === 'PATCH') {
      const sent = bodies.at(-1) as { readonly metadata: { readonly name: string } };
      server.table.put(services, sent);
    } else if (method !== 'POST') return false;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    return true;
  };
  const client = new KubeClient({ kubeConfig: server.kubeConfig() });
  const clock = new ManualClock();
  let retries = 0;
  const leads = { now: true };
  const applier = new ObjectApplier({
    client,
    snapshot: () => source.snapshot(),
    mayWrite: () => leads.now,
    controllerName: 'example.com/ours',
    onRetry: () => retries++,
    log: silentLog,
    clock,
    random: () => 1,
  });
  t.after(() => {
    applier.stop();
    client.close();
  });
  return {
    server,
    source,
    applier,
    clock,
    refusals,
    leads,
    retries: () => retries,
    /** Writes since the last call, as `PATCH name`. */
    writes() {
      const seen = server.seen.filter(({ method }) => method !== 'GET').map(({ method, resource }) => `${method} ${resource.name}`.trim());
      server.seen.length = 0;
      return seen;
    },
    facts: () => Object.fromEntries([...applier.facts()].map(([id, { state }]) => [id, state])),
    caughtUp: () =>
      eventually('the source has seen everything', () =>
        [...source.snapshot().objects.Service.values()].every(
          ({ metadata: { name, resourceVersion } }) =>
            server.table.get(`${services}/${name}`)?.metadata.resourceVersion === resourceVersion,
        ),
      ),
    has: (name: string) => eventually(`the source has ${name}`, () => source.snapshot().objects.Service.has(`default/${name}`)),
  };
}

test('what is there costs no request, before and after the watch brings it back', async (t) => {
  const { applier, writes, has, facts } = await start(t);
  await applier.apply([plan('a'), plan('b')]);
  assert.deepEqual(writes(), ['PATCH a', 'PATCH b']);
  await applier.apply([plan('a'), plan('b')]);
  await has('b');
  await applier.apply([plan('a'), plan('b')]);
  assert.deepEqual(writes(), []);
  assert.deepEqual(facts(), { 'Service default/a': 'Applied', 'Service default/b': 'Applied' });
});

test('a change is one request, also when it only takes something away, and so is one of somebody else', async (t) => {
  const { applier, server, source, writes, has, caughtUp } = await start(t);
  await applier.apply([plan('a', {}, { team: 'edge' })]);
  await has('a');
  writes();
  await applier.apply([plan('a')]);
  assert.deepEqual(writes(), ['PATCH a']);
  const stored = server.table.get(`${services}/a`);
  server.table.put(services, { ...stored, metadata: { name: 'a', ...(stored?.metadata as object) }, spec: { type: 'NodePort' } });
  await caughtUp();
  await eventually('the change is seen', () => (source.snapshot().objects.Service.get('default/a') as Service).spec?.type === 'NodePort');
  await applier.apply([plan('a')]);
  assert.deepEqual(writes(), ['PATCH a']);
});

test('what is no longer wanted is deleted once; what carries no label of ours never', async (t) => {
  const { applier, server, writes, has } = await start(t);
  await applier.apply([plan('a')]);
  server.table.put(services, { metadata: { name: 'theirs' }, spec: {} });
  server.table.put(services, { metadata: { name: 'other', labels: { 'cf.k8s.lex.la/controller': 'example.com_other' } }, spec: {} });
  await Promise.all([has('a'), has('theirs'), has('other')]);
  writes();
  await applier.apply([]);
  await applier.apply([]);
  assert.deepEqual(writes(), ['DELETE a']);
});

test('an object of somebody else stays as it is; its name is taken as soon as it is free', async (t) => {
  const { applier, server, source, writes, has, facts } = await start(t);
  server.table.put(services, { metadata: { name: 'a' }, spec: {} });
  await has('a');
  for (let round = 0; round < 20; round++) await applier.apply([plan('a')]);
  assert.deepEqual([writes(), facts()], [[], { 'Service default/a': 'Refused' }]);
  server.table.remove(`${services}/a`);
  await eventually('it has gone', () => source.snapshot().objects.Service.size === 0);
  await applier.apply([plan('a')]);
  assert.deepEqual([writes(), facts()], [['PATCH a'], { 'Service default/a': 'Applied' }]);
});

test('what fails is tried again later, not with every run; another plan is tried at once', async (t) => {
  const { applier, clock, refusals, retries, writes, facts } = await start(t);
  refusals.set('PATCH a', 422);
  for (let round = 0; round < 5; round++) await applier.apply([plan('a')]);
  assert.deepEqual([writes(), facts()], [['PATCH a'], { 'Service default/a': 'Refused' }]);
  await clock.advance(1_000);
  assert.equal(retries(), 1);
  refusals.set('PATCH a', 503);
  await applier.apply([plan('a')]);
  assert.deepEqual([writes(), facts()], [['PATCH a'], { 'Service default/a': 'Failed' }]);
  refusals.clear();
  await applier.apply([plan('a', { type: 'LoadBalancer' })]);
  assert.deepEqual([writes(), facts()], [['PATCH a'], { 'Service default/a': 'Applied' }]);
  await clock.advance(120_000);
  assert.equal(retries(), 1, 'nothing is left to try');
});

test('another address is rehearsed before the old Service goes', async (t) => {
  const { applier, clock, refusals, writes, has, facts } = await start(t);
  await applier.apply([plan('a', { clusterIP: '10.0.0.1' })]);
  await has('a');
  writes();
  refusals.set('POST', 422);
  await applier.apply([plan('a', { clusterIP: '10.0.0.2' })]);
  assert.deepEqual([writes(), facts()], [['POST'], { 'Service default/a': 'Refused' }]);
  refusals.clear();
  await clock.advance(1_000);
  await applier.apply([plan('a', { clusterIP: '10.0.0.2' })]);
  assert.deepEqual([writes(), facts()], [['POST', 'DELETE a', 'PATCH a'], { 'Service default/a': 'Applied' }]);
});

test('a controller that does not lead writes nothing', async (t) => {
  const { applier, leads, writes } = await start(t);
  leads.now = false;
  await applier.apply([plan('a')]);
  assert.deepEqual(writes(), []);
});
