import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Gateway, HTTPRoute, Listener } from '#controller/api/gateway.ts';
import { gateway, grpcRoute, httpRoute, listener, listenerSet, namespace, platform, settings } from '#test/build/objects.ts';
import { conditions, message, planOf, type Planned } from '#test/build/plan.ts';

const everyone = { namespaces: { from: 'All' } } as const;
const withListeners = (...listeners: readonly Partial<Listener>[]): Gateway =>
  gateway({ listeners: listeners.map((changes) => listener(changes)) });
const accepted = ({ plan }: Planned, object = 'HTTPRoute default/app'): string | undefined => conditions(plan, object)['Accepted'];

const attachments = ({ plan }: Planned): readonly string[] =>
  plan.planes[0]?.items.flatMap((item) =>
    item.kind === 'route' ? item.attachments.map(({ listener, hostnames }) => `${item.name} ${listener} [${hostnames.join(' ')}]`) : [],
  ) ?? [];

const attached = ({ plan }: Planned, object = 'Gateway default/tunnel'): readonly number[] => {
  const status = plan.statuses.find(({ ref }) => `${ref.kind} ${ref.namespace}/${ref.name}` === object)?.desired;
  return status !== undefined && 'listeners' in status ? status.listeners.map(({ attachedRoutes }) => attachedRoutes) : [];
};

test('a parentRef selects listeners by name and port', () => {
  const target = withListeners({ name: 'a' }, { name: 'b', port: 8443 });
  const on = (parent: object) => planOf([...platform(), target, httpRoute({ parents: [parent] })]);
  assert.deepEqual(attachments(on({})), [
    'app Gateway/default/tunnel/a [app.example.com]',
    'app Gateway/default/tunnel/b [app.example.com]',
  ]);
  assert.deepEqual(attachments(on({ sectionName: 'b' })), ['app Gateway/default/tunnel/b [app.example.com]']);
  assert.deepEqual(attachments(on({ port: 443 })), ['app Gateway/default/tunnel/a [app.example.com]']);
  assert.deepEqual(attachments(on({ port: 8443, sectionName: 'b' })), ['app Gateway/default/tunnel/b [app.example.com]']);
  for (const parent of [{ sectionName: 'c' }, { port: 80 }, { port: 443, sectionName: 'b' }]) {
    assert.equal(accepted(on(parent)), 'False/NoMatchingParent');
    assert.deepEqual(attachments(on(parent)), []);
  }
});

test('the reason that came furthest is told', () => {
  const route = httpRoute({ namespace: 'team', parents: [{}] });
  const on = (...listeners: readonly Partial<Listener>[]) =>
    accepted(planOf([...platform(), withListeners(...listeners), route]), 'HTTPRoute team/app');
  assert.equal(on({ name: 'same' }), 'False/NotAllowedByListeners');
  assert.equal(on({ name: 'same' }, { name: 'other', hostname: 'x.test', allowedRoutes: everyone }), 'False/NoMatchingListenerHostname');
  assert.equal(on({ name: 'grpc', allowedRoutes: { ...everyone, kinds: [{ kind: 'GRPCRoute' }] } }), 'False/NotAllowedByListeners');
  assert.equal(
    on({ name: 'tls', protocol: 'TLS', allowedRoutes: { ...everyone, kinds: [{ kind: 'HTTPRoute' }] } }),
    'False/NotAllowedByListeners',
  );
  assert.equal(on({ name: 'same' }, { name: 'open', port: 444, allowedRoutes: everyone }), 'True/Accepted');
});

test('namespaces by label, as they are now', () => {
  const selector = { matchExpressions: [{ key: 'team', operator: 'In', values: ['a', 'b'] }] };
  const target = withListeners({ allowedRoutes: { namespaces: { from: 'Selector', selector } } });
  const route = httpRoute({ namespace: 'team', parents: [{}] });
  assert.equal(accepted(planOf([...platform(), target, namespace('team', { team: 'a' }), route]), 'HTTPRoute team/app'), 'True/Accepted');
  assert.equal(
    accepted(planOf([...platform(), target, namespace('team', { team: 'c' }), route]), 'HTTPRoute team/app'),
    'False/NotAllowedByListeners',
  );
  assert.equal(accepted(planOf([...platform(), target, route]), 'HTTPRoute team/app'), 'False/NotAllowedByListeners');
});

test('hostnames are those that route and listener share, for each listener by itself', () => {
  const target = withListeners({ name: 'any' }, { name: 'wild', hostname: '*.Example.com' }, { name: 'one', hostname: 'a.example.com' });
  const planned = planOf([...platform(), target, httpRoute({ hostnames: ['A.example.com', 'b.other.test', '*.b.example.com'] })]);
  assert.deepEqual(attachments(planned), [
    'app Gateway/default/tunnel/any [a.example.com b.other.test *.b.example.com]',
    'app Gateway/default/tunnel/wild [a.example.com *.b.example.com]',
    'app Gateway/default/tunnel/one [a.example.com]',
  ]);
  assert.deepEqual(
    planned.plan.tunnels[0]?.rules.map(({ hostname }) => hostname),
    ['a.example.com', 'b.other.test', '*.b.example.com'],
  );
});

test('what one parent admits is not served by another', () => {
  const objects = [
    ...platform(),
    gateway({ name: 'one', listeners: [listener({ hostname: 'one.example.com' })] }),
    gateway({ name: 'two', listeners: [listener({ hostname: 'two.example.com' })] }),
    httpRoute({ parents: [{ name: 'one' }, { name: 'two' }], hostnames: ['one.example.com', 'two.example.com', 'three.example.com'] }),
  ];
  assert.deepEqual(attachments(planOf(objects)), [
    'app Gateway/default/one/https [one.example.com]',
    'app Gateway/default/two/https [two.example.com]',
  ]);
});

