// The test cluster is what it claims to be: the real servers, our CRDs, data that outlives the API server, and nothing left afterwards.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, suite, test } from 'node:test';
import { toolRecipe } from '../../tools/tool-paths.ts';
import { runningWith } from '../tools/processes.ts';
import { clusterUnavailable, startControlPlane, type Cluster } from './control-plane.ts';
import { until } from './until.ts';

const soon = (): AbortSignal => AbortSignal.timeout(30_000);
const servers = ['etcd', 'kube-apiserver', 'kube-controller-manager'];
const gone = (folder: string): Promise<void> => until(`no process of ${folder} runs`, soon(), async () => runningWith(folder).length === 0);

const serversOf = (folder: string): readonly string[] => {
  const running = runningWith(folder);
  return servers.filter((name) => running.some(({ commandLine }) => commandLine.includes(`/${name} `)));
};

const configMap = (name: string, value: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' }, data: { value } });

suite('the test cluster', { skip: clusterUnavailable() ?? false }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startControlPlane();
  });
  after(() => cluster?.stop());

  test('runs the release that the tools pin, and says so', async () => {
    const { stdout, code } = await cluster.kubectl(['version', '--output=json']);
    assert.equal(code, 0);
    const { clientVersion, serverVersion } = JSON.parse(stdout) as Record<string, { readonly gitVersion: string; readonly minor: string }>;
    assert.equal(serverVersion?.gitVersion, toolRecipe('kube-apiserver').version);
    assert.equal(clientVersion?.gitVersion, serverVersion?.gitVersion);
    assert.equal(serverVersion?.minor, '36');
  });

  test('serves the Gateway API of the experimental channel, guarded by its upgrade policy', async () => {
    const kinds = ['v1/gateways', 'v1/httproutes', 'v1/grpcroutes', 'v1/listenersets', 'v1beta1/referencegrants'];
    for (const kind of kinds) assert.equal((await cluster.request('GET', `/apis/gateway.networking.k8s.io/${kind}`)).status, 200, kind);
    assert.equal((await cluster.request('GET', '/apis/gateway.networking.x-k8s.io/v1alpha1/xbackends')).status, 200);
    const policies = await cluster.kubectl(['get', 'validatingadmissionpolicies', '--output=name']);
    assert.match(policies.stdout, /safe-upgrades/);
  });

  test('serves our own kinds', async () => {
    const folder = path.join(import.meta.dirname, '..', '..', 'crds');
    const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.yaml')) : [];
    const { stdout } = await cluster.kubectl(['get', 'crds', '--output=name']);
    const ours = stdout.split('\n').filter((name) => name.endsWith('.cf.k8s.lex.la'));
    assert.equal(ours.length, files.length);
  });

  test('validates by schema, reads input, and gives a refusal as a result', async () => {
    const gateway = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: { name: 'g' }, spec: { listeners: [] } };
    const { code, stderr } = await cluster.kubectl(['apply', '--filename=-'], { input: JSON.stringify(gateway) });
    assert.equal(code, 1);
    assert.match(stderr, /spec\.gatewayClassName/);
  });

  test('a ServiceAccount enters as itself and may do nothing until a role says so', async () => {
    assert.equal((await cluster.kubectl(['create', 'serviceaccount', 'guest'])).code, 0);
    const kubeconfig = await cluster.serviceAccountKubeconfig('default', 'guest');
    assert.equal(statSync(kubeconfig).mode & 0o777, 0o600);
    const who = await cluster.kubectl([`--kubeconfig=${kubeconfig}`, 'auth', 'whoami', '--output=jsonpath={.status.userInfo.username}']);
    assert.equal(who.stdout, 'system:serviceaccount:default:guest');
    const secrets = await cluster.kubectl([`--kubeconfig=${kubeconfig}`, 'get', 'secrets']);
    assert.match(secrets.stderr, /Forbidden/);
    await assert.rejects(cluster.serviceAccountKubeconfig('default', 'nobody'), /no token for ServiceAccount default\/nobody: .*not found/);
  });

  test('its controllers work: a Service with a selector gets an EndpointSlice, a new namespace its ServiceAccount', async () => {
    await cluster.kubectl(['create', 'namespace', 'fresh']);
    await cluster.kubectl(['--namespace=fresh', 'create', 'service', 'clusterip', 'app', '--tcp=80:8080']);
    await until('both are there', soon(), async () => {
      const slices = await cluster.kubectl(['--namespace=fresh', 'get', 'endpointslices', '--output=name']);
      const accounts = await cluster.kubectl(['--namespace=fresh', 'get', 'serviceaccounts', '--output=name']);
      return slices.stdout.includes('/app-') && accounts.stdout.includes('/default');
    });
  });

  test('a restart of the API server cuts its clients, and keeps address and data', async () => {
    await cluster.kubectl(['apply', '--filename=-'], { input: configMap('kept', 'value') });
    const { server } = cluster;
    await cluster.stopApiServer();
    await assert.rejects(cluster.request('GET', '/readyz'), { code: 'ECONNREFUSED' });
    await cluster.startApiServer();
    await cluster.restartApiServer();
    assert.equal(cluster.server, server);
    const { stdout } = await cluster.kubectl(['get', 'configmap', 'kept', '--output=jsonpath={.data.value}']);
    assert.equal(stdout, 'value');
  });

  test('another cluster of the other channel runs beside it, tells when a server dies, and stops without a trace', async () => {
    const other = await startControlPlane({ channel: 'standard' });
    assert.notEqual(other.server, cluster.server);
    assert.equal((await other.request('GET', '/apis/gateway.networking.k8s.io/v1/gateways')).status, 200);
    assert.equal((await other.request('GET', '/apis/gateway.networking.x-k8s.io/v1alpha1/xbackends')).status, 404);
    assert.deepEqual(serversOf(other.folder), servers);
    assert.equal(statSync(other.folder).mode & 0o777, 0o700);

    const [apiServer] = runningWith(`--cert-dir=${other.folder}`);
    assert.ok(apiServer);
    process.kill(apiServer.pid, 'SIGKILL');
    assert.match(await other.ended, /^kube-apiserver ended by itself \(SIGKILL\):\n./);

    await other.stop();
    assert.deepEqual(runningWith(other.folder), []);
    assert.ok(!existsSync(other.folder));
    assert.equal((await cluster.request('GET', '/readyz')).body, 'ok');
  });

  test('a parent killed with SIGKILL leaves no process', async () => {
    const code = `
      import { startControlPlane } from ${JSON.stringify(new URL('control-plane.ts', import.meta.url).href)};
      console.log((await startControlPlane()).folder);
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [folder] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
    assert.deepEqual(serversOf(folder), servers);
    parent.kill('SIGKILL');
    await gone(folder);
    rmSync(folder, { recursive: true });
  });

  test('a start that is called off ends what it started', async () => {
    const giveUp = new AbortController();
    const started = startControlPlane({ signal: giveUp.signal, say: () => giveUp.abort(new Error('called off')) });
    await assert.rejects(started, /called off/);
    const ours = runningWith('/kube-apiserver ').filter(({ parent }) => parent === process.pid);
    assert.deepEqual(
      ours.filter(({ commandLine }) => !commandLine.includes(cluster.folder)),
      [],
    );
  });
});
