// What the chart gives to the two processes is what they read: its arguments and environment are parsed by the real parsers.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { serviceOf } from '#controller/apply/proxy-endpoints.ts';
import { readConfig, type ControllerConfig } from '#controller/config.ts';
import type { LabelSelector } from '#controller/api/core.ts';
import { fromLabelSelector, parseSelector } from '#controller/graph/selector.ts';
import { readSettings, type ProxySettings } from '#proxy/settings.ts';
import { containerOf, deployment, helmUnavailable, one, render, type Manifest, type ReleaseOptions, type Values } from './helm.ts';
import { everything } from './values.ts';

function controllerOf(objects: readonly Manifest[], namespace = 'system'): ControllerConfig {
  const { args } = containerOf(objects, 'controller');
  assert.equal(args[0], 'controller');
  const config = readConfig(args.slice(1), { CONTROLLER_NAMESPACE: namespace });
  if ('errors' in config) assert.fail(config.errors.join('\n'));
  return config;
}

/** The environment as the kubelet would make it, with `secret` as the value of every key of a Secret. */
function environmentOf(objects: readonly Manifest[], secret = 'from-the-secret'): Readonly<Record<string, string>> {
  return Object.fromEntries(
    containerOf(objects, 'proxy').env.map(({ name, value, valueFrom }) => [
      name,
      valueFrom?.secretKeyRef === undefined ? (value ?? '') : secret,
    ]),
  );
}

function proxyOf(objects: readonly Manifest[]): ProxySettings {
  assert.deepEqual(containerOf(objects, 'proxy').args, ['proxy']);
  const settings = readSettings(environmentOf(objects));
  if ('errors' in settings) assert.fail(settings.errors.join('\n'));
  return settings;
}

const controllerWith = async (values: Values, options: ReleaseOptions = {}): Promise<ControllerConfig> =>
  controllerOf(await render(values, options), options.namespace);
const proxyWith = async (values: Values): Promise<ProxySettings> => proxyOf(await render({ proxy: values }));

suite('arguments of the controller', { skip: helmUnavailable() ?? false }, () => {
  test('by default say what an existing installation says', async () => {
    const objects = await render({ fullnameOverride: 'tunnel' }, { namespace: 'edge' });
    const config = controllerOf(objects, 'edge');
    assert.deepEqual(config.proxyEndpoints, ['http://tunnel-proxy-headless.edge.svc:8081/config']);
    assert.deepEqual(config.proxyAuth, { token: '', secretRef: 'edge/tunnel-proxy-auth-token', key: 'auth-token', generate: true });
    assert.deepEqual(config.lease, { namespace: 'edge', name: 'cloudflare-tunnel-gateway-controller-leader' });
    assert.equal(config.settings.tokenSecret, 'edge/tunnel');
    assert.equal(config.settings.controllerNamespace, 'edge');
    assert.equal(config.settings.controllerName, 'cf.k8s.lex.la/tunnel-controller');
    assert.equal(config.settings.tunnelProtocol, 'auto');
    assert.deepEqual([config.metricsAddress, config.healthAddress], [':8080', ':8081']);
    assert.deepEqual([config.logLevel, config.logFormat, config.leaderElect], ['info', 'json', false]);
    assert.equal(config.settings.ownership.enforce, false);
    assert.equal(config.entryPort, 8080);
  });

  test('carry every value that is set', async () => {
    const config = await controllerWith({
      ...everything,
      fullnameOverride: 'tunnel',
      leaderElection: { enabled: true, leaseName: 'lease', namespace: 'locks' },
    });
    assert.deepEqual(config.proxyEndpoints, ['http://tunnel-proxy-headless.system.svc.cozy.local:8081/config']);
    assert.equal(config.settings.clusterDomain, 'cozy.local');
    assert.deepEqual(config.lease, { namespace: 'locks', name: 'lease' });
    assert.deepEqual([config.logLevel, config.logFormat, config.leaderElect], ['debug', 'text', true]);
    assert.equal(config.settings.tunnelProtocol, 'http2');
    assert.equal(config.settings.localEntry, true);
    assert.deepEqual(config.settings.ownership, {
      enforce: true,
      labelKey: 'namespace.cozystack.io/host',
      namespaceSelector: 'cozystack.io/system notin (true)',
      unlabelled: 'Ignore',
      emptyHostnames: 'Scope',
    });
    const ports = { service: { metricsPort: 9000, healthPort: 9001 }, proxy: { configAPIPort: 9002, proxyPort: 9003 } };
    const moved = await controllerWith({ ...ports, controller: { controllerName: 'example.com/mine' } });
    assert.equal(moved.settings.controllerName, 'example.com/mine');
    assert.deepEqual([moved.metricsAddress, moved.healthAddress, moved.entryPort], [':9000', ':9001', 9003]);
    assert.equal(new URL(moved.proxyEndpoints[0] ?? '').port, '9002');
  });

  test('name the headless Service and the port at which the proxies listen', async () => {
    for (const values of [{}, { ...everything, fullnameOverride: 'x' }, { proxy: { configAPIPort: 9002 } }]) {
      const objects = await render(values);
      const url = new URL(controllerOf(objects).proxyEndpoints[0] ?? '');
      const { metadata, spec } = objects.find(({ spec }) => (spec as Values | undefined)?.['clusterIP'] === 'None') as Manifest;
      assert.deepEqual(serviceOf(url.hostname), { namespace: 'system', name: metadata.name });
      const { ports, publishNotReadyAddresses } = spec as {
        readonly ports: readonly unknown[];
        readonly publishNotReadyAddresses: boolean;
      };
      assert.deepEqual(ports, [{ name: 'config-api', port: Number(url.port), targetPort: 'config-api' }]);
      assert.equal(publishNotReadyAddresses, true);
      assert.equal(proxyOf(objects).configAddress.port, Number(url.port));
    }
  });

  test('carry a label selector unchanged', async () => {
    const selector: LabelSelector = {
      matchLabels: { 'example.com/tenant': 'yes', tier: '' },
      matchExpressions: [
        { key: 'a', operator: 'In', values: ['x', 'y.z'] },
        { key: 'example.com/b', operator: 'NotIn', values: ['true'] },
        { key: 'c', operator: 'Exists' },
        { key: 'd', operator: 'DoesNotExist' },
      ],
    };
    const config = await controllerWith({ hostnameOwnershipPolicy: { enabled: true, namespaceSelector: selector } });
    assert.deepEqual(parseSelector(config.settings.ownership.namespaceSelector), fromLabelSelector(selector));
  });

  test('do not let the controller read a token that lies under another key', async () => {
    const config = await controllerWith({ proxy: { tunnelTokenSecretRef: { key: 'token' } } });
    assert.equal(config.settings.tokenSecret, null);
  });

  test('do not generate an auth token where there is one', async () => {
    const { proxyAuth } = await controllerWith({ proxy: { authTokenSecretRef: { name: 'mine', key: 'bearer' } } });
    assert.deepEqual(proxyAuth, { token: '', secretRef: 'system/mine', key: 'bearer', generate: false });
  });
});

