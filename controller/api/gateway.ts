// Gateway API objects (gateway.networking.k8s.io): the fields that we read, as they look after the API server's defaulting.
import type { Condition, KubeObject, LabelSelector } from './core.ts';

export const GATEWAY_GROUP = 'gateway.networking.k8s.io';

export interface GatewayClass extends KubeObject {
  readonly kind: 'GatewayClass';
  readonly spec: {
    readonly controllerName: string;
    readonly parametersRef?: { readonly group: string; readonly kind: string; readonly name: string; readonly namespace?: string };
    readonly description?: string;
  };
  readonly status?: { readonly conditions?: readonly Condition[]; readonly supportedFeatures?: readonly { readonly name: string }[] };
}

export interface SecretObjectReference {
  readonly group?: string;
  readonly kind?: string;
  readonly name: string;
  readonly namespace?: string;
}

export interface CaCertificateReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export interface FrontendValidation {
  readonly caCertificateRefs?: readonly CaCertificateReference[];
  readonly mode?: string;
}

export interface AllowedRoutes {
  readonly namespaces?: { readonly from?: string; readonly selector?: LabelSelector };
  readonly kinds?: readonly { readonly group?: string; readonly kind: string }[];
}

export interface Listener {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
  readonly tls?: {
    readonly mode?: string;
    readonly certificateRefs?: readonly SecretObjectReference[];
    readonly options?: Readonly<Record<string, string>>;
  };
  readonly allowedRoutes?: AllowedRoutes;
}

export interface ListenerStatus {
  readonly name: string;
  readonly supportedKinds?: readonly { readonly group?: string; readonly kind: string }[];
  readonly attachedRoutes: number;
  readonly conditions: readonly Condition[];
}

export interface Gateway extends KubeObject {
  readonly kind: 'Gateway';
  readonly spec: {
    readonly gatewayClassName: string;
    readonly listeners: readonly Listener[];
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
    readonly infrastructure?: {
      readonly labels?: Readonly<Record<string, string>>;
      readonly annotations?: Readonly<Record<string, string>>;
      readonly parametersRef?: { readonly group: string; readonly kind: string; readonly name: string };
    };
    readonly allowedListeners?: { readonly namespaces?: { readonly from?: string; readonly selector?: LabelSelector } };
    readonly tls?: {
      readonly frontend?: {
        readonly default?: { readonly validation?: FrontendValidation };
        readonly perPort?: readonly { readonly port: number; readonly tls?: { readonly validation?: FrontendValidation } }[];
      };
      readonly backend?: { readonly clientCertificateRef?: SecretObjectReference };
    };
  };
  readonly status?: {
    readonly addresses?: readonly { readonly type?: string; readonly value: string }[];
    readonly conditions?: readonly Condition[];
    readonly listeners?: readonly ListenerStatus[];
    readonly attachedListenerSets?: number;
  };
}

export interface ListenerSet extends KubeObject {
  readonly kind: 'ListenerSet';
  readonly spec: {
    readonly parentRef: { readonly group?: string; readonly kind?: string; readonly name: string; readonly namespace?: string };
    readonly listeners: readonly Listener[];
  };
  readonly status?: { readonly conditions?: readonly Condition[]; readonly listeners?: readonly ListenerStatus[] };
}

export interface ParentReference {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
  readonly sectionName?: string;
  readonly port?: number;
}

export interface RouteParentStatus {
  readonly parentRef: ParentReference;
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}

export interface BackendObjectReference {
  readonly group?: string;
  readonly kind?: string;
  readonly name: string;
  readonly namespace?: string;
  readonly port?: number;
}

export interface HTTPHeader {
  readonly name: string;
  readonly value: string;
}

export interface HTTPHeaderFilter {
  readonly set?: readonly HTTPHeader[];
  readonly add?: readonly HTTPHeader[];
  readonly remove?: readonly string[];
}

export interface HTTPPathModifier {
  readonly type: string;
  readonly replaceFullPath?: string;
  readonly replacePrefixMatch?: string;
}

/** Filters of both route kinds; payloads of types that this version cannot carry out are not spelled out. */
export interface RouteFilter {
  readonly type: string;
  readonly requestHeaderModifier?: HTTPHeaderFilter;
  readonly responseHeaderModifier?: HTTPHeaderFilter;
  readonly requestRedirect?: {
    readonly scheme?: string;
    readonly hostname?: string;
    readonly path?: HTTPPathModifier;
    readonly port?: number;
    readonly statusCode?: number;
  };
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: HTTPPathModifier };
  readonly requestMirror?: { readonly backendRef: BackendObjectReference };
  readonly extensionRef?: { readonly group: string; readonly kind: string; readonly name: string };
}

export interface RouteBackendRef extends BackendObjectReference {
  readonly weight?: number;
  readonly filters?: readonly RouteFilter[];
}

export interface ValueMatch {
  readonly type?: string;
  readonly name: string;
  readonly value: string;
}

export interface HTTPRouteMatch {
  readonly path?: { readonly type?: string; readonly value?: string };
  readonly headers?: readonly ValueMatch[];
  readonly queryParams?: readonly ValueMatch[];
  readonly method?: string;
}

export interface HTTPRouteRule {
  readonly name?: string;
  readonly matches?: readonly HTTPRouteMatch[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly RouteBackendRef[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
  readonly retry?: unknown;
  readonly sessionPersistence?: unknown;
}

export interface GRPCRouteMatch {
  readonly method?: { readonly type?: string; readonly service?: string; readonly method?: string };
  readonly headers?: readonly ValueMatch[];
}

export interface GRPCRouteRule {
  readonly name?: string;
  readonly matches?: readonly GRPCRouteMatch[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly RouteBackendRef[];
  readonly sessionPersistence?: unknown;
}

interface RouteSpec<Rule> {
  readonly parentRefs?: readonly ParentReference[];
  readonly hostnames?: readonly string[];
  readonly rules?: readonly Rule[];
}

export interface HTTPRoute extends KubeObject {
  readonly kind: 'HTTPRoute';
  readonly spec: RouteSpec<HTTPRouteRule>;
  readonly status?: { readonly parents?: readonly RouteParentStatus[] };
}

export interface GRPCRoute extends KubeObject {
  readonly kind: 'GRPCRoute';
  readonly spec: RouteSpec<GRPCRouteRule>;
  readonly status?: { readonly parents?: readonly RouteParentStatus[] };
}

export type Route = HTTPRoute | GRPCRoute;

export interface ReferenceGrant extends KubeObject {
  readonly kind: 'ReferenceGrant';
  readonly spec: {
    readonly from: readonly { readonly group: string; readonly kind: string; readonly namespace: string }[];
    readonly to: readonly { readonly group: string; readonly kind: string; readonly name?: string }[];
  };
}
