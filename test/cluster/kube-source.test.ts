// The source against a real API server: what it holds is what the server has, through restarts, new and removed CRDs, and narrow rights.
import assert from 'node:assert/strict';
import { after, before, suite, test, type TestContext } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import type { KindName } from '#controller/api/snapshot.ts';
import { KubeClient } from '#controller/kube/client.ts';
import { resourcePath, rowOf } from '#controller/kube/kinds.ts';
import { silentLog } from '#controller/kube/log.ts';
import { createKubeSource, type KubeSource } from '#controller/watch/kube-source.ts';
import { eventually } from '#test/kube/eventually.ts';
import { clusterUnavailable, startControlPlane, type Cluster } from './control-plane.ts';

const LIMIT_MS = 60_000;
const none: ReadonlySet<string> = new Set();
const group = 'gateway.networking.k8s.io';
const routesPath = `/apis/${group}/v1/namespaces/default/httproutes`;

const route = (name: string, hostname = 'a.example.com') => ({
  apiVersion: `${group}/v1`,
  kind: 'HTTPRoute',
  metadata: { name, namespace: 'default' },
  spec: { hostnames: [hostname] },
});
const gateway = (name: string) => ({
  apiVersion: `${group}/v1`,
  kind: 'Gateway',
  metadata: { name, namespace: 'default' },
  spec: { gatewayClassName: 'cloudflare-tunnel', listeners: [{ name: 'https', protocol: 'HTTPS', port: 443 }] },
});

