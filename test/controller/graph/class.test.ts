import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CustomResourceDefinition, KubeObject } from '#controller/api/core.ts';
import type { GatewayClassConfig } from '#controller/api/own.ts';
import { buildGraph } from '#controller/graph/build.ts';
import { wantedObjects } from '#controller/graph/references.ts';
import {
  ACCOUNT,
  API_TOKEN,
  certificate,
  classConfig,
  connectorToken,
  credentials,
  gateway,
  gatewayClass,
  grant,
  listener,
  listenerSet,
  platform,
  secret,
  settings,
  TUNNEL,
} from '#test/build/objects.ts';
import { conditions, message, planOf } from '#test/build/plan.ts';
import { snapshotOf } from '#test/build/snapshot.ts';

const OTHER_TUNNEL = '99999999-2222-3333-4444-555555555555';
const OTHER_ACCOUNT = 'f'.repeat(32);
const withToken = settings({ tokenSecret: 'cloudflare/connector' });
const connector = (token = connectorToken()) => secret('connector', 'cloudflare', { 'tunnel-token': token });

const tunnelOf = (spec: Partial<GatewayClassConfig['spec']>, others: readonly KubeObject[], configuration = settings()) => {
  const graph = buildGraph(snapshotOf([gatewayClass(), classConfig(spec), ...others]), configuration);
  return { identity: graph.configs[0]?.identity, problem: graph.configs[0]?.problem?.message, tunnels: graph.tunnels };
};

test('the account comes from the token, then the spec, then the Secret, then detection', () => {
  const both = credentials({ 'api-token': API_TOKEN, 'account-id': `${OTHER_ACCOUNT}\n` });
  const account = (...args: Parameters<typeof tunnelOf>) => tunnelOf(...args).identity?.accountId;
  assert.equal(account({}, [credentials(), connector()], withToken), ACCOUNT);
  assert.equal(account({ accountId: ACCOUNT }, [both]), ACCOUNT);
  assert.equal(account({ accountId: '' }, [both]), OTHER_ACCOUNT);
  assert.equal(account({}, [both]), OTHER_ACCOUNT);
  assert.equal(account({}, [credentials()]), null);
});

test('the tunnel comes from the token, or from the spec where there is none', () => {
  assert.equal(
    tunnelOf({ tunnelID: undefined, deriveFromToken: true }, [credentials(), connector()], withToken).identity?.tunnelId,
    TUNNEL,
  );
  assert.equal(tunnelOf({}, [credentials()], withToken).identity?.tunnelId, TUNNEL, 'the Secret is not there yet');
  assert.match(
    tunnelOf({ tunnelID: undefined, deriveFromToken: true }, [credentials()], withToken).problem ?? '',
    /Secret cloudflare\/connector .* does not exist/,
  );
  assert.match(tunnelOf({ tunnelID: undefined }, [credentials(), connector()], withToken).problem ?? '', /spec\.tunnelID is missing/);
});

test('contradictions are reported with both sides; nothing is written, and the proxies go on with what is configured', () => {
  const cases: readonly (readonly [Partial<GatewayClassConfig['spec']>, Readonly<Record<string, string>>, readonly string[]])[] = [
    [{ tunnelID: OTHER_TUNNEL }, {}, [OTHER_TUNNEL, TUNNEL]],
    [{ accountId: OTHER_ACCOUNT }, {}, [OTHER_ACCOUNT, ACCOUNT]],
    [{}, { 'account-id': OTHER_ACCOUNT }, [OTHER_ACCOUNT, ACCOUNT]],
  ];
  for (const [spec, data, both] of cases) {
    const { identity, problem, tunnels } = tunnelOf(spec, [credentials({ 'api-token': API_TOKEN, ...data }), connector()], withToken);
    assert.deepEqual(identity, { tunnelId: spec.tunnelID ?? TUNNEL, accountId: null });
    for (const side of both) assert.ok(problem?.includes(side), `${problem}`);
    assert.deepEqual(
      tunnels.map(({ id, apiToken }) => [id, apiToken]),
      [[spec.tunnelID ?? TUNNEL, null]],
    );
  }
});

test('a token that cannot be read is a problem of its own, and does not stop what is configured', () => {
  for (const broken of ['', 'garbage!', connectorToken({ t: 'x' })]) {
    const { identity, problem } = tunnelOf({}, [credentials(), connector(broken)], withToken);
    assert.match(problem ?? '', /Secret cloudflare\/connector/);
    assert.ok(broken === '' || !problem?.includes(broken));
    assert.equal(identity?.tunnelId, TUNNEL);
  }
});

test('without an API token proxies go on, and the document is left alone', () => {
  const { plan, graph } = planOf([gatewayClass(), classConfig(), gateway()]);
  assert.deepEqual(plan.tunnels, []);
  assert.deepEqual(
    graph.tunnels.map(({ id }) => id),
    [TUNNEL],
  );
  assert.ok(plan.planes[0]?.items.some((item) => item.kind === 'entry' && item.listeners.length === 1));
  assert.equal(conditions(plan, 'Gateway default/tunnel')['Accepted'], 'False/InvalidParameters');
  assert.equal(conditions(plan, 'GatewayClassConfig main')['SecretsResolved'], 'False/SecretsMissing');
});

