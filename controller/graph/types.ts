// The graph: what the snapshot means. Nodes hold their objects, what was worked out about them, and what is wrong with them.
//
// Nothing here is ever changed after it was built, and a node whose inputs did not change is the same object in the next graph, so that
// the output stages memoise by identity.
import type { Cause } from '../api/condition.ts';
import type { Gateway, GatewayClass, Listener, ListenerSet, ParentReference, Route } from '../api/gateway.ts';
import type { GatewayClassConfig, GatewayConfig } from '../api/own.ts';
import type { BackendTLSPolicy } from '../api/policy.ts';
import type { Key, ObjectRef } from '../api/ref.ts';
import type { BackendConfig, RuleConfig } from '#proxy/config/schema.ts';
import type { Installation } from './installed.ts';
import type { StandIns } from './stand-in.ts';
import type { Requirement } from './selector.ts';

export interface TunnelIdentity {
  /** Lower-case UUID. */
  readonly tunnelId: string;
  /** Null: the only account that the API token can see. */
  readonly accountId: string | null;
}

export type ConfigPolicy = 'Exclusive' | 'Merge' | 'Observe';

export interface ConfigNode {
  readonly object: GatewayClassConfig;
  /** Why the API token cannot be read. */
  readonly secrets: Cause | null;
  /** Everything that is wrong, the Secret included. */
  readonly problem: Cause | null;
  /** Null when unknown or contradictory. Known even without an API token: the proxies do not need one. */
  readonly identity: TunnelIdentity | null;
  /** Secret value. */
  readonly apiToken: string | null;
  readonly policy: ConfigPolicy;
  /** Where tunnels are made for each Gateway; null where the Gateways of the class share one. */
  readonly perGateway: { readonly accountId: string | null } | null;
  readonly certificates: 'Require' | 'Ignore';
  readonly entry: 'Tunnel' | 'Local' | 'Both';
  /** How the proxies' own entry is made reachable; null where there is none, or none may be made. */
  readonly local: { readonly serviceType: 'ClusterIP' | 'LoadBalancer' } | null;
}

export interface ClassNode {
  readonly object: GatewayClass;
  readonly config: ConfigNode | null;
  /** Why it is not accepted. */
  readonly problem: Cause | null;
  readonly installation: Installation;
}

/** A GatewayConfig that a Gateway of ours has. */
export interface GatewayConfigNode {
  readonly object: GatewayConfig;
  readonly key: Key;
  /** Why a Secret cannot be read. */
  readonly secrets: Cause | null;
  /** Everything that is wrong, Secrets included. */
  readonly problem: Cause | null;
  /** Null while the connector token cannot be read. */
  readonly identity: TunnelIdentity | null;
  /** Secret value. */
  readonly connectorToken: string | null;
  /** Secret value; null when it has none of its own: then that of the class. */
  readonly apiToken: string | null;
}

/** The tunnel that is made for a Gateway. */
export interface MadeTunnel {
  readonly gateway: Key;
  readonly config: ConfigNode;
  /** Name at Cloudflare. */
  readonly name: string;
  /** Where its connector token is kept. */
  readonly secret: Key;
  /** Secret value; null while it is not there. */
  readonly connectorToken: string | null;
}

export interface TunnelNode {
  /** The UUID, with something behind it when connector tokens contradict each other: whose is right is for Cloudflare to say, not for age. */
  readonly id: string;
  /** Lower-case UUID. */
  readonly tunnelId: string;
  readonly accountId: string | null;
  /** Secret value; null while no configuration of this tunnel is valid: then its document is left alone. */
  readonly apiToken: string | null;
  readonly policy: ConfigPolicy;
  /** Secret value; null where the proxies were given the token themselves. */
  readonly connectorToken: string | null;
  /** GatewayClassConfigs and GatewayConfigs by which it is configured. */
  readonly configs: readonly ObjectRef[];
}

/** Which namespaces something admits; `Same` is relative to the namespace of the object that says so. */
export type NamespaceRule =
  | { readonly from: 'All' | 'None' | 'Same' }
  | { readonly from: 'Selector'; readonly requirements: readonly Requirement[] };

export interface RouteKind {
  readonly group: string;
  readonly kind: string;
}

/** How the certificates of visitors are verified. */
export interface ClientValidation {
  readonly mode: 'AllowValidOnly' | 'AllowInsecureFallback';
  /** Trusted CA certificates as PEM. */
  readonly ca: string;
}

/** Certificate and key of a listener, as PEM. */
export interface Certificate {
  /** `Secret/namespace/name` */
  readonly id: string;
  readonly chain: string;
  /** Secret value. */
  readonly key: string;
}

export interface ListenerNode {
  /** `Gateway/namespace/name/listener` or `ListenerSet/namespace/name/listener`. */
  readonly id: string;
  readonly spec: Listener;
  /** Namespace of the object that the listener is written in. */
  readonly namespace: string;
  /** Lower case; empty for every host. */
  readonly hostname: string;
  readonly supportedKinds: readonly RouteKind[];
  readonly namespaces: NamespaceRule;
  /** Of an HTTPS listener; null when visitors are not asked for a certificate. The same for all HTTPS listeners of a port. */
  readonly clientValidation: ClientValidation | null;
  /** A more important listener holds the same place. Reason HostnameConflict or ProtocolConflict. */
  readonly conflict: Cause | null;
  /** Why it is not accepted, conflicts apart. */
  readonly refused: Cause | null;
  /** Those of its certificateRefs that hold what they should. */
  readonly certificates: readonly Certificate[];
  /** What is wrong with its certificateRefs and route kinds. */
  readonly references: Cause | null;
  /** Why it is not part of the data plane; null means that it serves. */
  readonly unusable: Cause | null;
  /** Accepts routes of every namespace for every host, which is worth a warning. */
  readonly permissive: boolean;
}

