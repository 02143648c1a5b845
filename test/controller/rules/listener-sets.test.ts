// ListenerSets by the numbered rules that implementations of the Gateway API commonly get wrong (GEP-1713).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '#controller/api/core.ts';
import type { Gateway, Listener } from '#controller/api/gateway.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import { renderPlan } from '#controller/output/plan.ts';
import { certificate, gateway, grant, httpRoute, listener, listenerSet, namespace, platform, settings } from '#test/build/objects.ts';
import { conditions, happyFacts, message, planOf } from '#test/build/plan.ts';
import { snapshotOf, withObject, withoutObject } from '#test/build/snapshot.ts';
import { attachedRoutes, attachedSets, parentsOf } from './told.ts';

const GATEWAY = 'Gateway default/tunnel';
const http = (name: string, hostname: string, changes: Partial<Listener> = {}): Listener =>
  listener({ name, hostname, protocol: 'HTTP', port: 80, ...changes });
const open = (from: object = { from: 'All' }, listeners: readonly Listener[] = [http('own', 'own.test')]): Gateway =>
  gateway({ listeners, spec: { allowedListeners: { namespaces: from } } });
const plan = (...objects: readonly KubeObject[]) => planOf([...platform(), ...objects]).plan;

const REFUSED = { Accepted: 'False/NotAllowed', Programmed: 'False/NotAllowed' };
const GOOD = { Accepted: 'True/Accepted', Programmed: 'True/Programmed' };
const CLEAN = { ...GOOD, ResolvedRefs: 'True/ResolvedRefs', Conflicted: 'False/NoConflicts' };
const lost = (reason: string) => ({
  Accepted: `False/${reason}`,
  Programmed: `False/${reason}`,
  ResolvedRefs: 'True/ResolvedRefs',
  Conflicted: `True/${reason}`,
});

test('74. no ListenerSet is allowed unless the Gateway says so', () => {
  const set = listenerSet({ listeners: [http('set', 'set.test')] });
  for (const target of [gateway({ listeners: [http('own', 'own.test')] }), open({ from: 'None' })]) {
    const told = plan(target, set);
    assert.deepEqual(conditions(told, 'ListenerSet default/set'), REFUSED);
    assert.equal(conditions(told, 'ListenerSet default/set', 'set')['Accepted'], 'False/NotAllowed');
    assert.match(message(told, 'ListenerSet default/set', 'Accepted'), /Gateway default\/tunnel .*spec\.allowedListeners\.namespaces/);
    assert.deepEqual(conditions(told, GATEWAY), { ...GOOD, ResolvedRefs: 'True/ResolvedRefs' });
    assert.equal(attachedSets(told, GATEWAY), 0);
  }
});

test('74. allowed are All, the same namespace, or namespaces by their labels as they are now', () => {
  const here = listenerSet({ name: 'here', listeners: [http('here', 'here.test')] });
  const there = listenerSet({ name: 'there', namespace: 'team', listeners: [http('there', 'there.test')] });
  const allowed = (from: object, ...others: readonly KubeObject[]) => {
    const told = plan(open(from), here, there, ...others);
    return [
      conditions(told, 'ListenerSet default/here')['Accepted'],
      conditions(told, 'ListenerSet team/there')['Accepted'],
      attachedSets(told, GATEWAY),
    ];
  };
  const selector = { matchLabels: { listeners: 'yes' } };
  assert.deepEqual(allowed({ from: 'All' }), ['True/Accepted', 'True/Accepted', 2]);
  assert.deepEqual(allowed({ from: 'Same' }), ['True/Accepted', 'False/NotAllowed', 1]);
  assert.deepEqual(allowed({ from: 'Selector', selector }), ['False/NotAllowed', 'False/NotAllowed', 0]);
  assert.deepEqual(allowed({ from: 'Selector', selector }, namespace('team', { listeners: 'yes' })), [
    'False/NotAllowed',
    'True/Accepted',
    1,
  ]);
  const broken = { from: 'Selector', selector: { matchExpressions: [{ key: 'a', operator: 'Near', values: ['b'] }] } };
  assert.deepEqual(allowed(broken), ['False/NotAllowed', 'False/NotAllowed', 0]);
});

