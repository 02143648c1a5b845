// Statuses as far as they depend on facts and on what is stored.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Gateway, GRPCRoute, HTTPRoute } from '#controller/api/gateway.ts';
import type { Facts, PlaneFact, TunnelFact } from '#controller/api/plan.ts';
import {
  certificate,
  CONTROLLER,
  classConfig,
  credentials,
  gateway,
  gatewayClass,
  grpcRoute,
  httpRoute,
  listener,
  listenerSet,
  platform,
  settings,
  TUNNEL,
} from '#test/build/objects.ts';
import { conditions, message, nothingKnown, planOf } from '#test/build/plan.ts';

const GATEWAY = 'Gateway default/tunnel';
const synced: TunnelFact = { state: 'Synced', accountId: null, version: 1, reason: 'Synced', message: 'fine', foreignRules: [] };
const acknowledged: PlaneFact = { state: 'Acknowledged', message: '', proxies: 1 };

const facts = (tunnel: Partial<TunnelFact> | null, plane: Partial<PlaneFact> | null): Facts => ({
  tunnels: new Map(tunnel === null ? [] : [[TUNNEL, { ...synced, ...tunnel }]]),
  planes: new Map(plane === null ? [] : [['shared', { ...acknowledged, ...plane }]]),
  objects: new Map(),
  provisions: new Map(),
});

const programmedBefore = (object: Gateway): Gateway => ({
  ...object,
  status: { conditions: [{ type: 'Programmed', status: 'True', reason: 'Programmed', message: '' }] },
});

const programmed = (given: Facts, object = gateway()) =>
  conditions(planOf([...platform(), object], settings(), () => given).plan, GATEWAY)['Programmed'];

test('a Gateway becomes programmed when its rules are written and a proxy has acknowledged', () => {
  assert.equal(programmed(facts({}, {})), 'True/Programmed');
  for (const [tunnel, plane] of [
    [null, {}],
    [{ state: 'Pending' }, {}],
    [{ state: 'Failed', message: 'refused' }, {}],
    [{}, null],
    [{}, { state: 'Unknown' }],
    [{}, { state: 'Behind' }],
    [{}, { state: 'Unreachable' }],
    [{}, { proxies: 0 }],
  ] as const)
    assert.equal(programmed(facts(tunnel, plane)), 'False/Pending', JSON.stringify([tunnel, plane]));
  assert.equal(programmed(facts({}, { state: 'Rejected' })), 'False/Invalid');
  assert.match(
    message(
      planOf([...platform(), gateway()], settings(), () => facts({ state: 'Failed', message: 'no permission' }, {})).plan,
      GATEWAY,
      'Programmed',
    ),
    /no permission/,
  );
});

test('once programmed, restarts, rollouts and outages of the API do not clear it; a refusal or unreachable proxies do', () => {
  const before = programmedBefore(gateway());
  for (const given of [
    nothingKnown,
    facts({ state: 'Failed' }, { state: 'Behind' }),
    facts({ state: 'Pending' }, { state: 'Unknown' }),
    facts({}, { proxies: 0 }),
  ]) {
    assert.equal(programmed(given, before), 'True/Programmed');
  }
  assert.equal(programmed(facts({}, { state: 'Rejected' }), before), 'False/Invalid');
  assert.equal(programmed(facts({}, { state: 'Unreachable' }), before), 'False/Pending');
  const withoutListener = programmedBefore(gateway({ listeners: [listener({ protocol: 'TCP' })] }));
  assert.equal(programmed(facts({}, {}), withoutListener), 'False/Invalid');
  const otherAddress = programmedBefore(gateway({ spec: { addresses: [{ type: 'Hostname', value: 'x.test' }] } }));
  assert.equal(programmed(facts({}, {}), otherAddress), 'False/AddressNotUsable');
});

test('listeners and sets are not programmed before their Gateway is', () => {
  const open = gateway({ spec: { allowedListeners: { namespaces: { from: 'Same' } } } });
  const objects = [...platform(), open, listenerSet({ listeners: [listener({ name: 'set', hostname: 'set.test' })] })];
  const { plan } = planOf(objects, settings(), () => nothingKnown);
  assert.equal(conditions(plan, GATEWAY, 'https')['Programmed'], 'False/Pending');
  assert.deepEqual(conditions(plan, 'ListenerSet default/set'), { Accepted: 'True/Accepted', Programmed: 'False/ParentNotProgrammed' });
  assert.equal(conditions(plan, 'ListenerSet default/set', 'set')['Programmed'], 'False/Pending');
  const refused = gateway({ spec: { ...open.spec, addresses: [{ type: 'IPAddress', value: '192.0.2.1' }] } });
  const rejected = planOf([...platform(), refused, ...objects.slice(-1)]).plan;
  assert.deepEqual(conditions(rejected, 'ListenerSet default/set'), {
    Accepted: 'False/ParentNotAccepted',
    Programmed: 'False/ParentNotAccepted',
  });
});

