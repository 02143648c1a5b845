// Routes on listeners by the numbered rules that implementations of the Gateway API commonly get wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '#controller/api/core.ts';
import type { HTTPRoute, Listener } from '#controller/api/gateway.ts';
import type { Plan } from '#controller/output/plan.ts';
import { application, gateway, grpcRoute, httpRoute, listener, platform } from '#test/build/objects.ts';
import { conditions, message, planOf } from '#test/build/plan.ts';
import { attachedRoutes, hostnamesServed, parentsOf } from './told.ts';

const GATEWAY = 'Gateway default/tunnel';
const ROUTE = 'HTTPRoute default/app';
const http = (name: string, changes: Partial<Listener> = {}): Listener => listener({ name, protocol: 'HTTP', port: 80, ...changes });
const plan = (...objects: readonly KubeObject[]): Plan => planOf([...platform(), ...objects]).plan;
const on = (listeners: readonly Listener[], route: HTTPRoute): Plan => plan(gateway({ listeners }), route);
const accepted = (told: Plan, route = ROUTE): string | undefined => conditions(told, route)['Accepted'];

test('14. hostnames that no listener has are left out; when none is left, the route is not attached', () => {
  const listeners = [http('one', { hostname: 'very.specific.test' }), http('wild', { hostname: '*.wildcard.test' })];
  const some = on(listeners, httpRoute({ hostnames: ['non.matching.test', 'very.specific.test', 'foo.wildcard.test'] }));
  assert.equal(accepted(some), 'True/Accepted');
  assert.deepEqual(hostnamesServed(some, ROUTE), {
    'Gateway/default/tunnel/one': ['very.specific.test'],
    'Gateway/default/tunnel/wild': ['foo.wildcard.test'],
  });
  assert.deepEqual(attachedRoutes(some, GATEWAY), [1, 1]);
  const none = on(listeners, httpRoute({ hostnames: ['specific.but.wrong.test', 'wildcard.test'] }));
  assert.equal(accepted(none), 'False/NoMatchingListenerHostname');
  assert.deepEqual(attachedRoutes(none, GATEWAY), [0, 0]);
});

test('15. a wildcard covers one or more labels, never the name below which it stands', () => {
  const attached = (listenerHostname: string, hostname: string) =>
    accepted(on([http('http', { hostname: listenerHostname })], httpRoute({ hostnames: [hostname] }))) === 'True/Accepted';
  for (const hostname of ['a.example.com', 'a.b.example.com', '*.b.example.com', '*.example.com'])
    assert.ok(attached('*.example.com', hostname), hostname);
  for (const hostname of ['example.com', 'badexample.com', '*.com.example', 'a.example.org'])
    assert.ok(!attached('*.example.com', hostname), hostname);
  assert.ok(attached('a.b.example.com', '*.example.com'));
  assert.ok(!attached('example.com', '*.example.com'));
});

test('17. routes of both kinds share a hostname on one listener, and both count', () => {
  const told = plan(gateway({ listeners: [http('http')] }), httpRoute(), grpcRoute());
  assert.equal(accepted(told), 'True/Accepted');
  assert.equal(accepted(told, 'GRPCRoute default/app'), 'True/Accepted');
  assert.deepEqual(attachedRoutes(told, GATEWAY), [2]);
});

test('20. one entry for each parentRef, not for each listener, with group, kind and what the route said', () => {
  const told = on([http('a'), http('b', { port: 8080 })], httpRoute({ parents: [{}, { sectionName: 'b', port: 8080 }] }));
  const update = told.statuses.find(({ ref }) => ref.kind === 'HTTPRoute');
  assert.ok(update?.desired.form === 'parents');
  const ref = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'tunnel', namespace: 'default' };
  assert.deepEqual(
    update.desired.parents.map(({ parentRef }) => parentRef),
    [ref, { ...ref, sectionName: 'b', port: 8080 }],
  );
});

test('21. what other controllers have written, and Gateways of other classes, are not ours to speak of', () => {
  const foreign = gateway({ name: 'foreign', spec: { gatewayClassName: 'another' } });
  const told = plan(gateway({ listeners: [http('http')] }), foreign, httpRoute({ parents: [{ name: 'foreign' }, {}] }));
  assert.deepEqual(parentsOf(told, ROUTE), ['Gateway tunnel: True/Accepted']);
  assert.ok(!told.statuses.some(({ key }) => key === 'default/foreign'));
});

test('23. a bad reference to a backend leaves the route accepted', () => {
  const refs = (backend: { readonly name: string; readonly port?: number; readonly kind?: string; readonly namespace?: string }) => {
    const { Accepted, ResolvedRefs } = conditions(on([http('http')], httpRoute({ rules: [{ backendRefs: [backend] }] })), ROUTE);
    return [Accepted, ResolvedRefs];
  };
  assert.deepEqual(refs({ name: 'absent', port: 80 }), ['True/Accepted', 'False/BackendNotFound']);
  assert.deepEqual(refs({ name: 'app', kind: 'NonExistent', port: 80 }), ['True/Accepted', 'False/InvalidKind']);
  assert.deepEqual(refs({ name: 'app', namespace: 'elsewhere', port: 80 }), ['True/Accepted', 'False/RefNotPermitted']);
});