test('75. a place belongs to the Gateway, then to the older set, then to the first by namespace and name', () => {
  const target = open({ from: 'All' }, [http('own', 'gateway.test')]);
  const taking = (name: string, namespace: string, created?: string) =>
    listenerSet({
      name,
      namespace,
      ...(created === undefined ? {} : { created }),
      listeners: [http('mine', `${name}.${namespace}.test`), http('of-gateway', 'gateway.test'), http('shared', 'shared.test')],
    });
  const winner = (...sets: readonly KubeObject[]) => {
    const told = plan(target, ...sets);
    assert.equal(conditions(told, GATEWAY, 'own')['Accepted'], 'True/Accepted');
    return sets
      .map(({ metadata }) => `ListenerSet ${metadata.namespace}/${metadata.name}`)
      .filter((set) => {
        assert.deepEqual(conditions(told, set, 'of-gateway'), lost('HostnameConflict'));
        assert.deepEqual(conditions(told, set, 'mine'), CLEAN);
        return conditions(told, set, 'shared')['Conflicted'] === 'False/NoConflicts';
      });
  };
  assert.deepEqual(winner(taking('a', 'x', '2026-03-01T00:00:00Z'), taking('b', 'x', '2026-02-01T00:00:00Z')), ['ListenerSet x/b']);
  assert.deepEqual(winner(taking('b', 'x'), taking('a', 'x')), ['ListenerSet x/a']);
  assert.deepEqual(winner(taking('a', 'y'), taking('b', 'x')), ['ListenerSet x/b']);
});

test('75. the same by protocol: one port has one protocol, and conflict is decided before support for it', () => {
  const told = plan(
    open(),
    listenerSet({ listeners: [http('good', 'good.test'), { name: 'tcp', protocol: 'TCP', port: 80 }, http('again', 'own.test')] }),
  );
  assert.deepEqual(conditions(told, 'ListenerSet default/set', 'good'), CLEAN);
  assert.deepEqual(conditions(told, 'ListenerSet default/set', 'tcp'), lost('ProtocolConflict'));
  assert.deepEqual(conditions(told, 'ListenerSet default/set', 'again'), lost('HostnameConflict'));
  assert.match(message(told, 'ListenerSet default/set', 'Conflicted', 'tcp'), /Gateway\/default\/tunnel\/own/);
});

test('75. a set that is not allowed takes no place, and neither does a listener without a port', () => {
  const target = open({ from: 'Same' });
  const stranger = listenerSet({ name: 'a', namespace: 'elsewhere', created: '2025-01-01T00:00:00Z', listeners: [http('x', 'x.test')] });
  const portless = listenerSet({
    name: 'b',
    listeners: ['one', 'two'].map((name) => ({ name, protocol: 'HTTP', hostname: 'p.test' }) as unknown as Listener),
  });
  const told = plan(target, stranger, portless, listenerSet({ name: 'c', listeners: [http('x', 'x.test')] }));
  assert.deepEqual(conditions(told, 'ListenerSet default/c', 'x'), CLEAN);
  for (const name of ['one', 'two']) {
    assert.equal(conditions(told, 'ListenerSet default/b', name)['Conflicted'], 'False/NoConflicts');
    assert.equal(conditions(told, 'ListenerSet default/b', name)['Accepted'], 'False/PortUnavailable');
  }
});

test('75. when a set goes, those that lost to it are served, whoever was looked at first', () => {
  const build = createGraphBuilder();
  const first = listenerSet({ name: 'first', created: '2025-01-01T00:00:00Z', listeners: [http('x', 'x.test')] });
  const before = snapshotOf([...platform(), open(), first, listenerSet({ name: 'second', listeners: [http('x', 'x.test')] })]);
  const told = (snapshot: typeof before) => {
    const graph = build(snapshot, settings());
    return conditions(renderPlan(graph, happyFacts(graph), snapshot, new Map()), 'ListenerSet default/second');
  };
  assert.deepEqual(told(before), { Accepted: 'False/ListenersNotValid', Programmed: 'False/ListenersNotValid' });
  assert.deepEqual(told(withoutObject(before, 'ListenerSet', 'default/first')), GOOD);
  assert.deepEqual(told(before), { Accepted: 'False/ListenersNotValid', Programmed: 'False/ListenersNotValid' });
});