test('edge.certificates decides what unresolved certificates mean, but never permits a foreign Secret', () => {
  const tls = (namespace?: string) =>
    gateway({ listeners: [listener({ tls: { certificateRefs: [{ name: 'cert', ...(namespace === undefined ? {} : { namespace }) }] } })] });
  const state = (certificates: 'Require' | 'Ignore', object: Gateway, others: Parameters<typeof planOf>[0] = []) => {
    const { plan } = planOf([gatewayClass(), classConfig({ edge: { certificates } }), credentials(), object, ...others]);
    const { Accepted, Programmed, ResolvedRefs } = conditions(plan, GATEWAY, 'https');
    return [Accepted, Programmed, ResolvedRefs];
  };
  const good = ['True/Accepted', 'True/Programmed', 'True/ResolvedRefs'];
  assert.deepEqual(state('Require', tls(), [certificate('cert')]), good);
  assert.deepEqual(state('Require', gateway()), good, 'no tls block at all');
  assert.deepEqual(state('Require', tls()), ['True/Accepted', 'False/Invalid', 'False/InvalidCertificateRef']);
  assert.deepEqual(state('Ignore', tls()), ['True/Accepted', 'True/Programmed', 'False/InvalidCertificateRef']);
  for (const mode of ['Require', 'Ignore'] as const) {
    const refused = ['True/Accepted', 'False/Invalid', 'False/RefNotPermitted'];
    assert.deepEqual(state(mode, tls('elsewhere'), [certificate('cert', 'elsewhere')]), refused);
    assert.deepEqual(state(mode, tls('elsewhere')), refused, 'whether it exists is not told');
  }
});

test('routes say when proxies do not take the configuration', () => {
  const pushed = (plane: Partial<PlaneFact>) =>
    conditions(
      planOf([...platform(), gateway(), httpRoute({ rules: [{}] })], settings(), () => facts({}, plane)).plan,
      'HTTPRoute default/app',
    )['cf.k8s.lex.la/ProxyConfigPushed'];
  assert.equal(pushed({}), undefined);
  assert.equal(pushed({ state: 'Behind' }), undefined);
  assert.equal(pushed({ state: 'Rejected', message: 'why' }), 'False/ProxyConfigPushFailed');
  assert.equal(pushed({ state: 'Unreachable', message: 'why' }), 'False/ProxyConfigPushFailed');
});

test('the tunnel at Cloudflare is told on its configuration', () => {
  const told = (fact: Partial<TunnelFact> | null) => {
    const { plan } = planOf([...platform()], settings(), () => facts(fact, {}));
    return `${conditions(plan, 'GatewayClassConfig main')['TunnelSynced']}: ${message(plan, 'GatewayClassConfig main', 'TunnelSynced')}`;
  };
  assert.equal(told({ message: 'done' }), 'True/Synced: done');
  assert.equal(told({ reason: 'Observed', message: 'looked' }), 'True/Observed: looked');
  assert.match(told(null), /^Unknown\/Pending: /);
  assert.match(told({ state: 'Pending', message: 'soon' }), /^Unknown\/Pending: soon/);
  assert.equal(
    told({ state: 'Failed', reason: 'PermissionDenied', message: 'No.', foreignRules: ['a.test'] }),
    'False/PermissionDenied: No. Rules that are not from this controller: a.test.',
  );
});

test('what was found of the tunnel before a restart holds until it is looked at again, but not for another generation', () => {
  const before = { type: 'TunnelSynced', status: 'True', reason: 'Synced', message: 'version 7', observedGeneration: 2 } as const;
  const told = (fact: Partial<TunnelFact> | null, generation: number): string | undefined => {
    const config = classConfig();
    const stored = { ...config, metadata: { ...config.metadata, generation }, status: { conditions: [before] } };
    const { plan } = planOf([gatewayClass(), stored, credentials()], settings(), () => facts(fact, {}));
    return conditions(plan, 'GatewayClassConfig main')['TunnelSynced'];
  };
  for (const unknown of [null, { state: 'Pending' }] as const) {
    assert.equal(told(unknown, 2), 'True/Synced');
    assert.equal(told(unknown, 3), 'Unknown/Pending');
  }
  assert.equal(told({ state: 'Failed', reason: 'CloudflareFailed' }, 2), 'False/CloudflareFailed');
});

test('a route that left us loses our entries, and nobody else’s route is touched', () => {
  const entry = (controllerName: string) => ({ parentRef: { name: 'x' }, controllerName, conditions: [] });
  const elsewhere = [{ name: 'elsewhere' }];
  const left: HTTPRoute = {
    ...httpRoute({ name: 'left', parents: elsewhere }),
    status: { parents: [entry('example.com/other'), entry(CONTROLLER)] },
  };
  const never: HTTPRoute = { ...httpRoute({ name: 'never', parents: elsewhere }), status: { parents: [entry('example.com/other')] } };
  const grpc: GRPCRoute = { ...grpcRoute({ name: 'grpc', parents: elsewhere }), status: { parents: [entry(CONTROLLER)] } };
  const { plan } = planOf([...platform(), gateway(), left, never, grpc]);
  const routes = plan.statuses.filter(({ desired }) => desired.form === 'parents');
  assert.deepEqual(
    routes.map(({ ref, desired }) => [ref.kind, ref.name, desired]),
    [
      ['GRPCRoute', 'grpc', { form: 'parents', controllerName: CONTROLLER, parents: [] }],
      ['HTTPRoute', 'left', { form: 'parents', controllerName: CONTROLLER, parents: [] }],
    ],
  );
});

test('every condition has the generation that was looked at', () => {
  const at = <T extends { readonly metadata: object }>(object: T): T => ({ ...object, metadata: { ...object.metadata, generation: 7 } });
  const open = gateway({ spec: { allowedListeners: { namespaces: { from: 'Same' } } } });
  const { plan } = planOf([at(gatewayClass()), at(classConfig()), credentials(), at(open), at(listenerSet()), at(httpRoute())]);
  for (const { generation, desired, ref } of plan.statuses) {
    assert.equal(generation, 7);
    const found = [...JSON.stringify(desired).matchAll(/"observedGeneration":(\d+)/g)].map(([, number]) => Number(number));
    assert.ok(found.length > 0 && found.every((number) => number === 7), ref.kind);
  }
});
