// Gateways and their listeners by the numbered rules that implementations of the Gateway API commonly get wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '#controller/api/core.ts';
import type { Gateway, Listener, SecretObjectReference } from '#controller/api/gateway.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import { renderPlan, type Plan } from '#controller/output/plan.ts';
import {
  certificate,
  gateway,
  gatewayClass,
  grant,
  httpRoute,
  listener,
  listenerSet,
  namespace,
  platform,
  secret,
  settings,
} from '#test/build/objects.ts';
import { conditions, happyFacts, message, planOf } from '#test/build/plan.ts';
import { snapshotOf, withObject, withoutObject } from '#test/build/snapshot.ts';
import { attachedRoutes, listenerNames, supportedKinds } from './told.ts';

const GATEWAY = 'Gateway default/tunnel';
const http: Listener = listener({ name: 'http', protocol: 'HTTP', port: 80 });
const plan = (...objects: readonly KubeObject[]): Plan => planOf([...platform(), ...objects]).plan;
const withListeners = (...listeners: readonly Listener[]): Gateway => gateway({ listeners });
const some = (told: Plan, types: readonly string[], listenerName?: string): readonly (string | undefined)[] =>
  types.map((type) => conditions(told, GATEWAY, listenerName)[type]);

test('18. every condition of an object speaks of the generation that was looked at, all in one update', () => {
  const { statuses } = plan({ ...withListeners(http), metadata: { name: 'tunnel', namespace: 'default', generation: 9 } });
  const updates = statuses.filter(({ ref }) => ref.kind === 'Gateway');
  assert.equal(updates.length, 1);
  const generations = [...JSON.stringify(updates[0]?.desired).matchAll(/"observedGeneration":(\d+)/g)].map(([, text]) => text);
  assert.equal(generations.length, 3 + 4);
  assert.ok(generations.every((text) => text === '9'));
});

test('18. an edit that changes nothing that is told still brings every condition up to date', () => {
  const build = createGraphBuilder();
  const before = snapshotOf([...platform(), withListeners(http)]);
  build(before, settings());
  const edited = { ...withListeners(http), metadata: { name: 'tunnel', namespace: 'default', generation: 2 } };
  const described = { ...gatewayClass(), metadata: { name: 'cloudflare-tunnel', generation: 2 } };
  const next = withObject(withObject(before, edited), described);
  const graph = build(next, settings());
  for (const { ref, desired } of renderPlan(graph, happyFacts(graph), next, new Map()).statuses) {
    if (ref.kind === 'GatewayClassConfig') continue;
    assert.doesNotMatch(JSON.stringify(desired), /"observedGeneration":1/, ref.kind);
  }
});

test('19. the conditions that the schema puts in place of ours are all replaced', () => {
  const told = plan(withListeners(http));
  assert.deepEqual(Object.keys(conditions(told, GATEWAY)), ['Accepted', 'Programmed', 'ResolvedRefs']);
  assert.deepEqual(Object.keys(conditions(told, GATEWAY, 'http')), ['Accepted', 'Programmed', 'ResolvedRefs', 'Conflicted']);
});

test('26. listener statuses are those of the spec, in its order; removed ones vanish', () => {
  const two = { ...http, name: 'two', port: 8080 };
  assert.deepEqual(listenerNames(plan(withListeners(two, http)), GATEWAY), ['two', 'http']);
  assert.deepEqual(listenerNames(plan(withListeners(http)), GATEWAY), ['http']);
});

test('27. supportedKinds are those of the allowed kinds that can be served; an empty list is a list', () => {
  const allowing = (...kinds: readonly { readonly group?: string; readonly kind: string }[]) => {
    const told = plan(withListeners({ ...http, allowedRoutes: { kinds } }));
    return [supportedKinds(told, GATEWAY), conditions(told, GATEWAY, 'http')['ResolvedRefs']];
  };
  const bad = 'False/InvalidRouteKinds';
  assert.deepEqual(allowing(), [[['HTTPRoute', 'GRPCRoute']], 'True/ResolvedRefs']);
  assert.deepEqual(allowing({ kind: 'HTTPRoute' }), [[['HTTPRoute']], 'True/ResolvedRefs']);
  assert.deepEqual(allowing({ kind: 'GRPCRoute' }, { kind: 'InvalidRoute' }), [[['GRPCRoute']], bad]);
  assert.deepEqual(allowing({ kind: 'TLSRoute' }), [[[]], bad]);
  assert.deepEqual(allowing({ group: 'example.com', kind: 'HTTPRoute' }), [[[]], bad]);
});

