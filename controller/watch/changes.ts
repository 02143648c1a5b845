// What is different between two snapshots, for people who edit files. Pure.
import type { Snapshot, KindName } from '#controller/api/snapshot.ts';

/** Objects as people write them: `HTTPRoute default/shop`. */
export interface Changes {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export function changesBetween(before: Snapshot, after: Snapshot): Changes {
  const changes = { added: [] as string[], changed: [] as string[], removed: [] as string[] };
  for (const kind of Object.keys(after.objects) as KindName[]) {
    const [old, now] = [before.objects[kind], after.objects[kind]];
    if (old === now) continue;
    for (const [key, object] of now) {
      if (!old.has(key)) changes.added.push(`${kind} ${key}`);
      else if (old.get(key) !== object) changes.changed.push(`${kind} ${key}`);
    }
    for (const key of old.keys()) if (!now.has(key)) changes.removed.push(`${kind} ${key}`);
  }
  return changes;
}
