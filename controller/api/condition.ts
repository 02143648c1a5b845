// The vocabulary of statuses and events: every condition type, condition reason and event reason that this controller writes.
//
// Sentences that go with them are made by the constructors in the files cause-*.ts beside this one. A reason is never
// spelled out anywhere else, so that this page is the whole list of what users and tools can meet.

export const ConditionType = {
  // Gateway API
  Accepted: 'Accepted',
  Programmed: 'Programmed',
  ResolvedRefs: 'ResolvedRefs',
  Conflicted: 'Conflicted',
  PartiallyInvalid: 'PartiallyInvalid',
  InsecureFrontendValidationMode: 'InsecureFrontendValidationMode',
  SupportedVersion: 'SupportedVersion',
  // GatewayClassConfig and GatewayConfig
  Valid: 'Valid',
  SecretsResolved: 'SecretsResolved',
  TunnelSynced: 'TunnelSynced',
  // ours, on listeners and on route parents
  PermissiveHostname: 'cf.k8s.lex.la/PermissiveHostname',
  RouteShadowed: 'cf.k8s.lex.la/RouteShadowed',
  ProxyConfigPushed: 'cf.k8s.lex.la/ProxyConfigPushed',
  TunnelShared: 'cf.k8s.lex.la/TunnelShared',
} as const;

export const Reason = {
  // everything is well: the Gateway API names these reasons like their condition types
  Accepted: 'Accepted',
  Programmed: 'Programmed',
  ResolvedRefs: 'ResolvedRefs',
  NoConflicts: 'NoConflicts',
  // GatewayClass
  InvalidParameters: 'InvalidParameters',
  SupportedVersion: 'SupportedVersion',
  UnsupportedVersion: 'UnsupportedVersion',
  // BackendTLSPolicy
  Conflicted: 'Conflicted',
  TargetNotFound: 'TargetNotFound',
  // Gateway and ListenerSet
  ListenersNotValid: 'ListenersNotValid',
  UnsupportedAddress: 'UnsupportedAddress',
  AddressNotUsable: 'AddressNotUsable',
  AddressNotAssigned: 'AddressNotAssigned',
  NoResources: 'NoResources',
  Pending: 'Pending',
  Invalid: 'Invalid',
  InvalidClientCertificateRef: 'InvalidClientCertificateRef',
  ConfigurationChanged: 'ConfigurationChanged',
  NotAllowed: 'NotAllowed',
  ParentNotAccepted: 'ParentNotAccepted',
  ParentNotProgrammed: 'ParentNotProgrammed',
  // listeners
  UnsupportedProtocol: 'UnsupportedProtocol',
  PortUnavailable: 'PortUnavailable',
  HostnameConflict: 'HostnameConflict',
  ProtocolConflict: 'ProtocolConflict',
  InvalidRouteKinds: 'InvalidRouteKinds',
  InvalidCertificateRef: 'InvalidCertificateRef',
  InvalidCACertificateRef: 'InvalidCACertificateRef',
  InvalidCACertificateKind: 'InvalidCACertificateKind',
  NoValidCACertificate: 'NoValidCACertificate',
  UnpinnedHostnameAllowsAllNamespaces: 'UnpinnedHostnameAllowsAllNamespaces',
  // routes
  NoMatchingParent: 'NoMatchingParent',
  NotAllowedByListeners: 'NotAllowedByListeners',
  NoMatchingListenerHostname: 'NoMatchingListenerHostname',
  HostnameNotPermitted: 'HostnameNotPermitted',
  UnsupportedValue: 'UnsupportedValue',
  InvalidKind: 'InvalidKind',
  BackendNotFound: 'BackendNotFound',
  RefNotPermitted: 'RefNotPermitted',
  HostnameMatchShadowed: 'HostnameMatchShadowed',
  ProxyConfigPushFailed: 'ProxyConfigPushFailed',
  TunnelSharedAcrossNamespaces: 'TunnelSharedAcrossNamespaces',
  // GatewayClassConfig and GatewayConfig
  Valid: 'Valid',
  SecretsFound: 'SecretsFound',
  SecretsMissing: 'SecretsMissing',
} as const;