export interface ListenerSetNode {
  readonly object: ListenerSet;
  readonly key: Key;
  /** The Gateway does not allow this set. */
  readonly refused: Cause | null;
  /** In the order of the spec; those of a refused set take part in nothing. */
  readonly listeners: readonly ListenerNode[];
}

/** A Gateway's own entry on the proxies, behind a Service of its own. */
export interface LocalEntryNode {
  readonly serviceType: 'ClusterIP' | 'LoadBalancer';
  /** The address that spec.addresses asks for; null for any. */
  readonly requestedIp: string | null;
  /** False when spec.addresses asks for others only: then the status does not list it. */
  readonly published: boolean;
}

export interface GatewayNode {
  readonly object: Gateway;
  readonly key: Key;
  readonly class: ClassNode;
  /** Why it is not accepted, listeners apart. */
  readonly problem: Cause | null;
  /** Id of the node of the tunnel by which it is served; null when it is not. */
  readonly tunnelId: string | null;
  /** Why it has no tunnel although it is accepted. */
  readonly unassigned: Cause | null;
  /** Other Gateways have the same tunnel by GatewayConfigs of theirs, which is hardly what their owners expect. */
  readonly tunnelShared: Cause | null;
  /** Host names of the tunnel to publish. */
  readonly addresses: readonly string[];
  readonly local: LocalEntryNode | null;
  /** A requested address that cannot be had although its type is supported. */
  readonly addressProblem: Cause | null;
  readonly references: Cause | null;
  readonly listeners: readonly ListenerNode[];
  /** Oldest first. */
  readonly sets: readonly ListenerSetNode[];
}

/** A route on a listener, as reached by one entry. */
export interface Attachment {
  readonly listener: ListenerNode;
  /** Id of the entry. */
  readonly entry: string;
  /** Null for the Gateway's own entry. */
  readonly tunnelId: string | null;
  /** The route's hostnames as far as the listener has them too; empty when the route names none. */
  readonly hostnames: readonly string[];
}

export interface ParentNode {
  /** As the route declares it, with group and kind filled in. */
  readonly ref: ParentReference;
  readonly gateway: GatewayNode;
  /** Why this parent does not accept the route. */
  readonly refused: Cause | null;
  /** Listeners that accepted it, counted in their attachedRoutes; includes those that are not usable. */
  readonly listeners: readonly ListenerNode[];
  /** What is served: usable listeners, without hostnames lost to another namespace. */
  readonly attachments: readonly Attachment[];
  /** Hostnames lost to a namespace with a better claim. */
  readonly shadowed: Cause | null;
}

export interface RouteNode {
  readonly object: Route;
  /** `HTTPRoute/namespace/name` */
  readonly id: string;
  readonly parents: readonly ParentNode[];
  readonly rules: readonly RuleConfig[];
  readonly backends: readonly BackendNode[];
  /** Existing Services that its rules refer to, as far as they may. */
  readonly services: readonly Key[];
  /** No rule can be carried out. */
  readonly unservable: Cause | null;
  /** Some rules or parts of them cannot be carried out. */
  readonly partial: Cause | null;
  /** What is wrong with references to backends. */
  readonly references: Cause | null;
}

/** A port of a Service as the proxies see it. */
export interface BackendNode {
  readonly config: BackendConfig;
  /** Endpoint addresses that were left out, each with what it is. */
  readonly refused: readonly string[];
}

/** A BackendTLSPolicy that concerns a Gateway of ours. */
export interface PolicyNode {
  readonly object: BackendTLSPolicy;
  readonly key: Key;
  /** CA certificates as PEM, or those of the system; null when there is nothing to verify a backend with. */
  readonly trust: { readonly ca: string } | 'System' | null;
  /** Why it is accepted nowhere. */
  readonly refused: Cause | null;
  /** What is wrong with its caCertificateRefs. */
  readonly references: Cause | null;
  /** Oldest first. */
  readonly ancestors: readonly AncestorNode[];
}

/** A Gateway with routes to a Service that a policy targets. */
export interface AncestorNode {
  readonly namespace: string;
  readonly name: string;
  /** The policy governs none of its targets here. */
  readonly refused: Cause | null;
  /** It does not govern some of them. */
  readonly partial: Cause | null;
}

export interface Graph {
  readonly classes: readonly ClassNode[];
  readonly configs: readonly ConfigNode[];
  readonly gatewayConfigs: readonly GatewayConfigNode[];
  readonly tunnels: readonly TunnelNode[];
  readonly made: readonly MadeTunnel[];
  /** Names the cluster to Cloudflare; null while it is not known. */
  readonly cluster: string | null;
  /** Oldest first. */
  readonly gateways: readonly GatewayNode[];
  /** Those with a parent of ours, oldest first. */
  readonly routes: readonly RouteNode[];
  /** Oldest first. */
  readonly policies: readonly PolicyNode[];
  /** Places that listeners have in the entries of tunnels besides their own. */
  readonly standIns: StandIns;
  readonly controllerName: string;
  readonly tunnelProtocol: 'http2' | 'quic';
}
