// What users asked for, apart from what controllers report. Status writes come back as new objects; seen through here they change nothing.
import type { KubeObject } from '../api/core.ts';
import type { Key } from '../api/ref.ts';
import { sameData } from './memo.ts';

interface WithSpec extends KubeObject {
  readonly spec?: unknown;
}

/** The parts that nodes are made of. Labels and other annotations of these objects are not read; a new uid is another object. */
const sameIntent = (a: WithSpec, b: WithSpec, annotations: readonly string[]): boolean =>
  a.metadata.uid === b.metadata.uid &&
  a.metadata.generation === b.metadata.generation &&
  a.metadata.creationTimestamp === b.metadata.creationTimestamp &&
  annotations.every((name) => a.metadata.annotations?.[name] === b.metadata.annotations?.[name]) &&
  sameData(a.spec, b.spec);

/**
 * A function from the objects of one kind to the same map with each object replaced by the one seen before when only its status,
 * labels or annotations (but those named) differ. When nothing else differs, the map itself is the one returned before. Read a status from the snapshot,
 * not from what this returns.
 */
export function createIntent<T extends WithSpec>(
  annotations: readonly string[] = [],
): (objects: ReadonlyMap<Key, T>) => ReadonlyMap<Key, T> {
  let source: ReadonlyMap<Key, T> | undefined;
  let kept: ReadonlyMap<Key, T> = new Map();
  return (objects) => {
    if (objects === source) return kept;
    const next = new Map<Key, T>();
    let same = objects.size === kept.size;
    for (const [key, object] of objects) {
      const before = kept.get(key);
      // Compared with the last snapshot first: what is kept is older than it wherever a status was written since.
      const keep = before !== undefined && (object === source?.get(key) || sameIntent(before, object, annotations));
      next.set(key, keep ? before : object);
      if (!keep) same = false;
    }
    source = objects;
    if (!same) kept = next;
    return kept;
  };
}