suite('environment of the proxy', { skip: helmUnavailable() ?? false }, () => {
  test('holds nothing that the proxy does not know', async () => {
    const source = readFileSync(path.join(import.meta.dirname, '..', '..', 'proxy', 'settings.ts'), 'utf8');
    const known = new Set([...source.matchAll(/^ {2}([A-Z][A-Z_]+):/gm)].map(([, name]) => name));
    assert.ok(known.size > 10);
    for (const values of [{}, everything]) {
      const names = containerOf(await render(values), 'proxy').env.map(({ name }) => name);
      assert.deepEqual(
        names.filter((name) => !known.has(name)),
        [],
      );
      assert.equal(new Set(names).size, names.length);
    }
  });

  test('by default', async () => {
    const settings = await proxyWith({});
    assert.deepEqual([settings.tunnelToken, settings.authToken], ['from-the-secret', 'from-the-secret']);
    assert.deepEqual(settings.configAddress, { host: '', port: 8081 });
    assert.deepEqual(settings.accessLog, { enabled: false, samplingRate: 1, stripQuery: false });
    assert.deepEqual([settings.tunnelProtocol, settings.graceMs, settings.metrics, settings.logLevel], ['auto', 30_000, true, 'info']);
    assert.deepEqual([settings.connector, settings.cloudflared], ['cloudflared', 'cloudflared']);
  });

  test('carries every value that is set', async () => {
    const settings = await proxyWith({
      configAPIPort: 9002,
      proxyPort: 9003,
      gracePeriodSeconds: 180,
      metrics: { enabled: false },
      tunnel: { protocol: 'quic' },
      logLevel: 'debug',
      accessLog: { enabled: true, samplingRate: 0.25, stripQuery: true },
    });
    assert.deepEqual([settings.configAddress.port, settings.standaloneAddress.port], [9002, 9003]);
    assert.deepEqual([settings.graceMs, settings.metrics, settings.tunnelProtocol, settings.logLevel], [180_000, false, 'quic', 'debug']);
    assert.deepEqual(settings.accessLog, { enabled: true, samplingRate: 0.25, stripQuery: true });
  });

  test('believes nobody about the address of visitors of its own entry, unless told how many to', async () => {
    assert.equal((await proxyWith({})).trustedHops, 0);
    assert.equal(proxyOf(await render({ localEntry: { trustedHops: 2 } })).trustedHops, 2);
  });

  test('never opens the config API, and takes both tokens from Secrets', async () => {
    const objects = await render({ fullnameOverride: 'x', proxy: { tunnelTokenSecretRef: { key: 'token' } } });
    const { env } = containerOf(objects, 'proxy');
    const secretOf = (wanted: string): unknown => env.find(({ name }) => name === wanted)?.valueFrom?.secretKeyRef;
    assert.deepEqual(secretOf('TUNNEL_TOKEN'), { name: 'tunnel', key: 'token' });
    assert.deepEqual(secretOf('PROXY_AUTH_TOKEN'), { name: 'x-proxy-auth-token', key: 'auth-token' });
    assert.ok(!env.some(({ name }) => name === 'PROXY_INSECURE_CONFIG_API'));
    const { secretRef, key } = controllerOf(objects).proxyAuth;
    assert.deepEqual(secretOf('PROXY_AUTH_TOKEN'), { name: secretRef.split('/')[1], key });
  });
});

