// Graph → what the proxies are told: one entry for each tunnel, those of the proxies' own, and the routes and backends behind them.
import type { PlanePlan } from '../api/plan.ts';
import { compareText } from '../api/ref.ts';
import { lastFor } from '../graph/memo.ts';
import { isServedByTunnel, tunnelEntryId } from '../graph/entry.ts';
import type { StandIn } from '../graph/stand-in.ts';
import type { Attachment, Graph, ListenerNode, RouteNode } from '../graph/types.ts';
import type { AttachmentConfig, BackendConfig, EntryConfig, ListenerConfig, RouteConfig, TunnelConfig } from '#proxy/config/schema.ts';
import { listenersOf } from './listeners.ts';
import { renderLocalEntries } from './local-entry.ts';
import type { Ports } from './ports.ts';

/** The proxies that all Gateways without a data plane of their own share. */
export const SHARED_PLANE = 'shared';

export function renderPlanes(graph: Graph, ports: Ports): readonly PlanePlan[] {
  const routes = graph.routes.map((node) => renderRoute(node)).filter((route) => route !== null);
  return [
    {
      id: SHARED_PLANE,
      items: [
        ...renderTunnelItems(graph),
        ...renderEntries(graph, ports),
        ...renderLocalEntries(graph, ports),
        ...renderBackends(graph.routes),
        ...routes,
      ],
    },
  ];
}

const renderTunnelItems = ({ tunnels, tunnelProtocol }: Graph): readonly TunnelConfig[] =>
  tunnels.map(({ id, connectorToken }) => ({
    kind: 'tunnel',
    id,
    entry: tunnelEntryId(id),
    protocol: tunnelProtocol,
    ...(connectorToken !== null && { token: connectorToken }),
  }));

/** Gateways that share a tunnel share its entry: a visitor cannot tell them apart. */
function renderEntries({ gateways, tunnels, standIns }: Graph, ports: Ports): readonly EntryConfig[] {
  const byTunnel = new Map<string, ListenerConfig[]>(tunnels.map(({ id }) => [id, []]));
  for (const gateway of gateways) {
    const listeners = gateway.tunnelId === null ? undefined : byTunnel.get(gateway.tunnelId);
    listeners?.push(...listenersOf(gateway).flatMap(renderListener));
  }
  return tunnels.flatMap(({ id }) => {
    const port = ports.get(id);
    const listeners = [...(byTunnel.get(id) ?? []), ...(standIns.get(id) ?? []).map(renderStandIn)];
    return port === undefined ? [] : [{ kind: 'entry' as const, id: tunnelEntryId(id), port, listeners }];
  });
}

const renderStandIn = ({ hostname, ...place }: StandIn): ListenerConfig => ({ ...place, ...(hostname === '' ? {} : { hostname }) });

function renderListener(listener: ListenerNode): readonly ListenerConfig[] {
  const { id, spec, hostname } = listener;
  if (!isServedByTunnel(listener) || (spec.protocol !== 'HTTP' && spec.protocol !== 'HTTPS')) return [];
  return [{ id, protocol: spec.protocol, port: spec.port, ...(hostname === '' ? {} : { hostname }) }];
}

const isServed = ({ parents }: RouteNode): boolean => parents.some(({ attachments }) => attachments.length > 0);

function renderBackends(routes: readonly RouteNode[]): readonly BackendConfig[] {
  const backends = new Map<string, BackendConfig>();
  for (const route of routes) if (isServed(route)) for (const { config } of route.backends) backends.set(config.id, config);
  return [...backends.values()].sort((a, b) => compareText(a.id, b.id));
}

/** The same item as long as the node is the same, so that whoever sends it can tell by identity that it need not be sent again. */
const renderRoute = lastFor((node: RouteNode): RouteConfig | null => {
  if (!isServed(node)) return null;
  const { metadata, kind } = node.object;
  return {
    kind: 'route',
    id: node.id,
    type: kind === 'GRPCRoute' ? 'GRPC' : 'HTTP',
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    created: metadata.creationTimestamp ?? '',
    attachments: renderAttachments(node.parents.flatMap(({ attachments }) => attachments)),
    rules: [...node.rules],
  };
});

/** Two parentRefs may select the same listener, one by name and one as part of the whole; the route is there once. */
function renderAttachments(attachments: readonly Attachment[]): AttachmentConfig[] {
  const byPlace = new Map<string, AttachmentConfig>();
  for (const { listener, entry, hostnames } of attachments) {
    const place = `${entry} ${listener.id}`;
    if (!byPlace.has(place)) byPlace.set(place, { entry, listener: listener.id, hostnames: [...hostnames] });
  }
  return [...byPlace.values()];
}
