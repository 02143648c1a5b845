// Graph and facts → events: what people should notice even if they do not read statuses. The recorder drops repetitions.
import { EventAction, EventReason, type Cause } from '../api/condition.ts';
import type { EventPlan, Facts } from '../api/plan.ts';
import type { Graph, RouteNode, TunnelNode } from '../graph/types.ts';

export function renderEvents(graph: Graph, facts: Facts): readonly EventPlan[] {
  return [
    ...graph.tunnels.flatMap((tunnel) => foreignRules(tunnel, facts)),
    ...graph.routes.flatMap((route) => [...shadowed(route), ...shared(route), ...grpc(route)]),
  ];
}

const FATE = {
  Merge: 'they are kept, because spec.configPolicy is Merge',
  Observe: 'nothing is changed, because spec.configPolicy is Observe',
} as const;

/** Where they are to be removed, whoever removes them tells it first, with what happens. */
function foreignRules({ id, configs, policy }: TunnelNode, { tunnels }: Facts): readonly EventPlan[] {
  const foreign = tunnels.get(id)?.foreignRules ?? [];
  if (policy === 'Exclusive' || foreign.length === 0) return [];
  return configs.map((ref) => ({
    ref,
    type: 'Normal',
    reason: EventReason.ForeignIngressRules,
    action: EventAction.Sync,
    message: `tunnel ${id} has ingress rules that are not from this controller (${foreign.join(', ')}): ${FATE[policy]}`,
  }));
}

const refOf = ({ object: { kind, metadata } }: RouteNode): EventPlan['ref'] => ({
  kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name,
});

const shadowed = (route: RouteNode): readonly EventPlan[] =>
  warnings(
    route,
    EventReason.RouteShadowed,
    route.parents.map(({ shadowed }) => shadowed),
  );

const shared = (route: RouteNode): readonly EventPlan[] =>
  warnings(
    route,
    EventReason.TunnelShared,
    route.parents.map(({ refused, gateway }) => (refused === null ? gateway.tunnelShared : null)),
  );

function warnings(route: RouteNode, reason: string, causes: readonly (Cause | null)[]): readonly EventPlan[] {
  const messages = new Set(causes.flatMap((cause) => (cause === null ? [] : [cause.message])));
  return [...messages].map((message) => ({ ref: refOf(route), type: 'Warning', reason, action: EventAction.Sync, message }));
}

/** The zone's switch for gRPC is off by default, and nobody can see it from here: without it the edge answers 403. */
function grpc(route: RouteNode): readonly EventPlan[] {
  const isServed =
    route.object.kind === 'GRPCRoute' && route.parents.some(({ attachments }) => attachments.some(({ tunnelId }) => tunnelId !== null));
  if (!isServed) return [];
  const message = 'gRPC must be switched on for the zone at Cloudflare (Network, gRPC), else the edge refuses calls with 403';
  return [
    { ref: refOf(route), type: 'Normal', reason: EventReason.GRPCEdgeProxyingRequired, action: EventAction.VerifyEdgeConfig, message },
  ];
}
