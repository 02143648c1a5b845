// The ServiceAccount of the controller, with the roles of the chart on the real API server: it can do its work, and little else.
import assert from 'node:assert/strict';
import { after, suite, test, type TestContext } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { KubeClient } from '#controller/kube/client.ts';
import { silentLog } from '#controller/kube/log.ts';
import { Elector } from '#controller/loop/leader.ts';
import { createKubeSource, type KubeSource } from '#controller/watch/kube-source.ts';
import type { Cluster } from '#test/cluster/control-plane.ts';
import { until } from '#test/cluster/until.ts';
import { eventually } from '#test/kube/eventually.ts';
import { CHART_NAME, type Values } from '../helm.ts';
import { classConfig } from '../values.ts';
import { apply, namespace, NAMESPACE, read, RELEASE, release, uninstall } from './release.ts';

const ACCOUNT = `${RELEASE}-${CHART_NAME}`;
const AUTH_SECRET = `${ACCOUNT}-proxy-auth-token`;
const LIMIT_MS = 20_000;

/** `verb [namespace/]resource[.group][/subresource][:name]`. */
interface Question {
  readonly verb: string;
  readonly group?: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

const secret = (name: string, namespace = NAMESPACE): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  stringData: { 'tunnel-token': 'x' },
});

const gatewayApi = 'gateway.networking.k8s.io';

