// The roles of the chart are what the controller reads and writes, no more: its kinds are taken from the table by which it watches.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { kindRows } from '#controller/kube/kinds.ts';
import { helmUnavailable, one, render, type Manifest, type Values } from './helm.ts';
import { classConfig, everything } from './values.ts';

interface RoleRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

const rulesOf = (role: Manifest | undefined): readonly RoleRule[] => (role?.['rules'] ?? []) as readonly RoleRule[];

/** One line a grant, e.g. `cf.k8s.lex.la/gatewayconfigs list`, with the name in front of the verb where there is one. */
function grants(role: Manifest | undefined): readonly string[] {
  const lines = rulesOf(role).flatMap(({ apiGroups, resources, resourceNames = [''], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        resourceNames.flatMap((name) => verbs.map((verb) => `${group}/${resource}${name && ` named ${name}`} ${verb}`)),
      ),
    ),
  );
  return lines.sort();
}

const reads = (what: string): readonly string[] => ['get', 'list', 'watch'].map((verb) => `${what} ${verb}`);

/** Every kind that is watched as a whole. */
const watched = [...kindRows.values()]
  .filter((row) => !row.wantedOnly)
  .flatMap((row) => reads(`${row.group}/${row.plural}${row.onlyName === undefined ? '' : ` named ${row.onlyName}`}`));

const statuses = [
  ...['gatewayclasses', 'gateways', 'listenersets', 'httproutes', 'grpcroutes', 'backendtlspolicies'].map(
    (kind) => `gateway.networking.k8s.io/${kind}/status`,
  ),
  'cf.k8s.lex.la/gatewayclassconfigs/status',
  'cf.k8s.lex.la/gatewayconfigs/status',
].map((what) => `${what} update`);

const events = ['create', 'patch'].map((verb) => `events.k8s.io/events ${verb}`);

const rolesIn = (objects: readonly Manifest[], suffix: string): readonly (readonly [string | undefined, readonly string[]])[] =>
  objects
    .filter(({ kind, metadata }) => kind === 'Role' && metadata.name.endsWith(suffix))
    .map((role) => [role.metadata.namespace, grants(role)] as const);

const secretsOf = async (values: Values) => rolesIn(await render({ fullnameOverride: 'tunnel', ...values }), '-secrets');
const named = (name: string): readonly string[] => reads(`/secrets named ${name}`);
const sorted = (...lines: readonly (readonly string[])[]): readonly string[] => lines.flat().sort();

