// A cluster with a node: what Deployments, Services and Secrets say is what programs, connections and files do.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import dns from 'node:dns/promises';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { after, before, suite, test } from 'node:test';
import { buildHint, missingTools } from '../../tools/tool-paths.ts';
import { runningWith, type RunningProcess } from '../tools/processes.ts';
import { clusterUnavailable, startControlPlane, type Cluster } from './control-plane.ts';
import { enterNode, nodeUnavailable } from './node/ground.ts';
import { echoBasicImage, ownImage } from './node/images.ts';
import { echo, isReady, NodeRig, request, service, shell, shellPod, soon } from './node/node-rig.ts';
import { startNode, type EmulatedNode } from './node/node.ts';
import { until } from './until.ts';

const missing = missingTools(['echo-basic']);
const unavailable = clusterUnavailable() ?? nodeUnavailable() ?? (missing.length > 0 ? buildHint(missing) : null);
if (unavailable === null) enterNode();

/** Of a tunnel that there is not. */
const tunnelToken = Buffer.from(
  JSON.stringify({ a: 'a'.repeat(32), t: '6ba7b810-9dad-41d1-80b4-00c04fd430c8', s: Buffer.from('secret').toString('base64') }),
).toString('base64');

const href = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

/** Everything that a process started, and what that started. */
function descendants(ancestor: number): readonly RunningProcess[] {
  const all = runningWith('');
  const below = (pid: number): readonly RunningProcess[] =>
    all.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...below(child.pid)]);
  return below(ancestor);
}

const byText = (one: string, other: string): number => one.localeCompare(other);