test('27. a kind too many does not close the listener to the others, no kind at all does', () => {
  const half = plan(withListeners({ ...http, allowedRoutes: { kinds: [{ kind: 'HTTPRoute' }, { kind: 'TCPRoute' }] } }), httpRoute());
  assert.deepEqual(some(half, ['Accepted', 'Programmed'], 'http'), ['True/Accepted', 'True/Programmed']);
  assert.deepEqual(attachedRoutes(half, GATEWAY), [1]);
  const none = plan(withListeners({ ...http, allowedRoutes: { kinds: [{ kind: 'TCPRoute' }] } }));
  assert.deepEqual(some(none, ['Accepted', 'Programmed'], 'http'), ['True/Accepted', 'False/Invalid']);
});

for (const protocol of ['TLS', 'TCP', 'UDP', 'INVALID', 'example.com/own']) {
  test(`28. a listener of protocol ${protocol} is not accepted and serves no kind; the Gateway is, as long as another one is`, () => {
    const bad: Listener = { name: 'bad', protocol, port: 1111, allowedRoutes: { kinds: [{ kind: 'HTTPRoute' }] } };
    const alone = plan(withListeners(bad), httpRoute());
    assert.deepEqual(some(alone, ['Accepted', 'Programmed']), ['False/ListenersNotValid', 'False/Invalid']);
    assert.deepEqual(some(alone, ['Accepted', 'Programmed'], 'bad'), ['False/UnsupportedProtocol', 'False/Invalid']);
    assert.deepEqual(supportedKinds(alone, GATEWAY), [[]]);
    assert.equal(conditions(alone, 'HTTPRoute default/app')['Accepted'], 'False/NotAllowedByListeners');
    const beside = plan(withListeners(http, bad));
    assert.deepEqual(some(beside, ['Accepted', 'Programmed']), ['True/ListenersNotValid', 'True/Programmed']);
    assert.deepEqual(some(beside, ['Accepted', 'Programmed'], 'http'), ['True/Accepted', 'True/Programmed']);
    assert.match(message(beside, GATEWAY, 'Accepted'), /^listener bad: protocol is /);
  });
}

test('28. TLS that is passed through cannot be served, whatever the protocol says', () => {
  const told = plan(withListeners(listener({ tls: { mode: 'Passthrough' } })));
  assert.equal(conditions(told, GATEWAY, 'https')['Accepted'], 'False/UnsupportedProtocol');
});

test('29. listeners of one port and hostname, and of two protocols on one port: the first one stays', () => {
  const told = plan(
    withListeners(
      { ...http, hostname: 'a.test' },
      { ...http, name: 'again', hostname: 'A.test' },
      { ...http, name: 'other', hostname: 'b.test' },
      { name: 'tcp', protocol: 'TCP', port: 80 },
      { name: 'udp', protocol: 'UDP', port: 80 },
    ),
  );
  const shown = ['Accepted', 'Programmed', 'Conflicted'];
  for (const name of ['http', 'other']) {
    assert.deepEqual(some(told, shown, name), ['True/Accepted', 'True/Programmed', 'False/NoConflicts'], name);
  }
  const all = (reason: string) => [`False/${reason}`, `False/${reason}`, `True/${reason}`];
  assert.deepEqual(some(told, shown, 'again'), all('HostnameConflict'));
  assert.deepEqual(some(told, shown, 'tcp'), all('ProtocolConflict'), 'and not UnsupportedProtocol');
  assert.deepEqual(some(told, shown, 'udp'), ['False/UnsupportedProtocol', 'False/Invalid', 'False/NoConflicts'], 'another port');
  assert.deepEqual(some(told, ['Accepted', 'Programmed']), ['True/ListenersNotValid', 'True/Programmed']);
});

