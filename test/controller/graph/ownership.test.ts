import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { bindRoute, buildTopology } from '#controller/graph/attach.ts';
import { buildGraph } from '#controller/graph/build.ts';
import { gateway, grpcRoute, httpRoute, listener, listenerSet, namespace, platform, settings } from '#test/build/objects.ts';
import { conditions, message, planOf } from '#test/build/plan.ts';
import { snapshotOf } from '#test/build/snapshot.ts';
import { ownershipVectors } from './ownership-vectors.ts';

const LABEL = 'namespace.cozystack.io/host';
const enforced = (namespaceSelector = '') => settings({ ownership: { enforce: true, labelKey: LABEL, namespaceSelector } });
const open = gateway({ namespace: 'infra', listeners: [listener({ allowedRoutes: { namespaces: { from: 'All' } } })] });
const parents = [{ namespace: 'infra' }];

suite('every vector, for both kinds of routes and for listeners', () => {
  for (const { title, label, hostnames, allowed } of ownershipVectors) {
    const tenant = namespace('tenant', label === undefined ? {} : { [LABEL]: label });
    const reason = allowed ? 'True/Accepted' : 'False/HostnameNotPermitted';
    for (const [kind, make] of [
      ['HTTPRoute', httpRoute],
      ['GRPCRoute', grpcRoute],
    ] as const) {
      test(`${kind}: ${title}`, () => {
        const route = make({ namespace: 'tenant', parents, rules: [{}] });
        const { parentRefs, rules } = route.spec;
        const object = { ...route, spec: { parentRefs, rules, ...(hostnames === undefined ? {} : { hostnames }) } };
        const { plan } = planOf([...platform(), open, tenant, object], enforced());
        assert.equal(conditions(plan, `${kind} tenant/app`)['Accepted'], reason);
        assert.equal(plan.tunnels[0]?.rules.length === 0, !allowed);
        assert.equal(
          plan.planes[0]?.items.some((item) => item.kind === 'route'),
          allowed,
        );
      });
    }
    // A listener has at most one hostname, and one without is always allowed.
    const [hostname, ...more] = hostnames ?? [];
    if (hostname === undefined || hostname === '' || more.length > 0) continue;
    test(`listeners: ${title}`, () => {
      const listeners = [listener({ name: 'one', hostname, allowedRoutes: { namespaces: { from: 'All' } } })];
      const set = listenerSet({ namespace: 'tenant', listeners, gateway: { name: 'tunnel', namespace: 'infra' } });
      const shared = { ...open, spec: { ...open.spec, allowedListeners: { namespaces: { from: 'All' } } } };
      const { plan } = planOf([...platform(), shared, tenant, set, gateway({ namespace: 'tenant', listeners })], enforced());
      assert.equal(conditions(plan, 'Gateway tenant/tunnel', 'one')['Accepted'], reason);
      assert.equal(conditions(plan, 'ListenerSet tenant/set', 'one')['Accepted'], reason);
      assert.equal(conditions(plan, 'ListenerSet tenant/set')['Accepted'], allowed ? 'True/Accepted' : 'False/ListenersNotValid');
    });
  }
});

test('listeners without a hostname are allowed everywhere, also in a namespace without a domain', () => {
  const { plan } = planOf([...platform(), gateway({ namespace: 'tenant', listeners: [listener()] })], enforced());
  assert.equal(conditions(plan, 'Gateway tenant/tunnel', 'https')['Accepted'], 'True/Accepted');
});

