// An object of the API server becomes one of ours: checked, cut down to what we read, and frozen; or a problem, never an exception.
import type { KubeObject, ObjectMeta } from '#controller/api/core.ts';
import { type Key, keyOf } from '#controller/api/ref.ts';
import { apiVersionOf, type KindRow } from '#controller/kube/kinds.ts';
import { isPlainObject, misfit } from './shape.ts';
import { kindShapes, serviceStatusShape, statusShape } from './shapes.ts';

export type Decoded =
  | { readonly ok: true; readonly key: Key; readonly object: KubeObject }
  /** The key is null when not even the name can be read. */
  | { readonly ok: false; readonly key: Key | null; readonly message: string };

/** Takes over the value: it is changed and frozen in place. */
export function decode(row: KindRow, version: string, value: unknown): Decoded {
  const identified = identify(row, value);
  if (!identified.ok) return identified;
  const { key, raw, metadata } = identified;
  delete raw['metadata'];
  if (!withoutNulls(raw, DEEPEST)) return { ok: false, key, message: `the object is nested deeper than ${DEEPEST} levels` };
  const wrong = misfit(raw, kindShapes[row.kind], '');
  if (wrong !== null) return { ok: false, key, message: `${wrong}; the object is ignored` };
  // Typed lists leave these out of their items.
  const head = { apiVersion: apiVersionOf(row, version), kind: row.kind, metadata: trimMetadata(metadata) };
  const object = deepFreeze({ ...head, ...content(row, raw) });
  return { ok: true, key, object };
}

export type Identified =
  | { readonly ok: true; readonly key: Key; readonly raw: Record<string, unknown>; readonly metadata: Identity }
  | { readonly ok: false; readonly key: Key | null; readonly message: string };

export interface Identity extends Record<string, unknown> {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly namespace?: string;
}

/** Which object it is, whatever else is wrong with it. */
export function identify(row: KindRow, value: unknown): Identified {
  if (!isPlainObject(value) || !isPlainObject(value['metadata'])) return { ok: false, key: null, message: 'an object has no metadata' };
  const { metadata } = value;
  const { name, namespace, uid, resourceVersion } = metadata;
  if (typeof name !== 'string' || name === '') return { ok: false, key: null, message: 'an object has no metadata.name' };
  const place = typeof namespace === 'string' ? namespace : '';
  if (row.namespaced !== (place !== '')) return { ok: false, key: null, message: `the namespace of ${JSON.stringify(name)} does not fit` };
  const key = keyOf(place, name);
  if (typeof uid !== 'string' || uid === '') return { ok: false, key, message: 'metadata.uid must be a string' };
  if (typeof resourceVersion !== 'string') return { ok: false, key, message: 'metadata.resourceVersion must be a string' };
  return { ok: true, key, raw: value, metadata: metadata as Identity };
}

/** JSON nests without limit; our recursion must not. Gateway API objects stay below 20. */
const DEEPEST = 64;

/**
 * Removes fields that are null: to the API they are absent, and Go writes null for an empty list (an EndpointSlice without endpoints).
 * False when the value nests too deeply.
 */
function withoutNulls(value: object, depth: number): boolean {
  if (depth === 0) return false;
  for (const [name, inner] of Object.entries(value)) {
    if (inner === null) {
      if (!Array.isArray(value)) delete (value as Record<string, unknown>)[name];
    } else if (typeof inner === 'object' && !withoutNulls(inner as object, depth - 1)) return false;
  }
  return true;
}

/** An annotation in which kubectl keeps a copy of the whole object, for a Secret its data. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

function trimMetadata(metadata: Record<string, unknown>): ObjectMeta {
  const kept: Record<string, unknown> = {};
  for (const field of ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp'] as const) {
    if (typeof metadata[field] === 'string' && metadata[field] !== '') kept[field] = metadata[field];
  }
  if (typeof metadata['generation'] === 'number') kept['generation'] = metadata['generation'];
  for (const field of ['labels', 'annotations'] as const) {
    const map = metadata[field];
    if (!isPlainObject(map)) continue;
    delete map[LAST_APPLIED];
    for (const [name, text] of Object.entries(map)) if (typeof text !== 'string') delete map[name];
    if (Object.keys(map).length > 0) kept[field] = map;
  }
  if (Array.isArray(metadata['finalizers'])) kept['finalizers'] = metadata['finalizers'].filter((item) => typeof item === 'string');
  return kept as unknown as ObjectMeta;
}

const pick = (value: unknown, fields: readonly string[]): Record<string, unknown> =>
  isPlainObject(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => fields.includes(name))) : {};

function content(row: KindRow, raw: Record<string, unknown>): Record<string, unknown> {
  switch (row.kind) {
    case 'Namespace':
    case 'CustomResourceDefinition':
      return {};
    case 'Secret':
      return pick(raw, ['type', 'data']);
    case 'ConfigMap':
      return pick(raw, ['data']);
    case 'Service':
      return trimService(raw);
    case 'EndpointSlice':
      return trimSlice(raw);
    default: {
      const { spec, status } = raw;
      const usable = status !== undefined && misfit(status, statusShape, 'status') === null;
      return usable ? { spec, status } : { spec };
    }
  }
}

function trimService(raw: Record<string, unknown>): Record<string, unknown> {
  const fields = ['type', 'clusterIP', 'externalName', 'ports', 'selector', 'loadBalancerIP'];
  const status = pick(raw['status'], ['loadBalancer']);
  return {
    ...(raw['spec'] !== undefined && { spec: pick(raw['spec'], fields) }),
    ...(misfit(status, serviceStatusShape, 'status') === null && { status }),
  };
}

function trimSlice(raw: Record<string, unknown>): Record<string, unknown> {
  const kept = pick(raw, ['addressType', 'ports']);
  if (Array.isArray(raw['endpoints'])) {
    kept['endpoints'] = raw['endpoints'].map((endpoint: Record<string, unknown>) => ({
      ...pick(endpoint, ['addresses', 'conditions']),
      ...(endpoint['targetRef'] !== undefined && { targetRef: pick(endpoint['targetRef'], ['kind', 'namespace', 'name']) }),
    }));
  }
  return kept;
}

/**
 * Objects are frozen for good when they come in, once per change: about 10 µs for a route, and it turns an accidental write in a
 * later stage into an error at its place. Maps cannot be frozen; snapshots protect those by type alone.
 */
function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner as object);
  return Object.freeze(value);
}
