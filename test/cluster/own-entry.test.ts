// Entries of the proxies themselves on a real API server: the chart's release without any tunnel, its controller under its own account,
// a proxy in a network of its own.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import { after, afterEach, before, suite, test, type TestContext } from 'node:test';
import type { EndpointSlice, Service } from '#controller/api/core.ts';
import type { Gateway } from '#controller/api/gateway.ts';
import { containerOf, helmUnavailable } from '#test/chart/helm.ts';
import { apply, namespace, NAMESPACE, release } from '#test/chart/on-cluster/release.ts';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import { clusterUnavailable, startControlPlane, type Cluster } from './control-plane.ts';
import { Kubelet } from './main-job/kubelet.ts';
import type { Program } from './main-job/program.ts';
import { endpointSlice } from './main-job/world.ts';
import { createSandbox, enterOwnNetwork, networkUnavailable, type Sandbox } from './network.ts';
import { until } from './until.ts';

const unavailable = clusterUnavailable() ?? helmUnavailable() ?? networkUnavailable();
if (unavailable === null) enterOwnNetwork();

const LIMIT_MS = 40_000;
const TENANT = 'tenant';
const gateways = `/apis/gateway.networking.k8s.io/v1/namespaces/${TENANT}/gateways`;
const services = `/api/v1/namespaces/${TENANT}/services`;
const slices = `/apis/discovery.k8s.io/v1/namespaces/${TENANT}/endpointslices`;
const USABLE = '10.96.0.77';
const UNUSABLE = '192.0.2.7';

interface Stored<T> {
  readonly object: T;
  readonly uid: string;
  readonly version: string;
}

const listener = (name: string, port: number) => ({ name, port, protocol: 'HTTP', allowedRoutes: { namespaces: { from: 'All' } } });
const gateway = (name: string, spec: object = {}) => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name, namespace: TENANT },
  spec: { gatewayClassName: 'cloudflare-tunnel', listeners: [listener('http', 80)], ...spec },
});

