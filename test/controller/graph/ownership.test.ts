import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { bindRoute, buildTopology } from '#controller/graph/attach.ts';
import { buildGraph } from '#controller/graph/build.ts';
import { gateway, grpcRoute, httpRoute, listener, listenerSet, namespace, platform, settings } from '#test/build/objects.ts';
import { conditions, message, planOf } from '#test/build/plan.ts';
import { snapshotOf } from '#test/build/snapshot.ts';
import { ownershipOptions, ownershipVectors, verdict } from './ownership-vectors.ts';

const LABEL = 'namespace.cozystack.io/host';
const enforced = (namespaceSelector = '') =>
  settings({ ownership: { enforce: true, labelKey: LABEL, namespaceSelector, unlabelled: 'Deny', emptyHostnames: 'Reject' } });
const open = gateway({ namespace: 'infra', listeners: [listener({ allowedRoutes: { namespaces: { from: 'All' } } })] });
const parents = [{ namespace: 'infra' }];

for (const options of ownershipOptions) {
  const policy = settings({ ownership: { enforce: true, labelKey: LABEL, namespaceSelector: '', ...options } });
  suite(`every vector, unlabelled: ${options.unlabelled}, emptyHostnames: ${options.emptyHostnames}`, () => {
    for (const vector of ownershipVectors) {
      const { title, label, hostnames } = vector;
      const tenant = namespace('tenant', label === undefined ? {} : { [LABEL]: label });
      const infra = namespace('infra', { [LABEL]: 'infra.test' });
      const reason = (allowed: boolean) => (allowed ? 'True/Accepted' : 'False/HostnameNotPermitted');
      for (const make of [httpRoute, grpcRoute]) {
        test(`${make.name}: ${title}`, () => {
          const allowed = verdict(vector, 'routes', options);
          const route = make({ namespace: 'tenant', parents, rules: [{}] });
          const { parentRefs, rules } = route.spec;
          const object = { ...route, spec: { parentRefs, rules, ...(hostnames === undefined ? {} : { hostnames }) } };
          const { plan } = planOf([...platform(), open, infra, tenant, object], policy);
          assert.equal(conditions(plan, `${route.kind} tenant/app`)['Accepted'], reason(allowed));
          const reached = [
            ...(plan.tunnels[0]?.rules ?? []),
            ...(plan.tunnels[0]?.last.service.startsWith('http:') === true ? ['any'] : []),
          ];
          assert.equal(reached.length > 0, allowed);
          assert.equal(
            plan.planes[0]?.items.some((item) => item.kind === 'route'),
            allowed,
          );
        });
      }
      test(`listeners: ${title}`, () => {
        const allowed = verdict(vector, 'listeners', options);
        const names = hostnames === undefined || hostnames.length === 0 ? [undefined] : hostnames;
        const listeners = names.map((hostname, index) => listener({ name: `l${index}`, ...(hostname === undefined ? {} : { hostname }) }));
        const set = listenerSet({ namespace: 'tenant', listeners, gateway: { name: 'shared', namespace: 'infra' } });
        const shared = gateway({
          namespace: 'infra',
          name: 'shared',
          listeners: [],
          spec: { allowedListeners: { namespaces: { from: 'All' } } },
        });
        const { plan } = planOf([...platform(), shared, infra, tenant, set, gateway({ namespace: 'tenant', listeners })], policy);
        for (const owner of ['Gateway tenant/tunnel', 'ListenerSet tenant/set']) {
          const verdicts = listeners.map(({ name }) => conditions(plan, owner, name)['Accepted']);
          const refused = verdicts.find((accepted) => accepted !== 'True/Accepted');
          assert.equal(refused ?? 'True/Accepted', reason(allowed), owner);
        }
      });
    }
  });
}

test('with Scope a route without hostnames serves its domain as far as the listener has it, and nothing else', () => {
  const scoped = settings({
    ownership: { enforce: true, labelKey: LABEL, namespaceSelector: '', unlabelled: 'Deny', emptyHostnames: 'Scope' },
  });
  const everyone = { namespaces: { from: 'All' } } as const;
  const served = (hostname: string | undefined) => {
    const at = gateway({
      namespace: 'infra',
      listeners: [listener({ allowedRoutes: everyone, ...(hostname === undefined ? {} : { hostname }) })],
    });
    const infra = namespace('infra', { [LABEL]: 'com' });
    const tenant = namespace('tenant', { [LABEL]: 'Team.example.com' });
    const route = httpRoute({ namespace: 'tenant', parents, hostnames: [] });
    const { plan } = planOf([...platform(), at, infra, tenant, route], scoped);
    assert.equal(plan.tunnels[0]?.last.service, 'http_status:404');
    return [conditions(plan, 'HTTPRoute tenant/app')['Accepted'], ...(plan.tunnels[0]?.rules.map((rule) => rule.hostname ?? '') ?? [])];
  };
  const whole = ['True/Accepted', 'team.example.com', '*.team.example.com'];
  assert.deepEqual(served(undefined), whole);
  assert.deepEqual(served('*.example.com'), whole);
  assert.deepEqual(served('*.team.example.com'), ['True/Accepted', '*.team.example.com']);
  assert.deepEqual(served('team.example.com'), ['True/Accepted', 'team.example.com']);
  assert.deepEqual(served('a.b.team.example.com'), ['True/Accepted', 'a.b.team.example.com']);
  assert.deepEqual(served('other.example.com'), ['False/NoMatchingListenerHostname']);
});

test('where unlabelled namespaces are ignored, one that is not there is still policed', () => {
  const ignoring = settings({
    ownership: { enforce: true, labelKey: LABEL, namespaceSelector: '', unlabelled: 'Ignore', emptyHostnames: 'Reject' },
  });
  const snapshot = snapshotOf([...platform(), open, httpRoute({ namespace: 'gone', parents })]);
  const rest = new Map([...snapshot.objects.Namespace].filter(([name]) => name !== 'gone'));
  const graph = buildGraph({ ...snapshot, objects: { ...snapshot.objects, Namespace: rest } }, ignoring);
  assert.equal(graph.routes[0]?.parents[0]?.refused?.reason, 'HostnameNotPermitted');
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
  const off = settings({
    ownership: { enforce: false, labelKey: LABEL, namespaceSelector: '', unlabelled: 'Deny', emptyHostnames: 'Reject' },
  });
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
    { enforced: false, domainOf: () => null, refuseRoute: () => null, hostnamesOf: (_, declared) => declared, refuseListener: () => null },
    new Map(),
    'http2',
  );
  assert.deepEqual(bindRoute(httpRoute({ parents: [{ name: 'other' }] }), topology), []);
});
