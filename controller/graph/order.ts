// Who comes first: older, then alphabetically by namespace/name. The tie-break of the specification wherever objects compete.
import type { KubeObject } from '../api/core.ts';
import { compareText, keyOf } from '../api/ref.ts';

/**
 * Timestamps of the API server have one form (RFC 3339, UTC, seconds), so that text order is time order. One that is missing counts as the
 * youngest, here as in the proxy: what has no age must not win over what has.
 */
const created = (object: KubeObject): string => object.metadata.creationTimestamp ?? '9999';

function compareAge(a: KubeObject, b: KubeObject): number {
  return (
    compareText(created(a), created(b)) ||
    compareText(keyOf(a.metadata.namespace, a.metadata.name), keyOf(b.metadata.namespace, b.metadata.name)) ||
    compareText(a.kind, b.kind)
  );
}

/** The same for lists of which the next resembles the last: what was in order stays so, which is the case that sorting is quick at. */
export function createByAge<T extends KubeObject>(): (objects: readonly T[]) => readonly T[] {
  let last: readonly T[] = [];
  return (objects) => {
    const present = new Set(objects);
    const known = new Set(last);
    last = byAge([...last.filter((object) => present.has(object)), ...objects.filter((object) => !known.has(object))]);
    return last;
  };
}

export const byAge = <T extends KubeObject>(objects: Iterable<T>): readonly T[] => [...objects].sort(compareAge);
