// What an object's status should become, given what it is: ours brought up to date, everybody else's kept, nothing moved without need.
import { ConditionType } from '#controller/api/condition.ts';
import type { KubeObject } from '#controller/api/core.ts';
import { GATEWAY_GROUP, type ListenerStatus } from '#controller/api/gateway.ts';
import { OWN_GROUP } from '#controller/api/own.ts';
import type { DesiredStatus, StatusUpdate } from '#controller/api/plan.ts';
import { equalJson } from './equal.ts';
import { mergeConditions, newestGeneration } from './merge-conditions.ts';
import { entriesOf, entryGenerations, mergeEntries, type Occasion } from './merge-entries.ts';
import { asFields, asList, type Fields } from './stored.ts';

export type ObjectWithStatus = KubeObject & { readonly status?: unknown };

/**
 * The whole new status, or null when nothing is to be written: it would be the same, or a condition of ours that is stored speaks of a
 * newer generation than the update does. `now` is RFC 3339 in whole seconds.
 */
export function mergeStatus(current: ObjectWithStatus, update: StatusUpdate, now: string): { readonly status: object } | null {
  const stored = asFields(current.status);
  if (isOutdated(current, stored, update)) return null;
  const status = merged(stored, update.desired, current, { generation: update.generation, now });
  return equalJson(status, stored) ? null : { status };
}

function merged(stored: Fields, desired: DesiredStatus, current: ObjectWithStatus, occasion: Occasion): Fields {
  if (hasEntries(desired)) {
    const own = entriesOf(desired);
    const entries = mergeEntries(stored[own.field], own, current.metadata.namespace ?? '', occasion);
    // An object that nobody speaks of has no status; an empty list would be the first word about it.
    return entries.length === 0 && stored[own.field] === undefined ? stored : { ...stored, [own.field]: entries };
  }
  const status: Record<string, unknown> = { ...stored, conditions: conditionsOf(stored, desired, occasion) };
  if (desired.form === 'conditions') return status;
  if (desired.form === 'class') return withField(status, 'supportedFeatures', desired.supportedFeatures ?? []);
  status['listeners'] = mergeListeners(stored['listeners'], desired.listeners, occasion);
  if (desired.form === 'listeners') return status;
  withField(status, 'addresses', desired.addresses);
  if (desired.attachedListenerSets !== undefined) status['attachedListenerSets'] = desired.attachedListenerSets;
  return status;
}

/** Nothing to say is no list at all. */
function withField(status: Record<string, unknown>, name: string, list: readonly unknown[]): Fields {
  if (list.length > 0) status[name] = list;
  else delete status[name];
  return status;
}

type WithEntries = Extract<DesiredStatus, { form: 'parents' | 'ancestors' }>;
const hasEntries = (desired: DesiredStatus): desired is WithEntries => desired.form === 'parents' || desired.form === 'ancestors';

/** Types under our own group are ours wherever they stand: an older version of this controller may have written them. */
const isOwnType = (type: string): boolean => type.startsWith(`${OWN_GROUP}/`);

const listenerTypes: ReadonlySet<string> = new Set([
  ConditionType.Accepted,
  ConditionType.Programmed,
  ConditionType.ResolvedRefs,
  ConditionType.Conflicted,
]);
const isListenerType = (type: string): boolean => listenerTypes.has(type) || isOwnType(type);

const oneOf =
  (ownTypes: readonly string[]) =>
  (type: string): boolean =>
    ownTypes.includes(type) || isOwnType(type);

function conditionsOf(stored: Fields, desired: Exclude<DesiredStatus, WithEntries>, occasion: Occasion): readonly unknown[] {
  return mergeConditions(stored['conditions'], { desired: desired.conditions, isOurs: oneOf(desired.ownTypes), ...occasion });
}

/** The list is ours, entry by entry as desired; only conditions of others in it are kept. */
function mergeListeners(stored: unknown, desired: readonly ListenerStatus[], occasion: Occasion): readonly object[] {
  const before = new Map(asList(stored).map((listener) => [listener['name'], listener]));
  return desired.map((listener) => ({
    ...listener,
    // Spelled out as the schema's defaults would, so that what is stored equals what is sent.
    ...(listener.supportedKinds && { supportedKinds: listener.supportedKinds.map((kind) => ({ group: GATEWAY_GROUP, ...kind })) }),
    conditions: mergeConditions(before.get(listener.name)?.['conditions'], {
      desired: listener.conditions,
      isOurs: isListenerType,
      ...occasion,
    }),
  }));
}

/**
 * A stored condition from the future of this update: somebody of us looked at a newer object. One beyond the object's own generation
 * is no such proof but a mistake, and must not silence us for ever.
 */
function isOutdated(current: ObjectWithStatus, stored: Fields, { desired, generation }: StatusUpdate): boolean {
  const newest = storedGenerations(stored, desired).filter((found) => found <= (current.metadata.generation ?? Infinity));
  return Math.max(0, ...newest) > generation;
}

function storedGenerations(stored: Fields, desired: DesiredStatus): readonly number[] {
  if (hasEntries(desired)) {
    const own = entriesOf(desired);
    return entryGenerations(stored[own.field], own);
  }
  const listeners = 'listeners' in desired ? asList(stored['listeners']) : [];
  return [
    newestGeneration(stored['conditions'], oneOf(desired.ownTypes)),
    ...listeners.map((listener) => newestGeneration(listener['conditions'], isListenerType)),
  ];
}
