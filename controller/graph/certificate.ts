// certificateRefs of HTTPS listeners: may they be referred to, and do they hold a certificate and a key?
//
// TLS of a tunnel ends at the edge, where they are only checked; the proxies' own entry serves them. Their names are not compared with the
// hostname of the listener: the specification leaves that to the client.
import * as cause from '../api/cause-listener.ts';
import type { Cause } from '../api/condition.ts';
import type { Secret } from '../api/core.ts';
import { GATEWAY_GROUP, type Listener, type SecretObjectReference } from '../api/gateway.ts';
import { keyOf, type Key } from '../api/ref.ts';
import { coreGroup, isGranted, type Grants } from './grant.ts';
import { secretValue } from './token.ts';
import type { Certificate } from './types.ts';

// One class between the markers, which does not contain the dash they begin with: linear in the size of the Secret, whatever is in it.
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/;
const PRIVATE_KEY = /-----BEGIN (?:[A-Z]{1,10} )?PRIVATE KEY-----[A-Za-z0-9+/=\s]+-----END (?:[A-Z]{1,10} )?PRIVATE KEY-----/;

/** Who refers: a grant for Gateways does not help a ListenerSet. */
export interface CertificateOwner {
  readonly kind: 'Gateway' | 'ListenerSet';
  readonly namespace: string;
}

/** What keeps a Secret from being used as certificate and key; continues a sentence about it. */
export function malformation(secret: Secret): string | null {
  if (secret.type !== 'kubernetes.io/tls') return `is of type ${secret.type ?? 'Opaque'}`;
  for (const [key, form] of [
    ['tls.crt', CERTIFICATE],
    ['tls.key', PRIVATE_KEY],
  ] as const) {
    const value = secretValue(secret, key);
    if (value === undefined || value === '') return `has nothing under ${key}`;
    if (value === null || !form.test(value)) return `has no PEM under ${key}`;
  }
  return null;
}

/** Whether the reference names something that may be looked at: Secrets of other namespaces only with a grant, whether they exist or not. */
function permission(ref: SecretObjectReference, index: number, owner: CertificateOwner, grants: Grants): Cause | null {
  const group = coreGroup(ref.group);
  const kind = ref.kind ?? 'Secret';
  if (group !== '' || kind !== 'Secret') return cause.certificateKind(index, group, kind);
  const namespace = ref.namespace ?? owner.namespace;
  if (isGranted(grants, { group: GATEWAY_GROUP, ...owner }, { group, kind, namespace, name: ref.name })) return null;
  return cause.certificateNotPermitted(index, keyOf(namespace, ref.name), owner.kind, owner.namespace);
}

const refsOf = (listener: Listener): readonly SecretObjectReference[] =>
  listener.protocol === 'HTTPS' ? (listener.tls?.certificateRefs ?? []) : [];

/** Secrets that the listener needs and may have. */
export const certificateSecrets = (listener: Listener, owner: CertificateOwner, grants: Grants): readonly Key[] =>
  refsOf(listener)
    .filter((ref, index) => permission(ref, index, owner, grants) === null)
    .map((ref) => keyOf(ref.namespace ?? owner.namespace, ref.name));

/** What can be served of the listener's references, in their order. */
export function readCertificates(
  listener: Listener,
  owner: CertificateOwner,
  grants: Grants,
  secrets: ReadonlyMap<Key, Secret>,
): readonly Certificate[] {
  return certificateSecrets(listener, owner, grants).flatMap((key) => {
    const secret = secrets.get(key);
    if (secret === undefined || malformation(secret) !== null) return [];
    return [{ id: `Secret/${key}`, chain: secretValue(secret, 'tls.crt') ?? '', key: secretValue(secret, 'tls.key') ?? '' }];
  });
}

export function checkCertificates(
  listener: Listener,
  owner: CertificateOwner,
  grants: Grants,
  secrets: ReadonlyMap<Key, Secret>,
): readonly Cause[] {
  return refsOf(listener).flatMap((ref, index) => {
    const refused = permission(ref, index, owner, grants);
    if (refused !== null) return [refused];
    const key = keyOf(ref.namespace ?? owner.namespace, ref.name);
    const secret = secrets.get(key);
    if (secret === undefined) return [cause.certificateNotFound(index, key)];
    const problem = malformation(secret);
    return problem === null ? [] : [cause.certificateMalformed(index, key, problem)];
  });
}