suite('pods', { skip: helmUnavailable() ?? false }, () => {
  test('are probed at the ports at which the processes listen', async () => {
    for (const values of [{}, { service: { metricsPort: 9000, healthPort: 9001 }, proxy: { configAPIPort: 9002 } }]) {
      const objects = await render(values);
      const listening = { controller: Number(controllerOf(objects).healthAddress.slice(1)), proxy: proxyOf(objects).configAddress.port };
      for (const role of ['controller', 'proxy'] as const) {
        const container = containerOf(objects, role);
        const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe].map((probe) => probe?.httpGet);
        assert.deepEqual(
          probes.map((probe) => probe?.path),
          ['/healthz', '/healthz', '/readyz'],
        );
        for (const probe of probes) {
          assert.equal(container.ports.find(({ name }) => name === probe?.port)?.containerPort, listening[role], role);
        }
      }
    }
  });

  test('can each be without probes', async () => {
    const off = { startupProbe: { enabled: false }, livenessProbe: { enabled: false }, readinessProbe: { enabled: false } };
    const objects = await render({ healthProbes: off, proxy: { healthProbes: off } });
    for (const role of ['controller', 'proxy'] as const) {
      assert.deepEqual(
        Object.keys(containerOf(objects, role)).filter((key) => key.endsWith('Probe')),
        [],
      );
    }
  });

  test('of the proxy live longer than the grace period that the proxy gives to requests', async () => {
    for (const gracePeriodSeconds of [1, 30, 180]) {
      const objects = await render({ proxy: { gracePeriodSeconds } });
      const pod = deployment(objects, 'proxy').spec.template.spec;
      assert.equal(pod.terminationGracePeriodSeconds * 1000, proxyOf(objects).graceMs + 15_000);
    }
  });

  test('only those of the controller have a token of the API server', async () => {
    const objects = await render();
    const [controller, proxy] = (['controller', 'proxy'] as const).map((role) => deployment(objects, role).spec.template.spec);
    assert.deepEqual([controller?.automountServiceAccountToken, proxy?.automountServiceAccountToken], [true, false]);
    assert.equal(one(objects, 'ServiceAccount')['automountServiceAccountToken'], false);
    assert.equal(controller?.serviceAccountName, one(objects, 'ServiceAccount').metadata.name);
    assert.equal(proxy?.serviceAccountName, undefined);
  });

  test('write only where a volume is, and the proxy keeps what it writes in memory', async () => {
    const objects = await render();
    for (const role of ['controller', 'proxy'] as const) {
      const { securityContext } = containerOf(objects, role);
      assert.deepEqual(securityContext, {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        readOnlyRootFilesystem: true,
      });
      const pod = deployment(objects, role).spec.template.spec;
      assert.deepEqual(pod.securityContext, { runAsNonRoot: true, runAsUser: 65_534, seccompProfile: { type: 'RuntimeDefault' } });
    }
    const mounts = new Map(containerOf(objects, 'proxy').volumeMounts.map(({ mountPath, name }) => [mountPath, name]));
    const volumes = new Map(deployment(objects, 'proxy').spec.template.spec.volumes.map((volume) => [volume.name, volume]));
    const settings = proxyOf(objects);
    assert.equal(volumes.get(mounts.get(settings.stateDir) ?? '')?.emptyDir?.medium, 'Memory');
    assert.ok(volumes.get(mounts.get('/tmp') ?? '')?.emptyDir);
    assert.ok(volumes.get(mounts.get(path.dirname(settings.tunnelTokenFile)) ?? '')?.secret);
    assert.deepEqual(containerOf(objects, 'controller').volumeMounts, [{ name: 'tmp', mountPath: '/tmp' }]);
  });
});