suite('the own entry on a cluster', { skip: unavailable ?? false }, () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-entry-'));
  let cluster: Cluster;
  let kubelet: Kubelet;
  let controller: Program;
  let sandbox: Sandbox;
  let headless = '';

  const within = (what: string, holds: () => Promise<boolean>): Promise<void> => until(what, AbortSignal.timeout(LIMIT_MS), holds);

  async function get<T>(where: string): Promise<Stored<T> | null> {
    const { status, body } = await cluster.request('GET', where);
    if (status === 404) return null;
    assert.equal(status, 200, JSON.stringify(body));
    const object = body as T & { readonly metadata: { readonly uid: string; readonly resourceVersion: string } };
    return { object, uid: object.metadata.uid, version: object.metadata.resourceVersion };
  }

  const service = async (name = 'web'): Promise<Stored<Service>> =>
    (await get<Service>(`${services}/cftunnel-${name}`)) ?? assert.fail(`there is no Service for ${name}`);
  const slice = async (name = 'web') => (await get<EndpointSlice>(`${slices}/cftunnel-${name}-ipv4`))?.object;

  /** `Type=Status/Reason`, then addresses. */
  async function status(name = 'web'): Promise<string> {
    const { object } = (await get<Gateway>(`${gateways}/${name}`)) ?? assert.fail(`there is no Gateway ${name}`);
    const conditions = (object.status?.conditions ?? [])
      .filter(({ type, observedGeneration }) => type !== 'ResolvedRefs' && observedGeneration === object.metadata.generation)
      .map(({ type, status, reason }) => `${type}=${status}/${reason}`);
    return [...conditions, ...(object.status?.addresses ?? []).map(({ type, value }) => `${type} ${value}`)].join(' ');
  }

  const programmed = (address: string, name?: string): Promise<void> =>
    within(`${name ?? 'web'} has ${address}`, async () => {
      const now = await status(name);
      if (now !== `Accepted=True/Accepted Programmed=True/Programmed IPAddress ${address}`) throw new Error(now);
      return true;
    });

  const patch = async (where: string, body: object): Promise<void> => {
    const answer = await cluster.request('PATCH', where, { body, contentType: 'application/merge-patch+json' });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  };

  const publish = (endpoints: readonly object[]): Promise<void> =>
    apply(cluster, endpointSlice(NAMESPACE, headless, endpoints, { name: 'config-api', port: 8081 }));
  const pod = (address: string, serving: boolean) => ({
    addresses: [address],
    conditions: { ready: true, serving },
    targetRef: { kind: 'Pod', name: `proxy-${address}` },
  });

  async function startController(): Promise<void> {
    const account = await kubelet.serviceAccountOf('controller');
    controller = await kubelet.run('controller', { args: [`--kubeconfig=${await cluster.serviceAccountKubeconfig(NAMESPACE, account)}`] });
  }

  before(async () => {
    cluster = await startControlPlane();
    await apply(cluster, namespace(NAMESPACE), namespace(TENANT));
    const gatewayClassConfig = { create: true, entry: 'Local' };
    await release(cluster, 'install', {
      localEntry: { enabled: true },
      rbac: { secretNamespaces: [TENANT] },
      gatewayClassConfig,
      proxy: { tunnelTokenSecretRef: { name: '' } },
    });
    kubelet = new Kubelet(cluster, NAMESPACE);
    const { args } = containerOf(await kubelet.deployments(), 'controller');
    headless = /--proxy-endpoints=http:\/\/([^.]+)/.exec(args.join('\n'))?.[1] ?? '';
    await startController();
    sandbox = await createSandbox(20);
    await kubelet.run('proxy', { env: { PROXY_STATE_DIR: path.join(folder, 'state') } }, sandbox.enter);
    await publish([pod(sandbox.address, true)]);
  });

  after(async () => {
    await Promise.all((kubelet?.programs ?? []).filter(({ hasEnded }) => !hasEnded).map((program) => program.end('SIGKILL')));
    await sandbox?.remove();
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  afterEach((t) => {
    if (!(t as TestContext).passed) console.error(kubelet.programs.map(({ tail }) => tail).join('\n'));
  });

  test('a Gateway gets a Service in its namespace, with endpoints at the proxies, and its address', async () => {
    const infrastructure = { labels: { team: 'edge' }, annotations: { 'example.com/note': 'x' } };
    await apply(cluster, gateway('web', { infrastructure }));
    await within('there is a Service', async () => (await service()).uid !== '');
    const { object } = await service();
    await programmed(object.spec?.clusterIP ?? '');
    assert.deepEqual(object.spec?.ports, [{ name: 'http-80', port: 80, protocol: 'TCP', targetPort: 20_000 }]);
    assert.equal(object.spec?.selector, undefined);
    assert.equal(object.metadata.labels?.['team'], 'edge');
    assert.equal(object.metadata.labels?.['gateway.networking.k8s.io/gateway-name'], 'web');
    assert.equal(object.metadata.annotations?.['example.com/note'], 'x');
    const endpoints = await slice();
    assert.deepEqual(endpoints?.ports, [{ name: 'http-80', port: 20_000, protocol: 'TCP' }]);
    assert.deepEqual(
      endpoints?.endpoints?.map(({ addresses }) => addresses),
      [[sandbox.address]],
    );
  });

  test('visitors of its target ports get its routes, over TLS with the certificate that is in the Secret now', async () => {
    const ca = await createCertificateAuthority();
    const issue = async (name: string): Promise<void> => {
      const { cert, key } = await ca.issue(name);
      const stringData = { 'tls.crt': cert, 'tls.key': key };
      await apply(cluster, {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'kubernetes.io/tls',
        metadata: { name: 'web', namespace: TENANT },
        stringData,
      });
    };
    await issue('app.example.com');
    const tls = { certificateRefs: [{ name: 'web' }] };
    await apply(cluster, gateway('visited', { listeners: [listener('http', 80), { ...listener('https', 443), protocol: 'HTTPS', tls }] }));
    const filters = [{ type: 'RequestRedirect', requestRedirect: { hostname: 'elsewhere.example.com', statusCode: 302 } }];
    await apply(cluster, {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'visited', namespace: TENANT },
      spec: { parentRefs: [{ name: 'visited' }], hostnames: ['app.example.com'], rules: [{ filters }] },
    });
    await within('it is programmed', async () => (await status('visited')).includes('Programmed=True/Programmed'));
    const port = async (name: string) => (await slice('visited'))?.ports?.find((entry) => entry.name === name)?.port ?? 0;
    const visit = async (name: string, servername = 'app.example.com') => {
      const options = { host: sandbox.address, port: await port(name), headers: { host: 'app.example.com' }, agent: false as const };
      return new Promise<{ readonly status: number; readonly names: string }>((resolve, reject) => {
        const request =
          name === 'http-80' ? http.request(options) : https.request({ ...options, servername, ca: ca.pem, rejectUnauthorized: false });
        request.on('response', (response) => {
          const certificate = name === 'http-80' ? null : (response.socket as TLSSocket).getPeerCertificate();
          response.resume();
          resolve({ status: response.statusCode ?? 0, names: certificate?.subjectaltname ?? '' });
        });
        request.on('error', reject).end();
      });
    };
    await within('it answers', async () => (await visit('http-80')).status === 302);
    await within('it answers over TLS', async () => (await visit('https-443')).names === 'DNS:app.example.com');
    assert.equal((await visit('https-443')).status, 302);
    await issue('*.example.com');
    await within('the new certificate is served', async () => (await visit('https-443')).names === 'DNS:*.example.com');
    await cluster.request('DELETE', `${gateways}/visited`);
    await within('it has no Service', async () => (await get(`${services}/cftunnel-visited`)) === null);
  });

  test('what is no longer asked for goes away, what somebody changes comes back', async () => {
    await patch(`${gateways}/web`, { spec: { infrastructure: { labels: { team: null, cost: 'low' } } } });
    await within('the labels are the new ones', async () => {
      const { labels } = (await service()).object.metadata;
      return labels?.['cost'] === 'low' && labels['team'] === undefined;
    });
    const { object, uid } = await service();
    await patch(`${services}/cftunnel-web`, { metadata: { labels: { cost: 'high', theirs: 'kept' } } });
    await within('the label is ours again, theirs is kept', async () => {
      const { labels } = (await service()).object.metadata;
      return labels?.['cost'] === 'low' && labels['theirs'] === 'kept';
    });
    await cluster.request('DELETE', `${services}/cftunnel-web`);
    await within('there is another Service', async () => (await service()).uid !== uid);
    await programmed((await service()).object.spec?.clusterIP ?? '');
    assert.equal(object.metadata.name, 'cftunnel-web');
  });

  test('listeners come and go, and every port keeps its target port', async () => {
    await patch(`${gateways}/web`, { spec: { listeners: [listener('early', 79), listener('http', 80)] } });
    const ports = async () =>
      Object.fromEntries(((await service()).object.spec?.ports ?? []).map(({ port, targetPort }) => [port, targetPort]));
    await within('there are two ports', async () => Object.keys(await ports()).length === 2);
    assert.deepEqual(await ports(), { 79: 20_001, 80: 20_000 });
    await patch(`${gateways}/web`, { spec: { listeners: [listener('http', 80)] } });
    await within('there is one port', async () => Object.keys(await ports()).length === 1);
    assert.deepEqual(
      (await slice())?.ports?.map(({ port }) => port),
      [20_000],
    );
  });

  test('endpoints are the proxies that are ready', async () => {
    const addresses = async () => (await slice())?.endpoints?.flatMap((endpoint) => endpoint.addresses).join(' ');
    const other = '10.244.0.99';
    await publish([pod(sandbox.address, true), pod(other, true)]);
    await within('both are there', async () => (await addresses()) === `${sandbox.address} ${other}`);
    await publish([pod(sandbox.address, true), pod(other, false)]);
    await within('one is left', async () => (await addresses()) === sandbox.address);
    await publish([pod(sandbox.address, true)]);
  });

  test('an address that is asked for replaces the Service; one that cannot be had leaves it', async () => {
    const { uid, object } = await service();
    const ip = (value: string) => ({ type: 'IPAddress', value });
    await patch(`${gateways}/web`, { spec: { addresses: [ip(UNUSABLE)] } });
    await within('the address is refused', async () => {
      const now = await status();
      if (now !== 'Accepted=True/Accepted Programmed=False/AddressNotUsable') throw new Error(now);
      return true;
    });
    assert.deepEqual([(await service()).uid, (await service()).object.spec?.clusterIP], [uid, object.spec?.clusterIP]);
    await patch(`${gateways}/web`, { spec: { addresses: [ip(USABLE)] } });
    await programmed(USABLE);
    assert.notEqual((await service()).uid, uid);
    assert.equal((await service()).object.spec?.clusterIP, USABLE);
    await patch(`${gateways}/web`, { spec: { addresses: [{ type: 'example.com/unknown', value: 'x' }, ip(UNUSABLE), ip(USABLE)] } });
    await within('the type is refused', async () => (await status()).startsWith('Accepted=False/UnsupportedAddress'));
    await patch(`${gateways}/web`, { spec: { addresses: [ip(UNUSABLE), ip(USABLE)] } });
    await within('one of two is refused', async () =>
      (await status()).startsWith('Accepted=True/Accepted Programmed=False/AddressNotUsable'),
    );
    await patch(`${gateways}/web`, { spec: { addresses: [ip(USABLE)] } });
    await programmed(USABLE);
    await apply(cluster, gateway('second', { addresses: [ip(USABLE)] }));
    await within('an address that another has is refused', async () =>
      (await status('second')).includes('Programmed=False/AddressNotUsable'),
    );
    await patch(`${gateways}/web`, { spec: { addresses: null } });
    await programmed(USABLE);
    await patch(`${gateways}/second`, { spec: { addresses: [{ type: 'IPAddress' }] } });
    await within('any address will do', async () => (await status('second')).includes('Programmed=True/Programmed IPAddress '));
  });

  test('a Service of somebody else is left alone, and said to be in the way', async () => {
    const theirs = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'cftunnel-third', namespace: TENANT },
      spec: { ports: [{ port: 1 }] },
    };
    await apply(cluster, theirs);
    await apply(cluster, gateway('third'));
    await within('the Gateway says so', async () => (await status('third')).includes('Programmed=False/AddressNotAssigned'));
    const { object } = (await get<Gateway>(`${gateways}/third`)) ?? assert.fail();
    assert.match(
      object.status?.conditions?.find(({ type }) => type === 'Programmed')?.message ?? '',
      /cftunnel-third: it exists and is not from/,
    );
    assert.deepEqual(
      (await service('third')).object.spec?.ports?.map(({ port }) => port),
      [1],
    );
    await cluster.request('DELETE', `${services}/cftunnel-third`);
    await within('it has its own', async () => (await status('third')).includes('Programmed=True/Programmed IPAddress '));
  });

  test('a controller that starts again writes nothing and moves nobody', async () => {
    const all = async () => {
      const { body } = await cluster.request('GET', services);
      const list = body as {
        readonly items: readonly { readonly metadata: { readonly name: string; readonly resourceVersion: string } }[];
      };
      return list.items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
    };
    const [before, slicesBefore] = [await all(), (await get(`${slices}/cftunnel-web-ipv4`))?.version];
    await controller.end('SIGTERM');
    await startController();
    await apply(cluster, gateway('fourth'));
    await within('it works', async () => (await status('fourth')).includes('Programmed=True/Programmed IPAddress '));
    const now = (await all()).filter((line) => !line.startsWith('cftunnel-fourth '));
    assert.deepEqual([now, (await get(`${slices}/cftunnel-web-ipv4`))?.version], [before, slicesBefore]);
  });

  test('without its Gateway, and without a listener, a Service goes', async () => {
    await cluster.request('DELETE', `${gateways}/second`);
    await patch(`${gateways}/third`, { spec: { listeners: [{ name: 'tls', protocol: 'TLS', port: 443, tls: { mode: 'Passthrough' } }] } });
    await patch(`${gateways}/fourth`, { spec: { gatewayClassName: 'of-somebody-else' } });
    for (const name of ['second', 'third', 'fourth']) {
      await within(
        `${name} has no objects`,
        async () => (await get(`${services}/cftunnel-${name}`)) === null && (await slice(name)) === undefined,
      );
    }
    assert.equal((await service()).object.spec?.clusterIP, USABLE);
  });
});
