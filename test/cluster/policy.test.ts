// BackendTLSPolicies on a real API server: CA certificates that come, change and go, and the status that says so beside somebody else's.
import assert from 'node:assert/strict';
import { after, before, suite, test, type TestContext } from 'node:test';
import type { PolicyAncestorStatus } from '#controller/api/policy.ts';
import { StatusWriter } from '#controller/apply/status.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import { wantedObjects } from '#controller/graph/references.ts';
import { silentLog } from '#controller/kube/log.ts';
import { renderStatuses } from '#controller/output/status.ts';
import { createKubeSource } from '#controller/watch/kube-source.ts';
import { CA_A } from '#test/build/ca.ts';
import { backendTlsPolicy, classConfig, CONTROLLER, gateway, gatewayClass, httpRoute, service, settings } from '#test/build/objects.ts';
import { happyFacts } from '#test/build/plan.ts';
import { clusterUnavailable, startControlPlane, type Cluster } from './control-plane.ts';
import { until } from './until.ts';
import { connect, send } from './writer-rig.ts';

const LIMIT_MS = 60_000;
const gatewayApi = '/apis/gateway.networking.k8s.io/v1';
const policyPath = `${gatewayApi}/namespaces/default/backendtlspolicies/policy`;
const configMaps = '/api/v1/namespaces/default/configmaps';
const ca = (text: string): object => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ca' }, data: { 'ca.crt': text } });

/** The pure stages between a real source and a real writer, once for each change. */
async function control(t: TestContext, cluster: Cluster): Promise<void> {
  const client = connect(t, cluster);
  const source = createKubeSource({ client, log: silentLog });
  const current: ConstructorParameters<typeof StatusWriter>[0]['current'] = (kind, key) => source.snapshot().objects[kind].get(key);
  const writer = new StatusWriter({ client, current, mayWrite: () => true, log: silentLog });
  const build = createGraphBuilder();
  const run = async (): Promise<void> => {
    if (!source.synced) return;
    const snapshot = source.snapshot();
    source.want(wantedObjects(snapshot, settings()));
    if (!source.synced) return;
    const graph = build(snapshot, settings());
    await writer.apply(renderStatuses(graph, happyFacts(graph), snapshot));
  };
  let queue = Promise.resolve();
  source.onChange(() => void (queue = queue.then(run)));
  void source.start();
  t.after(async () => {
    await queue;
    await writer.stop();
    await source.stop();
  });
}

suite('policies on a real API server', { skip: clusterUnavailable() ?? false }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startControlPlane();
  });
  after(() => cluster?.stop());

  const post = async (path: string, object: object): Promise<void> => void (await send(cluster, 'POST', path, object));
  const ancestors = async (): Promise<readonly PolicyAncestorStatus[]> => {
    const { body } = await cluster.request('GET', policyPath);
    return (body as { readonly status?: { readonly ancestors?: readonly PolicyAncestorStatus[] } }).status?.ancestors ?? [];
  };
  const ours = async (): Promise<string> => {
    const entry = (await ancestors()).find(({ controllerName }) => controllerName === CONTROLLER);
    return entry?.conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`).join(' ') ?? 'none';
  };
  const becomes = (what: string): Promise<void> =>
    until(`the status is ${what}`, AbortSignal.timeout(LIMIT_MS), async () => {
      const found = await ours();
      if (found !== what) throw new Error(found);
      return true;
    });

  const GOOD = 'Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs';
  const BAD = 'Accepted=False/NoValidCACertificate ResolvedRefs=False/InvalidCACertificateRef';

  test('rules 66, 69 and 70: the status follows the ConfigMap, and goes with the route', async (t) => {
    const own = `/apis/cf.k8s.lex.la/v1alpha1/gatewayclassconfigs`;
    await post(own, classConfig());
    await post(`${gatewayApi}/gatewayclasses`, gatewayClass());
    await post(`${gatewayApi}/namespaces/default/gateways`, gateway());
    await post('/api/v1/namespaces/default/services', { ...service(), spec: { ports: [{ port: 80 }] } });
    await post(`${gatewayApi}/namespaces/default/httproutes`, httpRoute());
    await post(`${gatewayApi}/namespaces/default/backendtlspolicies`, backendTlsPolicy());
    const foreign = {
      ancestorRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'theirs' },
      controllerName: 'example.com/other',
      conditions: [{ type: 'Accepted', status: 'True', reason: 'Accepted', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    };
    await send(cluster, 'PATCH', `${policyPath}/status`, { status: { ancestors: [foreign] } }, 'application/merge-patch+json');
    await control(t, cluster);

    await becomes(BAD);
    await post(configMaps, ca(CA_A));
    await becomes(GOOD);
    await send(cluster, 'PUT', `${configMaps}/ca`, ca(''));
    await becomes(BAD);
    await send(cluster, 'PUT', `${configMaps}/ca`, ca(CA_A));
    await becomes(GOOD);
    await send(cluster, 'DELETE', `${configMaps}/ca`);
    await becomes(BAD);

    const edit = { spec: { validation: { wellKnownCACertificates: 'System', caCertificateRefs: null } } };
    await send(cluster, 'PATCH', policyPath, edit, 'application/merge-patch+json');
    await becomes(GOOD);
    const generations = (await ancestors()).flatMap(({ conditions }) => conditions.map(({ observedGeneration }) => observedGeneration));
    assert.deepEqual(
      generations.filter((generation) => generation !== undefined),
      [2, 2],
      'every condition speaks of the edit',
    );

    await send(cluster, 'DELETE', `${gatewayApi}/namespaces/default/httproutes/app`);
    await becomes('none');
    assert.deepEqual(await ancestors(), [foreign], 'what others wrote is as it was');
  });
});
