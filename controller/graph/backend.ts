// backendRef → what the proxy does with that share of a rule's requests, and what the route's status says about the reference.
import * as cause from '../api/cause-route.ts';
import { governedByPolicy } from '../api/cause-tls.ts';
import { combine, type Cause } from '../api/condition.ts';
import type { ServicePort } from '../api/core.ts';
import { GATEWAY_GROUP } from '../api/gateway.ts';
import { OWN_GROUP } from '../api/own.ts';
import { keyOf, type Key } from '../api/ref.ts';
import type { WeightedBackendConfig } from '#proxy/config/schema.ts';
import { coreGroup, isGranted, type Grants } from './grant.ts';
import { governorOf, type Governed } from './policy-target.ts';
import type { BackendOutline } from './rule.ts';
import type { ServiceNode, Services } from './service.ts';
import type { BackendNode } from './types.ts';

export interface RefContext {
  readonly kind: 'HTTPRoute' | 'GRPCRoute';
  readonly namespace: string;
  readonly grants: Grants;
  readonly services: Services;
  readonly governed: Governed;
}

export interface ResolvedRef {
  /** The Service, when it exists and may be referred to. */
  readonly service: Key | null;
  readonly share: WeightedBackendConfig;
  readonly backend: BackendNode | null;
  readonly problem: Cause | null;
  /** Why requests are not sent although the reference is good. */
  readonly closed: Cause | null;
}

type Target = Omit<ResolvedRef, 'share'> & { readonly status: 500 | 502 | 503 | null };
type Verdict = Omit<Target, 'service'>;

const broken = (problem: Cause, status: 500 | 502 = 500): Verdict => ({ backend: null, status, problem, closed: null });
const nothing = (problem: Cause): Target => ({ ...broken(problem), service: null });

/** Decided once for each reference of each route, so that a grant for one never opens or closes another. */
export function resolveRef(outline: BackendOutline, context: RefContext): ResolvedRef {
  const { backend, status, problem, service, closed } = findTarget(outline, context);
  const answer = outline.closed ? 500 : status;
  return {
    share: {
      ...(answer === null && backend !== null ? { backend: backend.config.id } : { status: answer ?? 500 }),
      weight: outline.weight,
      ...(outline.filters.length === 0 || outline.closed ? {} : { filters: [...outline.filters] }),
    },
    backend: answer === null ? backend : null,
    problem,
    service,
    closed,
  };
}

/** The Service that a reference means, if it means one: what its verdict depends on besides grants. */
export function serviceKey({ ref }: BackendOutline, namespace: string): Key | null {
  const isService = coreGroup(ref.group) === '' && (ref.kind ?? 'Service') === 'Service';
  return isService ? keyOf(ref.namespace ?? namespace, ref.name) : null;
}

function findTarget(outline: BackendOutline, context: RefContext): Target {
  const { kind, namespace, grants, services } = context;
  const { field, ref } = outline;
  const key = serviceKey(outline, namespace);
  if (key === null) {
    const isExternal = ref.group === OWN_GROUP && ref.kind === 'ExternalBackend';
    return nothing(
      isExternal
        ? cause.externalBackendUnavailable(field, ref.name)
        : cause.backendKindUnknown(field, ref.group ?? '', ref.kind ?? 'Service'),
    );
  }
  // The grant first: without it, nothing may be learnt about what is there.
  const to = { group: '', kind: 'Service', namespace: ref.namespace ?? namespace, name: ref.name };
  if (!isGranted(grants, { group: GATEWAY_GROUP, kind, namespace }, to))
    return nothing(cause.backendNotPermitted(field, key, kind, namespace));
  if (ref.port === undefined) return nothing(cause.backendPortMissing(field, key));
  const service = services.get(key);
  if (service === undefined) return nothing(cause.serviceNotFound(field, key));
  return { ...findPort({ field, key, port: ref.port }, service, context), service: key };
}

interface Place {
  readonly field: string;
  readonly key: Key;
  readonly port: number;
}

function findPort({ field, key, port }: Place, service: ServiceNode, { kind, services, governed }: RefContext): Verdict {
  const { spec } = service.object;
  // Whoever may write a Service could otherwise point the proxy at any name that it can resolve.
  if (spec?.type === 'ExternalName') return broken(cause.serviceExternalName(field, key));
  const ports = spec?.ports ?? [];
  const numbered = ports.filter((candidate) => candidate.port === port);
  const found = numbered.find(({ protocol }) => (protocol ?? 'TCP') === 'TCP');
  if (found === undefined) {
    const [other] = numbered;
    if (other !== undefined) return broken(cause.portProtocolUnsupported(field, key, port, other.protocol ?? 'TCP'), 502);
    return broken(
      cause.servicePortNotFound(
        field,
        key,
        port,
        ports.map((candidate) => candidate.port),
      ),
    );
  }
  const governor = governorOf(governed, key, found);
  if (governor !== null) {
    return { backend: null, status: 500, problem: null, closed: governedByPolicy(field, key, port, governor.metadata.name) };
  }
  const spoken = protocolOf(kind, found);
  if (spoken === 'tls') return broken(cause.appProtocolNeedsTls(field, key, port, found.appProtocol ?? ''), 502);
  const backend = services.backend(service, found, spoken.protocol);
  const problem = combine([
    spoken.known ? null : cause.appProtocolUnknown(field, key, port, found.appProtocol ?? ''),
    backend.refused.length === 0 ? null : cause.endpointsRefused(field, key, backend.refused),
  ]);
  return { backend, status: backend.config.endpoints.length === 0 ? 503 : null, problem, closed: null };
}

type Spoken = { readonly protocol: 'http1' | 'h2c'; readonly known: boolean } | 'tls';

const TLS = /^(?:kubernetes\.io\/)?(?:https|wss|tls|ssl|h2|grpcs)$/i;

/**
 * What to speak to a port. A value that means TLS is never answered with cleartext. Others that are unknown get the default: many Services
 * carry values that other software put there.
 */
function protocolOf(kind: RefContext['kind'], { appProtocol }: ServicePort): Spoken {
  const fallback = kind === 'GRPCRoute' ? 'h2c' : 'http1';
  if (appProtocol === undefined || appProtocol === '' || /^http$/i.test(appProtocol)) return { protocol: fallback, known: true };
  if (appProtocol === 'kubernetes.io/h2c') return { protocol: 'h2c', known: true };
  if (TLS.test(appProtocol)) return 'tls';
  return { protocol: fallback, known: appProtocol === 'kubernetes.io/ws' || kind === 'GRPCRoute' };
}