test('a route counts once for a listener, and only where it is accepted', () => {
  const target = withListeners({ name: 'a' }, { name: 'b', port: 8443, hostname: 'b.example.com' });
  const route = httpRoute({ hostnames: [], parents: [{}, { sectionName: 'a' }, { port: 443 }] });
  assert.deepEqual(attached(planOf([...platform(), target, route])), [1, 1]);
  const other = httpRoute({ name: 'other', hostnames: ['x.test'] });
  assert.deepEqual(attached(planOf([...platform(), target, route, other, grpcRoute({ hostnames: ['b.example.com'] })])), [3, 2]);
  const unservable = httpRoute({ rules: [{ filters: [{ type: 'CORS' }] }] });
  assert.deepEqual(attached(planOf([...platform(), target, unservable])), [0, 0]);
});

test('routes with missing backends and listeners with missing certificates still count', () => {
  const target = withListeners({ tls: { certificateRefs: [{ name: 'missing' }] } });
  const planned = planOf([...platform(), target, httpRoute()]);
  assert.deepEqual(attached(planned), [1]);
  assert.deepEqual(conditions(planned.plan, 'HTTPRoute default/app'), { Accepted: 'True/Accepted', ResolvedRefs: 'False/BackendNotFound' });
  assert.deepEqual(attachments(planned), [], 'the listener is not programmed');
});

test('a parent of another group or kind, of another class, or that is not there, is none of ours', () => {
  for (const parent of [
    { group: 'example.com' },
    { kind: 'Service' },
    { name: 'missing' },
    { kind: 'ListenerSet', name: 'tunnel' },
    { name: 'foreign' },
  ]) {
    const foreign = gateway({ name: 'foreign', spec: { gatewayClassName: 'istio' } });
    const { plan } = planOf([...platform(), gateway(), foreign, httpRoute({ parents: [parent] })]);
    assert.ok(!plan.statuses.some(({ ref }) => ref.kind === 'HTTPRoute'), JSON.stringify(parent));
  }
});

test('one status for each parentRef as it was declared, with group and kind', () => {
  const parentRefs = [{ name: 'tunnel' }, { name: 'tunnel', sectionName: 'https' }, { name: 'tunnel' }];
  const route: HTTPRoute = { ...httpRoute(), spec: { ...httpRoute().spec, parentRefs } };
  const { plan } = planOf([...platform(), gateway(), route]);
  const desired = plan.statuses.find(({ ref }) => ref.kind === 'HTTPRoute')?.desired;
  const defaults = { group: 'gateway.networking.k8s.io', kind: 'Gateway' };
  assert.deepEqual(desired?.form === 'parents' && desired.parents.map(({ parentRef }) => parentRef), [
    { name: 'tunnel', ...defaults },
    { name: 'tunnel', sectionName: 'https', ...defaults },
  ]);
});

test('a Gateway means its own listeners, a ListenerSet the set’s', () => {
  const open = gateway({ spec: { allowedListeners: { namespaces: { from: 'Same' } } } });
  const set = listenerSet({ listeners: [listener({ name: 'set', hostname: 'set.example.com' })] });
  const route = httpRoute({ hostnames: [], parents: [{ name: 'set', kind: 'ListenerSet' }] });
  const planned = planOf([...platform(), open, set, route]);
  assert.deepEqual(attachments(planned), ['app ListenerSet/default/set/set []']);
  assert.deepEqual(attached(planned), [0]);
  assert.deepEqual(attached(planned, 'ListenerSet default/set'), [1]);
  assert.equal(accepted(planOf([...platform(), open, set, httpRoute({ parents: [{ sectionName: 'set' }] })])), 'False/NoMatchingParent');
});

test('GRPCRoutes are refused where the tunnel would lose their trailers', () => {
  const planned = planOf([...platform(), gateway(), grpcRoute(), httpRoute()], settings({ tunnelProtocol: 'quic' }));
  assert.equal(accepted(planned, 'GRPCRoute default/app'), 'False/UnsupportedProtocol');
  assert.match(message(planned.plan, 'GRPCRoute default/app', 'Accepted'), /--tunnel-protocol http2/);
  assert.equal(accepted(planned), 'True/Accepted');
});

test('a hostname that no visitor can ask for closes its route or listener, and stays out of the tunnel', () => {
  const bad = `${'a'.repeat(64)}.example.com`;
  const planned = planOf([
    ...platform(),
    withListeners({ name: 'good' }, { name: 'bad', port: 8443, hostname: '10.0.0.1' }),
    httpRoute({ name: 'good', hostnames: ['good.example.com'], parents: [{}] }),
    httpRoute({ name: 'bad', hostnames: ['fine.example.com', bad], parents: [{}] }),
  ]);
  const { plan } = planned;
  assert.equal(conditions(plan, 'HTTPRoute default/good')['Accepted'], 'True/Accepted');
  assert.equal(conditions(plan, 'HTTPRoute default/bad')['Accepted'], 'False/UnsupportedValue');
  assert.match(
    message(plan, 'HTTPRoute default/bad', 'Accepted'),
    /^spec\.hostnames: a{64}\.example\.com cannot be the host of a visitor: write a DNS name/,
  );
  assert.equal(conditions(plan, 'Gateway default/tunnel', 'bad')['Accepted'], 'False/Invalid');
  assert.match(message(plan, 'Gateway default/tunnel', 'Accepted', 'bad'), /^hostname 10\.0\.0\.1 cannot be the host of a visitor/);
  assert.deepEqual(
    plan.tunnels.flatMap(({ rules }) => rules.map(({ hostname }) => hostname)),
    ['good.example.com'],
  );
});
