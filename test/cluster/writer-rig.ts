// What the tests of writers need: a source and a status writer on a cluster, and builders of statuses.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import type { Condition } from '#controller/api/core.ts';
import type { StatusUpdate } from '#controller/api/plan.ts';
import { StatusWriter } from '#controller/apply/status.ts';
import { KubeClient } from '#controller/kube/client.ts';
import { silentLog } from '#controller/kube/log.ts';
import { createKubeSource, type KubeSource } from '#controller/watch/kube-source.ts';
import { eventually } from '#test/kube/eventually.ts';
import type { Cluster } from './control-plane.ts';

export const OURS = 'cf.k8s.lex.la/tunnel-controller';
export const group = 'gateway.networking.k8s.io';
const LIMIT_MS = 60_000;

/** The parts of stored objects that tests look at. */
export interface Stored {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields: readonly object[];
  };
  readonly spec: { readonly holderIdentity?: string };
  readonly status: {
    readonly conditions: readonly Condition[];
    readonly parents: readonly { readonly controllerName: string; readonly conditions: readonly Condition[] }[];
    readonly listeners: readonly { readonly conditions: readonly Condition[] }[];
  };
}

export function connect(t: TestContext, cluster: Cluster): KubeClient {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromFile(cluster.kubeconfig);
  const client = new KubeClient({ kubeConfig });
  t.after(() => client.close());
  return client;
}

export interface Opened {
  readonly client: KubeClient;
  readonly source: KubeSource;
  readonly writer: StatusWriter;
}

/** A synced source and a writer on it. */
export async function open(t: TestContext, cluster: Cluster): Promise<Opened> {
  const client = connect(t, cluster);
  const source = createKubeSource({ client, log: silentLog, kinds: ['HTTPRoute', 'Gateway', 'GatewayClass'] });
  void source.start();
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
  await eventually('synced', () => source.synced, LIMIT_MS);
  return { client, source, writer };
}

/** One request as admin that must succeed. */
export async function send(
  cluster: Cluster,
  method: string,
  path: string,
  body?: object,
  contentType = 'application/json',
): Promise<Stored> {
  const answer = await cluster.request(method, path, { body, contentType });
  assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body as Stored;
}

/** Creates a route or a Gateway and waits until the source has it. */
export async function create(cluster: Cluster, source: KubeSource, kind: 'HTTPRoute' | 'Gateway', name: string): Promise<string> {
  const spec = { HTTPRoute: {}, Gateway: { gatewayClassName: 'c', listeners: [{ name: 'https', protocol: 'HTTPS', port: 443 }] } }[kind];
  const path = `/apis/${group}/v1/namespaces/default/${kind.toLowerCase()}s`;
  await send(cluster, 'POST', path, { apiVersion: `${group}/v1`, kind, metadata: { name }, spec });
  await eventually('seen', () => source.snapshot().objects[kind].has(`default/${name}`));
  return `${path}/${name}`;
}

export const condition = (type: string, reason = type, fields: Partial<Condition> = {}): Condition => ({
  type,
  status: 'True',
  reason,
  message: 'm',
  observedGeneration: 1,
  ...fields,
});

/** One that another controller has written. */
export const foreignCondition = (type: string, reason: string): Condition =>
  condition(type, reason, { lastTransitionTime: '2026-01-01T00:00:00Z' });

export function updateOf(
  source: KubeSource,
  kind: 'HTTPRoute' | 'Gateway' | 'GatewayClass',
  key: string,
  desired: StatusUpdate['desired'],
): StatusUpdate {
  const { metadata } = source.snapshot().objects[kind].get(key) ?? assert.fail(`${kind} ${key} is not in the snapshot`);
  const ref = { kind, namespace: metadata.namespace ?? '', name: metadata.name };
  return { ref, key, uid: metadata.uid ?? '', generation: metadata.generation ?? 0, desired };
}

export const parents = (reason = 'Accepted'): StatusUpdate['desired'] => ({
  form: 'parents',
  controllerName: OURS,
  parents: [{ parentRef: { name: 'g' }, controllerName: OURS, conditions: [condition('Accepted', reason), condition('ResolvedRefs')] }],
});

export const gatewayStatus = (reason = 'Accepted'): StatusUpdate['desired'] => ({
  form: 'gateway',
  ownTypes: ['Accepted', 'Programmed'],
  conditions: [condition('Accepted', reason), condition('Programmed')],
  addresses: [{ type: 'Hostname', value: 't.cfargotunnel.com' }],
  listeners: [{ name: 'https', attachedRoutes: 1, supportedKinds: [{ kind: 'HTTPRoute' }], conditions: [condition('Accepted', reason)] }],
  attachedListenerSets: 0,
});