test('76. a conflict costs the listener, not its set; a set without a usable listener is not accepted', () => {
  const told = plan(
    open(),
    listenerSet({ name: 'some', listeners: [http('good', 'good.test'), http('bad', 'own.test')] }),
    listenerSet({ name: 'none', listeners: [http('bad', 'own.test')] }),
    listenerSet({ name: 'unsupported', listeners: [{ name: 'udp', protocol: 'UDP', port: 53 }] }),
  );
  assert.deepEqual(conditions(told, 'ListenerSet default/some'), { Accepted: 'True/ListenersNotValid', Programmed: 'True/Programmed' });
  for (const name of ['none', 'unsupported']) {
    assert.deepEqual(conditions(told, `ListenerSet default/${name}`), {
      Accepted: 'False/ListenersNotValid',
      Programmed: 'False/ListenersNotValid',
    });
  }
  assert.match(message(told, 'ListenerSet default/none', 'Accepted'), /^listener bad: hostname own\.test on port 80 is already taken/);
});

test('77. attachedListenerSets counts accepted sets only', () => {
  const told = plan(
    open({ from: 'Same' }),
    listenerSet({ name: 'good', listeners: [http('good', 'good.test')] }),
    listenerSet({ name: 'half', listeners: [http('half', 'half.test'), http('bad', 'own.test')] }),
    listenerSet({ name: 'bad', listeners: [http('bad', 'own.test')] }),
    listenerSet({ name: 'stranger', namespace: 'elsewhere', listeners: [http('x', 'x.test')] }),
    listenerSet({ name: 'of-another', gateway: { name: 'another' }, listeners: [http('y', 'y.test')] }),
  );
  assert.equal(attachedSets(told, GATEWAY), 2);
});

test('78. a grant for Gateways does not help a ListenerSet, nor the other way round', () => {
  const tls = { certificateRefs: [{ name: 'cert', namespace: 'certs' }] };
  const granting = (kind: string) =>
    grant('certs', { group: 'gateway.networking.k8s.io', kind, namespace: 'default' }, { group: '', kind: 'Secret', name: 'cert' });
  const told = (kind: string) => {
    const objects = plan(
      open({ from: 'Same' }, [http('own', 'own.test'), listener({ name: 'tls', hostname: 'gateway.test', tls })]),
      listenerSet({ listeners: [listener({ name: 'tls', hostname: 'set.test', tls })] }),
      certificate('cert', 'certs'),
      granting(kind),
    );
    return {
      gateway: conditions(objects, GATEWAY, 'tls')['ResolvedRefs'],
      set: conditions(objects, 'ListenerSet default/set', 'tls')['ResolvedRefs'],
      accepted: conditions(objects, 'ListenerSet default/set'),
    };
  };
  const none = { Accepted: 'False/ListenersNotValid', Programmed: 'False/ListenersNotValid' };
  assert.deepEqual(told('Gateway'), { gateway: 'True/ResolvedRefs', set: 'False/RefNotPermitted', accepted: none });
  assert.deepEqual(told('ListenerSet'), { gateway: 'False/RefNotPermitted', set: 'True/ResolvedRefs', accepted: GOOD });
});

const dual = (...parents: readonly object[]) =>
  plan(
    open({ from: 'Same' }, [http('on-gateway', 'gateway.test')]),
    listenerSet({ listeners: [http('on-set', 'set.test')] }),
    httpRoute({ hostnames: [], parents }),
  );
const SET = { kind: 'ListenerSet', name: 'set' };

test('79. a parentRef of kind Gateway cannot name a section of a set, nor the other way round', () => {
  const told = dual({ sectionName: 'on-set' }, { ...SET, sectionName: 'on-set' }, { ...SET, sectionName: 'on-gateway' });
  assert.deepEqual(parentsOf(told, 'HTTPRoute default/app'), [
    'Gateway tunnel on-set: False/NoMatchingParent',
    'ListenerSet set on-set: True/Accepted',
    'ListenerSet set on-gateway: False/NoMatchingParent',
  ]);
});

test('80. a route is on the listeners of the parents that it names and on no others', () => {
  const counts = (...parents: readonly object[]) => {
    const told = dual(...parents);
    return [...attachedRoutes(told, GATEWAY), ...attachedRoutes(told, 'ListenerSet default/set')];
  };
  assert.deepEqual(counts({}), [1, 0]);
  assert.deepEqual(counts(SET), [0, 1]);
  assert.deepEqual(counts({}, SET), [1, 1]);
});

