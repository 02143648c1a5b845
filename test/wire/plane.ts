// A data plane for a test: one listener, a table from short descriptions, closed when the test ends.
import type { TestContext } from 'node:test';
import type { BackendConfig, MatchConfig, ProxyConfig, RouteConfig, RuleConfig } from '#proxy/config/schema.ts';
import { DataPlane, type DataPlaneDependencies } from '#proxy/data-plane.ts';
import { compileTable } from '#proxy/table/compile.ts';
import type { RouteTable } from '#proxy/table/types.ts';
import { Peer } from './raw.ts';

export interface RuleDraft {
  /** PathPrefix; `/` when absent. */
  readonly prefix?: string;
  readonly matches?: readonly MatchConfig[];
  readonly hostname?: string;
  readonly rule?: Partial<RuleConfig>;
  /** Addresses; absent: no backend. */
  readonly endpoints?: readonly string[];
  readonly fallback?: string;
  readonly protocol?: 'http1' | 'h2c';
  readonly type?: 'HTTP' | 'GRPC';
}

/** One route per draft, in order; every host of an HTTPS and an HTTP listener. */
export function tableOf(port: number, drafts: readonly RuleDraft[]): RouteTable {
  const backends: BackendConfig[] = [];
  const routes = drafts.map((draft, index): RouteConfig => {
    const id = `backend-${index}`;
    if (draft.endpoints !== undefined) {
      const fallback = draft.fallback === undefined ? {} : { fallback: draft.fallback };
      backends.push({
        kind: 'backend',
        id,
        name: `default/${id}:80`,
        protocol: draft.protocol ?? 'http1',
        endpoints: [...draft.endpoints],
        ...fallback,
      });
    }
    return {
      kind: 'route',
      id: `HTTPRoute/default/route-${index}`,
      type: draft.type ?? 'HTTP',
      namespace: 'default',
      name: `route-${index}`,
      created: '2026-01-01T00:00:00Z',
      attachments: [{ entry: 'main', listener: 'https', hostnames: draft.hostname === undefined ? [] : [draft.hostname] }],
      rules: [
        {
          matches: [...(draft.matches ?? [{ path: { type: 'PathPrefix', value: draft.prefix ?? '/' } }])],
          backends: draft.endpoints === undefined ? [] : [{ backend: id, weight: 1 }],
          ...draft.rule,
        },
      ],
    };
  });
  const config: ProxyConfig = {
    tunnels: [],
    certificates: [],
    localEntries: [],
    entries: [{ kind: 'entry', id: 'main', port, listeners: [{ id: 'https', protocol: 'HTTPS', port: 443 }] }],
    backends,
    routes,
  };
  return compileTable(config);
}

export interface RunningPlane {
  readonly plane: DataPlane;
  readonly port: number;
  readonly warnings: string[];
  configure(...drafts: readonly RuleDraft[]): void;
  client(): Promise<Peer>;
}

/** A plane on a free port; without drafts it has no table yet. */
export async function startPlane(
  context: TestContext,
  drafts: readonly RuleDraft[],
  { options, ...rest }: Partial<DataPlaneDependencies> = {},
): Promise<RunningPlane> {
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (_fields: object, message: string) => void warnings.push(message) };
  const plane = new DataPlane({ log, random: () => 0.5, options: { tickTime: 20, idleTimeout: 60_000, ...options }, ...rest });
  const { port } = await plane.listen(0);
  const peers: Peer[] = [];
  context.after(async () => {
    for (const peer of peers) peer.close();
    await plane.drain(0);
  });
  const running = {
    plane,
    port,
    warnings,
    configure: (...next: readonly RuleDraft[]) => plane.setTable(tableOf(port, next)),
    async client() {
      const peer = await Peer.connect(port);
      peers.push(peer);
      return peer;
    },
  };
  if (drafts.length > 0) running.configure(...drafts);
  return running;
}
