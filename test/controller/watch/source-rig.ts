// A source of the real code against the fault server, with timings short enough for tests.
import type { TestContext } from 'node:test';
import type { KindName } from '#controller/api/snapshot.ts';
import { KubeClient } from '#controller/kube/client.ts';
import { silentLog } from '#controller/kube/log.ts';
import { createKubeSource, type KubeSource } from '#controller/watch/kube-source.ts';
import type { ListLimits } from '#controller/watch/list.ts';
import type { ReflectorTimings } from '#controller/watch/timings.ts';
import { eventually } from '#test/kube/eventually.ts';
import { FaultServer } from '#test/kube/fault-server.ts';

export const quickTimings: ReflectorTimings = {
  serverTimeoutMs: [60_000, 60_000],
  idleMs: 20_000,
  relistMs: [60_000, 60_000],
  healthyMs: 20,
  confirmMs: 40,
  giveUpMs: 120,
  notServedMs: [10, 20],
  forbiddenMs: [10, 20],
  backoff: { firstMs: 4, maxMs: 40 },
};

export const routes = '/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes';

export const route = (name: string, fields: object = {}, metadata: object = {}) => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name, ...metadata },
  spec: {},
  ...fields,
});

export interface RigOptions {
  readonly kinds?: readonly KindName[];
  readonly timings?: Partial<ReflectorTimings>;
  readonly listLimits?: ListLimits;
  /** Does not wait until synced. */
  readonly raw?: boolean;
  readonly prepare?: (server: FaultServer) => void;
}

export interface Rig {
  readonly server: FaultServer;
  readonly source: KubeSource;
  /** Sorted keys of a kind in the newest snapshot. */
  readonly keys: (kind?: KindName) => readonly string[];
}

export async function startRig(t: TestContext, options: RigOptions = {}): Promise<Rig> {
  const server = await FaultServer.start();
  options.prepare?.(server);
  const client = new KubeClient({ kubeConfig: server.kubeConfig() });
  const source = createKubeSource({
    client,
    log: silentLog,
    kinds: options.kinds ?? ['HTTPRoute'],
    timings: { ...quickTimings, ...options.timings },
    ...(options.listLimits && { listLimits: options.listLimits }),
  });
  t.after(async () => {
    await source.stop();
    client.close();
    await server.stop();
  });
  void source.start();
  if (options.raw !== true) await eventually('synced', () => source.synced && server.openWatches > 0);
  const keys = (kind: KindName = 'HTTPRoute'): readonly string[] => [...source.snapshot().objects[kind].keys()].sort();
  return { server, source, keys };
}