test('29. hostnames that cover each other are no conflict', () => {
  const told = plan(
    withListeners(...['', '*.a.test', 'b.a.test', 'a.test'].map((hostname, index) => ({ ...http, name: `l${index}`, hostname }))),
  );
  for (const name of ['l0', 'l1', 'l2', 'l3']) assert.equal(conditions(told, GATEWAY, name)['Conflicted'], 'False/NoConflicts');
});

const using = (ref: SecretObjectReference): Gateway => withListeners(listener({ tls: { certificateRefs: [ref] } }));
const REFERENCES = ['Accepted', 'Programmed', 'ResolvedRefs'];

test('30. a certificate that is absent, of another group or kind, or not PEM, is an invalid reference', () => {
  const malformed = secret('malformed', 'default', { 'tls.crt': 'Hello', 'tls.key': 'Hello' }, 'kubernetes.io/tls');
  for (const ref of [
    { name: 'absent' },
    { group: 'wrong.group.company.io', name: 'cert' },
    { kind: 'WrongKind', name: 'cert' },
    { name: 'malformed' },
  ]) {
    const told = plan(using(ref), certificate('cert'), malformed, httpRoute({ name: 'other', hostnames: ['x.test'] }));
    assert.deepEqual(
      some(told, REFERENCES, 'https'),
      ['True/Accepted', 'False/Invalid', 'False/InvalidCertificateRef'],
      JSON.stringify(ref),
    );
    assert.deepEqual(supportedKinds(told, GATEWAY), [['HTTPRoute', 'GRPCRoute']]);
  }
});

test('30. what another namespace has is not told: without a grant it makes no difference whether the Secret exists', () => {
  const refused = ['True/Accepted', 'False/Invalid', 'False/RefNotPermitted'];
  const ref = { name: 'cert', namespace: 'certs' };
  const without = plan(using(ref));
  const beside = plan(using(ref), certificate('cert', 'certs'));
  assert.deepEqual(some(without, REFERENCES, 'https'), refused);
  assert.deepEqual(some(beside, REFERENCES, 'https'), refused);
  assert.equal(message(without, GATEWAY, 'ResolvedRefs', 'https'), message(beside, GATEWAY, 'ResolvedRefs', 'https'));
});

test('30. a grant counts only if it fits in every part', () => {
  const group = 'gateway.networking.k8s.io';
  const from = { group, kind: 'Gateway', namespace: 'default' };
  const to = { group: '', kind: 'Secret', name: 'cert' };
  const told = (...grants: readonly KubeObject[]) =>
    conditions(plan(using({ name: 'cert', namespace: 'certs' }), certificate('cert', 'certs'), ...grants), GATEWAY, 'https')[
      'ResolvedRefs'
    ];
  const misses = [
    grant('elsewhere', from, to, 'namespace'),
    grant('certs', { ...from, group: 'example.com' }, to, 'from-group'),
    grant('certs', { ...from, kind: 'HTTPRoute' }, to, 'from-kind'),
    grant('certs', { ...from, namespace: 'certs' }, to, 'from-namespace'),
    grant('certs', from, { ...to, group: 'example.com' }, 'to-group'),
    grant('certs', from, { ...to, kind: 'Service' }, 'to-kind'),
    grant('certs', from, { ...to, name: 'other' }, 'to-name'),
  ];
  assert.equal(told(...misses), 'False/RefNotPermitted');
  assert.equal(told(...misses, grant('certs', from, to)), 'True/ResolvedRefs');
  assert.equal(told(grant('certs', from, { group: '', kind: 'Secret' })), 'True/ResolvedRefs', 'every Secret of the namespace');
});

test('30. names in a certificate need not cover the hostname of the listener', () => {
  const told = plan(
    withListeners(listener({ hostname: 'elsewhere.test', tls: { certificateRefs: [{ name: 'cert' }] } })),
    certificate('cert'),
  );
  assert.deepEqual(some(told, REFERENCES, 'https'), ['True/Accepted', 'True/Programmed', 'True/ResolvedRefs']);
});

