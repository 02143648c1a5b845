// What is different between two snapshots, for people who edit files. Pure.
import type { Snapshot, KindName } from '#controller/api/snapshot.ts';

/** Objects as people write them: `HTTPRoute default/shop`. */
export interface Changes {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** How many more there are of each, when there are many. */
  readonly unlisted?: { readonly added: number; readonly changed: number; readonly removed: number };
}

/** Of each sort: a line of a log should not have megabytes. */
const MOST_LISTED = 100;

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
  const { added, changed, removed } = changes;
  const unlisted = { added: beyond(added), changed: beyond(changed), removed: beyond(removed) };
  const isWhole = unlisted.added + unlisted.changed + unlisted.removed === 0;
  if (isWhole) return changes;
  return { added: added.slice(0, MOST_LISTED), changed: changed.slice(0, MOST_LISTED), removed: removed.slice(0, MOST_LISTED), unlisted };
}

const beyond = ({ length }: readonly string[]): number => Math.max(0, length - MOST_LISTED);
