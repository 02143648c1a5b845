// Graph and facts → the status of every object of ours.
import type { Facts, StatusUpdate } from '../api/plan.ts';
import type { Snapshot } from '../api/snapshot.ts';
import { publishedAddresses } from './entry-service.ts';
import type { Graph } from '../graph/types.ts';
import { renderClassStatus } from './status-class.ts';
import { renderConfigStatus } from './status-config.ts';
import { renderGatewayConfigStatus } from './status-gateway-config.ts';
import { renderFarewells } from './status-farewell.ts';
import { countRoutes, renderGatewayStatuses } from './status-gateway.ts';
import { renderPolicyFarewells, renderPolicyStatus } from './status-policy.ts';
import { renderRouteStatus } from './status-route.ts';

/**
 * Statuses in a stable order. `snapshot` is the one that the graph was built from: from it comes what is stored now, to hold `Programmed`
 * through restarts and to find entries of ours on routes that no longer concern us.
 */
export function renderStatuses(graph: Graph, facts: Facts, snapshot: Snapshot): readonly StatusUpdate[] {
  const counts = countRoutes(graph.routes);
  const countsSets = snapshot.served.has('ListenerSet');
  return [
    ...graph.classes.map((node) => renderClassStatus(node, graph.tunnelProtocol)),
    ...graph.configs.map((node) =>
      renderConfigStatus(node, graph.tunnels, facts, snapshot.objects.GatewayClassConfig.get(node.object.metadata.name)),
    ),
    ...graph.gatewayConfigs.map((node) =>
      renderGatewayConfigStatus(node, graph.tunnels, facts, snapshot.objects.GatewayConfig.get(node.key)),
    ),
    ...graph.gateways.flatMap((node) => {
      const addresses = publishedAddresses(node, snapshot.objects.Service);
      return renderGatewayStatuses(node, counts, facts, { stored: snapshot.objects.Gateway.get(node.key), addresses, countsSets });
    }),
    ...graph.routes.map((node) => renderRouteStatus(node, graph.controllerName, facts)),
    ...graph.policies.map((node) => renderPolicyStatus(node, graph.controllerName)),
    ...renderFarewells(graph, snapshot),
    ...renderPolicyFarewells(graph.policies, snapshot.objects.BackendTLSPolicy, graph.controllerName),
  ];
}
