// Gateways of our classes: parameters, addresses, listeners and the ListenerSets that belong to them.
import * as cause from '../api/cause-listener.ts';
import { Reason, type Cause } from '../api/condition.ts';
import type { ConfigMap, Namespace, Secret } from '../api/core.ts';
import { GATEWAY_GROUP, type Gateway, type ListenerSet } from '../api/gateway.ts';
import { keyOf, type Key } from '../api/ref.ts';
import { checkClientCertificate } from './client-certificate.ts';
import { Claims } from './conflict.ts';
import { resolveFrontend } from './frontend-tls.ts';
import { uuidOf, type GatewayTunnel } from './gateway-tunnel.ts';
import type { Grants } from './grant.ts';
import { buildListener, type ListenerContext } from './listener.ts';
import { admits, namespaceRule } from './namespaces.ts';
import { byAge } from './order.ts';
import { requestAddresses } from './requested-address.ts';
import type { Ownership } from './ownership.ts';
import type { ClassNode, GatewayNode, ListenerNode, ListenerSetNode } from './types.ts';

export interface GatewayObjects {
  readonly gateways: ReadonlyMap<Key, Gateway>;
  readonly listenerSets: ReadonlyMap<Key, ListenerSet>;
  readonly namespaces: ReadonlyMap<Key, Namespace>;
  readonly secrets: ReadonlyMap<Key, Secret>;
  readonly configMaps: ReadonlyMap<Key, ConfigMap>;
}

/** The Gateway that a ListenerSet belongs to, or null when it names something else. */
export function parentGateway(set: ListenerSet): Key | null {
  const ref = set.spec.parentRef;
  if ((ref.group ?? GATEWAY_GROUP) !== GATEWAY_GROUP || (ref.kind ?? 'Gateway') !== 'Gateway') return null;
  return keyOf(ref.namespace ?? set.metadata.namespace, ref.name);
}

function groupSets(objects: ReadonlyMap<Key, ListenerSet>): ReadonlyMap<Key, readonly ListenerSet[]> {
  const groups = new Map<Key, ListenerSet[]>();
  for (const set of byAge(objects.values())) {
    const key = parentGateway(set);
    if (key === null) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [set]);
    else group.push(set);
  }
  return groups;
}

export function buildGateways(
  objects: GatewayObjects,
  classes: readonly ClassNode[],
  grants: Grants,
  ownership: Ownership,
  tunnels: ReadonlyMap<Key, GatewayTunnel>,
): readonly GatewayNode[] {
  const byName = new Map(classes.map((node) => [node.object.metadata.name, node]));
  const sets = groupSets(objects.listenerSets);
  return byAge(objects.gateways.values()).flatMap((gateway) => {
    const node = byName.get(gateway.spec.gatewayClassName);
    if (node === undefined) return [];
    const context: ListenerContext = {
      grants,
      secrets: objects.secrets,
      ownership,
      certificates: node.config?.certificates ?? 'Require',
      needsCertificate: node.config?.entry === 'Local',
      frontendOf: resolveFrontend(gateway, { ...objects, grants, seesHandshakes: node.config?.local != null }),
    };
    const key = keyOf(gateway.metadata.namespace, gateway.metadata.name);
    return [
      buildGateway(gateway, node, sets.get(key) ?? [], { context, namespaces: objects.namespaces, tunnel: tunnels.get(key) ?? NO_TUNNEL }),
    ];
  });
}

const NO_TUNNEL: GatewayTunnel = { tunnelId: null, refused: null, unassigned: null, shared: null };

interface Surroundings {
  readonly tunnel: GatewayTunnel;
  readonly context: ListenerContext;
  readonly namespaces: ReadonlyMap<Key, Namespace>;
}

function buildGateway(object: Gateway, node: ClassNode, sets: readonly ListenerSet[], around: Surroundings): GatewayNode {
  const key = keyOf(object.metadata.namespace, object.metadata.name);
  const { tunnelId, refused, unassigned, shared } = around.tunnel;
  const host = tunnelId === null ? null : `${uuidOf(tunnelId)}.cfargotunnel.com`;
  const local = node.config?.local ?? null;
  const addresses = requestAddresses(object, { host: node.config?.entry === 'Local' ? undefined : host, hasService: local !== null });
  const classProblem = node.problem === null ? null : cause.classNotAccepted(node.object.metadata.name, node.problem);

  const claims = new Claims();
  const owner = { kind: 'Gateway', namespace: object.metadata.namespace ?? '', name: object.metadata.name } as const;
  const listeners = (object.spec.listeners ?? []).map((spec) => settle(buildListener(spec, owner, around.context), claims));
  return {
    object,
    key,
    class: node,
    problem: classProblem ?? refused ?? addresses.unsupported,
    // A class whose API token is missing keeps serving: the proxies do not need it, and an outage would help nobody.
    tunnelId: addresses.unsupported === null ? tunnelId : null,
    unassigned,
    tunnelShared: shared,
    addresses: addresses.hostnames,
    local:
      refused === null && addresses.unsupported === null && local !== null
        ? { ...local, requestedIp: addresses.requestedIp, published: addresses.publishesIp }
        : null,
    addressProblem: addresses.unusable,
    references: checkClientCertificate(object, around.context.grants, around.context.secrets),
    listeners,
    sets: sets.map((set) => buildListenerSet(set, object, claims, around)),
  };
}

/** A listener whose hostname belongs to somebody else must not keep its rightful owner out. */
const settle = (listener: ListenerNode, claims: Claims): ListenerNode =>
  claims.claim(listener, listener.refused?.reason !== Reason.HostnameNotPermitted);

function buildListenerSet(object: ListenerSet, gateway: Gateway, claims: Claims, { context, namespaces }: Surroundings): ListenerSetNode {
  const namespace = object.metadata.namespace ?? '';
  const owner = { kind: 'ListenerSet', namespace, name: object.metadata.name } as const;
  const refused = checkAllowed(gateway, namespace, namespaces);
  const listeners = object.spec.listeners.map((spec) => {
    const listener = buildListener(spec, owner, context);
    return refused === null ? settle(listener, claims) : { ...listener, refused, unusable: refused, permissive: false };
  });
  return { object, key: keyOf(namespace, object.metadata.name), refused, listeners };
}

function checkAllowed(gateway: Gateway, namespace: string, namespaces: ReadonlyMap<Key, Namespace>): Cause | null {
  const { rule, problem } = namespaceRule(gateway.spec.allowedListeners?.namespaces, 'None', 'spec.allowedListeners.namespaces');
  const own = gateway.metadata.namespace ?? '';
  const name = keyOf(own, gateway.metadata.name);
  if (problem !== null) return cause.setNotAllowedBySelector(name, problem);
  return admits(rule, own, namespace, namespaces) ? null : cause.setNotAllowed(name);
}
