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

/** What is granted, by who is granted it and in which namespace it lies. */
export type Grants = ReadonlyMap<string, readonly ReferenceGrant['spec']['to'][number][]>;

const pairKey = (from: GrantFrom, namespace: string): string => `${namespace} ${from.group}/${from.kind}/${from.namespace}`;

/** The core group is written as the empty string; people write `core` as well. */
export const coreGroup = (group: string | undefined): string => (group === undefined || group === 'core' ? '' : group);

export function indexGrants(objects: ReadonlyMap<Key, ReferenceGrant>): Grants {
  const grants = new Map<string, ReferenceGrant['spec']['to'][number][]>();
  for (const { metadata, spec } of objects.values()) {
    for (const from of spec.from) {
      const key = pairKey(from, metadata.namespace ?? '');
      const list = grants.get(key);
      if (list === undefined) grants.set(key, [...spec.to]);
      else list.push(...spec.to);
    }
  }
  return grants;
}

/** True within one namespace; across namespaces one grant must match on every field. A `to` without name, or with an empty one, means every object of the kind. */
export function isGranted(grants: Grants, from: GrantFrom, to: GrantTo): boolean {
  if (from.namespace === to.namespace) return true;
  const granted = grants.get(pairKey(from, to.namespace)) ?? [];
  return granted.some(({ group, kind, name }) => coreGroup(group) === to.group && kind === to.kind && (!name || name === to.name));
}
