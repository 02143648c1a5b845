// Which values the chart takes: all that existing installations may have, nothing unknown, nothing that would end in a broken release.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { load } from 'js-yaml';
import { chartFolder, helmUnavailable, merged, one, refusalOf, render, required, type Values } from './helm.ts';
import { classConfig, everything } from './values.ts';

/** `{a: {b: value}}` for `a.b`. */
const at = (dotted: string, value: unknown): Values =>
  dotted.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Values;

const refusal = (dotted: string, value: unknown): Promise<string | null> => refusalOf(merged(required, at(dotted, value)));

async function refused(cases: readonly (readonly [dotted: string, value: unknown])[]): Promise<void> {
  for (const [dotted, value] of cases) {
    const names = dotted.split('.');
    const where = `at '/${names[0]}|additional properties '${names[0]}' not allowed`;
    assert.match(
      (await refusal(dotted, value)) ?? 'was accepted',
      new RegExp(`values don't meet the specifications[^]*(${where})`),
      dotted,
    );
  }
}

async function accepted(cases: readonly (readonly [dotted: string, value: unknown])[]): Promise<void> {
  for (const [dotted, value] of cases) assert.equal(await refusal(dotted, value), null, `${dotted}: ${JSON.stringify(value)}`);
}

interface Schema {
  readonly type?: string;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

suite('values', { skip: helmUnavailable() ?? false }, () => {
  test('without the Secret of the connector token are refused with its name', async () => {
    assert.match((await refusalOf({})) ?? '', /proxy\.tunnelTokenSecretRef\.name is required/);
  });

  test('of an entry at the proxies alone need no tunnel: no token, no credentials, no rights to either', async () => {
    const values = {
      localEntry: { enabled: true },
      gatewayClassConfig: { create: true, entry: 'Local' },
      proxy: { tunnelTokenSecretRef: { name: '' } },
    };
    const objects = await render({ fullnameOverride: 'local', ...values });
    assert.deepEqual(one(objects, 'GatewayClassConfig')['spec'], {
      entry: 'Local',
      tunnels: 'Shared',
      service: { type: 'ClusterIP' },
      configPolicy: 'Exclusive',
      edge: { certificates: 'Require' },
    });
    assert.doesNotMatch(JSON.stringify(objects), /TUNNEL_TOKEN|proxy-token-secret|"secretName"/);
    assert.match(
      (await refusalOf({ ...values, localEntry: { enabled: false } })) ?? '',
      /tunnelTokenSecretRef\.name is required|localEntry\.enabled=true/,
    );
    const both = { proxy: { tunnelTokenSecretRef: { name: 'tunnel' } }, gatewayClassConfig: { ...classConfig, entry: 'Both' } };
    assert.match((await refusalOf(both)) ?? '', /need localEntry\.enabled=true/);
  });

  test('of a tunnel for each Gateway need neither tunnel nor connector token', async () => {
    const values = {
      gatewayClassConfig: { ...classConfig, tunnelID: '', tunnels: 'PerGateway' },
      proxy: { tunnelTokenSecretRef: { name: '' }, tunnel: { limit: 5 } },
    };
    const objects = await render(values);
    const spec = one(objects, 'GatewayClassConfig')['spec'] as Readonly<Record<string, unknown>>;
    assert.deepEqual([spec['tunnels'], spec['tunnelID']], ['PerGateway', undefined]);
    assert.doesNotMatch(JSON.stringify(objects), /TUNNEL_TOKEN|proxy-token-secret/);
    assert.match(JSON.stringify(objects), /--tunnels-per-pool=5/);
  });

  test('of an existing installation are taken, its whole tree', async () => {
    // The tree of chart 3.4.1, each key with what it has there by default.
    const probe = { enabled: true, initialDelaySeconds: 0, periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 12 };
    const healthProbes = { startupProbe: probe, livenessProbe: probe, readinessProbe: probe };
    const scheduling = {
      nodeSelector: {},
      tolerations: [],
      affinity: {},
      topologySpreadConstraints: [],
      podAnnotations: {},
      podLabels: {},
    };
    const podSecurityContext = { runAsNonRoot: true, runAsUser: 65_534, seccompProfile: { type: 'RuntimeDefault' } };
    const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true };
    const resources = { limits: { cpu: '200m', memory: '256Mi' }, requests: { cpu: '100m', memory: '128Mi' } };
    const tracing = { enabled: false, endpoint: '', sampleRate: 1.0 };
    const image = { repository: 'registry.example/image', pullPolicy: 'IfNotPresent', tag: '' };
    const existing = {
      ...scheduling,
      gatewayClassConfig: {
        create: false,
        name: '',
        cloudflareCredentialsSecretRef: { name: '', namespace: '', key: '' },
        accountId: '',
        tunnelID: '',
      },
      controller: {
        gatewayClassName: 'cloudflare-tunnel',
        controllerName: 'cf.k8s.lex.la/tunnel-controller',
        clusterDomain: '',
        logLevel: 'info',
        logFormat: 'json',
        tracing,
      },
      leaderElection: { enabled: false, namespace: '', leaseName: 'cloudflare-tunnel-gateway-controller-leader' },
      image,
      imagePullSecrets: [],
      nameOverride: '',
      fullnameOverride: '',
      serviceAccount: { annotations: {}, name: '' },
      podSecurityContext,
      securityContext,
      resources,
      priorityClassName: '',
      terminationGracePeriodSeconds: 30,
      healthProbes,
      dnsPolicy: '',
      dnsConfig: {},
      replicaCount: 1,
      podDisruptionBudget: { enabled: false, minAvailable: 1, maxUnavailable: null, unhealthyPodEvictionPolicy: 'IfHealthyBudget' },
      service: { type: 'ClusterIP', metricsPort: 8080, healthPort: 8081, annotations: {} },
      serviceMonitor: { enabled: false, interval: '', labels: {} },
      networkPolicy: {
        enabled: false,
        ingress: { from: [] },
        cloudflareIpRanges: { ipv4: ['173.245.48.0/20'], ipv6: ['2606:4700::/32'] },
      },
      gatewayClass: { create: true },
      ruleNameUniquenessPolicy: { enabled: false },
      hostnameOwnershipPolicy: { enabled: false, labelKey: 'cf.k8s.lex.la/hostname-suffix', namespaceSelector: {}, admissionPolicy: true },
      proxy: {
        ...scheduling,
        replicas: 2,
        image,
        configAPIPort: 8081,
        proxyPort: 8080,
        gracePeriodSeconds: 30,
        metrics: { enabled: true },
        tunnel: { protocol: 'auto' },
        authTokenSecretRef: { name: '', key: 'auth-token' },
        tunnelTokenSecretRef: { name: 'tunnel', key: 'tunnel-token' },
        websocket: { dialTimeout: '', handshakeTimeout: '' },
        accessLog: { enabled: false, samplingRate: 1.0, stripQuery: false },
        tracing,
        resources,
        podSecurityContext,
        securityContext,
        healthProbes,
        service: { annotations: {} },
        networkPolicy: { enabled: true, egressRestricted: false, ingress: { from: [] }, monitoringNamespaceSelector: {} },
      },
    };
    assert.equal(await refusalOf(existing), null);
  });

  test('of everything that can be switched on are taken', async () => {
    assert.equal(await refusalOf(merged(required, everything)), null);
  });

  test('that are unknown are refused at every depth', async () => {
    await refused([
      ['replicas', 2],
      ['controller.loglevel', 'info'],
      ['controller.tracing.sampling', 1],
      ['gatewayClassConfig.tunnelId', ''],
      ['gatewayClassConfig.cloudflareCredentialsSecretRef.secret', ''],
      ['healthProbes.livenessProbe.path', '/'],
      ['hostnameOwnershipPolicy.namespaceSelector.matchLabel', {}],
      ['networkPolicy.cloudflareIpRanges.v4', []],
      ['podDisruptionBudget.min', 1],
      ['proxy.replicaCount', 2],
      ['proxy.hpa', {}],
      ['proxy.tunnelTokenSecretRef.namespace', 'x'],
      ['proxy.networkPolicy.ingress.namespaces', []],
      ['rbac.create', false],
    ]);
    const schema = JSON.parse(readFileSync(path.join(chartFolder, 'values.schema.json'), 'utf8')) as Schema;
    const values = load(readFileSync(path.join(chartFolder, 'values.yaml'), 'utf8')) as Values;
    const resolve = ({ $ref, ...rest }: Schema): Schema =>
      $ref === undefined ? rest : (schema.definitions?.[$ref.split('/').at(-1) ?? ''] ?? {});
    const compare = (node: Schema, value: Values, where: string): void => {
      if (node.properties === undefined || node.additionalProperties !== false) return;
      for (const [key, inner] of Object.entries(value)) {
        const next = resolve(node.properties[key] ?? {});
        assert.ok(key in node.properties, `${where}${key} has a default and no schema`);
        if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) compare(next, inner as Values, `${where}${key}.`);
      }
    };
    compare(schema, values, '');
  });

