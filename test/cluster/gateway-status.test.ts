// Statuses of classes, Gateways and ListenerSets against the schemas of the real CRDs: accepted whole, written once, and following the CRDs.
import assert from 'node:assert/strict';
import { after, before, suite, test, type TestContext } from 'node:test';
import type { Condition, KubeObject } from '#controller/api/core.ts';
import type { Gateway, GatewayClass, ListenerSet } from '#controller/api/gateway.ts';
import type { StatusUpdate } from '#controller/api/plan.ts';
import { StatusWriter } from '#controller/apply/status.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import { wantedObjects } from '#controller/graph/references.ts';
import { silentLog } from '#controller/kube/log.ts';
import { mergeStatus } from '#controller/output/merge-status.ts';
import { renderStatuses } from '#controller/output/status.ts';
import { createKubeSource, type KubeSource } from '#controller/watch/kube-source.ts';
import { classConfig, credentials, gateway, gatewayClass, httpRoute, listener, listenerSet, settings } from '#test/build/objects.ts';
import { happyFacts } from '#test/build/plan.ts';
import { eventually } from '#test/kube/eventually.ts';
import type { CrdChannel } from '../../tools/tool-paths.ts';
import { clusterUnavailable, startControlPlane, type Cluster } from './control-plane.ts';
import { connect, group, send } from './writer-rig.ts';

const LIMIT_MS = 60_000;
const CRD = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gatewayclasses.${group}`;
const namespaced = (plural: string): string => `/apis/${group}/v1/namespaces/default/${plural}`;

const http = listener({ name: 'http', protocol: 'HTTP', port: 80, hostname: 'own.test' });
const objects: readonly (readonly [collection: string, object: KubeObject])[] = [
  ['/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'cloudflare' } }],
  ['/api/v1/namespaces/cloudflare/secrets', credentials()],
  ['/apis/cf.k8s.lex.la/v1alpha1/gatewayclassconfigs', classConfig()],
  [`/apis/${group}/v1/gatewayclasses`, gatewayClass()],
  [
    namespaced('gateways'),
    gateway({
      listeners: [http, { name: 'tcp', protocol: 'TCP', port: 1111 }, listener({ allowedRoutes: { namespaces: { from: 'All' } } })],
      spec: { allowedListeners: { namespaces: { from: 'Same' } } },
    }),
  ],
  [namespaced('gateways'), gateway({ name: 'closed', listeners: [http] })],
  [
    namespaced('listenersets'),
    listenerSet({
      listeners: [
        { ...http, name: 'taken' },
        { ...http, name: 'free', hostname: 'free.test' },
      ],
    }),
  ],
  [namespaced('listenersets'), listenerSet({ name: 'lost', listeners: [{ ...http, name: 'taken' }] })],
  [namespaced('listenersets'), listenerSet({ name: 'uninvited', gateway: { name: 'closed' }, listeners: [{ ...http, name: 'any' }] })],
  [namespaced('httproutes'), httpRoute({ hostnames: [], parents: [{}, { kind: 'ListenerSet', name: 'set' }] })],
];

interface Controller {
  readonly source: KubeSource;
  /** Runs until nothing is left to be written. */
  settle(): Promise<void>;
}

/** Source, graph, statuses and writer, as the controller runs them, with a tunnel and proxies that are well. */
async function run(t: TestContext, cluster: Cluster): Promise<Controller> {
  const client = connect(t, cluster);
  const source = createKubeSource({ client, log: silentLog });
  const writer = new StatusWriter({
    client,
    current: (kind, key) => source.snapshot().objects[kind].get(key),
    mayWrite: () => true,
    log: silentLog,
  });
  t.after(async () => {
    await writer.stop();
    await source.stop();
  });
  void source.start();
  await eventually('synced', () => source.synced, LIMIT_MS);
  const build = createGraphBuilder();
  const updates = (): readonly StatusUpdate[] => {
    source.want(wantedObjects(source.snapshot(), settings()));
    const graph = build(source.snapshot(), settings());
    return renderStatuses(graph, happyFacts(graph), source.snapshot());
  };
  const isStored = (update: StatusUpdate): boolean => {
    const object = source.snapshot().objects[update.ref.kind].get(update.key);
    return object === undefined || mergeStatus(object, update, '2026-01-01T00:00:00Z') === null;
  };
  return {
    source,
    settle: async () => {
      await eventually('what is wanted has been read', () => (updates(), source.synced), LIMIT_MS);
      await writer.apply(updates());
      assert.deepEqual(writer.problems(), []);
      await eventually('everything has come back as it was sent', () => updates().every(isStored), LIMIT_MS);
    },
  };
}

const told = (conditions: readonly Condition[] = []): Readonly<Record<string, string>> =>
  Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status}/${reason}`]));