test('24. why no listener takes a route: none is meant, none allows it, none has its hostname', () => {
  const team = httpRoute({ namespace: 'team', parents: [{}] });
  const reasons = {
    section: accepted(on([http('http')], httpRoute({ parents: [{ sectionName: 'absent' }] }))),
    port: accepted(on([http('http')], httpRoute({ parents: [{ port: 81 }] }))),
    'section of another port': accepted(
      on([http('http'), http('b', { port: 81 })], httpRoute({ parents: [{ sectionName: 'b', port: 80 }] })),
    ),
    namespace: accepted(on([http('http')], team), 'HTTPRoute team/app'),
    kind: accepted(on([http('http', { allowedRoutes: { kinds: [{ kind: 'GRPCRoute' }] } })], httpRoute())),
    hostname: accepted(on([http('http', { hostname: 'other.test' })], httpRoute())),
  };
  assert.deepEqual(reasons, {
    section: 'False/NoMatchingParent',
    port: 'False/NoMatchingParent',
    'section of another port': 'False/NoMatchingParent',
    namespace: 'False/NotAllowedByListeners',
    kind: 'False/NotAllowedByListeners',
    hostname: 'False/NoMatchingListenerHostname',
  });
});

test('24. a section that is there says why it refuses, and not that it is not there', () => {
  const told = on([http('http', { hostname: 'other.test' })], httpRoute({ parents: [{ sectionName: 'http' }] }));
  assert.equal(accepted(told), 'False/NoMatchingListenerHostname');
});

test('24. references of a route that is not accepted are judged all the same', () => {
  const [route, ...backend] = application();
  const away = { ...route, spec: { ...route.spec, parentRefs: [{ name: 'tunnel', sectionName: 'absent' }] } };
  const told = plan(gateway({ listeners: [http('http')] }), away, ...backend);
  assert.deepEqual(conditions(told, ROUTE), { Accepted: 'False/NoMatchingParent', ResolvedRefs: 'True/ResolvedRefs' });
  assert.equal(conditions(plan(gateway({ listeners: [http('http')] }), away), ROUTE)['ResolvedRefs'], 'False/BackendNotFound');
});

test('24. a listener whose allowedRoutes cannot be read refuses routes by itself; those beside it do not', () => {
  const selector = { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] };
  const broken = http('broken', { allowedRoutes: { namespaces: { from: 'Selector', selector } } });
  const told = on([broken, http('good', { port: 8080 })], httpRoute());
  assert.equal(accepted(told), 'True/Accepted');
  assert.deepEqual(attachedRoutes(told, GATEWAY), [0, 1]);
  assert.equal(conditions(told, GATEWAY, 'broken')['Accepted'], 'False/Invalid');
  assert.match(message(told, GATEWAY, 'Accepted', 'broken'), /^allowedRoutes\.namespaces\.selector /);
});

test('25. attachedRoutes counts routes that a listener has accepted, broken references included, each once', () => {
  const listeners = [http('a'), http('b', { port: 8080 })];
  const count = (...routes: readonly KubeObject[]) => attachedRoutes(plan(gateway({ listeners }), ...routes), GATEWAY);
  const route = (name: string, ...parents: readonly object[]) => httpRoute({ name, hostnames: [], parents });
  assert.deepEqual(count(route('everywhere', {})), [1, 1]);
  assert.deepEqual(count(route('one', { sectionName: 'b' })), [0, 1]);
  assert.deepEqual(count(route('twice', { sectionName: 'a' }, { port: 80 }, {})), [1, 1]);
  assert.deepEqual(count(route('x', {}), route('y', {}), grpcRoute()), [3, 3]);
  assert.deepEqual(count(httpRoute({ namespace: 'team', parents: [{}] })), [0, 0], 'of another namespace');
  assert.deepEqual(count(route('absent', { name: 'absent' }, { kind: 'Service' })), [0, 0]);
});

test('25. a listener with a broken certificate still counts its routes, though it serves none', () => {
  const told = on([listener({ tls: { certificateRefs: [{ name: 'absent' }] } })], httpRoute());
  assert.deepEqual(attachedRoutes(told, GATEWAY), [1]);
  assert.equal(accepted(told), 'True/Accepted');
  assert.deepEqual(hostnamesServed(told, ROUTE), {});
});

test('25. conflicted listeners have no routes', () => {
  const told = on([http('a'), http('again')], httpRoute());
  assert.deepEqual(attachedRoutes(told, GATEWAY), [1, 0]);
  assert.equal(accepted(on([http('a'), http('again')], httpRoute({ parents: [{ sectionName: 'again' }] }))), 'False/NoMatchingParent');
});