suite('a cluster with a node', { skip: unavailable ?? false }, () => {
  let cluster: Cluster;
  let node: EmulatedNode;
  let rig: NodeRig;
  before(async () => {
    cluster = await startControlPlane();
    rig = new NodeRig(cluster);
    node = await startNode(cluster, {
      images: [echoBasicImage(), shell, ownImage(/^our\/proxy:/, { PROXY_CONNECTOR: 'native', TUNNEL_TOKEN: tunnelToken })],
      zones: [(name) => (name === 'edge.example' ? [{ name, type: 'A', address: '10.245.0.1' }] : null)],
    });
  });
  after(async () => {
    await node?.stop();
    await cluster?.stop();
  });

  test('a Deployment becomes programs, and a Service leads to each of them', async () => {
    await rig.apply(echo('app', 2), service('app', { selector: { app: 'app' }, ports: [{ port: 8080, targetPort: 3000 }] }));
    await rig.ready('app', 2);
    const ip = await rig.clusterIp('app');
    const seen = new Set<string>();
    await until('both pods answer', soon(), async () => {
      const { pod, namespace } = await request(ip, 8080);
      assert.equal(namespace, 'default');
      assert.match(pod, /^app-[a-z0-9]+-[a-z0-9]{5}$/);
      return seen.add(pod).size === 2;
    });
    await assert.rejects(request(ip, 8081), { code: 'ECONNREFUSED' });
    const { stdout } = await cluster.kubectl(['get', 'nodes', '--no-headers']);
    assert.match(stdout, /^node-1 +Ready /);
  });

  test('kubectl logs reads what a program printed, since a time, the last lines, and as it comes', async () => {
    const [pod] = await rig.pods('app');
    const { name = '', status } = { ...pod?.metadata, status: pod?.status };
    await request(status?.podIP ?? '', 3000, '/first');
    await request(status?.podIP ?? '', 3000, '/second');
    await rig.logHas(name, '/second');
    assert.match(await rig.log(name), /Echoing back request made to \/first to client/);
    const last = await rig.log(name, '--tail=1', '--timestamps');
    assert.match(last, /^\d{4}-\d\d-\d\dT[\d:.]+Z .*\/second[^\n]*\n$/);
    assert.equal(await rig.log(name, `--since-time=${new Date(Date.now() + 60_000).toISOString()}`), '');
    assert.match(await rig.log(name, '--container=other'), /^$/);
  });

  test('a rolling update replaces the pods, and the Service follows', async () => {
    const ip = await rig.clusterIp('app');
    const old = new Set((await rig.pods('app')).map(({ metadata }) => metadata.name));
    await rig.apply(echo('app', 2, [{ name: 'INGRESS_NAME', value: 'version-2' }]));
    await until('only new pods answer', soon(), async () => {
      const { ingress } = await request(ip, 8080);
      const all = await rig.pods('app');
      return ingress === 'version-2' && all.length === 2 && all.every((pod) => isReady(pod) && !old.has(pod.metadata.name));
    });
    for (let count = 0; count < 10; count += 1) assert.equal((await request(ip, 8080)).ingress, 'version-2');
  });

  test('a pod waits for its Secret, says so, and sees its changes at once and whole', async () => {
    const script = 'while :; do echo "$FROM_ENV, $(cat /etc/late/user) and $(cat /etc/late/password)"; sleep 0.1; done';
    const volumes = [{ name: 'late', secret: { secretName: 'late' } }];
    const env = [{ name: 'FROM_ENV', valueFrom: { secretKeyRef: { name: 'late', key: 'user' } } }];
    const mount = { env, volumeMounts: [{ name: 'late', mountPath: '/etc/late', readOnly: true }] };
    await rig.apply(shellPod('waits', script, { volumes, terminationGracePeriodSeconds: 0 }, mount));
    await until('its status says what is missing', soon(), async () => {
      const { status } = await rig.pod('waits');
      const waiting = status.containerStatuses?.[0]?.state['waiting'];
      return status.phase === 'Pending' && waiting?.message === 'Secret default/late not found';
    });
    const secret = (user: string, password: string): object => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'late', namespace: 'default' },
      stringData: { user, password },
    });
    await rig.apply(secret('a', 'b'));
    await rig.ready('waits', 1);
    await rig.logHas('waits', 'a, a and b');
    await rig.apply(secret('c', 'd'));
    await rig.logHas('waits', 'a, c and d');
    await rig.deletePod('waits');
  });

  test('a container knows its pod, its limits and its Service account, has a disk of its own, and finds Services by name', async () => {
    const script = `
      set -e
      echo "$NAME $IP $MEMORY $GREETING $(hostname)"
      echo kept >/data/file
      mkdir /only-here && echo hidden >/only-here/file
      test -s /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
      getent hosts app | tr -s ' '
      exec node -e '
        const token = require("fs").readFileSync("/var/run/secrets/kubernetes.io/serviceaccount/token");
        const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
        const ca = require("fs").readFileSync("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
        const headers = { authorization: "Bearer " + token, accept: "application/json" };
        require("https").get({ host, port, ca, headers, path: "/api/v1/namespaces/default/pods" }, (answer) => {
          answer.setEncoding("utf8").on("data", (text) => console.log(text));
        });
        setInterval(() => {}, 1000);
      '
    `;
    const container = {
      env: [
        { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        { name: 'MEMORY', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
        { name: 'GREETING', value: 'hello-$(NAME)' },
        { name: 'PATH', value: `${process.execPath.replace(/\/node$/, '')}:/usr/bin:/bin` },
      ],
      resources: { limits: { memory: '64Mi' } },
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
    };
    await rig.apply(shellPod('knows', script, { volumes: [{ name: 'data', emptyDir: {} }], terminationGracePeriodSeconds: 0 }, container));
    await rig.ready('knows', 1);
    const { status } = await rig.pod('knows');
    await rig.logHas('knows', `knows ${status.podIP} 64 hello-knows knows`);
    await rig.logHas('knows', `${await rig.clusterIp('app')} app.default.svc.cluster.local`);
    // The server knows who asks, and that it may not.
    await rig.logHas('knows', 'system:serviceaccount:default:default');
    await assert.rejects(
      import('node:fs/promises').then(({ stat }) => stat('/only-here')),
      { code: 'ENOENT' },
    );
    await rig.deletePod('knows');
  });

  test('a program that ends is started again, later each time, and its last words are kept', async () => {
    await rig.apply(shellPod('ends', 'echo "run of $$"; sleep 0.2; exit 3'));
    await until(
      'it was started three times',
      soon(),
      async () => ((await rig.pod('ends')).status.containerStatuses?.[0]?.restartCount ?? 0) >= 2,
    );
    assert.match(await rig.log('ends', '--previous'), /^run of \d+\n$/);
    await rig.deletePod('ends');
    await rig.apply(shellPod('once', 'exit 0', { restartPolicy: 'Never' }));
    await until('it has succeeded', soon(), async () => (await rig.pod('once')).status.phase === 'Succeeded');
  });

  test('probes decide who is ready and who is started again', async () => {
    const probe = { failureThreshold: 1, periodSeconds: 1 };
    await rig.apply({
      ...shellPod('probed', ''),
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'probed',
            image: 'registry.example/echo-basic:v1',
            ports: [{ name: 'http', containerPort: 3000 }],
            readinessProbe: { httpGet: { path: '/status/200', port: 'http' }, ...probe },
            livenessProbe: { httpGet: { path: '/status/500', port: 'http' }, initialDelaySeconds: 2, ...probe },
          },
        ],
      },
    });
    await rig.ready('probed', 1);
    await until('it was started again', soon(), async () => {
      return ((await rig.pod('probed')).status.containerStatuses?.[0]?.restartCount ?? 0) > 0;
    });
    await rig.deletePod('probed');
  });

  test('a pod that is deleted leaves the Service, says farewell, and takes everything with it', async () => {
    const script = 'trap "echo farewell; sleep 1; exit 0" TERM; echo started; while :; do sleep 0.1; done';
    await rig.apply(shellPod('leaves', script, { terminationGracePeriodSeconds: 20 }));
    await rig.logHas('leaves', 'started');
    const following = cluster.kubectl(['logs', 'leaves', '--follow']);
    await rig.deletePod('leaves');
    await until('it is not ready', soon(), async () => {
      const pod = await rig.pod('leaves');
      return pod.metadata.deletionTimestamp !== undefined && !isReady(pod);
    });
    await rig.ready('leaves', 0);
    assert.equal((await following).stdout, 'started\nfarewell\n');
  });

  test('a Service without selector leads where its slice says, and one without endpoints refuses', async () => {
    const [pod] = await rig.pods('app');
    await rig.apply(service('by-hand', { ports: [{ name: 'web', port: 80 }] }));
    const ip = await rig.clusterIp('by-hand');
    await assert.rejects(request(ip, 80), { code: 'ECONNREFUSED' });
    await rig.apply({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'by-hand-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'by-hand' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [pod?.status.podIP] }],
      ports: [{ name: 'web', port: 3000, protocol: 'TCP' }],
    });
    await until('it answers', soon(), async () => (await request(ip, 80)).pod === pod?.metadata.name);
    await cluster.kubectl(['delete', 'endpointslice', 'by-hand-1']);
    await until('it refuses', soon(), async () =>
      request(ip, 80).then(
        () => false,
        (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
      ),
    );
  });

  test('names: those of Services, of the endpoints of headless ones, and of the zones of the test', async () => {
    await rig.apply(
      service('headless', { selector: { app: 'app' }, clusterIP: 'None', ports: [{ name: 'web', port: 3000 }] }),
      service('elsewhere', { type: 'ExternalName', externalName: 'edge.example' }),
    );
    const resolver = new dns.Resolver();
    resolver.setServers([node.resolver]);
    const addresses = (await rig.pods('app')).map(({ status }) => status.podIP ?? '').sort(byText);
    await until('the headless Service has the addresses of both pods', soon(), async () => {
      return (await resolver.resolve4('headless.default.svc.cluster.local')).sort(byText).join() === addresses.join();
    });
    assert.deepEqual(await resolver.resolve4('App.Default.svc.cluster.local'), [await rig.clusterIp('app')]);
    const [srv] = await resolver.resolveSrv('_web._tcp.headless.default.svc.cluster.local');
    assert.equal(srv?.port, 3000);
    assert.ok(addresses.includes((await resolver.resolve4(srv?.name ?? ''))[0] ?? ''));
    assert.deepEqual(await resolver.resolve4('edge.example'), ['10.245.0.1']);
    assert.deepEqual(await resolver.resolve4('elsewhere.default.svc.cluster.local'), ['10.245.0.1']);
    assert.deepEqual(await dns.lookup('edge.example'), { address: '10.245.0.1', family: 4 }, 'the test itself asks there too');
    await assert.rejects(resolver.resolve6('app.default.svc.cluster.local'), { code: 'ENODATA' });
    await assert.rejects(resolver.resolve4('nobody.default.svc.cluster.local'), { code: 'ENOTFOUND' });
  });

  test('our own image runs, whatever else is mounted', async () => {
    const container = {
      name: 'proxy',
      image: 'our/proxy:0.1.0',
      args: ['proxy'],
      env: [{ name: 'PROXY_AUTH_TOKEN', value: 'x'.repeat(32) }],
      ports: [{ name: 'config-api', containerPort: 8081 }],
      readinessProbe: { httpGet: { path: '/healthz', port: 'config-api' }, periodSeconds: 1 },
      volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
    };
    await rig.apply({ ...shellPod('ours', ''), spec: { containers: [container], volumes: [{ name: 'tmp', emptyDir: {} }] } });
    await rig.ready('ours', 1);
    await rig.deletePod('ours');
    await rig.ready('ours', 0);
  });

  test('all goes on when the API server comes back', async () => {
    await cluster.restartApiServer();
    const old = await rig.pods('app');
    for (const { metadata } of old) await rig.deletePod(metadata.name);
    await until('others have taken their places', soon(), async () => {
      const all = await rig.pods('app');
      return all.length === 2 && all.every((pod) => isReady(pod) && old.every(({ metadata }) => metadata.uid !== pod.metadata.uid));
    });
    const ip = await rig.clusterIp('app');
    const names = (await rig.pods('app')).map(({ metadata }) => metadata.name);
    await until('they are those who answer', soon(), async () => names.includes((await request(ip, 8080)).pod));
  });

  test('a parent killed with SIGKILL leaves no process and no file', async () => {
    const code = `
      import { startControlPlane } from ${href('control-plane.ts')};
      import { enterNode } from ${href('node/ground.ts')};
      import { echoBasicImage, ownImage } from ${href('node/images.ts')};
      import { echo, NodeRig } from ${href('node/node-rig.ts')};
      import { startNode } from ${href('node/node.ts')};
      enterNode();
      const cluster = await startControlPlane();
      await startNode(cluster, { images: [echoBasicImage()] });
      const rig = new NodeRig(cluster);
      await rig.apply(echo('app', 1));
      await rig.ready('app', 1);
      console.log(cluster.folder);
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [folder] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
    const started = descendants(parent.pid ?? 0);
    for (const program of ['etcd', 'kube-apiserver', 'kube-controller-manager', 'echo-basic', 'sleep'])
      assert.ok(
        started.some(({ commandLine }) => commandLine.split(' ')[0]?.endsWith(program)),
        program,
      );
    parent.kill('SIGKILL');
    await until('all of them are gone', soon(), async () => {
      const running = new Set(runningWith('').map(({ pid }) => pid));
      return started.every(({ pid }) => !running.has(pid));
    });
    assert.ok(!existsSync(folder));
  });
});
