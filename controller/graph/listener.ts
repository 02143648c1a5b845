// One listener by itself: protocol, route kinds, namespaces, certificates, hostname. Conflicts with others are decided in conflict.ts.
import * as cause from '../api/cause-listener.ts';
import { combine, Reason, type Cause } from '../api/condition.ts';
import type { Secret } from '../api/core.ts';
import { GATEWAY_GROUP, type Listener } from '../api/gateway.ts';
import type { Key } from '../api/ref.ts';
import { checkCertificates, readCertificates, type CertificateOwner } from './certificate.ts';
import type { FrontendTls } from './frontend-tls.ts';
import type { Grants } from './grant.ts';
import { canBeVisited, normalise } from './hostname.ts';
import { namespaceRule } from './namespaces.ts';
import type { Ownership } from './ownership.ts';
import type { ListenerNode, RouteKind } from './types.ts';

export interface ListenerContext {
  readonly grants: Grants;
  readonly secrets: ReadonlyMap<Key, Secret>;
  readonly ownership: Ownership;
  /** What unresolved certificates mean. */
  readonly certificates: 'Require' | 'Ignore';
  /** No edge of a tunnel brings a certificate. */
  readonly needsCertificate: boolean;
  /** What the Gateway asks of HTTPS visitors of a port. */
  readonly frontendOf: (port: number) => FrontendTls | null;
}

export interface ListenerOwner extends CertificateOwner {
  readonly name: string;
}

const SERVED: readonly string[] = ['HTTPRoute', 'GRPCRoute'];

const isServable = (listener: Listener): boolean => listener.protocol === 'HTTP' || listener.protocol === 'HTTPS';

function checkProtocol(listener: Listener): Cause | null {
  if (!isServable(listener)) return cause.protocolUnsupported(listener.protocol);
  return listener.protocol === 'HTTPS' && listener.tls?.mode === 'Passthrough' ? cause.passthroughUnsupported() : null;
}

function routeKinds(listener: Listener): { readonly supported: readonly RouteKind[]; readonly problem: Cause | null } {
  if (!isServable(listener)) return { supported: [], problem: null };
  const allowed = listener.allowedRoutes?.kinds ?? [];
  if (allowed.length === 0) return { supported: SERVED.map((kind) => ({ group: GATEWAY_GROUP, kind })), problem: null };
  const kinds = allowed.map(({ group, kind }) => ({ group: group ?? GATEWAY_GROUP, kind }));
  const isSupported = ({ group, kind }: RouteKind): boolean => group === GATEWAY_GROUP && SERVED.includes(kind);
  const bad = kinds
    .filter((kind) => !isSupported(kind))
    .map(({ group, kind }) => (group === GATEWAY_GROUP ? kind : `${kind} of ${group || 'the core group'}`));
  return { supported: kinds.filter(isSupported), problem: bad.length === 0 ? null : cause.routeKindsUnsupported(bad) };
}

/** A missing permission says most, a broken certificate more than a kind too many. */
const SEVERITY: readonly string[] = [
  Reason.RefNotPermitted,
  Reason.InvalidCACertificateRef,
  Reason.InvalidCACertificateKind,
  Reason.InvalidCertificateRef,
  Reason.InvalidRouteKinds,
];
const bySeverity = (a: Cause, b: Cause): number => SEVERITY.indexOf(a.reason) - SEVERITY.indexOf(b.reason);

export function buildListener(spec: Listener, owner: ListenerOwner, context: ListenerContext): ListenerNode {
  const hostname = normalise(spec.hostname);
  const kinds = routeKinds(spec);
  const frontend = spec.protocol === 'HTTPS' ? context.frontendOf(spec.port) : null;
  const admitted = namespaceRule(spec.allowedRoutes?.namespaces, 'Same', 'allowedRoutes.namespaces');
  const refused =
    checkProtocol(spec) ??
    (spec.port ? null : cause.portMissing()) ??
    frontend?.refused ??
    admitted.problem ??
    context.ownership.refuseListener(owner.namespace, hostname) ??
    (hostname === '' || canBeVisited(hostname) ? null : cause.hostnameUnservable(hostname));

  const needsCertificate = context.needsCertificate || frontend?.validation?.mode === 'AllowValidOnly';
  const lacksCertificate = spec.protocol === 'HTTPS' && needsCertificate && (spec.tls?.certificateRefs ?? []).length === 0;
  const broken = lacksCertificate ? [cause.certificateMissing()] : checkCertificates(spec, owner, context.grants, context.secrets);
  // Even where the edge brings its own certificate, nobody may refer to a Secret that is not theirs.
  const ignorable =
    context.certificates === 'Ignore' && !needsCertificate && broken.every(({ reason }) => reason !== Reason.RefNotPermitted);
  const references = combine(
    [...broken.map((entry) => (ignorable ? cause.edgeServesCertificate(entry) : entry)), ...(frontend?.broken ?? []), kinds.problem]
      .filter((entry) => entry !== null)
      .sort(bySeverity),
  );

  return {
    id: `${owner.kind}/${owner.namespace}/${owner.name}/${spec.name}`,
    spec,
    namespace: owner.namespace,
    hostname,
    supportedKinds: kinds.supported,
    namespaces: admitted.rule,
    clientValidation: frontend?.validation ?? null,
    conflict: null,
    refused,
    certificates: readCertificates(spec, owner, context.grants, context.secrets),
    references,
    unusable:
      refused ??
      frontend?.broken.find(({ reason }) => reason === Reason.RefNotPermitted) ??
      (ignorable ? null : combine([...broken].sort(bySeverity))) ??
      (kinds.supported.length === 0 ? cause.noRouteKind() : null),
    permissive: refused === null && hostname === '' && spec.allowedRoutes?.namespaces?.from === 'All',
  };
}
