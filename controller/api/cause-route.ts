// What can be wrong with routes, their parents and their backends: reason and sentence for each.
import { joinMessages, NO_HOSTNAME, Reason, type Cause } from './condition.ts';

const quoted = (hostname: string): string => (hostname === '' ? '(any)' : hostname);

// Attachment to a parent

export const noSuchSection = (parent: string, section: string): Cause => ({
  reason: Reason.NoMatchingParent,
  message: `${parent} has no listener named ${section}: correct sectionName in parentRefs`,
});

export const noSuchPort = (parent: string, port: number, section: string | undefined): Cause => ({
  reason: Reason.NoMatchingParent,
  message: `${parent} has no listener ${section === undefined ? '' : `${section} `}on port ${port}: correct port${section === undefined ? '' : ' or sectionName'} in parentRefs`,
});

export const noListener = (parent: string): Cause => ({
  reason: Reason.NoMatchingParent,
  message: `${parent} has no listener of its own: add one, or refer to a ListenerSet in parentRefs`,
});

export const listenerNotAccepted = (listener: string, cause: Cause): Cause => ({
  reason: Reason.NoMatchingParent,
  message: `listener ${listener} is not accepted: ${cause.message}`,
});

export const setNotAccepted = (parent: string, cause: Cause): Cause => ({
  reason: Reason.NoMatchingParent,
  message: `${parent} is not accepted: ${cause.message}`,
});

export const kindNotAllowed = (listener: string, kind: string): Cause => ({
  reason: Reason.NotAllowedByListeners,
  message: `listener ${listener} does not take ${kind}s: add the kind to its allowedRoutes.kinds or choose another listener`,
});

export const listenerTakesNothing = (listener: string, cause: Cause): Cause => ({
  reason: Reason.NotAllowedByListeners,
  message: `listener ${listener} takes no routes: ${cause.message}`,
});

export const namespaceNotAllowed = (listener: string, namespace: string): Cause => ({
  reason: Reason.NotAllowedByListeners,
  message: `listener ${listener} does not take routes of namespace ${namespace}: change its allowedRoutes.namespaces or choose another listener`,
});

export const hostnamesDisjoint = (listener: string, hostnames: readonly string[], listenerHostname: string): Cause => ({
  reason: Reason.NoMatchingListenerHostname,
  message: `spec.hostnames (${hostnames.slice(0, 5).join(', ')}${hostnames.length > 5 ? ', …' : ''}) has nothing in common with hostname ${quoted(listenerHostname)} of listener ${listener}: correct one of them`,
});

export const hostnameUnservable = (hostname: string): Cause => ({
  reason: Reason.UnsupportedValue,
  message: `spec.hostnames: ${hostname.slice(0, 300)} ${NO_HOSTNAME}`,
});

export const gatewayUnassigned = (): Cause => ({ reason: Reason.Pending, message: 'it has no tunnel' });

export const gatewayNotServed = (gateway: string, cause: Cause): Cause => ({
  reason: Reason.Pending,
  message: `Gateway ${gateway} is not served: ${cause.message}`,
});

export const grpcOverQuic = (): Cause => ({
  reason: Reason.UnsupportedProtocol,
  message: 'the tunnel runs over QUIC, which loses the trailers that gRPC needs: start the controller with --tunnel-protocol http2',
});

// Hostname ownership

export const namespaceWithoutDomain = (namespace: string, label: string): Cause => ({
  reason: Reason.HostnameNotPermitted,
  message: `Namespace ${namespace} has no domain of its own: set its label ${label} to one before publishing hostnames`,
});

export const hostnamesRequired = (namespace: string, label: string, domain: string): Cause => ({
  reason: Reason.HostnameNotPermitted,
  message: `spec.hostnames is empty, so the route would claim every hostname of its listener: list hostnames within ${domain} (label ${label} of Namespace ${namespace})`,
});

export const hostnameNotOwned = (hostname: string, namespace: string, label: string, domain: string): Cause => ({
  reason: Reason.HostnameNotPermitted,
  message: `hostname ${quoted(hostname)} is not within ${domain} (label ${label} of Namespace ${namespace}): use ${domain} or a name below it`,
});

export const hostnamesShadowed = (hostnames: readonly string[], owners: readonly string[]): Cause => ({
  reason: Reason.HostnameMatchShadowed,
  message: `not served here: ${hostnames.slice(0, 10).map(quoted).join(', ')}${hostnames.length > 10 ? `, and ${hostnames.length - 10} more` : ''}; routes of namespace ${owners.join(', ')} have the better claim, because the domain of that namespace is the closest to the hostname: use other hostnames`,
});

