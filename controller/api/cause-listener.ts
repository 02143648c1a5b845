// What can be wrong with Gateways, ListenerSets and their listeners: reason and sentence for each.
import { NO_HOSTNAME, Reason, type Cause } from './condition.ts';

// Gateway

export const classNotAccepted = (name: string, cause: Cause): Cause => ({
  reason: Reason.InvalidParameters,
  message: `GatewayClass ${name} is not accepted: ${cause.message}`,
});

export const addressTypeUnsupported = (index: number, type: string, supported: readonly string[]): Cause => ({
  reason: Reason.UnsupportedAddress,
  message: `spec.addresses[${index}].type is ${type}, which Gateways of this class cannot have: remove the address, or use type ${supported.join(' or ')}`,
});

export const addressMalformed = (index: number, value: string): Cause => ({
  reason: Reason.AddressNotUsable,
  message: `spec.addresses[${index}].value ${value.slice(0, 60)} is not an IP address: correct or remove it`,
});

export const addressSecond = (index: number, value: string, first: string): Cause => ({
  reason: Reason.AddressNotUsable,
  message: `spec.addresses[${index}].value ${value} cannot be had together with ${first}, because the Service of a Gateway has one address: remove one of the two`,
});

export const addressNotUsable = (index: number, value: string, usable: string | null): Cause => ({
  reason: Reason.AddressNotUsable,
  message: `spec.addresses[${index}].value ${value} is not a name of this Gateway's tunnel: ${usable === null ? 'remove it' : `use ${usable} or remove it`}`,
});

// Listeners

export const protocolUnsupported = (protocol: string): Cause => ({
  reason: Reason.UnsupportedProtocol,
  message: `protocol is ${protocol}: a tunnel carries HTTP and HTTPS only; change the protocol or remove the listener`,
});

export const passthroughUnsupported = (): Cause => ({
  reason: Reason.UnsupportedProtocol,
  message: 'tls.mode is Passthrough: TLS ends at the edge of a tunnel; set it to Terminate or remove the tls block',
});

export const portMissing = (): Cause => ({
  reason: Reason.PortUnavailable,
  message: 'port is missing: set it, 443 for HTTPS and 80 for HTTP',
});

export const selectorMalformed = (field: string, problem: string): Cause => ({
  reason: Reason.Invalid,
  message: `${field} cannot be used: ${problem}; correct the selector`,
});

export const namespacesFromUnknown = (field: string, from: string): Cause => ({
  reason: Reason.Invalid,
  message: `${field} is ${from}: use All, Same, Selector or None`,
});

export const noRouteKind = (): Cause => ({
  reason: Reason.Invalid,
  message: 'allowedRoutes.kinds leaves no kind that this controller serves: add HTTPRoute or GRPCRoute',
});

export const routeKindsUnsupported = (kinds: readonly string[]): Cause => ({
  reason: Reason.InvalidRouteKinds,
  message: `allowedRoutes.kinds lists ${kinds.join(', ')}, which cannot be served here: only HTTPRoute and GRPCRoute of gateway.networking.k8s.io can`,
});

export const hostnameConflict = (hostname: string, port: number, winner: string): Cause => ({
  reason: Reason.HostnameConflict,
  message: `hostname ${hostname === '' ? '(any)' : hostname} on port ${port} is already taken by ${winner}: change hostname or port`,
});

export const protocolConflict = (protocol: string, port: number, winner: string, winnersProtocol: string): Cause => ({
  reason: Reason.ProtocolConflict,
  message: `port ${port} is already used with protocol ${winnersProtocol} by ${winner}: ${protocol} needs another port`,
});

export const permissiveHostname = (): string =>
  'the listener has no hostname and allows routes from all namespaces: every namespace may claim every host; set a hostname or narrow allowedRoutes.namespaces';

export const hostnameUnservable = (hostname: string): Cause => ({
  reason: Reason.Invalid,
  message: `hostname ${hostname.slice(0, 300)} ${NO_HOSTNAME}`,
});

// Certificates of listeners

export const certificateMissing = (): Cause => ({
  reason: Reason.InvalidCertificateRef,
  message:
    'tls.certificateRefs is missing: visitors come to the proxies themselves (spec.entry of the GatewayClassConfig), where no edge of a tunnel brings a certificate; name a Secret of type kubernetes.io/tls',
});

export const certificateKind = (index: number, group: string, kind: string): Cause => ({
  reason: Reason.InvalidCertificateRef,
  message: `tls.certificateRefs[${index}] names ${kind} of group "${group}": only Secrets of the core group hold certificates here`,
});

export const certificateNotPermitted = (index: number, secret: string, fromKind: string, fromNamespace: string): Cause => ({
  reason: Reason.RefNotPermitted,
  message: `tls.certificateRefs[${index}] names Secret ${secret} in another namespace: a ReferenceGrant there must allow ${fromKind} of namespace ${fromNamespace} to refer to it`,
});

export const certificateNotFound = (index: number, secret: string): Cause => ({
  reason: Reason.InvalidCertificateRef,
  message: `Secret ${secret} (tls.certificateRefs[${index}]) does not exist: create it with type kubernetes.io/tls`,
});

export const certificateMalformed = (index: number, secret: string, problem: string): Cause => ({
  reason: Reason.InvalidCertificateRef,
  message: `Secret ${secret} (tls.certificateRefs[${index}]) ${problem}: it must be of type kubernetes.io/tls with PEM under tls.crt and tls.key`,
});

export const edgeServesCertificate = (cause: Cause): Cause => ({
  reason: cause.reason,
  message: `${cause.message}; the listener serves nevertheless, because the edge presents its own certificate (edge.certificates: Ignore)`,
});

// ListenerSets

export const setNotAllowed = (gateway: string): Cause => ({
  reason: Reason.NotAllowed,
  message: `Gateway ${gateway} does not allow ListenerSets of this namespace: change its spec.allowedListeners.namespaces`,
});

export const setNotAllowedBySelector = (gateway: string, problem: Cause): Cause => ({
  reason: Reason.NotAllowed,
  message: `Gateway ${gateway} allows no ListenerSets: ${problem.message}`,
});