test('the API token is in the plan, without the line break that people put behind it', () => {
  const { plan } = planOf([gatewayClass(), classConfig(), credentials({ 'api-token': `${API_TOKEN}\n` })]);
  assert.equal(plan.tunnels[0]?.apiToken, API_TOKEN);
});

test('configurations of one tunnel: the oldest valid one decides, later ones must agree', () => {
  const second = gatewayClass({ name: 'second', config: 'second' });
  const config = (spec: Partial<GatewayClassConfig['spec']>) => classConfig(spec, { name: 'second', created: '2026-02-01T00:00:00Z' });
  const plan = (spec: Partial<GatewayClassConfig['spec']>, first: Partial<GatewayClassConfig['spec']> = {}) =>
    planOf([gatewayClass(), classConfig(first), credentials(), second, config(spec)]).plan;
  assert.deepEqual(
    plan({}).tunnels.map(({ configs }) => configs.map(({ name }) => name)),
    [['main', 'second']],
  );
  assert.equal(conditions(plan({}), 'GatewayClass second')['Accepted'], 'True/Accepted');
  const disagreeing = plan({ configPolicy: 'Merge' });
  assert.equal(disagreeing.tunnels[0]?.policy, 'Exclusive');
  assert.equal(conditions(disagreeing, 'GatewayClassConfig second')['Valid'], 'False/Invalid');
  assert.match(message(disagreeing, 'GatewayClass second', 'Accepted'), /Merge.*GatewayClassConfig main.*Exclusive/);
  assert.equal(
    conditions(plan({ accountId: ACCOUNT }, { accountId: OTHER_ACCOUNT }), 'GatewayClassConfig second')['Valid'],
    'False/Invalid',
  );
  const broken = plan({ configPolicy: 'Merge' }, { cloudflareCredentialsSecretRef: { name: 'missing' } });
  assert.equal(broken.tunnels[0]?.policy, 'Merge', 'the first one is not valid');
  assert.doesNotMatch(message(broken, 'GatewayClassConfig main', 'Valid'), /second/);
  assert.equal(conditions(broken, 'GatewayClass second')['Accepted'], 'True/Accepted');
});

test('classes of others, and configurations that only they use, are left alone', () => {
  const foreign = {
    ...gatewayClass({ name: 'foreign', config: 'theirs' }),
    spec: { ...gatewayClass({ config: 'theirs' }).spec, controllerName: 'example.com/other' },
  };
  const { plan } = planOf([...platform(), foreign, classConfig({}, { name: 'theirs' }), classConfig({}, { name: 'unused' })]);
  assert.deepEqual(
    plan.statuses.map(({ key }) => key),
    ['cloudflare-tunnel', 'main', 'unused'],
  );
  assert.equal(plan.tunnels.length, 1);
});

test('bundle versions of the Gateway API', () => {
  const crd = (annotations?: Readonly<Record<string, string>>): CustomResourceDefinition => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gatewayclasses.gateway.networking.k8s.io', ...(annotations === undefined ? {} : { annotations }) },
  });
  const version = (...crds: readonly KubeObject[]) =>
    conditions(planOf([...platform(), ...crds]).plan, 'GatewayClass cloudflare-tunnel')['SupportedVersion'];
  const bundle = (text: string) => version(crd({ 'gateway.networking.k8s.io/bundle-version': text }));
  assert.equal(version(), undefined);
  for (const text of ['v1.5.0', 'v1.6.3', 'v1.6.0-rc.1']) assert.equal(bundle(text), 'True/SupportedVersion', text);
  for (const text of ['v1.4.1', 'v1.7.0', 'v1.60.0', 'v2.5.0', '', 'latest']) assert.equal(bundle(text), 'False/UnsupportedVersion', text);
  assert.equal(version(crd()), 'False/UnsupportedVersion');
});

test('Secrets that a snapshot must hold: what is referred to and permitted, and nothing else', () => {
  const tls = (name: string, namespace?: string) =>
    listener({ name, hostname: `${name}.test`, tls: { certificateRefs: [{ name, ...(namespace === undefined ? {} : { namespace }) }] } });
  const objects = [
    gatewayClass(),
    classConfig({ cloudflareCredentialsSecretRef: { name: 'api', namespace: 'vault' } }),
    classConfig({}, { name: 'unused' }),
    gateway({
      listeners: [
        tls('own'),
        tls('granted', 'certs'),
        tls('denied', 'certs'),
        listener({ name: 'plain', protocol: 'HTTP', tls: { certificateRefs: [{ name: 'not-https' }] } }),
      ],
    }),
    gateway({ name: 'foreign', spec: { gatewayClassName: 'istio' }, listeners: [tls('foreign')] }),
    listenerSet({ namespace: 'team', listeners: [tls('of-set'), tls('granted', 'certs')] }),
    listenerSet({ name: 'foreign', gateway: { name: 'foreign' }, listeners: [tls('of-foreign-set')] }),
    grant(
      'certs',
      { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'default' },
      { group: '', kind: 'Secret', name: 'granted' },
    ),
    certificate('unreferenced'),
  ];
  const { secrets, configMaps } = wantedObjects(snapshotOf(objects), withToken);
  assert.deepEqual([...secrets].sort(), [
    'certs/granted',
    'cloudflare/connector',
    'cloudflare/credentials',
    'default/own',
    'team/of-set',
    'vault/api',
  ]);
  assert.equal(configMaps.size, 0);
});
