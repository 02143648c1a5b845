// Route ↔ listener: which of a route's parents are ours, and which of their listeners take it for which hostnames.
import * as cause from '../api/cause-route.ts';
import type { Cause } from '../api/condition.ts';
import type { Namespace } from '../api/core.ts';
import { GATEWAY_GROUP, type ParentReference, type Route } from '../api/gateway.ts';
import { keyOf, type Key } from '../api/ref.ts';
import { canBeVisited, intersect, normalise } from './hostname.ts';
import { sameData } from './memo.ts';
import { admits } from './namespaces.ts';
import type { Ownership } from './ownership.ts';
import type { GatewayNode, ListenerNode, ListenerSetNode } from './types.ts';

/** Everything that attachments depend on besides the route itself. */
export interface Topology {
  readonly gateways: readonly GatewayNode[];
  readonly gatewayByKey: ReadonlyMap<Key, GatewayNode>;
  readonly setByKey: ReadonlyMap<Key, { readonly set: ListenerSetNode; readonly gateway: GatewayNode }>;
  readonly ownership: Ownership;
  readonly namespaces: ReadonlyMap<Key, Namespace>;
  readonly tunnelProtocol: 'http2' | 'quic';
}

/** A listener that takes a route, for these hostnames: the route's as far as the listener has them, empty when the route names none. */
export interface Match {
  readonly listener: ListenerNode;
  readonly hostnames: readonly string[];
}

/** Exactly one of `refused` and `matches` says something. */
export interface ParentBinding {
  readonly ref: ParentReference;
  readonly gateway: GatewayNode;
  readonly refused: Cause | null;
  readonly matches: readonly Match[];
}

export function buildTopology(
  gateways: readonly GatewayNode[],
  ownership: Ownership,
  namespaces: ReadonlyMap<Key, Namespace>,
  tunnelProtocol: 'http2' | 'quic',
): Topology {
  return {
    gateways,
    gatewayByKey: new Map(gateways.map((node) => [node.key, node])),
    setByKey: new Map(gateways.flatMap((gateway) => gateway.sets.map((set) => [set.key, { set, gateway }]))),
    ownership,
    namespaces,
    tunnelProtocol,
  };
}

interface Parent {
  /** `Gateway namespace/name`, for messages. */
  readonly name: string;
  readonly gateway: GatewayNode;
  readonly listeners: readonly ListenerNode[];
  readonly refused: Cause | null;
}

/** A reference to a Gateway means the Gateway's own listeners only, one to a ListenerSet the set's. */
function findParent(ref: ParentReference, namespace: string, topology: Topology): Parent | null {
  if ((ref.group ?? GATEWAY_GROUP) !== GATEWAY_GROUP) return null;
  const key = keyOf(ref.namespace ?? namespace, ref.name);
  const kind = ref.kind ?? 'Gateway';
  const name = `${kind} ${key}`;
  if (kind === 'Gateway') {
    const gateway = topology.gatewayByKey.get(key);
    return gateway === undefined ? null : { name, gateway, listeners: gateway.listeners, refused: null };
  }
  const found = kind === 'ListenerSet' ? topology.setByKey.get(key) : undefined;
  if (found === undefined) return null;
  const refused = found.set.refused === null ? null : cause.setNotAccepted(name, found.set.refused);
  return { name, gateway: found.gateway, listeners: found.set.listeners, refused };
}

/** Parents of ours in the order of the route; empty when the route is none of our business. */
export function bindRoute(route: Route, topology: Topology): readonly ParentBinding[] {
  const namespace = route.metadata.namespace ?? '';
  const hostnames = topology.ownership.hostnamesOf(namespace, [...new Set((route.spec.hostnames ?? []).map(normalise))]);
  const bindings: ParentBinding[] = [];
  for (const declared of route.spec.parentRefs ?? []) {
    const parent = findParent(declared, namespace, topology);
    if (parent === null) continue;
    const ref = { ...declared, group: declared.group ?? GATEWAY_GROUP, kind: declared.kind ?? 'Gateway' };
    if (bindings.some((binding) => sameData(binding.ref, ref))) continue;
    const selected = selectListeners(ref, parent, { route, hostnames, topology });
    const refused = 'matches' in selected ? (judge(parent, route, hostnames, topology) ?? unservable(selected.matches)) : selected;
    bindings.push({ ref, gateway: parent.gateway, refused, matches: refused === null && 'matches' in selected ? selected.matches : [] });
  }
  return bindings;
}

