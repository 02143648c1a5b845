// What is kept between two builds: the promise that makes a change of one endpoint cheap.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Gateway, HTTPRoute } from '#controller/api/gateway.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import { sameData } from '#controller/graph/memo.ts';
import { renderPlanes } from '#controller/output/proxy-config.ts';
import { application, endpointSlice, gateway, grant, httpRoute, namespace, platform, service, settings } from '#test/build/objects.ts';
import { snapshotOf, withObject, withoutObject } from '#test/build/snapshot.ts';

const configuration = settings();
const world = [...platform(), gateway(), ...application(), ...application({ name: 'other', hostname: 'other.example.com' })];

function kept() {
  const build = createGraphBuilder();
  const snapshot = snapshotOf(world);
  return { build: (next: typeof snapshot) => build(next, configuration), snapshot, before: build(snapshot, configuration) };
}

test('an endpoint changes its backend and nothing else', () => {
  const { build, snapshot, before } = kept();
  const after = build(withObject(snapshot, endpointSlice(['10.0.0.1'])));
  assert.equal(after.gateways, before.gateways);
  assert.equal(after.classes, before.classes);
  const [app, other] = before.routes;
  assert.notEqual(after.routes[0], app);
  assert.equal(after.routes[0]?.parents, app?.parents);
  assert.equal(after.routes[1], other);
  const [old] = renderPlanes(before, new Map());
  const [next] = renderPlanes(after, new Map());
  assert.equal(next?.items.at(-1), old?.items.at(-1), 'the item of the other route is the same object');
});

test('a status write changes nothing at all', () => {
  const { build, snapshot, before } = kept();
  const route = snapshot.objects.HTTPRoute.get('default/app') as HTTPRoute;
  const written = { ...route, metadata: { ...route.metadata, resourceVersion: '2' }, status: { parents: [] } };
  const gatewayWritten: Gateway = { ...gateway(), status: { conditions: [] } };
  const after = build(withObject(withObject(snapshot, written), gatewayWritten));
  assert.equal(after.gateways, before.gateways);
  assert.deepEqual(
    after.routes.map((node, index) => node === before.routes[index]),
    [true, true],
  );
});

test('whatever says something new is seen: spec, generation, a new uid, labels of namespaces', () => {
  const { build, snapshot, before } = kept();
  for (const change of [
    httpRoute({ hostnames: ['new.example.com'] }),
    { ...httpRoute(), metadata: { ...httpRoute().metadata, generation: 2 } },
    { ...httpRoute(), metadata: { ...httpRoute().metadata, uid: 'another' } },
  ]) {
    assert.notEqual(build(withObject(snapshot, change)).routes[0], before.routes[0]);
    build(snapshot);
  }
  assert.notEqual(build(withObject(snapshot, namespace('default', { a: 'b' }))).gateways, before.gateways);
});

test('a Service that only touches another route leaves this one', () => {
  const { build, snapshot, before } = kept();
  const after = build(withObject(snapshot, service({ name: 'other' }, { ports: [{ port: 81 }] })));
  assert.equal(after.routes[0], before.routes[0]);
  assert.equal(after.routes[1]?.references?.reason, 'BackendNotFound');
});

test('a grant that comes and goes opens and closes', () => {
  const route = httpRoute({ rules: [{ backendRefs: [{ name: 'app', namespace: 'backends', port: 80 }] }] });
  const from = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'default' };
  const closed = snapshotOf([...platform(), gateway(), route, service({ namespace: 'backends' })]);
  const open = withObject(closed, grant('backends', from, { group: '', kind: 'Service' }));
  const build = createGraphBuilder();
  const reason = (snapshot: typeof closed) => build(snapshot, configuration).routes[0]?.references?.reason;
  assert.deepEqual([closed, open, withoutObject(open, 'ReferenceGrant', 'backends/grant')].map(reason), [
    'RefNotPermitted',
    undefined,
    'RefNotPermitted',
  ]);
});

test('data is compared as data', () => {
  assert.ok(sameData({ a: [1, { b: null }] }, { a: [1, { b: null }] }));
  for (const [a, b] of [
    [{ a: 1 }, { a: 1, b: undefined }],
    [{ a: undefined }, { b: undefined }],
    [[1], { 0: 1 }],
    [[1, 2], [1]],
    [null, {}],
    ['1', 1],
  ])
    assert.ok(!sameData(a, b), JSON.stringify([a, b]));
});