test('a listener with a foreign hostname does not keep its rightful owner out', () => {
  const set = (tenant: string, created: string) =>
    listenerSet({
      namespace: tenant,
      created,
      listeners: [listener({ name: 'one', hostname: 'app.example.com' })],
      gateway: { name: 'tunnel', namespace: 'infra' },
    });
  const { plan } = planOf(
    [
      ...platform(),
      gateway({ namespace: 'infra', listeners: [listener()], spec: { allowedListeners: { namespaces: { from: 'All' } } } }),
      namespace('thief', { [LABEL]: 'thief.test' }),
      namespace('owner', { [LABEL]: 'example.com' }),
      set('thief', '2025-01-01T00:00:00Z'),
      set('owner', '2026-01-01T00:00:00Z'),
    ],
    enforced(),
  );
  assert.equal(conditions(plan, 'ListenerSet thief/set', 'one')['Accepted'], 'False/HostnameNotPermitted');
  assert.equal(conditions(plan, 'ListenerSet owner/set', 'one')['Accepted'], 'True/Accepted');
});

test('a namespace that the selector leaves out is not policed', () => {
  const objects = [
    ...platform(),
    open,
    namespace('system', { 'cozystack.io/system': 'true' }),
    httpRoute({ namespace: 'system', parents, hostnames: [] }),
    httpRoute({ namespace: 'tenant', parents, hostnames: ['free.example.com'] }),
  ];
  const { plan } = planOf(objects, enforced('cozystack.io/system!=true'));
  assert.equal(conditions(plan, 'HTTPRoute system/app')['Accepted'], 'True/Accepted');
  assert.equal(conditions(plan, 'HTTPRoute tenant/app')['Accepted'], 'False/HostnameNotPermitted');
});

test('it fails closed: a selector that cannot be read polices everybody, a namespace that is not there owns nothing', () => {
  const objects = [...platform(), open, namespace('system', { system: 'true' }), httpRoute({ namespace: 'system', parents })];
  assert.equal(conditions(planOf(objects, enforced('system in (')).plan, 'HTTPRoute system/app')['Accepted'], 'False/HostnameNotPermitted');

  const snapshot = snapshotOf([...platform(), open, httpRoute({ namespace: 'gone', parents })]);
  const objectsWithout = { ...snapshot.objects, Namespace: new Map([...snapshot.objects.Namespace].filter(([name]) => name !== 'gone')) };
  const graph = buildGraph({ ...snapshot, objects: objectsWithout }, enforced('system!=true'));
  assert.equal(graph.routes[0]?.parents[0]?.refused?.reason, 'HostnameNotPermitted');
});

test('an ordinary refusal keeps its own reason', () => {
  const closed = gateway({ namespace: 'infra', listeners: [listener({ hostname: 'infra.example.com' })] });
  const infra = namespace('infra', { [LABEL]: 'example.com' });
  const { plan } = planOf([...platform(), infra, closed, httpRoute({ namespace: 'tenant', parents, hostnames: ['x.test'] })], enforced());
  assert.equal(conditions(plan, 'HTTPRoute tenant/app')['Accepted'], 'False/NotAllowedByListeners');
});

test('switched off, nobody is policed', () => {
  const off = settings({ ownership: { enforce: false, labelKey: LABEL, namespaceSelector: '' } });
  const { plan } = planOf([...platform(), open, httpRoute({ namespace: 'tenant', parents, hostnames: [] })], off);
  assert.equal(conditions(plan, 'HTTPRoute tenant/app')['Accepted'], 'True/Accepted');
});

