// Snapshots for tests: objects in, a deep-frozen snapshot out, so that a stage which changes its input fails at once.
import type { KubeObject } from '#controller/api/core.ts';
import { keyOf, type Key } from '#controller/api/ref.ts';
import type { KindName, Kinds, Snapshot } from '#controller/api/snapshot.ts';

const KINDS = [
  'GatewayClass',
  'Gateway',
  'ListenerSet',
  'HTTPRoute',
  'GRPCRoute',
  'ReferenceGrant',
  'BackendTLSPolicy',
  'Namespace',
  'Service',
  'EndpointSlice',
  'Secret',
  'ConfigMap',
  'CustomResourceDefinition',
  'GatewayClassConfig',
  'GatewayConfig',
  'ExternalBackend',
] as const satisfies readonly KindName[];

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

const CLUSTER_SCOPED: readonly string[] = ['GatewayClass', 'GatewayClassConfig', 'Namespace', 'CustomResourceDefinition'];

/** What an API server would have added: a uid, a generation, an age. */
function stored<T extends KubeObject>(object: T): T {
  const { metadata, kind } = object;
  const namespace = CLUSTER_SCOPED.includes(kind) ? {} : { namespace: metadata.namespace ?? 'default' };
  const added = { uid: `${kind}/${keyOf(metadata.namespace, metadata.name)}`, generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' };
  return { ...object, metadata: { ...added, ...namespace, ...metadata } };
}

/** Every namespace that objects live in exists, with the label that an API server gives it. */
function namespacesOf(objects: readonly KubeObject[]): readonly KubeObject[] {
  const labelled = (name: string, labels: Readonly<Record<string, string>> = {}): KubeObject =>
    stored({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { 'kubernetes.io/metadata.name': name, ...labels } } });
  const declared = new Map(objects.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => [metadata.name, metadata.labels]));
  const used = new Set(objects.flatMap(({ metadata }) => (metadata.namespace === undefined ? [] : [metadata.namespace])));
  return [...new Set([...declared.keys(), ...used])].map((name) => labelled(name, declared.get(name)));
}

export function snapshotOf(objects: readonly KubeObject[], revision = 1): Snapshot {
  const complete = objects.filter(({ kind }) => kind !== 'Namespace').map(stored);
  const all = [...complete, ...namespacesOf([...complete, ...objects.filter(({ kind }) => kind === 'Namespace')])];
  const maps = Object.fromEntries(KINDS.map((kind) => [kind, new Map<Key, KubeObject>()]));
  for (const object of all) maps[object.kind]?.set(keyOf(object.metadata.namespace, object.metadata.name), deepFreeze(object));
  return { revision, objects: maps as unknown as Snapshot['objects'], served: new Set(KINDS) };
}

/** The next snapshot: one object replaced or added, everything else identical (===), as a source would do it. */
export function withObject(snapshot: Snapshot, object: KubeObject): Snapshot {
  const kind = object.kind as KindName;
  const complete = deepFreeze(stored(object));
  const map = new Map<Key, Kinds[KindName]>(snapshot.objects[kind]);
  map.set(keyOf(complete.metadata.namespace, complete.metadata.name), complete as Kinds[KindName]);
  return { ...snapshot, revision: snapshot.revision + 1, objects: { ...snapshot.objects, [kind]: map } };
}

export function withoutObject(snapshot: Snapshot, kind: KindName, key: Key): Snapshot {
  const map = new Map<Key, Kinds[KindName]>(snapshot.objects[kind]);
  map.delete(key);
  return { ...snapshot, revision: snapshot.revision + 1, objects: { ...snapshot.objects, [kind]: map } };
}
