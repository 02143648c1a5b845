// Graph and facts → the status of every object of ours.
import type { Route } from '../api/gateway.ts';
import type { DesiredStatus, Facts, StatusUpdate } from '../api/plan.ts';
import { compareText, keyOf } from '../api/ref.ts';
import type { KindName, Snapshot } from '../api/snapshot.ts';
import { publishedAddresses } from './entry-service.ts';
import type { Graph } from '../graph/types.ts';
import { renderClassStatus } from './status-class.ts';
import { renderConfigStatus } from './status-config.ts';
import { countRoutes, renderGatewayStatuses } from './status-gateway.ts';
import { renderPolicyFarewells, renderPolicyStatus } from './status-policy.ts';
import { renderRouteStatus } from './status-route.ts';
import { updateOf } from './status-update.ts';

/**
 * Statuses in a stable order. `snapshot` is the one that the graph was built from: from it comes what is stored now, to hold `Programmed`
 * through restarts and to find entries of ours on routes that no longer concern us.
 */
export function renderStatuses(graph: Graph, facts: Facts, snapshot: Snapshot): readonly StatusUpdate[] {
  const counts = countRoutes(graph.routes);
  return [
    ...graph.classes.map((node) => renderClassStatus(node, graph.tunnelProtocol)),
    ...graph.configs.map((node) =>
      renderConfigStatus(node, graph.tunnels, facts, snapshot.objects.GatewayClassConfig.get(node.object.metadata.name)),
    ),
    ...graph.gateways.flatMap((node) => {
      const stored = snapshot.objects.Gateway.get(node.key);
      return renderGatewayStatuses(node, counts, facts, { stored, addresses: publishedAddresses(node, snapshot.objects.Service) });
    }),
    ...graph.routes.map((node) => renderRouteStatus(node, graph.controllerName, facts)),
    ...graph.policies.map((node) => renderPolicyStatus(node, graph.controllerName)),
    ...renderFarewells(graph, snapshot),
    ...renderPolicyFarewells(graph.policies, snapshot.objects.BackendTLSPolicy, graph.controllerName),
  ];
}

/** Routes that once referred to us and no longer do lose the entries that we wrote. */
function renderFarewells({ routes, controllerName }: Graph, { objects }: Snapshot): readonly StatusUpdate[] {
  const ours = new Set(routes.map(({ id }) => id));
  const desired: DesiredStatus = { form: 'parents', controllerName, parents: [] };
  const farewell = (kind: KindName & Route['kind'], route: Route): readonly StatusUpdate[] => {
    if (!route.status?.parents?.some((parent) => parent.controllerName === controllerName)) return [];
    return ours.has(`${kind}/${keyOf(route.metadata.namespace, route.metadata.name)}`) ? [] : [updateOf(kind, route, desired)];
  };
  return [
    ...[...objects.HTTPRoute.values()].flatMap((route) => farewell('HTTPRoute', route)),
    ...[...objects.GRPCRoute.values()].flatMap((route) => farewell('GRPCRoute', route)),
  ].sort((a, b) => compareText(a.key, b.key) || compareText(a.ref.kind, b.ref.kind));
}
