// Graph → the ingress document of each tunnel: one rule for each hostname, all leading to the proxy beside the connector.
import type { IngressRule, TunnelPlan } from '../api/plan.ts';
import { compareSpecificity } from '../graph/hostname.ts';
import type { Graph, ParentNode } from '../graph/types.ts';
import type { Ports } from './ports.ts';

/** What Cloudflare's API takes at most, the last rule included. */
const RULE_LIMIT = 1000;

/** Connections that the connector keeps to the proxy, and the seconds that it waits for one. */
const ORIGIN_REQUEST = { keepAliveConnections: 1024, connectTimeout: 5 };

/**
 * Documents of the tunnels whose configuration is valid; others are left as they are. Hosts without a rule are answered with 404 by the
 * connector itself, unless some route has no hostname at all: then the last rule leads to the proxy too.
 */
export function renderTunnels(graph: Graph, ports: Ports): readonly TunnelPlan[] {
  const parents = graph.routes.flatMap((route) => route.parents);
  const byTunnel = collectHostnames(parents);
  return graph.tunnels.flatMap(({ id, tunnelId, accountId, apiToken, connectorToken, policy, configs }): readonly TunnelPlan[] => {
    const port = ports.get(id);
    if (apiToken === null || port === undefined) return [];
    const service = `http://127.0.0.1:${port}`;
    const hostnames = byTunnel.get(id) ?? new Set();
    const named = [...hostnames].filter((hostname) => hostname !== '');
    const folded = named.length + 1 > RULE_LIMIT;
    const rules = folded
      ? []
      : named.sort(compareSpecificity).map((hostname): IngressRule => ({ hostname, service, originRequest: ORIGIN_REQUEST }));
    const last: IngressRule = folded || hostnames.has('') ? { service, originRequest: ORIGIN_REQUEST } : { service: 'http_status:404' };
    return [{ id, tunnelId, accountId, apiToken, connectorToken, policy, rules, last, configs, folded }];
  });
}

/** Hostnames under which routes are reached, by tunnel; empty for routes that are reached under every host. */
function collectHostnames(parents: readonly ParentNode[]): ReadonlyMap<string, ReadonlySet<string>> {
  const byTunnel = new Map<string, Set<string>>();
  for (const { attachments } of parents) {
    for (const { tunnelId, hostnames, listener } of attachments) {
      if (tunnelId === null) continue;
      let known = byTunnel.get(tunnelId);
      if (known === undefined) byTunnel.set(tunnelId, (known = new Set()));
      if (hostnames.length === 0) known.add(listener.hostname);
      else for (const hostname of hostnames) known.add(hostname);
    }
  }
  return byTunnel;
}
