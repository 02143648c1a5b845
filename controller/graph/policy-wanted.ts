// BackendTLSPolicies whose CA certificates must be read: those for Services that routes of ours refer to. A cluster may be full of others.
import { GATEWAY_GROUP, type ParentReference, type Route } from '../api/gateway.ts';
import type { BackendTLSPolicy } from '../api/policy.ts';
import { keyOf, type Key } from '../api/ref.ts';
import type { Snapshot } from '../api/snapshot.ts';
import { coreGroup } from './grant.ts';
import { parentGateway } from './gateway.ts';
import { targetsOf } from './policy-target.ts';

export function policiesOfOurs({ objects }: Snapshot, isOurs: (gateway: Key | null) => boolean): readonly BackendTLSPolicy[] {
  const byService = new Map<Key, Set<BackendTLSPolicy>>();
  for (const policy of objects.BackendTLSPolicy.values()) {
    for (const { service } of targetsOf(policy)) byService.set(service, (byService.get(service) ?? new Set()).add(policy));
  }
  if (byService.size === 0) return [];
  const found = new Set<BackendTLSPolicy>();
  const gatewayOf = (ref: ParentReference, namespace: string | undefined): Key | null => {
    const key = keyOf(ref.namespace ?? namespace, ref.name);
    if ((ref.group ?? GATEWAY_GROUP) !== GATEWAY_GROUP) return null;
    if (ref.kind !== 'ListenerSet') return key;
    const set = objects.ListenerSet.get(key);
    return set === undefined ? null : parentGateway(set);
  };
  for (const route of [...objects.HTTPRoute.values(), ...objects.GRPCRoute.values()]) {
    const policies = servicesOf(route).flatMap((service) => [...(byService.get(service) ?? [])]);
    if (policies.length === 0) continue;
    const { namespace } = route.metadata;
    if (route.spec.parentRefs?.some((ref) => isOurs(gatewayOf(ref, namespace)))) for (const policy of policies) found.add(policy);
  }
  return [...found];
}

const servicesOf = ({ metadata, spec }: Route): readonly Key[] =>
  (spec.rules ?? []).flatMap(({ backendRefs = [] }) =>
    backendRefs
      .filter(({ group, kind }) => coreGroup(group) === '' && (kind ?? 'Service') === 'Service')
      .map(({ namespace, name }) => keyOf(namespace ?? metadata.namespace, name)),
  );
