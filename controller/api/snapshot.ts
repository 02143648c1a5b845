// The frozen picture of the world that one reconcile works on, whichever source fed it.
import type { ConfigMap, CustomResourceDefinition, EndpointSlice, Namespace, Secret, Service } from './core.ts';
import type { Gateway, GatewayClass, GRPCRoute, HTTPRoute, ListenerSet, ReferenceGrant } from './gateway.ts';
import type { ExternalBackend, GatewayClassConfig, GatewayConfig } from './own.ts';
import type { BackendTLSPolicy } from './policy.ts';
import type { Key } from './ref.ts';

/** Every watched kind and its type. */
export interface Kinds {
  GatewayClass: GatewayClass;
  Gateway: Gateway;
  ListenerSet: ListenerSet;
  HTTPRoute: HTTPRoute;
  GRPCRoute: GRPCRoute;
  ReferenceGrant: ReferenceGrant;
  BackendTLSPolicy: BackendTLSPolicy;
  Namespace: Namespace;
  Service: Service;
  EndpointSlice: EndpointSlice;
  Secret: Secret;
  ConfigMap: ConfigMap;
  CustomResourceDefinition: CustomResourceDefinition;
  GatewayClassConfig: GatewayClassConfig;
  GatewayConfig: GatewayConfig;
  ExternalBackend: ExternalBackend;
}

export type KindName = keyof Kinds;

/**
 * Immutable. An object that did not change is the same (===) object in the next snapshot, and a kind without changes is the same Map,
 * so later stages memoise by identity.
 */
export interface Snapshot {
  /** Grows with each change. */
  readonly revision: number;
  readonly objects: { readonly [K in KindName]: ReadonlyMap<Key, Kinds[K]> };
  /** Kinds that the source serves; a kind whose CRD is not installed is absent. */
  readonly served: ReadonlySet<KindName>;
}
