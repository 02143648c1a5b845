// Our entries in a list where each controller has its own: `parents` of a route, `ancestors` of a policy.
import type { Condition } from '#controller/api/core.ts';
import { GATEWAY_GROUP, type ParentReference } from '#controller/api/gateway.ts';
import type { DesiredStatus } from '#controller/api/plan.ts';
import { mergeConditions, newestGeneration } from './merge-conditions.ts';
import { asFields, asList, type Fields } from './stored.ts';

/** Moment and generation of a merge, for every part of it. */
export interface Occasion {
  readonly generation: number;
  readonly now: string;
}

/** Both lists in one form. */
export interface OwnEntries {
  readonly field: 'parents' | 'ancestors';
  /** The field of an entry that says what it is about. */
  readonly about: 'parentRef' | 'ancestorRef';
  /** By the schema: entries of all controllers together. */
  readonly most: number;
  readonly controllerName: string;
  readonly isOurs: (type: string) => boolean;
  readonly entries: readonly { readonly ref: ParentReference; readonly conditions: readonly Condition[] }[];
}

type InEntries = Extract<DesiredStatus, { form: OwnEntries['field'] }>;

export function entriesOf(desired: InEntries): OwnEntries {
  const { controllerName } = desired;
  if (desired.form === 'parents') {
    const entries = desired.parents.map(({ parentRef: ref, conditions }) => ({ ref, conditions }));
    // An entry belongs to the controller that it names, with all of its conditions.
    return { field: 'parents', about: 'parentRef', most: 32, controllerName, isOurs: () => true, entries };
  }
  const entries = desired.ancestors.map(({ ancestorRef: ref, conditions }) => ({ ref, conditions }));
  const isOurs = (type: string): boolean => desired.ownTypes.includes(type);
  return { field: 'ancestors', about: 'ancestorRef', most: 16, controllerName, isOurs, entries };
}

/** Entries of other controllers stay verbatim and in their places; ours too, and new ones come first, or behind our last. */
export function mergeEntries(stored: unknown, own: OwnEntries, namespace: string, occasion: Occasion): readonly object[] {
  const list = asList(stored);
  const isOurs = (entry: Fields): boolean => entry['controllerName'] === own.controllerName;
  const room = own.most - list.filter((entry) => !isOurs(entry)).length;
  const missing = new Map(own.entries.slice(0, Math.max(0, room)).map((entry) => [refKey(entry.ref, namespace), entry]));
  const merge = (before: Fields, { ref, conditions }: OwnEntries['entries'][number]): object => ({
    ...before,
    [own.about]: { group: GATEWAY_GROUP, kind: 'Gateway', ...ref },
    controllerName: own.controllerName,
    conditions: mergeConditions(before['conditions'], { desired: conditions, isOurs: own.isOurs, ...occasion }),
  });
  const merged: object[] = [];
  let afterOurs = 0;
  for (const entry of list) {
    if (!isOurs(entry)) {
      merged.push(entry);
      continue;
    }
    const key = refKey(asFields(entry[own.about]), namespace);
    const desired = missing.get(key);
    if (desired === undefined) continue;
    missing.delete(key);
    merged.push(merge(entry, desired));
    afterOurs = merged.length;
  }
  merged.splice(afterOurs, 0, ...[...missing.values()].map((entry) => merge({}, entry)));
  return merged;
}

/** Generations that our stored conditions speak of. */
export const entryGenerations = (stored: unknown, { controllerName, isOurs }: OwnEntries): readonly number[] =>
  asList(stored)
    .filter((entry) => entry['controllerName'] === controllerName)
    .map((entry) => newestGeneration(entry['conditions'], isOurs));

/** Two references are about the same object also when one spells a default out. */
function refKey(ref: Partial<ParentReference>, namespace: string): string {
  return JSON.stringify([
    ref.group ?? GATEWAY_GROUP,
    ref.kind ?? 'Gateway',
    ref.namespace ?? namespace,
    ref.name ?? '',
    ref.sectionName ?? '',
    ref.port ?? 0,
  ]);
}
