// A status writer of the real code, a source that watches the same fault server, and builders of updates.
import type { TestContext } from 'node:test';
import type { Condition } from '#controller/api/core.ts';
import type { StatusUpdate } from '#controller/api/plan.ts';
import { StatusWriter, type StatusWriterOptions } from '#controller/apply/status.ts';
import { KubeClient } from '#controller/kube/client.ts';
import { silentLog } from '#controller/kube/log.ts';
import { createKubeSource, type KubeSource } from '#controller/watch/kube-source.ts';
import { quickTimings, route, routes } from '#test/controller/watch/source-rig.ts';
import { eventually } from '#test/kube/eventually.ts';
import { FaultServer } from '#test/kube/fault-server.ts';

const OURS = 'cf.k8s.lex.la/tunnel-controller';

export interface StatusRig {
  readonly server: FaultServer;
  readonly source: KubeSource;
  readonly writer: StatusWriter;
  /** Requests other than those of the source. */
  readonly requests: () => readonly string[];
  /** An update of a route in the newest snapshot. */
  readonly update: (name: string, reason?: string, status?: Condition['status']) => StatusUpdate;
  /** The status that the server has of a route. */
  readonly stored: (name: string) => { readonly parents?: readonly { readonly conditions: readonly Condition[] }[] } | undefined;
  /** Resolves when the source has seen everything that the server has. */
  readonly caughtUp: () => Promise<void>;
}

export async function startStatusRig(
  t: TestContext,
  names: readonly string[],
  options: Partial<StatusWriterOptions> = {},
): Promise<StatusRig> {
  const server = await FaultServer.start();
  for (const name of names) server.table.put(routes, route(name));
  const client = new KubeClient({ kubeConfig: server.kubeConfig() });
  const source = createKubeSource({ client, log: silentLog, kinds: ['HTTPRoute'], timings: quickTimings });
  void source.start();
  await eventually('synced', () => source.synced && server.openWatches === 1);
  const writer = new StatusWriter({
    client,
    current: (kind, key) => source.snapshot().objects[kind].get(key),
    mayWrite: () => true,
    log: silentLog,
    backoff: { firstMs: 5, maxMs: 20 },
    ...options,
  });
  t.after(async () => {
    await writer.stop();
    await source.stop();
    client.close();
    await server.stop();
  });
  return {
    server,
    source,
    writer,
    requests: () => server.seen.filter((seen) => seen.resource.name !== '').map((seen) => `${seen.method} ${seen.resource.name}`),
    update: (name, reason = 'Accepted', status = 'True') => ({
      ref: { kind: 'HTTPRoute', namespace: 'default', name },
      key: `default/${name}`,
      uid: source.snapshot().objects.HTTPRoute.get(`default/${name}`)?.metadata.uid ?? '',
      generation: 1,
      desired: {
        form: 'parents',
        controllerName: OURS,
        parents: [{ parentRef: { name: 'g' }, controllerName: OURS, conditions: [{ type: 'Accepted', status, reason, message: 'm' }] }],
      },
    }),
    stored: (name) => server.table.get(`${routes}/${name}`)?.['status'] as ReturnType<StatusRig['stored']>,
    async caughtUp() {
      const isSame = (name: string): boolean =>
        source.snapshot().objects.HTTPRoute.get(`default/${name}`)?.metadata.resourceVersion ===
        server.table.get(`${routes}/${name}`)?.metadata.resourceVersion;
      await eventually('the source has seen everything', () => names.every(isSame));
    },
  };
}
