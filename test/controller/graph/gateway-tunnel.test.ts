// Gateways with tunnels of their own: who gets which, and who is told what.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '#controller/api/core.ts';
import { GATEWAY_CONFIG_ANNOTATION, type GatewayClassConfig, type GatewayConfig } from '#controller/api/own.ts';
import { buildGraph, createGraphBuilder } from '#controller/graph/build.ts';
import { madeTunnelSecret } from '#controller/graph/made-tunnel.ts';
import { wantedObjects } from '#controller/graph/references.ts';
import { isSameConnector } from '#controller/graph/token.ts';
import {
  API_TOKEN,
  classConfig,
  connectorToken,
  credentials,
  gateway,
  gatewayClass,
  gatewayConfig,
  httpRoute,
  namespace,
  platform,
  secret,
  settings,
  TUNNEL,
  TUNNEL_SECRET,
} from '#test/build/objects.ts';
import { conditions, happyFacts, planOf } from '#test/build/plan.ts';
import { snapshotOf, withObject } from '#test/build/snapshot.ts';

const OWN_TUNNEL = '22222222-2222-3333-4444-555555555555';
const ownToken = (changes: Parameters<typeof connectorToken>[0] = {}) => connectorToken({ t: OWN_TUNNEL, ...changes });
const ref = (name: string) => ({ spec: { infrastructure: { parametersRef: { group: 'cf.k8s.lex.la', kind: 'GatewayConfig', name } } } });

interface Place {
  readonly namespace?: string;
  readonly created?: string;
  readonly token?: string;
  readonly config?: Partial<GatewayConfig['spec']>;
}

/** A Gateway, its GatewayConfig and the Secret with its connector token. */
const withOwnTunnel = ({ namespace = 'default', created = '2026-01-01T00:00:00Z', token = ownToken(), config = {} }: Place = {}) =>
  [
    gateway({ namespace, created, ...ref('own') }),
    gatewayConfig(config, { namespace }),
    secret('own-tunnel', namespace, { 'tunnel-token': token }),
  ] as const;

const graphOf = (objects: readonly KubeObject[], limit = 20) =>
  buildGraph(snapshotOf([...platform(), ...objects]), settings({ tunnelsPerPool: limit }));

test('a GatewayConfig gives its Gateway tunnel and account of the connector token, with the API token of the class or its own', () => {
  const [first, second] = graphOf(withOwnTunnel()).tunnels;
  assert.deepEqual([first?.id, first?.connectorToken], [TUNNEL, null]);
  assert.deepEqual([second?.id, second?.apiToken, second?.connectorToken], [OWN_TUNNEL, API_TOKEN, ownToken()]);
  const credentials = secret('mine', 'default', { 'api-token': 'my-own-api-token' });
  const own = graphOf([...withOwnTunnel({ config: { cloudflareCredentialsSecretRef: { name: 'mine' } } }), credentials]).tunnels[1];
  assert.equal(own?.apiToken, 'my-own-api-token');
});

test('an API token of its own that is missing is not replaced by that of the class', () => {
  const { tunnels, gateways } = graphOf(withOwnTunnel({ config: { cloudflareCredentialsSecretRef: { name: 'mine' } } }));
  assert.equal(tunnels[1]?.apiToken, null);
  assert.equal(gateways[0]?.tunnelId, OWN_TUNNEL, 'traffic needs no API token');
});

test('the Secrets of a GatewayConfig are wanted as soon as a Gateway of ours has it', () => {
  const [own, config] = withOwnTunnel();
  const wanted = (objects: readonly KubeObject[]) =>
    wantedObjects(snapshotOf([...platform(), ...objects]), settings()).secrets.has('default/own-tunnel');
  assert.deepEqual([wanted([config]), wanted([own, config])], [false, true]);
});

test('the annotation counts as much as the reference, also when it comes later', () => {
  const build = createGraphBuilder();
  const [, config, token] = withOwnTunnel();
  const before = snapshotOf([...platform(), gateway(), config, token]);
  assert.equal(build(before, settings()).gateways[0]?.tunnelId, TUNNEL);
  const annotated = { ...gateway(), metadata: { ...gateway().metadata, annotations: { [GATEWAY_CONFIG_ANNOTATION]: 'own' } } };
  assert.equal(build(withObject(before, annotated), settings()).gateways[0]?.tunnelId, OWN_TUNNEL);
});

