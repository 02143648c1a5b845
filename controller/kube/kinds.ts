// One row per kind that we watch or write: where the API server has it, and how we read it.
import { GATEWAY_GROUP } from '#controller/api/gateway.ts';
import { OWN_GROUP, OWN_VERSION } from '#controller/api/own.ts';
import type { KindName } from '#controller/api/snapshot.ts';

export interface KindRow {
  readonly kind: KindName;
  /** Empty for the core group. */
  readonly group: string;
  /** The first that the server has is used. */
  readonly versions: readonly string[];
  readonly plural: string;
  readonly namespaced: boolean;
  /**
   * What it means that we may not read the kind. Required: nothing is known, so nothing may be done.
   * Optional: the product works without it, as if there were none.
   */
  readonly need: 'required' | 'optional';
  /** Never watched as a whole: only the objects that others refer to are read, one by one. */
  readonly wantedOnly: boolean;
  /** The only object of the kind that matters. */
  readonly onlyName?: string;
  /** Ask for metadata without the rest. */
  readonly metadataOnly?: boolean;
}

const watched = { namespaced: true, need: 'required', wantedOnly: false } as const;
const gatewayApi = { ...watched, group: GATEWAY_GROUP, versions: ['v1'] } as const;
const own = { ...watched, group: OWN_GROUP, versions: [OWN_VERSION] } as const;
const core = { ...watched, group: '', versions: ['v1'] } as const;

const rows: readonly KindRow[] = [
  { ...gatewayApi, kind: 'GatewayClass', plural: 'gatewayclasses', namespaced: false },
  { ...gatewayApi, kind: 'Gateway', plural: 'gateways' },
  { ...gatewayApi, kind: 'ListenerSet', plural: 'listenersets' },
  { ...gatewayApi, kind: 'HTTPRoute', plural: 'httproutes' },
  { ...gatewayApi, kind: 'GRPCRoute', plural: 'grpcroutes' },
  { ...gatewayApi, kind: 'BackendTLSPolicy', plural: 'backendtlspolicies' },
  { ...gatewayApi, kind: 'ReferenceGrant', plural: 'referencegrants', versions: ['v1', 'v1beta1'] },
  { ...core, kind: 'Namespace', plural: 'namespaces', namespaced: false },
  { ...core, kind: 'Service', plural: 'services' },
  { ...watched, kind: 'EndpointSlice', group: 'discovery.k8s.io', versions: ['v1'], plural: 'endpointslices' },
  { ...core, kind: 'Secret', plural: 'secrets', wantedOnly: true },
  { ...core, kind: 'ConfigMap', plural: 'configmaps', wantedOnly: true },
  {
    ...watched,
    kind: 'CustomResourceDefinition',
    group: 'apiextensions.k8s.io',
    versions: ['v1'],
    plural: 'customresourcedefinitions',
    namespaced: false,
    need: 'optional',
    onlyName: `gatewayclasses.${GATEWAY_GROUP}`,
    metadataOnly: true,
  },
  { ...own, kind: 'GatewayClassConfig', plural: 'gatewayclassconfigs', namespaced: false },
  { ...own, kind: 'GatewayConfig', plural: 'gatewayconfigs' },
  { ...own, kind: 'ExternalBackend', plural: 'externalbackends' },
];

export const kindRows: ReadonlyMap<KindName, KindRow> = new Map(rows.map((row) => [row.kind, row]));

export function rowOf(kind: KindName): KindRow {
  const row = kindRows.get(kind);
  if (row === undefined) throw new Error(`no row for kind ${kind}`);
  return row;
}

export const apiVersionOf = (row: KindRow, version: string): string => (row.group ? `${row.group}/${version}` : version);

/** `httproutes.gateway.networking.k8s.io`, as RBAC rules and error messages name a resource. */
export const resourceName = (row: KindRow): string => (row.group ? `${row.plural}.${row.group}` : row.plural);

/** The path of a kind's collection, or of one object and its subresource. No namespace: across all of them. */
export function resourcePath(
  row: KindRow,
  version: string,
  at: { readonly namespace?: string | undefined; readonly name?: string; readonly subresource?: string } = {},
): string {
  const segments = [row.group ? 'apis' : 'api', apiVersionOf(row, version)];
  if (row.namespaced && at.namespace) segments.push('namespaces', encodeURIComponent(at.namespace));
  segments.push(row.plural);
  if (at.name) segments.push(encodeURIComponent(at.name));
  if (at.subresource) segments.push(at.subresource);
  return `/${segments.join('/')}`;
}

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Whether an object can have this name at all. What people write into a reference must not become a path or a selector unchecked. */
export const isObjectName = (name: string): boolean => name.length <= 253 && DNS_SUBDOMAIN.test(name);
export const isNamespaceName = (name: string): boolean => DNS_LABEL.test(name);