suite('roles', { skip: helmUnavailable() ?? false }, () => {
  test('for the whole cluster: to watch what is watched, to write statuses and events, and no Secret', async () => {
    assert.deepEqual(grants(one(await render(), 'ClusterRole')), sorted(watched, statuses, events));
  });

  test('for the whole cluster, on request, to read every Secret and ConfigMap', async () => {
    const role = one(await render({ rbac: { secrets: 'ClusterWide' } }), 'ClusterRole');
    assert.deepEqual(grants(role), sorted(watched, statuses, events, reads('/secrets'), reads('/configmaps')));
  });

  test('for the whole cluster, with entries of the proxies themselves, to make Services and their endpoints', async () => {
    const made = ['/services', 'discovery.k8s.io/endpointslices'].flatMap((what) =>
      ['create', 'patch', 'delete'].map((verb) => `${what} ${verb}`),
    );
    const role = one(await render({ localEntry: { enabled: true } }), 'ClusterRole');
    assert.deepEqual(grants(role), sorted(watched, statuses, events, made));
  });

  test('for Secrets: the connector token, the auth token and its creation', async () => {
    const wanted = sorted(named('tunnel'), named('tunnel-proxy-auth-token'), ['/secrets create']);
    assert.deepEqual(await secretsOf({}), [['system', wanted]]);
  });

  test('for Secrets: no creation where there is an auth token', async () => {
    const proxy = { authTokenSecretRef: { name: 'bearer' } };
    assert.deepEqual(await secretsOf({ proxy }), [['system', sorted(named('tunnel'), named('bearer'))]]);
  });

  test('for Secrets: the API token, where it is, also for a GatewayClassConfig that is made by hand', async () => {
    const here = sorted(named('tunnel'), named('tunnel-proxy-auth-token'), ['/secrets create']);
    assert.deepEqual(await secretsOf({ gatewayClassConfig: classConfig }), [['system', sorted(here, named('cloudflare'))]]);
    const elsewhere = { cloudflareCredentialsSecretRef: { name: 'cloudflare', namespace: 'vault' } };
    assert.deepEqual(await secretsOf({ gatewayClassConfig: elsewhere }), [
      ['system', here],
      ['vault', named('cloudflare')],
    ]);
  });

  test('for Secrets: to keep the tokens of tunnels that are made, in the own namespace only', async () => {
    const gatewayClassConfig = {
      ...classConfig,
      tunnelID: '',
      tunnels: 'PerGateway',
      cloudflareCredentialsSecretRef: { name: 'api', namespace: 'vault' },
    };
    const proxy = { tunnelTokenSecretRef: { name: '' } };
    const all = ['create', 'delete', 'get', 'list', 'patch', 'watch'].map((verb) => `/secrets ${verb}`);
    assert.deepEqual(await secretsOf({ gatewayClassConfig, proxy }), [
      ['system', sorted(named('tunnel-proxy-auth-token'), all)],
      ['vault', named('api')],
    ]);
  });

  test('for Secrets: one Secret for all is named once', async () => {
    const gatewayClassConfig = { ...classConfig, cloudflareCredentialsSecretRef: { name: 'tunnel' } };
    const proxy = { authTokenSecretRef: { name: 'tunnel' } };
    assert.deepEqual(await secretsOf({ gatewayClassConfig, proxy }), [['system', named('tunnel')]]);
  });

  test('for Secrets and ConfigMaps of namespaces that are opened', async () => {
    const [, ...others] = await secretsOf({ rbac: { secretNamespaces: ['tenant-a', 'tenant-b'] } });
    const all = sorted(reads('/secrets'), reads('/configmaps'));
    assert.deepEqual(others, [
      ['tenant-a', all],
      ['tenant-b', all],
    ]);
  });

  test('for the Lease: one, in the namespace of the release or where it is put, with and without election', async () => {
    const lease = (name: string): readonly string[] =>
      sorted(
        ['get', 'update', 'patch'].map((verb) => `coordination.k8s.io/leases named ${name} ${verb}`),
        ['coordination.k8s.io/leases create'],
      );
    assert.deepEqual(rolesIn(await render(), '-lease'), [['system', lease('cloudflare-tunnel-gateway-controller-leader')]]);
    const moved = { leaderElection: { enabled: true, namespace: 'locks', leaseName: 'mine' } };
    assert.deepEqual(rolesIn(await render(moved), '-lease'), [['locks', lease('mine')]]);
  });

  test('are all bound to the ServiceAccount of the controller and aggregate into no other role', async () => {
    const objects = await render({ ...everything, rbac: { secretNamespaces: ['tenant-a'] }, serviceAccount: { name: 'account' } });
    const bindings = objects.filter(({ kind }) => kind.endsWith('RoleBinding'));
    const roles = objects.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole');
    assert.deepEqual(
      bindings.map(({ metadata, roleRef }) => [metadata.namespace, (roleRef as Values)['kind'], (roleRef as Values)['name']]),
      roles.map(({ kind, metadata }) => [metadata.namespace, kind, metadata.name]),
    );
    for (const { subjects } of bindings) assert.deepEqual(subjects, [{ kind: 'ServiceAccount', name: 'account', namespace: 'system' }]);
    for (const { metadata } of roles) {
      assert.deepEqual(
        Object.keys(metadata.labels ?? {}).filter((label) => label.includes('aggregate')),
        [],
      );
    }
  });
});
