// ReferenceGrant: whether an object of one namespace may refer to an object of another.
import type { ReferenceGrant } from '../api/gateway.ts';
import type { Key } from '../api/ref.ts';

export interface GrantFrom {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
}

export interface GrantTo {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Grants by the namespace that gives them. */
export type Grants = ReadonlyMap<string, readonly ReferenceGrant[]>;

/** The core group is written as the empty string; people write `core` as well. */
export const coreGroup = (group: string | undefined): string => (group === undefined || group === 'core' ? '' : group);

export function indexGrants(objects: ReadonlyMap<Key, ReferenceGrant>): Grants {
  const grants = new Map<string, ReferenceGrant[]>();
  for (const grant of objects.values()) {
    const namespace = grant.metadata.namespace ?? '';
    const list = grants.get(namespace);
    if (list === undefined) grants.set(namespace, [grant]);
    else list.push(grant);
  }
  return grants;
}

/** True within one namespace; across namespaces one grant must match on every field. A `to` without name, or with an empty one, means every object of the kind. */
export function isGranted(grants: Grants, from: GrantFrom, to: GrantTo): boolean {
  if (from.namespace === to.namespace) return true;
  const list = grants.get(to.namespace) ?? [];
  return list.some(
    ({ spec }) =>
      spec.from.some((entry) => entry.group === from.group && entry.kind === from.kind && entry.namespace === from.namespace) &&
      spec.to.some((entry) => coreGroup(entry.group) === to.group && entry.kind === to.kind && (!entry.name || entry.name === to.name)),
  );
}
