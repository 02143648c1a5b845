// spec.tls.frontend of a Gateway: which CA certificates verify the certificates of its visitors, port by port (GEP-91, GEP-3567).
import * as cause from '../api/cause-tls.ts';
import { combine, Reason, type Cause } from '../api/condition.ts';
import type { ConfigMap } from '../api/core.ts';
import { GATEWAY_GROUP, type CaCertificateReference, type FrontendValidation, type Gateway } from '../api/gateway.ts';
import { keyOf, type Key } from '../api/ref.ts';
import { caKind, readBundle, type CaKind, type CaObjects } from './ca.ts';
import { coreGroup, isGranted, type Grants } from './grant.ts';
import { sameElements } from './memo.ts';
import type { ClientValidation } from './types.ts';

/** What is asked of the HTTPS listeners of a port. */
export interface FrontendTls {
  /** Null when there is nothing to verify with, so that nobody may come in. */
  readonly validation: ClientValidation | null;
  /** Why the listeners are not accepted. */
  readonly refused: Cause | null;
  /** References that do not lead to certificates. */
  readonly broken: readonly Cause[];
}

export interface FrontendSources extends CaObjects {
  readonly grants: Grants;
  /** Only an entry of the proxy itself sees the handshake of visitors; TLS of a tunnel ends at the edge, which asks nobody for a certificate. */
  readonly seesHandshakes: boolean;
}

interface Place {
  readonly field: string;
  readonly validation: FrontendValidation | undefined;
}

const DEFAULT = 'spec.tls.frontend.default.validation';

/** Settings for a port replace the default ones as a whole, also with none at all (GEP-3567). */
function placeOf(gateway: Gateway, port: number): Place {
  const frontend = gateway.spec.tls?.frontend;
  const index = frontend?.perPort?.findIndex((entry) => entry.port === port) ?? -1;
  if (index < 0) return { field: DEFAULT, validation: frontend?.default?.validation };
  return { field: `spec.tls.frontend.perPort[${index}].tls.validation`, validation: frontend?.perPort?.[index]?.tls?.validation };
}

function allValidations({ spec: { tls } }: Gateway): readonly FrontendValidation[] {
  const { default: general, perPort = [] } = tls?.frontend ?? {};
  return [general, ...perPort.map((entry) => entry.tls)].flatMap((settings) => settings?.validation ?? []);
}

/** Visitors whose certificate nobody vouches for come in as well, on some port. */
export const isInsecure = (gateway: Gateway): boolean => allValidations(gateway).some(({ mode }) => mode === 'AllowInsecureFallback');

export function resolveFrontend(gateway: Gateway, sources: FrontendSources): (port: number) => FrontendTls | null {
  const known = new Map<string, FrontendTls>();
  return (port) => {
    const { field, validation } = placeOf(gateway, port);
    if (validation === undefined) return null;
    let resolved = known.get(field);
    if (resolved === undefined) known.set(field, (resolved = resolve(gateway, { field, validation }, sources)));
    return resolved;
  };
}

function resolve(
  gateway: Gateway,
  { field, validation }: Place & { readonly validation: FrontendValidation },
  sources: FrontendSources,
): FrontendTls {
  const bundles = (validation.caCertificateRefs ?? []).map((ref, index) =>
    readRef(ref, `${field}.caCertificateRefs[${index}]`, gateway, sources),
  );
  const broken = bundles.filter((entry) => typeof entry !== 'string');
  const ca = [...new Set(bundles.filter((entry) => typeof entry === 'string'))].join('');
  if (ca === '') return { validation: null, refused: cause.noFrontendCa(field, combine(broken)), broken };
  const mode = validation.mode === 'AllowInsecureFallback' ? 'AllowInsecureFallback' : 'AllowValidOnly';
  const unverified = mode === 'AllowValidOnly' && !sources.seesHandshakes ? cause.clientValidationImpossible(field) : null;
  return { validation: { mode, ca }, refused: unverified, broken };
}

interface Referent {
  readonly kind: CaKind;
  readonly key: Key;
}

/** What a reference names, if it may be looked at: across namespaces only with a grant, whether the object exists or not. */
function referentOf(ref: CaCertificateReference, field: string, gateway: Gateway, grants: Grants): Referent | Cause {
  const kind = caKind(ref);
  if (kind === null) return cause.caKindUnknown(Reason.InvalidCACertificateKind, field, ref.group, ref.kind);
  const own = gateway.metadata.namespace ?? '';
  const namespace = ref.namespace ?? own;
  const from = { group: GATEWAY_GROUP, kind: 'Gateway', namespace: own };
  const key = keyOf(namespace, ref.name);
  return isGranted(grants, from, { group: coreGroup(ref.group), kind, namespace, name: ref.name })
    ? { kind, key }
    : cause.gatewayRefNotPermitted(field, `${kind} ${key}`, own);
}

function readRef(ref: CaCertificateReference, field: string, gateway: Gateway, sources: FrontendSources): string | Cause {
  const referent = referentOf(ref, field, gateway, sources.grants);
  if ('reason' in referent) return referent;
  const bundle = readBundle(sources, referent.kind, referent.key);
  return 'pem' in bundle ? bundle.pem : cause.caUnusable(field, `${referent.kind} ${referent.key}`, bundle.problem);
}

/**
 * ConfigMaps by which visitors are verified. The same map as long as none of these changes: others, like those of policies, are no reason to
 * look at Gateways again, and with them at every route.
 */
export function createFrontendConfigMaps(): (
  gateways: ReadonlyMap<Key, Gateway>,
  grants: Grants,
  configMaps: ReadonlyMap<Key, ConfigMap>,
) => ReadonlyMap<Key, ConfigMap> {
  let kept: ReadonlyMap<Key, ConfigMap> = new Map();
  return (gateways, grants, configMaps) => {
    const next = new Map<Key, ConfigMap>();
    for (const gateway of gateways.values()) {
      for (const { kind, key } of frontendReferents(gateway, grants)) {
        const object = kind === 'ConfigMap' ? configMaps.get(key) : undefined;
        if (object !== undefined) next.set(key, object);
      }
    }
    if (!sameElements([...kept.keys(), ...kept.values()], [...next.keys(), ...next.values()])) kept = next;
    return kept;
  };
}

/** Objects that the Gateway needs to verify its visitors, and may have. */
export const frontendReferents = (gateway: Gateway, grants: Grants): readonly Referent[] =>
  allValidations(gateway)
    .flatMap(({ caCertificateRefs = [] }) => caCertificateRefs)
    .map((ref) => referentOf(ref, '', gateway, grants))
    .filter((referent) => 'key' in referent);
