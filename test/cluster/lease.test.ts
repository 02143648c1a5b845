// Two controllers on one cluster: one acts, the other takes over in order or after a freeze, and proxies follow the newer one only.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, afterEach, before, suite, test, type TestContext } from 'node:test';
import { pskClientOptions } from '#proxy/config/psk.ts';
import type { ConfigState } from '#proxy/config/schema.ts';
import { serializeConfig } from '#proxy/config/serialize.ts';
import { startCloudflareApi, type CloudflareApiDouble } from '#test/cloudflare/api/server.ts';
import { clusterUnavailable, startControlPlane, type Cluster } from './control-plane.ts';
import { freeStablePort } from './free-port.ts';
import { Program } from './main-job/program.ts';
import { until } from './until.ts';

const TUNNEL_ID = '6ba7b810-9dad-41d1-80b4-00c04fd430c8';
const AUTH_TOKEN = 'a-token-that-controllers-and-proxies-share';
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/default/leases/cloudflare-tunnel-gateway-controller-leader';
const ROUTE = '/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes/app';
const LIMIT_MS = 60_000;

const objects = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: cloudflare-tunnel }
spec:
  controllerName: cf.k8s.lex.la/tunnel-controller
  parametersRef: { group: cf.k8s.lex.la, kind: GatewayClassConfig, name: main }
---
apiVersion: cf.k8s.lex.la/v1alpha1
kind: GatewayClassConfig
metadata: { name: main }
spec:
  tunnelID: ${TUNNEL_ID}
  cloudflareCredentialsSecretRef: { name: cloudflare, namespace: default }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: tunnel, namespace: default }
spec:
  gatewayClassName: cloudflare-tunnel
  listeners: [{ name: https, protocol: HTTPS, port: 443 }]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: app, namespace: default }
spec:
  parentRefs: [{ name: tunnel }]
  hostnames: [app.example.com]
  rules: [{ filters: [{ type: RequestRedirect, requestRedirect: { hostname: www.example.com } }] }]
