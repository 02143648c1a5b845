// Snapshots: frozen, trimmed, and identical wherever nothing changed.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Service } from '#controller/api/core.ts';
import { rowOf } from '#controller/kube/kinds.ts';
import type { KindName } from '#controller/api/snapshot.ts';
import { decode } from '#controller/watch/decode.ts';
import { Store } from '#controller/watch/store.ts';

const meta = (fields: object = {}) => ({ name: 'n', namespace: 'a', uid: 'u1', resourceVersion: '1', ...fields });

function decoded(kind: KindName, value: Record<string, unknown>) {
  const row = rowOf(kind);
  const result = decode(row, row.versions[0] ?? '', structuredClone(value));
  assert.ok(result.ok, result.ok ? '' : result.message);
  return result;
}

function put(store: Store, kind: KindName, value: Record<string, unknown>): boolean {
  const { key, object } = decoded(kind, value);
  return store.put(kind, key, object);
}

suite('snapshots', () => {
  test('the same snapshot until something changes, then shares what did not', () => {
    const store = new Store();
    put(store, 'HTTPRoute', { metadata: meta({ name: 'x' }), spec: {} });
    put(store, 'HTTPRoute', { metadata: meta({ name: 'y' }), spec: {} });
    put(store, 'Service', { metadata: meta(), spec: {} });
    const first = store.snapshot();
    assert.equal(store.snapshot(), first);
    assert.equal(put(store, 'HTTPRoute', { metadata: meta({ name: 'x' }), spec: {} }), false);
    assert.equal(store.snapshot(), first, 'an object that came again in the same version is no change');
    put(store, 'HTTPRoute', { metadata: meta({ name: 'x', resourceVersion: '2' }), spec: {} });
    const second = store.snapshot();
    assert.ok(second.revision > first.revision);
    assert.equal(second.objects.Service, first.objects.Service);
    assert.notEqual(second.objects.HTTPRoute, first.objects.HTTPRoute);
    assert.equal(second.objects.HTTPRoute.get('a/y'), first.objects.HTTPRoute.get('a/y'));
    assert.equal(first.objects.HTTPRoute.get('a/x')?.metadata.resourceVersion, '1', 'an old snapshot does not move');
  });

  test('the uid guards a successor against the deletion of its predecessor', () => {
    const store = new Store();
    put(store, 'HTTPRoute', { metadata: meta({ uid: 'u2' }), spec: {} });
    assert.equal(store.remove('HTTPRoute', 'a/n', 'u1'), false);
    assert.equal(store.remove('HTTPRoute', 'a/n', 'u2'), true);
  });

  test('the same version under another uid is another object', () => {
    const store = new Store();
    put(store, 'HTTPRoute', { metadata: meta(), spec: {} });
    assert.equal(put(store, 'HTTPRoute', { metadata: meta({ uid: 'u2' }), spec: {} }), true);
  });

  test('a kind that is no longer served has no objects', () => {
    const store = new Store();
    store.setServed('HTTPRoute', true);
    put(store, 'HTTPRoute', { metadata: meta(), spec: {} });
    assert.equal(store.snapshot().served.has('HTTPRoute'), true);
    store.setServed('HTTPRoute', false);
    assert.equal(store.snapshot().served.has('HTTPRoute'), false);
    assert.equal(store.snapshot().objects.HTTPRoute.size, 0);
  });

  test('cannot be written to', () => {
    const store = new Store();
    put(store, 'HTTPRoute', { metadata: meta({ labels: { l: 'v' } }), spec: { rules: [{ backendRefs: [{ name: 'b' }] }] } });
    const route = store.snapshot().objects.HTTPRoute.get('a/n');
    assert.ok(route);
    const everything = [
      store.snapshot(),
      store.snapshot().objects,
      route,
      route.metadata,
      route.metadata.labels,
      route.spec.rules?.[0]?.backendRefs?.[0],
    ];
    for (const part of everything) assert.ok(Object.isFrozen(part));
  });
});