for (const channel of ['standard', 'experimental'] as const satisfies readonly CrdChannel[]) {
  suite(`statuses before the CRDs of the ${channel} channel`, { skip: clusterUnavailable() ?? false }, () => {
    let cluster: Cluster;
    before(async () => {
      cluster = await startControlPlane({ channel });
      for (const [collection, object] of objects) await send(cluster, 'POST', collection, object);
    });
    after(() => cluster?.stop());

    test('nothing is dropped, and what is the same is not written again', async (t) => {
      const { source, settle } = await run(t, cluster);
      await settle();
      const { Gateway: gateways, ListenerSet: sets, GatewayClass: classes } = source.snapshot().objects;
      const { status } = gateways.get('default/tunnel') as Gateway;
      assert.deepEqual(told(status?.conditions), {
        Accepted: 'True/ListenersNotValid',
        Programmed: 'True/Programmed',
        ResolvedRefs: 'True/ResolvedRefs',
      });
      assert.equal(status?.attachedListenerSets, 1);
      assert.deepEqual(
        status?.listeners?.map(({ name, attachedRoutes, supportedKinds }) => [name, attachedRoutes, supportedKinds?.length]),
        [
          ['http', 1, 2],
          ['tcp', 0, 0],
          ['https', 1, 2],
        ],
      );
      const setStatus = (name: string) => told((sets.get(`default/${name}`) as ListenerSet).status?.conditions);
      assert.deepEqual(setStatus('set'), { Accepted: 'True/ListenersNotValid', Programmed: 'True/Programmed' });
      assert.deepEqual(setStatus('lost'), { Accepted: 'False/ListenersNotValid', Programmed: 'False/ListenersNotValid' });
      assert.deepEqual(setStatus('uninvited'), { Accepted: 'False/NotAllowed', Programmed: 'False/NotAllowed' });
      const features = (classes.get('cloudflare-tunnel') as GatewayClass).status?.supportedFeatures?.map(({ name }) => name);
      assert.ok(features?.includes('ListenerSet'));

      const versions = () =>
        [...gateways.values(), ...sets.values(), ...classes.values()].map(({ metadata }) => metadata.resourceVersion ?? '');
      const stored = versions();
      await settle();
      await source.confirm();
      assert.deepEqual(versions(), stored);
    });

    test('features follow CRDs that are replaced under a running controller', async (t) => {
      const { source, settle } = await run(t, cluster);
      const install = async (version: string): Promise<void> => {
        const metadata = { annotations: { [`${group}/bundle-version`]: version } };
        await send(cluster, 'PATCH', CRD, { metadata }, 'application/merge-patch+json');
        await eventually('the CRD is seen', () =>
          [...source.snapshot().objects.CustomResourceDefinition.values()].some(
            (crd) => crd.metadata.annotations?.[`${group}/bundle-version`] === version,
          ),
        );
        await settle();
      };
      const status = () => (source.snapshot().objects.GatewayClass.get('cloudflare-tunnel') as GatewayClass).status;
      const installed = [...source.snapshot().objects.CustomResourceDefinition.values()][0]?.metadata.annotations?.[
        `${group}/bundle-version`
      ];
      await install('v1.9.0');
      assert.equal(told(status()?.conditions)['SupportedVersion'], 'False/UnsupportedVersion');
      assert.equal(status()?.supportedFeatures, undefined);
      // The admission policy beside the CRDs keeps older releases out, but no release candidates.
      for (const supported of ['v1.5.1-rc.1', installed ?? '']) {
        await install(supported);
        assert.equal(told(status()?.conditions)['SupportedVersion'], 'True/SupportedVersion', supported);
        assert.ok((status()?.supportedFeatures?.length ?? 0) > 20, supported);
      }
    });

    test('without its class a Gateway keeps no word of ours', async (t) => {
      const { source, settle } = await run(t, cluster);
      await settle();
      await send(cluster, 'DELETE', `/apis/${group}/v1/gatewayclasses/cloudflare-tunnel`);
      await eventually('the class is gone', () => source.snapshot().objects.GatewayClass.size === 0, LIMIT_MS);
      await settle();
      const { status } = source.snapshot().objects.Gateway.get('default/tunnel') as Gateway;
      assert.deepEqual(told(status?.conditions), { Accepted: 'Unknown/Pending', Programmed: 'Unknown/Pending' });
      assert.equal(status?.addresses, undefined);
      const set = source.snapshot().objects.ListenerSet.get('default/set') as ListenerSet;
      assert.deepEqual(told(set.status?.conditions), { Accepted: 'Unknown/Pending', Programmed: 'Unknown/Pending' });
    });
  });
}