test('Gateways that bring one token share its tunnel; whoever made up another for it, however old, does nothing to them', () => {
  const red = withOwnTunnel({ namespace: 'red', created: '2026-02-01T00:00:00Z' });
  const blue = withOwnTunnel({ namespace: 'blue', created: '2026-03-01T00:00:00Z' });
  const forged = (created: string) => withOwnTunnel({ namespace: 'green', created, token: ownToken({ s: 'guessed' }) });
  const byGateway = (...objects: readonly KubeObject[]) => {
    const { graph, plan } = planOf([...platform(), ...objects]);
    assert.ok(!JSON.stringify([plan.statuses, plan.events]).includes(TUNNEL_SECRET));
    const tokens = new Map(plan.tunnels.map(({ id, tunnelId, connectorToken }) => [id, [tunnelId, connectorToken]]));
    return Object.fromEntries(graph.gateways.map(({ key, tunnelId }) => [key.split('/')[0], tokens.get(tunnelId ?? '')]));
  };
  for (const created of ['2026-01-01T00:00:00Z', '2026-04-01T00:00:00Z']) {
    assert.deepEqual(byGateway(...red, ...blue, ...forged(created)), {
      red: [OWN_TUNNEL, ownToken()],
      blue: [OWN_TUNNEL, ownToken()],
      green: [OWN_TUNNEL, ownToken({ s: 'guessed' })],
    });
  }
});

test('a token that Cloudflare does not know is told to its Gateway, not to the one with the right token', () => {
  const red = withOwnTunnel({ namespace: 'red', created: '2026-02-01T00:00:00Z' });
  const forged = withOwnTunnel({ namespace: 'green', token: ownToken({ s: 'guessed' }) });
  const { plan } = planOf([...platform(), ...red, ...forged], settings(), (graph) => {
    const facts = happyFacts(graph);
    const id = graph.gateways.find(({ key }) => key === 'green/tunnel')?.tunnelId ?? '';
    const fact = facts.tunnels.get(id);
    assert.ok(fact !== undefined);
    return { ...facts, tunnels: new Map([...facts.tunnels, [id, { ...fact, state: 'Failed', reason: 'ConnectorTokenInvalid' }]]) };
  });
  assert.equal(conditions(plan, 'Gateway green/tunnel')['Programmed'], 'False/Invalid');
  assert.equal(conditions(plan, 'GatewayConfig green/own')['TunnelSynced'], 'False/ConnectorTokenInvalid');
  assert.equal(conditions(plan, 'Gateway red/tunnel')['Programmed'], 'True/Programmed');
  assert.equal(conditions(plan, 'GatewayConfig red/own')['TunnelSynced'], 'True/Synced');
});

test('Gateways that share a tunnel by their GatewayConfigs: their routes say so, and compete by namespace for hostnames', () => {
  const red = withOwnTunnel({ namespace: 'red' });
  const blue = withOwnTunnel({ namespace: 'blue' });
  const route = (namespace: string) => httpRoute({ name: namespace, namespace, parents: [{ namespace }] });
  const told = (...objects: readonly KubeObject[]) => {
    const { plan } = planOf([...platform(), ...objects]);
    return [
      conditions(plan, 'HTTPRoute red/red')['cf.k8s.lex.la/TunnelShared'],
      plan.events.map(({ ref, reason }) => `${reason} ${ref.name}`),
    ];
  };
  assert.deepEqual(told(...red, ...blue, route('red'), route('blue')), [
    'True/TunnelSharedAcrossNamespaces',
    ['TunnelShared blue', 'TunnelShared red'],
  ]);
  assert.deepEqual(told(...red, route('red')), [undefined, []]);
  const ofClass = withOwnTunnel({ namespace: 'red', token: connectorToken() });
  assert.deepEqual(told(...ofClass, gateway(), route('red')), [undefined, []], 'the tunnel of the class is shared by design');
});

test('in a shared tunnel a hostname goes to the namespace that owns it, and the other is told', () => {
  const parent = namespace('red', { 'cf.k8s.lex.la/hostname-suffix': 'example.com' });
  const child = namespace('blue', { 'cf.k8s.lex.la/hostname-suffix': 'app.example.com' });
  const both = [...withOwnTunnel({ namespace: 'red' }), ...withOwnTunnel({ namespace: 'blue' })];
  const route = (namespace: string) => httpRoute({ name: namespace, namespace, parents: [{ namespace }] });
  const policed = settings({ ownership: { ...settings().ownership, enforce: true } });
  const { plan } = planOf([...platform(), parent, child, ...both, route('red'), route('blue')], policed);
  assert.equal(conditions(plan, 'HTTPRoute red/red')['cf.k8s.lex.la/RouteShadowed'], 'True/HostnameMatchShadowed');
  assert.equal(conditions(plan, 'HTTPRoute blue/blue')['cf.k8s.lex.la/RouteShadowed'], undefined);
});

test('the oldest Gateways have the tunnels of the pool; those of classes always get in', () => {
  const red = withOwnTunnel({ namespace: 'red', created: '2026-02-01T00:00:00Z' });
  const blue = withOwnTunnel({ namespace: 'blue', token: ownToken({ t: TUNNEL.replace('1', '3') }) });
  const reasons = (limit: number) => graphOf([...red, ...blue], limit).gateways.map(({ key, unassigned }) => [key, unassigned?.reason]);
  assert.deepEqual(reasons(3), [
    ['blue/tunnel', undefined],
    ['red/tunnel', undefined],
  ]);
  assert.deepEqual(reasons(2), [
    ['blue/tunnel', undefined],
    ['red/tunnel', 'NoResources'],
  ]);
  assert.equal(graphOf([...red, ...blue], 1).tunnels.length, 1);
});