suite('what is let in', () => {
  test('metadata without its bulk', () => {
    const { object } = decoded('HTTPRoute', {
      metadata: meta({
        managedFields: [{ manager: 'kubectl' }],
        ownerReferences: [],
        selfLink: '/x',
        generation: 3,
        creationTimestamp: '2026-01-01T00:00:00Z',
        deletionTimestamp: null,
        labels: null,
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":"secret"}', keep: 'me' },
        finalizers: ['f'],
      }),
      spec: { rules: null },
    });
    assert.deepEqual(object, {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { ...meta(), generation: 3, creationTimestamp: '2026-01-01T00:00:00Z', annotations: { keep: 'me' }, finalizers: ['f'] },
      spec: {},
    });
  });

  test('endpoints without what we do not use, and null as Go writes it', () => {
    const { object } = decoded('EndpointSlice', {
      metadata: meta(),
      addressType: 'IPv4',
      endpoints: [
        {
          addresses: ['10.0.0.1'],
          conditions: { ready: true },
          nodeName: 'node',
          zone: 'z',
          hints: {},
          targetRef: { kind: 'Pod', namespace: 'a', name: 'p', uid: 'u' },
        },
      ],
      ports: null,
    });
    assert.deepEqual(
      { ...object, metadata: 0 },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: 0,
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true }, targetRef: { kind: 'Pod', namespace: 'a', name: 'p' } }],
      },
    );
    assert.equal('endpoints' in decoded('EndpointSlice', { metadata: meta(), endpoints: null }).object, false);
  });

  test('Services, Namespaces and CRDs without their status', () => {
    const service = decoded('Service', { metadata: meta(), spec: { clusterIP: '10.1.1.1', sessionAffinity: 'None' }, status: {} }).object;
    assert.deepEqual({ ...service, metadata: 0 }, { apiVersion: 'v1', kind: 'Service', metadata: 0, spec: { clusterIP: '10.1.1.1' } });
    const place = { name: 'n', uid: 'u1', resourceVersion: '1' };
    for (const kind of ['Namespace', 'CustomResourceDefinition'] as const) {
      const { object } = decoded(kind, { metadata: place, spec: { big: true }, status: {} });
      assert.deepEqual(Object.keys(object).sort(), ['apiVersion', 'kind', 'metadata']);
    }
  });

  test('of the status of a Service what a load balancer gave it', () => {
    const status = { loadBalancer: { ingress: [{ ip: '192.168.1.10' }] }, conditions: [] };
    const { object } = decoded('Service', { metadata: meta(), spec: {}, status });
    assert.deepEqual((object as Service).status, { loadBalancer: { ingress: [{ ip: '192.168.1.10' }] } });
    const broken = decoded('Service', { metadata: meta(), spec: {}, status: { loadBalancer: { ingress: 'x' } } }).object;
    assert.equal('status' in broken, false);
  });

  test('a status of the wrong shape does not keep the object out', () => {
    const { object } = decoded('HTTPRoute', { metadata: meta(), spec: {}, status: { parents: 'none' } });
    assert.equal('status' in object, false);
  });

  test('data under the key __proto__ stays data', () => {
    const value = JSON.parse(
      '{"metadata":{"name":"n","namespace":"a","uid":"u","resourceVersion":"1"},"data":{"__proto__":"eA=="}}',
    ) as object;
    const row = rowOf('Secret');
    const result = decode(row, 'v1', value);
    assert.ok(result.ok);
    assert.deepEqual(Object.entries((result.object as unknown as { readonly data: object }).data), [['__proto__', 'eA==']]);
    assert.equal(({} as Record<string, unknown>)['eA=='], undefined);
  });

  test('an object in the wrong kind of place is refused', () => {
    const clusterWide = decode(rowOf('HTTPRoute'), 'v1', { metadata: { name: 'n', uid: 'u', resourceVersion: '1' }, spec: {} });
    assert.equal(clusterWide.ok, false);
    const inNamespace = decode(rowOf('GatewayClass'), 'v1', { metadata: meta(), spec: { controllerName: 'c' } });
    assert.equal(inNamespace.ok, false);
  });
});
