// GatewayConfig: which one a Gateway has, and which tunnel its Secrets mean.
import * as cause from '../api/cause-gateway-config.ts';
import { combine, type Cause } from '../api/condition.ts';
import type { Secret } from '../api/core.ts';
import type { Gateway } from '../api/gateway.ts';
import { GATEWAY_CONFIG_ANNOTATION, OWN_GROUP, type GatewayConfig } from '../api/own.ts';
import { keyOf, type Key } from '../api/ref.ts';
import { decodeToken, secretValue } from './token.ts';
import type { GatewayConfigNode } from './types.ts';

/** A reference, and the field that holds it. */
export interface GatewayConfigRef {
  readonly key: Key;
  readonly field: string;
}

const SPEC_FIELD = 'spec.infrastructure.parametersRef';

/** Null for a Gateway without parameters of its own. Always in its own namespace: whoever may write the Gateway may write there. */
export function gatewayConfigOf({ metadata, spec }: Gateway): GatewayConfigRef | Cause | null {
  const ref = spec.infrastructure?.parametersRef;
  const annotated = metadata.annotations?.[GATEWAY_CONFIG_ANNOTATION] || undefined;
  if (ref !== undefined && (ref.group !== OWN_GROUP || ref.kind !== 'GatewayConfig'))
    return cause.gatewayParametersKind(ref.group, ref.kind);
  if (ref !== undefined && annotated !== undefined && ref.name !== annotated)
    return cause.twoGatewayConfigs(GATEWAY_CONFIG_ANNOTATION, annotated, ref.name);
  if (ref !== undefined) return { key: keyOf(metadata.namespace, ref.name), field: SPEC_FIELD };
  return annotated === undefined ? null : { key: keyOf(metadata.namespace, annotated), field: `annotation ${GATEWAY_CONFIG_ANNOTATION}` };
}

const tokenSecret = ({ metadata, spec }: GatewayConfig): Key => keyOf(metadata.namespace, spec.tunnelTokenSecretRef.name);

const credentialsSecret = ({ metadata, spec }: GatewayConfig): Key | null =>
  spec.cloudflareCredentialsSecretRef === undefined ? null : keyOf(metadata.namespace, spec.cloudflareCredentialsSecretRef.name);

/** Secrets that must be there before it can be judged. */
export const secretsOfGatewayConfig = (config: GatewayConfig): readonly Key[] =>
  [tokenSecret(config), credentialsSecret(config)].filter((key) => key !== null);

type SecretField = 'spec.tunnelTokenSecretRef' | 'spec.cloudflareCredentialsSecretRef';

/** Text under a key of a Secret, or why there is none. */
function readText(secrets: ReadonlyMap<Key, Secret>, field: SecretField, name: Key, key: string): string | Cause {
  const secret = secrets.get(name);
  if (secret === undefined) return cause.ownSecretNotFound(field, name, key);
  return secretValue(secret, key) || cause.ownSecretKeyMissing(field, name, key);
}

const causeIn = (value: string | Cause | null): Cause | null => (value !== null && typeof value !== 'string' ? value : null);

export function buildGatewayConfig(object: GatewayConfig, secrets: ReadonlyMap<Key, Secret>): GatewayConfigNode {
  const { spec } = object;
  const tokenKey = spec.tunnelTokenSecretRef.key || 'tunnel-token';
  const token = readText(secrets, 'spec.tunnelTokenSecretRef', tokenSecret(object), tokenKey);
  const decoded = typeof token === 'string' ? decodeToken(token) : null;
  const malformed = decoded !== null && 'problem' in decoded ? cause.ownTokenInvalid(tokenSecret(object), tokenKey, decoded.problem) : null;

  const credentials = credentialsSecret(object);
  const credentialsKey = spec.cloudflareCredentialsSecretRef?.key || 'api-token';
  const apiToken = credentials === null ? null : readText(secrets, 'spec.cloudflareCredentialsSecretRef', credentials, credentialsKey);

  const absent = combine([causeIn(token), causeIn(apiToken)]);
  return {
    object,
    key: keyOf(object.metadata.namespace, object.metadata.name),
    secrets: absent,
    problem: combine([absent, malformed]),
    identity: decoded === null || 'problem' in decoded ? null : decoded,
    connectorToken: typeof token === 'string' && malformed === null ? token : null,
    apiToken: typeof apiToken === 'string' ? apiToken : null,
  };
}
