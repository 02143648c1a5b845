// spec.tls.backend.clientCertificateRef of a Gateway: the certificate that it shows to backends which a BackendTLSPolicy governs.
import * as cause from '../api/cause-tls.ts';
import type { Cause } from '../api/condition.ts';
import type { Secret } from '../api/core.ts';
import { GATEWAY_GROUP, type Gateway } from '../api/gateway.ts';
import { keyOf, type Key } from '../api/ref.ts';
import { malformation } from './certificate.ts';
import { coreGroup, isGranted, type Grants } from './grant.ts';

/** The Secret, if it may be looked at: of another namespace only with a grant, whether it exists or not. */
function secretOf(gateway: Gateway, grants: Grants): Key | Cause | null {
  const ref = gateway.spec.tls?.backend?.clientCertificateRef;
  if (ref === undefined) return null;
  const group = coreGroup(ref.group);
  const kind = ref.kind ?? 'Secret';
  if (group !== '' || kind !== 'Secret') return cause.clientCertificateKind(group, kind);
  const own = gateway.metadata.namespace ?? '';
  const namespace = ref.namespace ?? own;
  const key = keyOf(namespace, ref.name);
  const from = { group: GATEWAY_GROUP, kind: 'Gateway', namespace: own };
  return isGranted(grants, from, { group, kind, namespace, name: ref.name })
    ? key
    : cause.gatewayRefNotPermitted('spec.tls.backend.clientCertificateRef', `Secret ${key}`, own);
}

export function clientCertificateSecret(gateway: Gateway, grants: Grants): Key | null {
  const key = secretOf(gateway, grants);
  return typeof key === 'string' ? key : null;
}

/** What is wrong with the reference; null also when there is none. */
export function checkClientCertificate(gateway: Gateway, grants: Grants, secrets: ReadonlyMap<Key, Secret>): Cause | null {
  const key = secretOf(gateway, grants);
  if (typeof key !== 'string') return key;
  const secret = secrets.get(key);
  const problem = secret === undefined ? 'does not exist, or may not be read' : malformation(secret);
  return problem === null ? null : cause.clientCertificateUnusable(key, problem);
}