export type Reason = (typeof Reason)[keyof typeof Reason];

/** About a tunnel and its document: reasons of `TunnelSynced`, and of events about what was done to it. */
export const TunnelReason = {
  Pending: 'Pending',
  Synced: 'Synced',
  Observed: 'Observed',
  NotRouted: 'NotRouted',
  // something happened
  ForeignRulesRemoved: 'ForeignRulesRemoved',
  ConcurrentWrite: 'ConcurrentWrite',
  // credentials and account
  ApiTokenInvalid: 'ApiTokenInvalid',
  ConnectorTokenInvalid: 'ConnectorTokenInvalid',
  PermissionDenied: 'PermissionDenied',
  AccountNotFound: 'AccountNotFound',
  AccountAmbiguous: 'AccountAmbiguous',
  // the tunnel
  TunnelNameTaken: 'TunnelNameTaken',
  TunnelNotFound: 'TunnelNotFound',
  TunnelDeleted: 'TunnelDeleted',
  TunnelLocallyManaged: 'TunnelLocallyManaged',
  ConfigurationRejected: 'ConfigurationRejected',
  Conflict: 'Conflict',
  RemovalNotConfirmed: 'RemovalNotConfirmed',
  ConcurrentWriters: 'ConcurrentWriters',
  // Cloudflare, and the way to it
  RateLimited: 'RateLimited',
  CloudflareFailed: 'CloudflareFailed',
  CloudflareUnreachable: 'CloudflareUnreachable',
  CloudflareTimeout: 'CloudflareTimeout',
  UnexpectedAnswer: 'UnexpectedAnswer',
  InternalError: 'InternalError',
} as const;

export type TunnelReason = (typeof TunnelReason)[keyof typeof TunnelReason];

export const EventReason = {
  RouteShadowed: 'RouteShadowed',
  ProxyConfigPushFailed: 'ProxyConfigPushFailed',
  GRPCEdgeProxyingRequired: 'GRPCEdgeProxyingRequired',
  ForeignIngressRules: 'ForeignIngressRules',
  TunnelShared: 'TunnelShared',
} as const;

/** What the component was doing when an event came up (events.k8s.io `action`). */
export const EventAction = { Sync: 'Sync', VerifyEdgeConfig: 'VerifyEdgeConfig' } as const;

/** Why something is not as its owner wants it: a reason, and a sentence that names object, field and fix. */
export interface Cause {
  readonly reason: Reason;
  readonly message: string;
}

/** A condition before it is tied to a generation and a time. */
export interface Finding {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

export const isTrue = (type: string, reason: string, message: string): Finding => ({ type, status: 'True', reason, message });
export const isFalse = (type: string, cause: { readonly reason: string; readonly message: string }): Finding => ({
  type,
  status: 'False',
  reason: cause.reason,
  message: cause.message,
});
export const isUnknown = (type: string, reason: string, message: string): Finding => ({ type, status: 'Unknown', reason, message });

/** Of a host name that no visitor can ask for; the name stands before it. */
export const NO_HOSTNAME =
  'cannot be the host of a visitor: write a DNS name in ASCII, with parts of at most 63 letters, digits and dashes, and no address; only its first part may be *';

/** Long enough to say everything that helps, short enough for `kubectl describe`; the API server's own limit is 32,768. */
const MESSAGE_LIMIT = 2048;

/** Several sentences as one message: duplicates removed, and the number of those left out said. */
export function joinMessages(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  let text = '';
  for (const [index, message] of distinct.entries()) {
    const next = index === 0 ? message : `${text}; ${message}`;
    if (next.length > MESSAGE_LIMIT)
      return index === 0 ? `${message.slice(0, MESSAGE_LIMIT)}…` : `${text}; and ${distinct.length - index} more`;
    text = next;
  }
  return text;
}

/** Several causes as one: the first gives the reason, all give the message. */
export const combine = (causes: readonly (Cause | null)[]): Cause | null => {
  const [first, ...rest] = causes.filter((entry) => entry !== null);
  if (first === undefined) return null;
  return { reason: first.reason, message: joinMessages([first.message, ...rest.map(({ message }) => message)]) };
};
