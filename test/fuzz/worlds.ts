// Random clusters: a class of ours that works, or does not, and objects of every kind out of their schemas.
import fc from 'fast-check';
import type { KubeObject } from '#controller/api/core.ts';
import { keyOf } from '#controller/api/ref.ts';
import { folderKinds, type FolderKind } from '#controller/watch/folder/kinds.ts';
import {
  classConfig,
  credentials,
  endpointSlice,
  gateway,
  gatewayClass,
  listener,
  namespace,
  platform,
  service,
  settings,
} from '#test/build/objects.ts';
import { fromSchema, NAMESPACES } from './from-schema.ts';

const LABEL = 'example.com/domain';

export const rules = fc
  .record({
    localEntry: fc.boolean(),
    enforce: fc.boolean(),
    namespaceSelector: fc.constantFrom('', 'system!=true', 'system in ('),
    unlabelled: fc.constantFrom('Deny', 'Ignore'),
    emptyHostnames: fc.constantFrom('Reject', 'Scope'),
  })
  .map(({ localEntry, ...ownership }) => settings({ localEntry, ownership: { labelKey: LABEL, ...ownership } }));

const timestamps = ['2026-01-01T00:00:00Z', '2025-01-01T00:00:00Z', undefined] as const;

/** What is written here and not drawn. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status']);

function objectOf({ kind, group, versions, namespaced, schema }: FolderKind): fc.Arbitrary<KubeObject> {
  const properties = Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([name]) => !OWN_FIELDS.has(name)));
  const rest = fromSchema({ ...schema, properties, required: (schema.required ?? []).filter((name) => name in properties) });
  const names = kind === 'Namespace' ? NAMESPACES : (['one', 'two', 'tunnel', 'app'] as const);
  const metadata = fc.record({
    name: fc.constantFrom<string>(...names),
    namespace: fc.constantFrom(...NAMESPACES),
    created: fc.constantFrom(...timestamps),
    labels: fc.constantFrom<Readonly<Record<string, string>> | undefined>(
      undefined,
      { system: 'true' },
      { [LABEL]: 'alpha.example.com' },
      { [LABEL]: 'Example.com' },
      { [LABEL]: '' },
      { 'kubernetes.io/service-name': 'app' },
    ),
  });
  return fc.tuple(metadata, rest).map(([{ name, namespace: at, created, labels }, body]): KubeObject => ({
    ...(body as object),
    apiVersion: group === '' ? (versions[0] ?? 'v1') : `${group}/${versions[0]}`,
    kind,
    metadata: {
      name,
      ...(namespaced ? { namespace: at } : {}),
      ...(created === undefined ? {} : { creationTimestamp: created }),
      ...(labels === undefined ? {} : { labels }),
    },
  }));
}

/** Kinds of which a world needs many to be interesting. */
const WEIGHTS: Readonly<Record<string, number>> = {
  HTTPRoute: 8,
  GRPCRoute: 5,
  Gateway: 5,
  ListenerSet: 4,
  ReferenceGrant: 2,
  EndpointSlice: 2,
};

const anyObject = fc.oneof(...folderKinds.map((kind) => ({ weight: WEIGHTS[kind.kind] ?? 1, arbitrary: objectOf(kind) })));

const base = fc.constantFrom<readonly KubeObject[]>(
  [...platform()],
  [gatewayClass(), classConfig()],
  [gatewayClass(), classConfig({ entry: 'Both' }), credentials()],
  [gatewayClass(), classConfig({ entry: 'Local', tunnelID: undefined }), credentials()],
  [gatewayClass(), classConfig({ tunnels: 'PerGateway' }), credentials()],
  [gatewayClass(), classConfig({ edge: { certificates: 'Ignore' } }), credentials()],
);

const everyone = { namespaces: { from: 'All' } } as const;

const places: readonly KubeObject[] = [
  namespace('infra', { system: 'true' }),
  namespace('alpha', { [LABEL]: 'alpha.example.com' }),
  namespace('beta', { [LABEL]: 'example.com' }),
  ...NAMESPACES.map((at) =>
    gateway({
      namespace: at,
      listeners: [listener({ allowedRoutes: everyone }), listener({ name: 'http', port: 80, protocol: 'HTTP', allowedRoutes: everyone })],
      spec: { allowedListeners: everyone },
    }),
  ),
  ...NAMESPACES.flatMap((at) => [service({ namespace: at }), endpointSlice(['10.0.0.1'], { namespace: at })]),
];

/** As in a cluster, the last of several objects with one name is the one that is there. */
const unique = (objects: readonly KubeObject[]): readonly KubeObject[] => [
  ...new Map(objects.map((object) => [`${object.kind} ${keyOf(object.metadata.namespace, object.metadata.name)}`, object])).values(),
];

export const worlds = fc
  .tuple(base, fc.array(anyObject, { minLength: 4, maxLength: 24 }))
  .map(([platformObjects, objects]) => unique([...platformObjects, ...places, ...objects]));