test('80. parents speak for themselves: one that refuses does not spoil the other', () => {
  const told = plan(
    open({ from: 'Same' }, [http('own', 'gateway.test')]),
    listenerSet({ listeners: [http('set', 'set.test')] }),
    httpRoute({ hostnames: ['set.test'], parents: [{}, SET] }),
  );
  assert.deepEqual(parentsOf(told, 'HTTPRoute default/app'), [
    'Gateway tunnel: False/NoMatchingListenerHostname',
    'ListenerSet set: True/Accepted',
  ]);
});

test('81. Same in the allowedRoutes of a set is the namespace of the set', () => {
  const told = plan(
    open({ from: 'All' }),
    listenerSet({ namespace: 'team', listeners: [http('set', 'set.test')] }),
    httpRoute({ name: 'of-gateway', hostnames: [], parents: [{ ...SET, namespace: 'team' }] }),
    httpRoute({ name: 'of-set', namespace: 'team', hostnames: [], parents: [{ ...SET, namespace: 'team' }] }),
  );
  assert.deepEqual(parentsOf(told, 'HTTPRoute default/of-gateway'), ['ListenerSet set: False/NotAllowedByListeners']);
  assert.deepEqual(parentsOf(told, 'HTTPRoute team/of-set'), ['ListenerSet set: True/Accepted']);
  assert.deepEqual(attachedRoutes(told, 'ListenerSet team/set'), [1]);
});

test('81. routes of several namespaces share one hostname of a set that lets them', () => {
  const everyone = { allowedRoutes: { namespaces: { from: 'All' } } };
  const teams = ['one', 'two', 'three'];
  const told = plan(
    open(),
    listenerSet({ listeners: [http('set', 'set.test', everyone)] }),
    ...teams.map((namespace) => httpRoute({ name: 'app', namespace, hostnames: [], parents: [SET] })),
  );
  for (const team of teams) assert.deepEqual(parentsOf(told, `HTTPRoute ${team}/app`), ['ListenerSet set: True/Accepted']);
  assert.deepEqual(attachedRoutes(told, 'ListenerSet default/set'), [3]);
});

test('82. a listener without a port is refused, with the port to write', () => {
  const portless = { name: 'set', protocol: 'HTTP', hostname: 'set.test' } as unknown as Listener;
  const told = plan(open(), listenerSet({ listeners: [portless] }));
  assert.equal(conditions(told, 'ListenerSet default/set', 'set')['Accepted'], 'False/PortUnavailable');
  assert.match(message(told, 'ListenerSet default/set', 'Accepted', 'set'), /443 for HTTPS and 80 for HTTP/);
});

test('83. when a set goes, so does what its routes were told about it', () => {
  const controllerName = settings().controllerName;
  const stored = (kind: string, name: string) => ({ parentRef: { kind, name, namespace: 'default' }, controllerName, conditions: [] });
  const route = httpRoute({ hostnames: [], parents: [{}, SET] });
  const only = httpRoute({ name: 'only', hostnames: [], parents: [SET] });
  const build = createGraphBuilder();
  const before = [open(), listenerSet({ listeners: [http('set', 'set.test')] }), route, only].reduce(
    (snapshot, object) => withObject(snapshot, object),
    snapshotOf(platform()),
  );
  const told = (snapshot: typeof before) => {
    const graph = build(snapshot, settings());
    return renderPlan(graph, happyFacts(graph), snapshot, new Map());
  };
  assert.equal(parentsOf(told(before), 'HTTPRoute default/app').length, 2);
  const written = [
    { ...route, status: { parents: [stored('Gateway', 'tunnel'), stored('ListenerSet', 'set')] } },
    { ...only, status: { parents: [stored('ListenerSet', 'set')] } },
  ].reduce((snapshot, object) => withObject(snapshot, object), before);
  const after = told(withoutObject(written, 'ListenerSet', 'default/set'));
  assert.deepEqual(parentsOf(after, 'HTTPRoute default/app'), ['Gateway tunnel: True/Accepted']);
  assert.deepEqual(parentsOf(after, 'HTTPRoute default/only'), []);
});