// Rules

export const allRulesClosed = (messages: readonly string[]): Cause => ({
  reason: Reason.UnsupportedValue,
  message: joinMessages(messages),
});

/** The specification wants messages about dropped rules to begin with these words. */
export const someRulesClosed = (dropped: readonly number[], messages: readonly string[]): Cause => ({
  reason: Reason.UnsupportedValue,
  message: joinMessages([
    ...(dropped.length === 0 ? [] : [`Dropped Rule ${dropped.join(', ')}: requests that they win are answered with 500`]),
    ...messages,
  ]),
});

export const filterUnsupported = (field: string, type: string): string =>
  `${field}: filter ${type} is not available in this version; remove it`;
export const fieldMissing = (field: string): string => `${field} is missing: set it`;
export const valueUnsupported = (field: string, value: string, choices: readonly string[]): string =>
  `${field} is ${value.slice(0, 80)}: use ${choices.join(', ')}`;
export const durationInvalid = (field: string, value: string): string =>
  `${field} is ${value.slice(0, 80)}, which is not a duration: write for example 500ms, 10s or 1m30s`;
export const fieldIgnored = (field: string): string => `${field} is ignored: it is not available in this version`;

// References to backends

const unresolved = (reason: Cause['reason'], message: string): Cause => ({ reason, message });

export const backendKindUnknown = (field: string, group: string, kind: string): Cause =>
  unresolved(Reason.InvalidKind, `${field} names ${kind} of group "${group}": only Services of the core group can be backends`);

export const externalBackendUnavailable = (field: string, name: string): Cause =>
  unresolved(Reason.InvalidKind, `${field} names ExternalBackend ${name}, which is not available in this version: use a Service`);

export const backendNotPermitted = (field: string, service: string, fromKind: string, fromNamespace: string): Cause =>
  unresolved(
    Reason.RefNotPermitted,
    `${field} names Service ${service} in another namespace: a ReferenceGrant there must allow ${fromKind} of namespace ${fromNamespace} to refer to it`,
  );

export const backendPortMissing = (field: string, service: string): Cause =>
  unresolved(Reason.UnsupportedValue, `${field}.port is missing: name the port of Service ${service}`);

export const serviceNotFound = (field: string, service: string): Cause =>
  unresolved(Reason.BackendNotFound, `Service ${service} (${field}) does not exist: create it or correct the name`);

export const servicePortNotFound = (field: string, service: string, port: number, ports: readonly number[]): Cause =>
  unresolved(
    Reason.BackendNotFound,
    `Service ${service} has no port ${port} (${field}.port): ${ports.length === 0 ? 'it has no ports' : `use ${ports.slice(0, 10).join(', ')}`}`,
  );

export const serviceExternalName = (field: string, service: string): Cause =>
  unresolved(
    Reason.UnsupportedValue,
    `Service ${service} (${field}) is of type ExternalName, which could lead the proxy anywhere and is refused: an ExternalBackend is the kind for origins outside of the cluster`,
  );

export const portProtocolUnsupported = (field: string, service: string, port: number, protocol: string): Cause =>
  unresolved(Reason.UnsupportedProtocol, `port ${port} of Service ${service} (${field}) has protocol ${protocol}: HTTP needs TCP`);

export const appProtocolNeedsTls = (field: string, service: string, port: number, appProtocol: string): Cause =>
  unresolved(
    Reason.UnsupportedProtocol,
    `port ${port} of Service ${service} (${field}) has appProtocol ${appProtocol}: TLS to backends is not available in this version, and requests are not sent in clear instead; use a port without TLS`,
  );

export const appProtocolUnknown = (field: string, service: string, port: number, appProtocol: string): Cause =>
  unresolved(
    Reason.UnsupportedProtocol,
    `port ${port} of Service ${service} (${field}) has appProtocol ${appProtocol.slice(0, 80)}, which is unknown here; HTTP/1.1 is used: set it to http, kubernetes.io/h2c or kubernetes.io/ws`,
  );

export const endpointsRefused = (field: string, service: string, addresses: readonly string[]): Cause =>
  unresolved(
    Reason.UnsupportedValue,
    `EndpointSlices of Service ${service} (${field}) list ${addresses.slice(0, 5).join(', ')}${addresses.length > 5 ? ` and ${addresses.length - 5} more` : ''}, which a proxy must not call: left out; list addresses of pods`,
  );

// Push

export const pushFailed = (detail: string): Cause => ({
  reason: Reason.ProxyConfigPushFailed,
  message: `proxies may serve an older state of this route: ${detail}`,
});