test('connector tokens are the same when they say the same', () => {
  const spaced = Buffer.from(JSON.stringify({ s: TUNNEL_SECRET, t: OWN_TUNNEL, a: '0123456789abcdef0123456789abcdef' }, null, 1)).toString(
    'base64',
  );
  assert.ok(isSameConnector(ownToken(), spaced));
  assert.ok(!isSameConnector(ownToken(), ownToken({ s: 'other' })));
  assert.ok(!isSameConnector('nonsense', 'nonsense'));
});

const perGateway = (spec: Partial<GatewayClassConfig['spec']> = {}) => classConfig({ tunnelID: undefined, tunnels: 'PerGateway', ...spec });
const cluster = namespace('kube-system');
const SECRET = madeTunnelSecret(gateway(), settings());
const madeSecret = (token = ownToken()) => secret(SECRET.split('/')[1] ?? '', 'cloudflare', { 'tunnel-token': token });

test('tunnels per Gateway: to be made as long as their Secrets are not there, then with tunnel and address of their own', () => {
  const before = planOf([gatewayClass(), perGateway(), credentials(), cluster, gateway()]);
  assert.equal(conditions(before.plan, 'Gateway default/tunnel')['Programmed'], 'False/Pending');
  assert.deepEqual(
    before.plan.provisions.map(({ tunnels }) => tunnels.map(({ gateway, connectorToken }) => [gateway, connectorToken])),
    [[['default/tunnel', null]]],
  );
  const after = planOf([gatewayClass(), perGateway(), credentials(), cluster, gateway(), madeSecret()]);
  assert.equal(conditions(after.plan, 'Gateway default/tunnel')['Programmed'], 'True/Programmed');
  assert.deepEqual(after.graph.gateways[0]?.addresses, [`${OWN_TUNNEL}.cfargotunnel.com`]);
  assert.deepEqual(after.plan.tunnels[0]?.configs, [{ kind: 'Gateway', namespace: 'default', name: 'tunnel' }]);
});

test('what keeps a tunnel from being made stands in the status of that Gateway alone', () => {
  const fact = { reason: 'NoResources', message: 'the account has no room' } as const;
  const objects = [gatewayClass(), perGateway(), credentials(), cluster, gateway(), gateway({ name: 'other' }), madeSecret()];
  const { plan } = planOf(objects, settings(), (graph) => ({
    ...happyFacts(graph),
    provisions: new Map([
      ['default/tunnel', fact],
      ['default/other', fact],
    ]),
  }));
  assert.equal(conditions(plan, 'Gateway default/other')['Programmed'], 'False/NoResources');
  assert.equal(conditions(plan, 'Gateway default/tunnel')['Programmed'], 'True/Programmed', 'it has its tunnel already');
});

test('the Secret of a tunnel to be made is wanted; a Gateway with a GatewayConfig needs none', () => {
  const wanted = (object: KubeObject) =>
    wantedObjects(snapshotOf([gatewayClass(), perGateway(), cluster, object]), settings()).secrets.has(SECRET);
  assert.deepEqual([wanted(gateway()), wanted(gateway(ref('own')))], [true, false]);
});

test('tunnels to be made take their places in the pool; beyond it none is made, and those that are there stay', () => {
  const objects = [
    gatewayClass(),
    perGateway(),
    credentials(),
    cluster,
    gateway({ created: '2026-02-01T00:00:00Z' }),
    gateway({ name: 'older' }),
  ];
  const made = (...more: readonly KubeObject[]) =>
    planOf([...objects, ...more], settings({ tunnelsPerPool: 1 })).plan.provisions[0]?.tunnels.map(({ gateway }) => gateway);
  assert.deepEqual(made(), ['default/older']);
  assert.deepEqual(made(madeSecret()), ['default/older', 'default/tunnel']);
});

test('nothing is made or deleted without a valid configuration, a class, or the name of the cluster', () => {
  const provisions = (...objects: readonly KubeObject[]) => planOf([gateway(), ...objects]).plan.provisions.length;
  assert.equal(provisions(gatewayClass(), perGateway(), credentials(), cluster), 1);
  assert.equal(provisions(gatewayClass(), perGateway(), cluster), 0);
  assert.equal(provisions(perGateway(), credentials(), cluster), 0);
  assert.equal(provisions(gatewayClass(), perGateway(), credentials()), 0);
});

test('without a cluster no tunnels can be made, and the configuration says so', () => {
  const { plan } = planOf([gatewayClass(), perGateway(), credentials(), cluster, gateway()], settings({ makesTunnels: false }));
  assert.equal(conditions(plan, 'GatewayClassConfig main')['Valid'], 'False/Invalid');
  assert.deepEqual(plan.provisions, []);
});
