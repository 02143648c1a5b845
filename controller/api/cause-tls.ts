// What can be wrong with TLS beyond a listener's own certificate: client certificates of both sides, and policies for backends.
import { Reason, type Cause } from './condition.ts';

// CA certificates, of Gateways and of policies

export const caKindUnknown = (
  reason: typeof Reason.InvalidCACertificateKind | typeof Reason.InvalidKind,
  field: string,
  group: string,
  kind: string,
): Cause => ({
  reason,
  message: `${field} names ${kind} of group "${group}": CA certificates are read from a ConfigMap or Secret of the core group`,
});

export const caUnusable = (field: string, object: string, problem: string): Cause => ({
  reason: Reason.InvalidCACertificateRef,
  message: `${object} (${field}) ${problem}: put CA certificates in PEM form under its key ca.crt`,
});

export const gatewayRefNotPermitted = (field: string, object: string, namespace: string): Cause => ({
  reason: Reason.RefNotPermitted,
  message: `${field} names ${object} in another namespace: a ReferenceGrant there must allow Gateway of namespace ${namespace} to refer to it`,
});

// Certificates of visitors

export const noFrontendCa = (field: string, problem: Cause | null): Cause => ({
  reason: Reason.NoValidCACertificate,
  message: `no certificate of a visitor can be verified, so the listener stays closed: ${problem?.message ?? `${field}.caCertificateRefs is empty: name a ConfigMap`}`,
});

export const clientValidationImpossible = (field: string): Cause => ({
  reason: Reason.NoValidCACertificate,
  message: `${field} asks for certificates of visitors, but TLS ends at the edge of a tunnel, and they cannot be verified behind it: the listener stays closed; set entry to Local or Both in the GatewayClassConfig, or remove the validation for this port`,
});

export const insecureValidation = (): string =>
  'spec.tls.frontend has mode AllowInsecureFallback: visitors without a valid certificate are let in; use AllowValidOnly to keep them out';

// The Gateway's certificate for backends

export const clientCertificateKind = (group: string, kind: string): Cause => ({
  reason: Reason.InvalidClientCertificateRef,
  message: `spec.tls.backend.clientCertificateRef names ${kind} of group "${group}": only Secrets of the core group hold certificates here`,
});

export const clientCertificateUnusable = (secret: string, problem: string): Cause => ({
  reason: Reason.InvalidClientCertificateRef,
  message: `Secret ${secret} (spec.tls.backend.clientCertificateRef) ${problem}: it must be of type kubernetes.io/tls with PEM under tls.crt and tls.key`,
});

// BackendTLSPolicies

const placeOf = (service: string, section: string | null): string =>
  section === null ? `Service ${service}` : `port ${section} of Service ${service}`;

export const policyConflicted = (service: string, section: string | null, winner: string): Cause => ({
  reason: Reason.Conflicted,
  message: `${placeOf(service, section)} is governed by BackendTLSPolicy ${winner}, which is older or comes first by name: remove one of the two, or name another port in sectionName`,
});

export const policySectionNotFound = (service: string, section: string): Cause => ({
  reason: Reason.TargetNotFound,
  message: `Service ${service} has no port named ${section}: correct sectionName in spec.targetRefs, or name the port`,
});

export const wellKnownUnknown = (value: string): Cause => ({
  reason: Reason.Invalid,
  message: `spec.validation.wellKnownCACertificates is ${value}: use System, or caCertificateRefs`,
});

export const noTrust = (): Cause => ({
  reason: Reason.NoValidCACertificate,
  message: 'spec.validation says nothing about whom to trust: set caCertificateRefs, or wellKnownCACertificates to System',
});

export const noPolicyCa = (problem: Cause): Cause => ({
  reason: Reason.NoValidCACertificate,
  message: `no certificate of a backend can be verified, so requests are answered with 500: ${problem.message}`,
});

/** What an accepted policy comes to as long as nobody speaks TLS to backends. */
export const policyCloses = (): string =>
  'the policy is valid; TLS to backends is not available in this version: requests for what it governs are answered with 500, never sent in clear';

export const governedByPolicy = (field: string, service: string, port: number, policy: string): Cause => ({
  reason: Reason.UnsupportedValue,
  message: `port ${port} of Service ${service} (${field}) is governed by BackendTLSPolicy ${policy}: TLS to backends is not available in this version, and requests are not sent in clear instead; they are answered with 500`,
});