test('31. parameters of an unknown group or kind are invalid, for a class and for a Gateway', () => {
  const parametersRef = { group: 'invalid.example.com', kind: 'InvalidParameters', name: 'nope' };
  const told = plan(gateway({ listeners: [http], spec: { infrastructure: { parametersRef } } }));
  assert.deepEqual(some(told, ['Accepted', 'Programmed']), ['False/InvalidParameters', 'False/Invalid']);
  const bare = { ...gatewayClass({ name: 'bare' }), spec: { controllerName: settings().controllerName } };
  assert.equal(conditions(plan(bare), 'GatewayClass bare')['Accepted'], 'False/InvalidParameters');
});

test('33. a Gateway whose name has 253 characters is served like any other', () => {
  const name = `${'a'.repeat(124)}.${'b'.repeat(128)}`;
  const told = plan(gateway({ name, listeners: [http] }), httpRoute({ parents: [{ name }] }));
  assert.equal(conditions(told, `Gateway default/${name}`)['Programmed'], 'True/Programmed');
  assert.equal(conditions(told, 'HTTPRoute default/app')['Accepted'], 'True/Accepted');
});

test('34. one usable listener makes a Gateway programmed, whatever the others and its own references say', () => {
  const broken = listener({ tls: { certificateRefs: [{ name: 'absent' }] } });
  const target = gateway({
    listeners: [broken, http],
    spec: { tls: { backend: { clientCertificateRef: { name: 'absent' } } } },
  });
  assert.deepEqual(some(plan(target), ['Accepted', 'Programmed', 'ResolvedRefs']), [
    'True/Accepted',
    'True/Programmed',
    'False/InvalidClientCertificateRef',
  ]);
  assert.deepEqual(some(plan(withListeners(broken)), ['Accepted', 'Programmed']), ['True/Accepted', 'False/Invalid']);
});

test('34. a usable listener of a ListenerSet is enough', () => {
  const target = gateway({ listeners: [], spec: { allowedListeners: { namespaces: { from: 'Same' } } } });
  assert.equal(conditions(plan(target), GATEWAY)['Programmed'], 'False/Invalid');
  assert.deepEqual(some(plan(target, listenerSet()), ['Accepted', 'Programmed']), ['True/Accepted', 'True/Programmed']);
});

test('42. everything that a listener depends on is looked at again when it changes, and no route need tell', () => {
  const selector = { matchLabels: { team: 'a' } };
  const tls = { certificateRefs: [{ name: 'cert', namespace: 'certs' }] };
  const target = withListeners(listener({ tls, allowedRoutes: { namespaces: { from: 'Selector', selector } } }));
  const permission = grant(
    'certs',
    { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'default' },
    { group: '', kind: 'Secret' },
  );
  const build = createGraphBuilder();
  let snapshot = snapshotOf([...platform(), target, httpRoute({ namespace: 'team', parents: [{}] }), namespace('team', { team: 'b' })]);
  const told = () => {
    const graph = build(snapshot, settings());
    const { [0]: reference } = some(renderPlan(graph, happyFacts(graph), snapshot, new Map()), ['ResolvedRefs'], 'https');
    return [reference, attachedRoutes(renderPlan(graph, happyFacts(graph), snapshot, new Map()), GATEWAY)[0]];
  };
  assert.deepEqual(told(), ['False/RefNotPermitted', 0]);
  snapshot = withObject(snapshot, permission);
  assert.deepEqual(told(), ['False/InvalidCertificateRef', 0]);
  snapshot = withObject(snapshot, certificate('cert', 'certs'));
  assert.deepEqual(told(), ['True/ResolvedRefs', 0]);
  snapshot = withObject(snapshot, namespace('team', { team: 'a' }));
  assert.deepEqual(told(), ['True/ResolvedRefs', 1]);
  snapshot = withObject(snapshot, namespace('team', {}));
  assert.deepEqual(told(), ['True/ResolvedRefs', 0]);
  snapshot = withoutObject(snapshot, 'Secret', 'certs/cert');
  assert.deepEqual(told(), ['False/InvalidCertificateRef', 0]);
  snapshot = withoutObject(snapshot, 'ReferenceGrant', 'certs/grant');
  assert.deepEqual(told(), ['False/RefNotPermitted', 0]);
});