  test('of platforms that pass their own beside ours are taken: global, and names with an underscore', async () => {
    await accepted([
      ['global', { anything: 1 }],
      ['_cluster', { 'root-host': 'example.com' }],
      ['_namespace', {}],
    ]);
  });

  test('of the wrong shape are refused', async () => {
    await refused([
      ['gatewayClassConfig.tunnelID', 'not-a-uuid'],
      ['gatewayClassConfig.tunnelID', '00000000-0000-4000-8000-00000000000A'],
      ['gatewayClassConfig.accountId', 'abc'],
      ['gatewayClassConfig.configPolicy', 'Abort'],
      ['controller.logLevel', 'trace'],
      ['controller.logFormat', 'xml'],
      ['controller.controllerName', 'nodomain'],
      ['controller.tracing.sampleRate', 1.5],
      ['proxy.accessLog.samplingRate', -0.1],
      ['image.pullPolicy', 'Sometimes'],
      ['podSecurityContext.runAsUser', -1],
      ['podSecurityContext.seccompProfile.type', 'Unconfined'],
      ['dnsPolicy', 'Cluster'],
      ['replicaCount', 0],
      ['proxy.replicas', 0],
      ['podDisruptionBudget.minAvailable', '50'],
      ['podDisruptionBudget.maxUnavailable', -1],
      ['podDisruptionBudget.unhealthyPodEvictionPolicy', 'Never'],
      ['healthProbes.startupProbe.periodSeconds', 0],
      ['service.type', 'ExternalName'],
      ['service.metricsPort', 0],
      ['proxy.configAPIPort', 65_536],
      ['networkPolicy.cloudflareIpRanges.ipv4', ['2606:4700::/32']],
      ['networkPolicy.cloudflareIpRanges.ipv6', ['10.0.0.0']],
      ['hostnameOwnershipPolicy.labelKey', "a'b"],
      ['hostnameOwnershipPolicy.labelKey', 'x'.repeat(318)],
      ['hostnameOwnershipPolicy.namespaceSelector', { matchExpressions: [{ key: 'a', operator: 'Gt', values: ['1'] }] }],
      ['hostnameOwnershipPolicy.namespaceSelector', { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] }],
      ['proxy.gracePeriodSeconds', 181],
      ['proxy.tunnel.protocol', 'h2mux'],
      ['proxy.websocket.dialTimeout', '10'],
      ['podAnnotations', { number: 1 }],
      ['rbac.secrets', 'All'],
    ]);
  });

  test('of every right shape are taken', async () => {
    await accepted([
      ['podDisruptionBudget', { enabled: true, minAvailable: '50%', unhealthyPodEvictionPolicy: null }],
      ['proxy.tunnel.protocol', ''],
      ['proxy.websocket', { dialTimeout: '1m30s', handshakeTimeout: '500ms' }],
      [
        'podSecurityContext',
        { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, seccompProfile: { type: 'Localhost', localhostProfile: 'p' } },
      ],
      ['resources', {}],
      ['hostnameOwnershipPolicy.labelKey', 'owner'],
    ]);
  });

  test('that contradict each other are refused, with what to do', async () => {
    const cases: readonly (readonly [Values, RegExp])[] = [
      [{ gatewayClassConfig: { ...classConfig, tunnelID: '' } }, /gatewayClassConfig\.tunnelID is required/],
      [
        { gatewayClassConfig: { ...classConfig, cloudflareCredentialsSecretRef: {} } },
        /gatewayClassConfig\.cloudflareCredentialsSecretRef\.name is required/,
      ],
      [
        {
          gatewayClassConfig: { ...classConfig, deriveFromToken: true },
          proxy: { tunnelTokenSecretRef: { name: 'tunnel', key: 'token' } },
        },
        /deriveFromToken needs proxy\.tunnelTokenSecretRef\.key=tunnel-token/,
      ],
      [{ replicaCount: 2 }, /replicaCount above 1 needs leaderElection\.enabled=true/],
      [{ serviceAccount: { create: false } }, /serviceAccount\.name is required/],
      [
        { proxy: { networkPolicy: { egressRestricted: true } }, networkPolicy: { cloudflareIpRanges: { ipv4: [], ipv6: [] } } },
        /cloudflareIpRanges is empty, which would allow every destination/,
      ],
    ];
    for (const [values, message] of cases) assert.match((await refusalOf(merged(required, values))) ?? 'was accepted', message);
    assert.equal(await refusalOf(merged(required, { gatewayClassConfig: { ...classConfig, tunnelID: '', deriveFromToken: true } })), null);
  });
});