`;

suite('two controllers', { skip: clusterUnavailable() ?? false }, () => {
  let cluster: Cluster;
  let api: CloudflareApiDouble;
  let proxy: Program;
  let configPort: number;
  const programs: Program[] = [];
  const folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-lease-'));
  const agent = new https.Agent({ keepAlive: false, ...pskClientOptions(AUTH_TOKEN) });

  const within = (what: string, holds: () => Promise<boolean> | boolean, limitMs = LIMIT_MS): Promise<void> =>
    until(what, AbortSignal.timeout(limitMs), async () => holds());

  async function config(method = 'GET', lines: Iterable<string> = []): Promise<{ readonly status: number; readonly state: ConfigState }> {
    const headers = { authorization: `Bearer ${AUTH_TOKEN}`, 'content-type': 'application/x-ndjson' };
    const request = https.request({ host: '127.0.0.1', port: configPort, path: '/config', method, headers, agent });
    request.end([...lines].map((line) => `${line}\n`).join(''));
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => request.on('response', resolve).on('error', reject));
    return { status: response.statusCode ?? 0, state: JSON.parse(await text(response)) as ConfigState };
  }
  const epoch = async (): Promise<number> => (await config()).state.epoch;

  /** What a controller of this epoch would push if it knew of nothing. */
  const emptyPush = (epoch: number): ReturnType<typeof config> =>
    config('PUT', serializeConfig([], { epoch, sequence: 1_000_000 }, () => createHash('sha256')).lines);

  async function startController(): Promise<Program> {
    const [health, metrics] = [await freeStablePort('127.0.0.1'), await freeStablePort('127.0.0.1')];
    const program = new Program(`controller ${programs.length}`, {
      args: [
        'controller',
        `--kubeconfig=${cluster.kubeconfig}`,
        '--leader-elect=true',
        `--proxy-endpoints=http://127.0.0.1:${configPort}/config`,
        `--cloudflare-api-url=${api.url}`,
        `--health-addr=127.0.0.1:${health}`,
        `--metrics-addr=127.0.0.1:${metrics}`,
        `--tunnel-entry-port=${await freeStablePort('127.0.0.1')}`,
      ],
      env: { CONTROLLER_NAMESPACE: 'default', CF_PROXY_AUTH_TOKEN: AUTH_TOKEN },
    });
    programs.push(program);
    const ready = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${health}/readyz`)).status === 200;
    await within(`${program.name} is ready`, ready);
    return program;
  }

  const leads = (program: Program): boolean => program.lines('leading').length > 0;

  async function lease(): Promise<{ readonly holder: string; readonly transitions: number; readonly seconds: number }> {
    const { body } = await cluster.request('GET', LEASE);
    const { spec } = body as {
      readonly spec: { readonly holderIdentity?: string; readonly leaseTransitions?: number; readonly leaseDurationSeconds?: number };
    };
    return { holder: spec.holderIdentity ?? '', transitions: spec.leaseTransitions ?? 0, seconds: spec.leaseDurationSeconds ?? 0 };
  }

  /** Changes the route; resolves when its status speaks of the change, which is after the proxy has it. */
  async function changeRoute(hostname: string): Promise<void> {
    const before = (await config()).state.digest;
    const { body } = await cluster.request('PATCH', ROUTE, {
      body: { spec: { hostnames: [hostname] } },
      contentType: 'application/merge-patch+json',
    });
    const { generation } = (body as { readonly metadata: { readonly generation: number } }).metadata;
    await within('the route has its status', async () => (await observed()) === generation);
    assert.notEqual((await config()).state.digest, before);
  }
  async function observed(): Promise<number | undefined> {
    const { status } = (await cluster.request('GET', ROUTE)).body as {
      readonly status?: { readonly parents: readonly { readonly conditions: readonly { readonly observedGeneration: number }[] }[] };
    };
    return status?.parents[0]?.conditions[0]?.observedGeneration;
  }

  before(async () => {
    cluster = await startControlPlane();
    api = await startCloudflareApi({});
    const apiToken = api.addToken({ name: 'controller' });
    api.addTunnel(api.addAccount({ name: 'Two controllers' }).id, { id: TUNNEL_ID, name: 'two' });
    const secret = ['create', 'secret', 'generic', 'cloudflare', `--from-literal=api-token=${apiToken.value}`];
    for (const { code, stderr } of [await cluster.kubectl(secret), await cluster.kubectl(['apply', '--filename=-'], { input: objects })]) {
      assert.equal(code, 0, stderr);
    }
    configPort = await freeStablePort('127.0.0.1');
    proxy = new Program('proxy', {
      args: ['proxy'],
      env: {
        PROXY_AUTH_TOKEN: AUTH_TOKEN,
        PROXY_CONFIG_ADDR: `127.0.0.1:${configPort}`,
        PROXY_STATE_DIR: folder,
        TUNNEL_TOKEN: api.connectorToken(TUNNEL_ID),
        // No edge is needed here: nothing listens there.
        PROXY_CONNECTOR: 'native',
        PROXY_EDGE: '127.0.0.1:9',
      },
    });
    programs.push(proxy);
  });
  afterEach((t) => {
    if (!(t as TestContext).passed) console.error(programs.map(({ tail }) => tail).join('\n'));
  });
  after(async () => {
    await Promise.all(programs.filter(({ hasEnded }) => !hasEnded).map((program) => program.end('SIGKILL')));
    agent.destroy();
    await api?.close();
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  let leader: Program;
  let standby: Program;

  test('one leads; the other has read everything, waits, and writes nothing', async () => {
    leader = await startController();
    await within('the proxy has a configuration', async () => (await epoch()) > 0);
    standby = await startController();
    await changeRoute('a.example.com');
    assert.ok(leads(leader) && !leads(standby));
    assert.deepEqual(standby.lines('tunnel'), []);
  });

  test('a leader that ends in order hands over before its Lease would have run out, and the proxies follow', async () => {
    const [before, { holder, transitions, seconds }] = [await epoch(), await lease()];
    assert.equal(await leader.end('SIGTERM'), 'exit code 0');
    await within('the other leads', () => leads(standby), seconds * 1000);
    await within('the proxy follows', async () => (await epoch()) === before + 1);
    const after = await lease();
    assert.notEqual(after.holder, holder);
    assert.equal(after.transitions, transitions + 1);
    await changeRoute('b.example.com');

    const refused = await emptyPush(before);
    assert.equal(refused.status, 409);
    assert.equal(refused.state.epoch, before + 1);
    assert.equal(refused.state.routes, 1);
    leader = standby;
  });

  test('a leader that freezes is replaced; when it wakes up it ends and has changed nothing', async () => {
    standby = await startController();
    const before = await epoch();
    leader.signal('SIGSTOP');
    await within('the other leads', () => leads(standby));
    await changeRoute('c.example.com');
    assert.equal(await epoch(), before + 1);
    await within('the tunnel has the new hostname', () => JSON.stringify(api.document(TUNNEL_ID)).includes('c.example.com'));
    const { state } = await config();
    const [{ holder }, { version }] = [await lease(), api.document(TUNNEL_ID)];
    leader.signal('SIGCONT');
    assert.equal(await leader.ended, 'exit code 1');
    assert.deepEqual((await config()).state, state);
    assert.equal((await lease()).holder, holder);
    assert.equal(api.document(TUNNEL_ID).version, version);
    leader = standby;
  });

  test('a leader raises its epoch above that of a proxy which knows a higher one', async () => {
    const before = await epoch();
    assert.equal((await emptyPush(before + 1000)).status, 200);
    await within('the proxy has the routes again', async () => (await config()).state.routes === 1);
    assert.ok((await epoch()) > before + 1000);
    await changeRoute('d.example.com');
    assert.ok(!leader.hasEnded);
  });

  test('a Lease that is deleted is made again, and the order goes on', async () => {
    const before = await epoch();
    await cluster.request('DELETE', LEASE);
    await within('the leader has it again', async () => (await lease().catch(() => ({ holder: '' }))).holder !== '');
    await changeRoute('e.example.com');
    await within('the epoch is higher', async () => (await epoch()) > before);
    assert.ok(!leader.hasEnded);
    assert.ok(!programs.some(({ output }) => output.includes(AUTH_TOKEN)));
  });
});