suite('one hostname, several namespaces', () => {
  const tenant = (name: string, domain?: string) => namespace(name, domain === undefined ? { system: 'true' } : { [LABEL]: domain });
  const claim = (name: string, hostname: string, created: string) =>
    httpRoute({ namespace: name, parents, hostnames: [hostname], created });
  const shadowed = (plan: ReturnType<typeof planOf>['plan'], name: string) =>
    conditions(plan, `HTTPRoute ${name}/app`)['cf.k8s.lex.la/RouteShadowed'];
  const servedBy = (plan: ReturnType<typeof planOf>['plan']) =>
    plan.planes[0]?.items.flatMap((item) => (item.kind === 'route' ? [item.namespace] : []));

  test('the longest domain wins over an older parent, and the loser says so', () => {
    const objects = [
      tenant('parent', 'example.com'),
      tenant('child', 'child.example.com'),
      claim('parent', 'shop.child.example.com', '2020-01-01T00:00:00Z'),
      claim('child', 'SHOP.child.example.com', '2026-01-01T00:00:00Z'),
    ];
    const { plan } = planOf([...platform(), open, ...objects], enforced());
    assert.deepEqual(servedBy(plan), ['child']);
    assert.equal(conditions(plan, 'HTTPRoute parent/app')['Accepted'], 'True/Accepted');
    assert.equal(shadowed(plan, 'parent'), 'True/HostnameMatchShadowed');
    assert.match(message(plan, 'HTTPRoute parent/app', 'cf.k8s.lex.la/RouteShadowed'), /shop\.child\.example\.com.*namespace child/);
    assert.equal(shadowed(plan, 'child'), undefined);
    assert.deepEqual(
      plan.events.map(({ reason, ref }) => `${reason} ${ref.namespace}`),
      ['RouteShadowed parent'],
    );
  });

  test('a policed namespace wins over one that is not', () => {
    const objects = [
      tenant('system'),
      tenant('child', 'example.com'),
      claim('system', 'a.example.com', '2020-01-01T00:00:00Z'),
      claim('child', 'a.example.com', '2026-01-01T00:00:00Z'),
    ];
    const { plan } = planOf([...platform(), open, ...objects], enforced('system!=true'));
    assert.deepEqual(servedBy(plan), ['child']);
  });

  test('claimants of equal rank share it', () => {
    for (const objects of [
      [tenant('a', 'example.com'), tenant('b', 'example.com')],
      [tenant('a'), tenant('b')],
    ]) {
      const claims = [claim('a', 'x.example.com', '2026-01-01T00:00:00Z'), claim('b', 'x.example.com', '2026-01-01T00:00:00Z')];
      const { plan } = planOf([...platform(), open, ...objects, ...claims], enforced('system!=true'));
      assert.deepEqual(servedBy(plan), ['a', 'b']);
      assert.equal(shadowed(plan, 'a'), undefined);
    }
  });

  test('a route loses only the contested hostname, and a hostless one the listener whose hostname is taken', () => {
    const gateways = gateway({
      namespace: 'infra',
      listeners: [
        listener({ name: 'one', hostname: 'a.example.com', allowedRoutes: { namespaces: { from: 'All' } } }),
        listener({ name: 'any', port: 8443, allowedRoutes: { namespaces: { from: 'All' } } }),
      ],
    });
    const objects = [
      tenant('infra'),
      tenant('system'),
      tenant('child', 'example.com'),
      httpRoute({ namespace: 'system', parents, hostnames: [] }),
      httpRoute({
        namespace: 'system',
        name: 'two',
        parents: [{ namespace: 'infra', sectionName: 'any' }],
        hostnames: ['a.example.com', 'b.system.test'],
      }),
      claim('child', 'a.example.com', '2026-01-01T00:00:00Z'),
    ];
    const { plan } = planOf([...platform(), gateways, ...objects], enforced('system!=true'));
    const attachments = Object.fromEntries(
      plan.planes[0]?.items.flatMap((item) =>
        item.kind === 'route' ? [[item.id, item.attachments.map(({ listener, hostnames }) => [listener, ...hostnames])]] : [],
      ) ?? [],
    ) as Record<string, string[][]>;
    assert.deepEqual(attachments['HTTPRoute/system/app'], [['Gateway/infra/tunnel/any']]);
    assert.deepEqual(attachments['HTTPRoute/system/two'], [['Gateway/infra/tunnel/any', 'b.system.test']]);
    assert.equal(shadowed(plan, 'system'), 'True/HostnameMatchShadowed');
  });
});

test('binding does not look at routes of others', () => {
  const graph = buildGraph(snapshotOf([...platform(), open]), enforced());
  const topology = buildTopology(
    graph.gateways,
    { enforced: false, domainOf: () => null, refuseRoute: () => null, refuseListener: () => null },
    new Map(),
    'http2',
  );
  assert.deepEqual(bindRoute(httpRoute({ parents: [{ name: 'other' }] }), topology), []);
});