interface Candidate {
  readonly route: Route;
  readonly hostnames: readonly string[];
  readonly topology: Topology;
}

/**
 * Listeners that take the route, or why none does. When several refuse, the reason that came furthest is told: a hostname that does not
 * fit says more than a namespace that is not allowed, and that more than a listener that is not there.
 */
function selectListeners(ref: ParentReference, parent: Parent, candidate: Candidate): { readonly matches: readonly Match[] } | Cause {
  if (parent.refused !== null) return parent.refused;
  if (parent.listeners.length === 0) return cause.noListener(parent.name);
  const named = parent.listeners.filter(({ spec }) => ref.sectionName === undefined || spec.name === ref.sectionName);
  if (named.length === 0) return cause.noSuchSection(parent.name, ref.sectionName ?? '');
  const selected = named.filter(({ spec }) => ref.port === undefined || spec.port === ref.port);
  if (selected.length === 0) return cause.noSuchPort(parent.name, ref.port ?? 0, ref.sectionName);

  const matches: Match[] = [];
  let refusal: { readonly rank: number; readonly cause: Cause } | null = null;
  for (const listener of selected) {
    const result = tryListener(listener, candidate);
    if ('listener' in result) matches.push(result);
    else if (refusal === null || result.rank > refusal.rank) refusal = result;
  }
  return matches.length > 0 || refusal === null ? { matches } : refusal.cause;
}

function tryListener(
  listener: ListenerNode,
  { route, hostnames, topology }: Candidate,
): Match | { readonly rank: number; readonly cause: Cause } {
  const namespace = route.metadata.namespace ?? '';
  if (listener.conflict !== null) return { rank: 0, cause: cause.listenerNotAccepted(listener.id, listener.conflict) };
  if (!listener.supportedKinds.some(({ kind }) => kind === route.kind)) {
    // Nothing to choose from: the protocol is the reason.
    const { refused, supportedKinds } = listener;
    const nothing = supportedKinds.length === 0 && refused !== null;
    return { rank: 2, cause: nothing ? cause.listenerTakesNothing(listener.id, refused) : cause.kindNotAllowed(listener.id, route.kind) };
  }
  if (listener.refused !== null) return { rank: 1, cause: cause.listenerNotAccepted(listener.id, listener.refused) };
  if (!admits(listener.namespaces, listener.namespace, namespace, topology.namespaces)) {
    return { rank: 2, cause: cause.namespaceNotAllowed(listener.id, namespace) };
  }
  if (hostnames.length === 0) return { listener, hostnames };
  const common = hostnames
    .map((hostname) => (hostname === '' ? null : intersect(listener.hostname, hostname)))
    .filter((name) => name !== null);
  if (common.length > 0) return { listener, hostnames: [...new Set(common)] };
  return { rank: 3, cause: cause.hostnamesDisjoint(listener.id, hostnames, listener.hostname) };
}

/** One name that no visitor can ask for closes the route, and not the tunnel's document, which is everybody's. */
function unservable(matches: readonly Match[]): Cause | null {
  const bad = matches.flatMap(({ hostnames }) => hostnames).find((hostname) => !canBeVisited(hostname));
  return bad === undefined ? null : cause.hostnameUnservable(bad);
}

/** What stands against a route that listeners would take. */
function judge(parent: Parent, route: Route, hostnames: readonly string[], topology: Topology): Cause | null {
  const denied = topology.ownership.refuseRoute(route.metadata.namespace ?? '', hostnames);
  if (denied !== null) return denied;
  const { gateway } = parent;
  if (gateway.tunnelId === null && gateway.local === null)
    return cause.gatewayNotServed(gateway.key, gateway.problem ?? cause.gatewayUnassigned());
  return route.kind === 'GRPCRoute' && gateway.tunnelId !== null && topology.tunnelProtocol === 'quic' ? cause.grpcOverQuic() : null;
}
