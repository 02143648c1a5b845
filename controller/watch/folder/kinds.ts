// The kinds that a folder may hold: how they are named, where they live and what they must look like.
import { ownSchema } from '#controller/api/crd.ts';
import { OWN_GROUP, OWN_VERSION, ownKinds } from '#controller/api/own.ts';
import type { KindName } from '#controller/api/snapshot.ts';
import type { StructuralSchema } from '#controller/api/structural.ts';
import { configMapSchema, endpointSliceSchema, namespaceSchema, secretSchema, serviceSchema } from './schemas/core.ts';
import backendTlsPolicies from './schemas/backendtlspolicies.json' with { type: 'json' };
import gatewayClasses from './schemas/gatewayclasses.json' with { type: 'json' };
import gateways from './schemas/gateways.json' with { type: 'json' };
import grpcRoutes from './schemas/grpcroutes.json' with { type: 'json' };
import httpRoutes from './schemas/httproutes.json' with { type: 'json' };
import listenerSets from './schemas/listenersets.json' with { type: 'json' };
import referenceGrants from './schemas/referencegrants.json' with { type: 'json' };

export interface FolderKind {
  readonly kind: KindName;
  /** Empty for the core group. */
  readonly group: string;
  /** Accepted versions; objects of all of them become the first, as their schemas are the same. */
  readonly versions: readonly string[];
  readonly namespaced: boolean;
  /** What a name must be: a DNS subdomain (dots allowed) or a DNS label. */
  readonly names: 'subdomain' | 'label';
  /** The API server counts changes of the spec of these kinds in metadata.generation. */
  readonly hasGeneration: boolean;
  /** The values of its objects must not be shown to anyone. */
  readonly secret: boolean;
  readonly schema: StructuralSchema;
}

/** Facts about the bundled Gateway API schemas. */
export const gatewayApiBundle = { version: gateways.bundleVersion, channel: gateways.channel, group: gateways.group } as const;

/** Metadata has its own rules, the same for all kinds. */
const withOpenMetadata = (schema: StructuralSchema): StructuralSchema => ({
  ...schema,
  properties: { ...schema.properties, metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
});

interface Bundled {
  readonly kind: string;
  readonly group: string;
  readonly versions: readonly string[];
  readonly scope: string;
  readonly schema: unknown;
}

const gatewayApi = [gatewayClasses, gateways, listenerSets, httpRoutes, grpcRoutes, referenceGrants, backendTlsPolicies].map(
  ({ kind, group, versions, scope, schema }: Bundled): FolderKind => ({
    kind: kind as KindName,
    group,
    versions,
    namespaced: scope === 'Namespaced',
    names: 'subdomain',
    hasGeneration: true,
    secret: false,
    schema: withOpenMetadata(schema as StructuralSchema),
  }),
);

const own = ownKinds.map((row): FolderKind => ({
  kind: row.kind,
  group: OWN_GROUP,
  versions: [OWN_VERSION],
  namespaced: row.scope === 'Namespaced',
  names: 'subdomain',
  hasGeneration: true,
  secret: false,
  schema: withOpenMetadata(ownSchema(row)),
}));

const coreKind = (kind: KindName, schema: StructuralSchema, more: Partial<FolderKind> = {}): FolderKind => ({
  kind,
  group: '',
  versions: ['v1'],
  namespaced: true,
  names: 'subdomain',
  hasGeneration: false,
  secret: false,
  schema,
  ...more,
});

const core = [
  coreKind('Namespace', namespaceSchema, { namespaced: false, names: 'label' }),
  coreKind('Service', serviceSchema, { names: 'label' }),
  coreKind('EndpointSlice', endpointSliceSchema, { group: 'discovery.k8s.io' }),
  coreKind('Secret', secretSchema, { secret: true }),
  coreKind('ConfigMap', configMapSchema),
];

export const folderKinds: readonly FolderKind[] = [...gatewayApi, ...own, ...core];
