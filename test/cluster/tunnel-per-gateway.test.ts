// A tunnel for each Gateway on a real API server: made, kept in Secrets, served by one proxy, found again after a restart, deleted in the end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, suite, test, type TestContext } from 'node:test';
import { startCloudflareApi, type CloudflareApiDouble } from '#test/cloudflare/api/server.ts';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import { startEdge, type Edge } from '#test/cloudflare/edge/edge.ts';
import { clusterUnavailable, startControlPlane, type Cluster } from './control-plane.ts';
import { freeStablePort } from './free-port.ts';
import { Program } from './main-job/program.ts';
import { until } from './until.ts';

const AUTH_TOKEN = 'a-token-that-controllers-and-proxies-share';
const GATEWAYS = '/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways';
const SECRETS = '/api/v1/namespaces/default/secrets';
const LIMIT_MS = 60_000;

const gatewayWithRoute = (name: string): string => `
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: ${name}, namespace: default }
spec:
  gatewayClassName: cloudflare-tunnel
  listeners: [{ name: https, protocol: HTTPS, port: 443 }]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: ${name}, namespace: default }
spec:
  parentRefs: [{ name: ${name} }]
  hostnames: [app.example.com]
  rules: [{ filters: [{ type: RequestRedirect, requestRedirect: { hostname: ${name}.example.org } }] }]
`;

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
  tunnels: PerGateway
  cloudflareCredentialsSecretRef: { name: cloudflare, namespace: default }
${gatewayWithRoute('shop')}${gatewayWithRoute('blog')}`;

suite('a tunnel for each Gateway', { skip: clusterUnavailable() ?? false }, () => {
  let cluster: Cluster;
  let api: CloudflareApiDouble;
  let edge: Edge;
  let controller: Program;
  let configPort: number;
  const programs: Program[] = [];
  const folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-tunnels-'));

  const within = (what: string, holds: () => Promise<boolean> | boolean): Promise<void> =>
    until(what, AbortSignal.timeout(LIMIT_MS), async () => holds());

  async function startController(): Promise<Program> {
    const [health, metrics] = [await freeStablePort('127.0.0.1'), await freeStablePort('127.0.0.1')];
    const program = new Program(`controller ${programs.length}`, {
      args: [
        'controller',
        `--kubeconfig=${cluster.kubeconfig}`,
        `--proxy-endpoints=http://127.0.0.1:${configPort}/config`,
        `--cloudflare-api-url=${api.url}`,
        `--health-addr=127.0.0.1:${health}`,
        `--metrics-addr=127.0.0.1:${metrics}`,
      ],
      env: { CONTROLLER_NAMESPACE: 'default', CF_PROXY_AUTH_TOKEN: AUTH_TOKEN },
    });
    programs.push(program);
    return program;
  }

  interface GatewayStatus {
    readonly addresses?: readonly { readonly value: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  }

  /** The tunnel whose name the Gateway publishes, once it is programmed. */
  async function tunnelOf(name: string): Promise<string | undefined> {
    const { status } = (await cluster.request('GET', `${GATEWAYS}/${name}`)).body as { readonly status?: GatewayStatus };
    const isProgrammed = status?.conditions?.some((condition) => condition.type === 'Programmed' && condition.status === 'True');
    return isProgrammed === true ? status?.addresses?.[0]?.value.replace('.cfargotunnel.com', '') : undefined;
  }

  async function programmed(name: string): Promise<string> {
    let found: string | undefined;
    await within(`${name} is programmed`, async () => (found = await tunnelOf(name)) !== undefined);
    return found ?? '';
  }

  /** Where a visitor of app.example.com is sent by the Gateway with this tunnel. */
  async function visit(tunnelId: string): Promise<string> {
    const { ip, httpsPort } = await edge.openTunnel(tunnelId);
    const request = https.get({
      host: ip,
      port: httpsPort,
      servername: 'app.example.com',
      headers: { host: 'app.example.com' },
      ca: edge.ca.pem,
      agent: false,
    });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    response.resume();
    return `${response.statusCode} ${response.headers.location}`;
  }

  const madeSecrets = async (): Promise<number> => {
    const { body } = await cluster.request('GET', `${SECRETS}?labelSelector=cf.k8s.lex.la/tunnel-token`);
    return (body as { readonly items: readonly unknown[] }).items.length;
  };

  before(async () => {
    cluster = await startControlPlane();
    const ca = await createCertificateAuthority({ file: path.join(folder, 'ca.pem') });
    api = await startCloudflareApi({});
    api.addAccount({ name: 'Tunnels' });
    const apiToken = api.addToken({ name: 'controller' });
    edge = await startEdge({ authority: api.authority, ca });
    const secret = ['create', 'secret', 'generic', 'cloudflare', `--from-literal=api-token=${apiToken.value}`];
    for (const { code, stderr } of [await cluster.kubectl(secret), await cluster.kubectl(['apply', '--filename=-'], { input: objects })]) {
      assert.equal(code, 0, stderr);
    }
    configPort = await freeStablePort('127.0.0.1');
    const env = {
      PROXY_AUTH_TOKEN: AUTH_TOKEN,
      PROXY_CONFIG_ADDR: `127.0.0.1:${configPort}`,
      PROXY_STATE_DIR: folder,
      PROXY_CONNECTOR: 'native',
      PROXY_EDGE: edge.addresses.join(),
      PROXY_EDGE_CA: path.join(folder, 'ca.pem'),
      PROXY_GRACE_PERIOD: '1s',
    };
    programs.push(new Program('proxy', { args: ['proxy'], env }));
    controller = await startController();
  });
  afterEach((t) => {
    if (!(t as TestContext).passed) console.error(programs.map(({ tail }) => tail).join('\n'));
  });
  after(async () => {
    await Promise.all(programs.filter(({ hasEnded }) => !hasEnded).map((program) => program.end('SIGKILL')));
    await edge?.close();
    await api?.close();
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  let shop: string;
  let blog: string;

  test('each is programmed with an address of its own, and the same hostname leads to each through its own tunnel', async () => {
    [shop, blog] = [await programmed('shop'), await programmed('blog')];
    assert.notEqual(shop, blog);
    await within('shop answers', async () => (await visit(shop)) === '302 https://shop.example.org/');
    await within('blog answers', async () => (await visit(blog)) === '302 https://blog.example.org/');
    assert.equal(await madeSecrets(), 2);
  });

  test('another controller finds them again, even when a Secret was lost meanwhile', async () => {
    await controller.end('SIGTERM');
    await cluster.request('DELETE', `${SECRETS}?labelSelector=cf.k8s.lex.la/tunnel-token`);
    await startController();
    await within('the Secrets are back', async () => (await madeSecrets()) === 2);
    assert.deepEqual([await programmed('shop'), await programmed('blog')], [shop, blog]);
    assert.equal(api.tunnels().length, 2);
    await within('shop answers', async () => (await visit(shop)) === '302 https://shop.example.org/');
  });

  test('a Gateway that goes takes its tunnel and its Secret along, and nobody else’s', async () => {
    await cluster.request('DELETE', `${GATEWAYS}/shop`);
    await within('the tunnel is deleted', () => api.tunnels().every(({ id }) => id !== shop));
    await within('the Secret is deleted', async () => (await madeSecrets()) === 1);
    assert.deepEqual(
      api.tunnels().map(({ id }) => id),
      [blog],
    );
    assert.equal(await visit(blog), '302 https://blog.example.org/');
  });
});