export function accessTests(running: () => Cluster): void {
  const may = async (question: Question): Promise<boolean> => {
    const user = `system:serviceaccount:${NAMESPACE}:${ACCOUNT}`;
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${NAMESPACE}`, 'system:authenticated'];
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, groups, resourceAttributes: { version: '*', ...question } },
    };
    const { body: answer } = await running().request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { body });
    return (answer as { readonly status: { readonly allowed: boolean } }).status.allowed;
  };

  const clientOf = async (t: TestContext): Promise<KubeClient> => {
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromFile(await running().serviceAccountKubeconfig(NAMESPACE, ACCOUNT));
    const client = new KubeClient({ kubeConfig });
    t.after(() => client.close());
    return client;
  };

  const source = async (t: TestContext, wanted: readonly string[]): Promise<KubeSource> => {
    const source = createKubeSource({ client: await clientOf(t), log: silentLog });
    t.after(() => source.stop());
    void source.start();
    source.want({ secrets: new Set(wanted), configMaps: new Set() });
    await eventually(`the source is synced; it says ${JSON.stringify(source.problems())}`, () => source.synced, LIMIT_MS);
    return source;
  };

  const installed = async (values: Values): Promise<void> =>
    release(running(), 'upgrade', values, { args: ['--install', '--create-namespace'] });

  suite('the account of the controller', () => {
    after(async () => {
      await uninstall(running());
      await running().kubectl(['--namespace', NAMESPACE, 'delete', 'secrets', 'tunnel', 'cloudflare', AUTH_SECRET, 'other']);
    });

    test('follows every kind, and the Secrets that are named', async (t) => {
      await apply(running(), namespace('tenant-a'));
      await installed({ gatewayClassConfig: classConfig });
      await apply(running(), ...['tunnel', 'cloudflare', AUTH_SECRET, 'other'].map((name) => secret(name)), secret('cert', 'tenant-a'));
      const names = ['tunnel', 'cloudflare', AUTH_SECRET].map((name) => `${NAMESPACE}/${name}`);
      const following = await source(t, names);
      assert.deepEqual(following.problems(), []);
      assert.deepEqual([...following.snapshot().objects.Secret.keys()].sort(), names.sort());
      assert.deepEqual(
        following.stats().filter(({ verdict }) => verdict !== 'listed'),
        [],
      );
      assert.equal(following.snapshot().objects.GatewayClass.size, 1);
      assert.equal(following.snapshot().objects.CustomResourceDefinition.size, 1);
    });

    test('cannot read other Secrets, and says which', async (t) => {
      const following = await source(t, [`${NAMESPACE}/other`, 'tenant-a/cert']);
      assert.deepEqual([...following.snapshot().objects.Secret.keys()], []);
      assert.deepEqual(
        following.problems().map(({ message }) => /named (\S+) in namespace (\S+):/.exec(message)?.slice(1)),
        [
          ['other', NAMESPACE],
          ['cert', 'tenant-a'],
        ],
      );
    });

    test('takes the Lease, keeps it and gives it back', async (t) => {
      const client = await clientOf(t);
      const name = `${CHART_NAME}-leader`;
      const timings = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 20 };
      const lost: string[] = [];
      const where = { client, namespace: NAMESPACE, name, identity: 'test', log: silentLog, timings };
      const elector = new Elector({ ...where, onElected: () => {}, onLost: (reason) => lost.push(reason) });
      elector.start();
      await eventually(`it leads; it says ${elector.problem()}`, () => elector.isLeader(), LIMIT_MS);
      const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/${name}`;
      const lease = async (): Promise<Values> => (await read(running(), path))['spec'] as Values;
      const { renewTime } = await lease();
      await until('it is renewed', AbortSignal.timeout(LIMIT_MS), async () => (await lease())['renewTime'] !== renewTime);
      await elector.stop();
      assert.deepEqual([(await lease())['holderIdentity'], lost], ['', []]);
    });

    test('writes statuses and events, makes its Lease and the auth token', async () => {
      const allowed: readonly Question[] = [
        { verb: 'update', group: gatewayApi, resource: 'httproutes', subresource: 'status', namespace: 'tenant-a' },
        { verb: 'update', group: gatewayApi, resource: 'gateways', subresource: 'status', namespace: 'tenant-a' },
        { verb: 'update', group: gatewayApi, resource: 'gatewayclasses', subresource: 'status' },
        { verb: 'update', group: 'cf.k8s.lex.la', resource: 'gatewayclassconfigs', subresource: 'status' },
        { verb: 'create', group: 'events.k8s.io', resource: 'events', namespace: 'tenant-a' },
        { verb: 'patch', group: 'events.k8s.io', resource: 'events', namespace: 'default' },
        { verb: 'create', group: 'coordination.k8s.io', resource: 'leases', namespace: NAMESPACE },
        { verb: 'update', group: 'coordination.k8s.io', resource: 'leases', namespace: NAMESPACE, name: `${CHART_NAME}-leader` },
        { verb: 'patch', group: 'coordination.k8s.io', resource: 'leases', namespace: NAMESPACE, name: `${CHART_NAME}-leader` },
        { verb: 'create', resource: 'secrets', namespace: NAMESPACE },
      ];
      for (const question of allowed) assert.equal(await may(question), true, JSON.stringify(question));
    });

    test('cannot list Secrets or ConfigMaps, nor change what is not its own', async () => {
      const reads = ['get', 'list', 'watch'].flatMap((verb) => [
        { verb, resource: 'secrets' },
        { verb, resource: 'configmaps' },
        { verb, resource: 'secrets', namespace: NAMESPACE },
        { verb, resource: 'secrets', namespace: NAMESPACE, name: 'other' },
        { verb, resource: 'secrets', namespace: 'kube-system' },
        { verb, resource: 'pods' },
        { verb, resource: 'nodes' },
        { verb, group: 'apps', resource: 'deployments', namespace: NAMESPACE },
        { verb, group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
      ]);
      const writes = ['create', 'update', 'patch', 'delete', 'deletecollection'].flatMap((verb) => [
        { verb, group: gatewayApi, resource: 'gateways', namespace: 'tenant-a' },
        { verb, group: gatewayApi, resource: 'gatewayclasses' },
        { verb, group: gatewayApi, resource: 'httproutes', namespace: 'tenant-a' },
        { verb, group: 'cf.k8s.lex.la', resource: 'gatewayclassconfigs' },
        { verb, resource: 'services', namespace: NAMESPACE },
        { verb, resource: 'namespaces' },
        { verb, resource: 'secrets', namespace: 'tenant-a' },
        { verb, group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-system' },
        { verb, group: 'rbac.authorization.k8s.io', resource: 'clusterroles' },
        { verb, group: 'admissionregistration.k8s.io', resource: 'validatingadmissionpolicies' },
      ]);
      const own = ['update', 'patch', 'delete'].flatMap((verb) => [
        { verb, resource: 'secrets', namespace: NAMESPACE, name: AUTH_SECRET },
        { verb, resource: 'secrets', namespace: NAMESPACE, name: 'tunnel' },
        { verb, group: 'coordination.k8s.io', resource: 'leases', namespace: NAMESPACE, name: 'of-another' },
      ]);
      for (const question of [...reads, ...writes, ...own]) assert.equal(await may(question), false, JSON.stringify(question));
    });

    test('reads the Secrets of namespaces that are opened, and on request those of all', async (t) => {
      await installed({ gatewayClassConfig: classConfig, rbac: { secretNamespaces: ['tenant-a'] } });
      const opened = await source(t, ['tenant-a/cert', `${NAMESPACE}/other`]);
      await eventually('the opened one is there', () => opened.snapshot().objects.Secret.has('tenant-a/cert'), LIMIT_MS);
      assert.equal(opened.problems().length, 1);
      await installed({ gatewayClassConfig: classConfig, rbac: { secrets: 'ClusterWide' } });
      const all = await source(t, ['tenant-a/cert', `${NAMESPACE}/other`]);
      await eventually('both are there', () => all.snapshot().objects.Secret.size === 2, LIMIT_MS);
      assert.deepEqual(all.problems(), []);
    });
  });
}