suite('the source on a real API server', { skip: clusterUnavailable() ?? false }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startControlPlane();
  });
  after(() => cluster?.stop());

  function open(t: TestContext, kubeconfig = cluster.kubeconfig, kinds?: readonly KindName[]): KubeSource {
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromFile(kubeconfig);
    const client = new KubeClient({ kubeConfig });
    // The rest as in production; waiting for a right that is about to be granted would only make the test slow.
    const source = createKubeSource({ client, log: silentLog, timings: { forbiddenMs: [200, 300] }, ...(kinds && { kinds }) });
    t.after(async () => {
      await source.stop();
      client.close();
    });
    void source.start();
    return source;
  }

  const synced = (source: KubeSource): Promise<void> => eventually('synced', () => source.synced, LIMIT_MS);

  async function send(method: string, path: string, body?: object): Promise<void> {
    const answer = await cluster.request(method, path, { body });
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  }

  /** `name@resourceVersion` of everything that the server has of a kind. */
  async function onServer(kind: KindName, version = 'v1'): Promise<readonly string[]> {
    const { body } = await cluster.request('GET', resourcePath(rowOf(kind), version));
    const { items } = body as {
      readonly items: readonly { readonly metadata: { readonly name: string; readonly resourceVersion: string } }[];
    };
    return items.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort();
  }
  const inSource = (source: KubeSource, kind: KindName): readonly string[] =>
    [...source.snapshot().objects[kind].values()].map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`).sort();

  test('syncs every kind, core ones included, and the version of the Gateway API', async (t) => {
    const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
    await send('POST', slices, { metadata: { name: 'empty' }, addressType: 'IPv4', endpoints: [], ports: [] });
    const source = open(t);
    await synced(source);
    assert.deepEqual(source.problems(), []);
    const { served, objects } = source.snapshot();
    for (const kind of [
      'GatewayClass',
      'Gateway',
      'ListenerSet',
      'HTTPRoute',
      'GRPCRoute',
      'ReferenceGrant',
      'Namespace',
      'Service',
      'Secret',
    ] as const) {
      assert.ok(served.has(kind), kind);
    }
    assert.deepEqual(inSource(source, 'Namespace'), await onServer('Namespace'));
    assert.deepEqual(inSource(source, 'Service'), await onServer('Service'));
    assert.equal(objects.EndpointSlice.get('default/empty')?.addressType, 'IPv4');
    const crd = objects.CustomResourceDefinition.get('gatewayclasses.gateway.networking.k8s.io');
    assert.match(crd?.metadata.annotations?.['gateway.networking.k8s.io/bundle-version'] ?? '', /^v1\./);
    assert.equal(objects.CustomResourceDefinition.size, 1);
  });

  test('follows what is created, changed, deleted and recreated', async (t) => {
    const source = open(t, undefined, ['HTTPRoute', 'Gateway']);
    await synced(source);
    await send('POST', routesPath, route('followed'));
    const get = () => source.snapshot().objects.HTTPRoute.get('default/followed');
    await eventually('created', () => get() !== undefined);
    const uid = get()?.metadata.uid;
    assert.ok(Object.isFrozen(get()?.spec));
    const patch = { body: { spec: { hostnames: ['b.example.com'] } }, contentType: 'application/merge-patch+json' };
    await cluster.request('PATCH', `${routesPath}/followed`, patch);
    await eventually('changed', () => get()?.spec.hostnames?.[0] === 'b.example.com' && get()?.metadata.generation === 2);
    await send('DELETE', `${routesPath}/followed`);
    await send('POST', routesPath, route('followed'));
    await eventually('recreated', () => get() !== undefined && get()?.metadata.uid !== uid);
    await send('DELETE', `${routesPath}/followed`);
    await eventually('deleted', () => get() === undefined);
  });

  test('pages through more objects than fit one page, and confirms them', async (t) => {
    const namespace = '/api/v1/namespaces/many';
    await send('POST', '/api/v1/namespaces', { metadata: { name: 'many' } });
    const service = (index: number) => ({ metadata: { name: `s${index}` }, spec: { ports: [{ port: 80 }], clusterIP: 'None' } });
    for (let from = 0; from < 620; from += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, index) => send('POST', `${namespace}/services`, service(from + index))));
    }
    const source = open(t, undefined, ['Service']);
    await synced(source);
    assert.deepEqual(inSource(source, 'Service'), await onServer('Service'));
    await source.confirm();
    assert.deepEqual(inSource(source, 'Service'), await onServer('Service'));
    await send('DELETE', namespace);
  });

  test('is right after the API server crashed and came back under changes', async (t) => {
    const source = open(t, undefined, ['HTTPRoute', 'Gateway', 'Namespace']);
    for (let index = 0; index < 20; index++) await send('POST', routesPath, route(`r${index}`));
    await synced(source);
    await eventually('has them', () => source.snapshot().objects.HTTPRoute.size === 20);
    let smallest = Infinity;
    source.onChange(() => (smallest = Math.min(smallest, source.snapshot().objects.HTTPRoute.size)));
    const ending = new AbortController();
    const writes = (async () => {
      for (let index = 0; !ending.signal.aborted; index++) {
        const body = { metadata: { annotations: { touched: String(index) } } };
        await cluster
          .request('PATCH', `${routesPath}/r${index % 20}`, { body, contentType: 'application/merge-patch+json' })
          .catch(() => {});
      }
    })();
    for (let round = 0; round < 2; round++) await cluster.restartApiServer();
    ending.abort();
    await writes;
    for (let index = 0; index < 5; index++) await send('DELETE', `${routesPath}/r${index}`);
    const expected = await onServer('HTTPRoute');
    await eventually('equal', () => inSource(source, 'HTTPRoute').join() === expected.join(), LIMIT_MS);
    assert.ok(smallest >= 15, `an object seemed gone that was not: ${smallest}`);
    assert.equal(source.synced, true);
    await eventually('no problem stays', () => source.problems().length === 0, LIMIT_MS);
  });

  test('a CRD that comes, goes and comes again', async (t) => {
    const name = `listenersets.${group}`;
    const crdPath = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
    const source = open(t, undefined, ['ListenerSet', 'Gateway']);
    await synced(source);
    const { body: crd } = await cluster.request('GET', crdPath);
    const definition = crd as {
      readonly apiVersion: string;
      readonly kind: string;
      readonly spec: object;
      readonly metadata: { readonly annotations: object };
    };
    const set = {
      apiVersion: `${group}/v1`,
      kind: 'ListenerSet',
      metadata: { name: 'set' },
      spec: { parentRef: { name: 'g' }, listeners: [{ name: 'x', hostname: 'x.example.com', port: 443, protocol: 'HTTPS' }] },
    };
    await send('POST', `/apis/${group}/v1/namespaces/default/listenersets`, set);
    await eventually('there', () => source.snapshot().objects.ListenerSet.size === 1);
    await send('DELETE', crdPath);
    await eventually('gone with its CRD', () => !source.snapshot().served.has('ListenerSet'), LIMIT_MS);
    assert.equal(source.snapshot().objects.ListenerSet.size, 0);
    assert.equal(source.synced, true);
    const { apiVersion, kind, spec, metadata } = definition;
    await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      apiVersion,
      kind,
      spec,
      metadata: { name, annotations: metadata.annotations },
    });
    await eventually('served again', () => source.snapshot().served.has('ListenerSet'), LIMIT_MS);
    const created = async (): Promise<boolean> =>
      (await cluster.request('POST', `/apis/${group}/v1/namespaces/default/listenersets`, { body: set })).status === 201;
    while (!(await created()));
    await eventually('followed again', () => source.snapshot().objects.ListenerSet.size === 1, LIMIT_MS);
  });

  test('a ServiceAccount that may read one Secret by name reads that one, and tells about the others', async (t) => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    await send('POST', '/api/v1/namespaces', { metadata: { name: 'narrow' } });
    await send('POST', '/api/v1/namespaces/narrow/serviceaccounts', { metadata: { name: 'reader' } });
    for (const name of ['allowed', 'denied']) {
      await send('POST', '/api/v1/namespaces/narrow/secrets', { metadata: { name }, data: { token: 'aHVudGVyMg==' } });
    }
    const rules = [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['allowed', 'later'], verbs: ['get', 'list', 'watch'] }];
    await send('POST', `${rbac}/namespaces/narrow/roles`, { metadata: { name: 'reader' }, rules });
    const subjects = [{ kind: 'ServiceAccount', name: 'reader', namespace: 'narrow' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' };
    await send('POST', `${rbac}/namespaces/narrow/rolebindings`, { metadata: { name: 'reader' }, subjects, roleRef });
    const source = open(t, await cluster.serviceAccountKubeconfig('narrow', 'reader'), ['Secret']);
    source.want({ secrets: new Set(['narrow/allowed', 'narrow/denied', 'narrow/later']), configMaps: none });
    await synced(source);
    assert.deepEqual([...source.snapshot().objects.Secret.keys()], ['narrow/allowed']);
    assert.deepEqual(
      source.problems().map(({ where }) => where),
      ['Secret narrow/denied'],
    );
    assert.ok(!JSON.stringify(source.problems()).includes('aHVudGVyMg'));
    await send('POST', '/api/v1/namespaces/narrow/secrets', { metadata: { name: 'later' }, data: { token: 'eA==' } });
    await eventually('appears', () => source.snapshot().objects.Secret.has('narrow/later'));
    await cluster.request('PATCH', '/api/v1/namespaces/narrow/secrets/allowed', {
      body: { data: { token: 'eQ==' } },
      contentType: 'application/merge-patch+json',
    });
    await eventually('rotates', () => source.snapshot().objects.Secret.get('narrow/allowed')?.data?.['token'] === 'eQ==');
  });

  test('a ServiceAccount without rights is told what to grant, and is synced once it has them', async (t) => {
    await send('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'poor' } });
    const source = open(t, await cluster.serviceAccountKubeconfig('default', 'poor'), ['Gateway', 'CustomResourceDefinition']);
    await send('POST', `/apis/${group}/v1/namespaces/default/gateways`, gateway('rich'));
    await eventually('told', () => source.problems().length === 2);
    assert.equal(source.synced, false);
    assert.match(
      source.problems()[0]?.message ?? '',
      /gateways\.gateway\.networking\.k8s\.io: grant the verbs get, list and watch.*is forbidden/,
    );
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    await send('POST', `${rbac}/clusterroles`, {
      metadata: { name: 'rich' },
      rules: [{ apiGroups: [group], resources: ['gateways'], verbs: ['list', 'watch'] }],
    });
    const subjects = [{ kind: 'ServiceAccount', name: 'poor', namespace: 'default' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'rich' };
    await send('POST', `${rbac}/clusterrolebindings`, { metadata: { name: 'rich' }, subjects, roleRef });
    await synced(source);
    assert.ok(source.snapshot().objects.Gateway.has('default/rich'));
  });
});
