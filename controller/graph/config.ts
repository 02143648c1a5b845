// GatewayClassConfig: its Secret, and which tunnel of which account it means.
import * as cause from '../api/cause-class.ts';
import { combine, type Cause } from '../api/condition.ts';
import type { Secret } from '../api/core.ts';
import type { GatewayClassConfig } from '../api/own.ts';
import { keyOf, type Key } from '../api/ref.ts';
import type { Settings } from '../api/settings.ts';
import { ACCOUNT_ID, decodeToken, secretValue, type TunnelToken } from './token.ts';
import type { ConfigNode, TunnelIdentity } from './types.ts';

const TOKEN_KEY = 'tunnel-token';
const ACCOUNT_KEY = 'account-id';

/** Null where nothing is done at Cloudflare. */
export function credentialsKey(config: GatewayClassConfig, settings: Settings): Key | null {
  const ref = config.spec.cloudflareCredentialsSecretRef;
  return ref === undefined || config.spec.entry === 'Local' ? null : keyOf(ref.namespace || settings.controllerNamespace, ref.name);
}

type Connector =
  | { readonly kind: 'unset' }
  | { readonly kind: 'absent'; readonly secret: Key }
  | { readonly kind: 'unreadable'; readonly cause: Cause }
  | { readonly kind: 'read'; readonly secret: Key; readonly token: TunnelToken };

/** The connector token that the controller was told to read: what the proxies are connected to, hence the first source. */
function readConnector(secrets: ReadonlyMap<Key, Secret>, settings: Settings): Connector {
  const key = settings.tokenSecret;
  if (key === null) return { kind: 'unset' };
  const secret = secrets.get(key);
  if (secret === undefined) return { kind: 'absent', secret: key };
  const value = secretValue(secret, TOKEN_KEY);
  if (value === undefined || value === '') return { kind: 'unreadable', cause: cause.tokenKeyMissing(key) };
  const token = value === null ? { problem: 'it is not text' } : decodeToken(value);
  if ('problem' in token) return { kind: 'unreadable', cause: cause.tokenInvalid(key, token.problem) };
  return { kind: 'read', secret: key, token };
}

interface Credentials {
  readonly apiToken: string | null;
  readonly accountId: string | null;
  readonly missing: Cause | null;
  readonly malformed: Cause | null;
}

function readCredentials(config: GatewayClassConfig, secrets: ReadonlyMap<Key, Secret>, settings: Settings): Credentials {
  const name = credentialsKey(config, settings);
  if (name === null) {
    const missing = config.spec.entry === 'Local' ? null : cause.credentialsMissing();
    return { apiToken: null, accountId: null, missing, malformed: null };
  }
  const key = config.spec.cloudflareCredentialsSecretRef?.key || 'api-token';
  const secret = secrets.get(name);
  if (secret === undefined) return { apiToken: null, accountId: null, missing: cause.secretNotFound(name, key), malformed: null };

  const account = secretValue(secret, ACCOUNT_KEY) ?? '';
  const accountId = ACCOUNT_ID.test(account) ? account : null;
  const malformed = account !== '' && accountId === null ? cause.secretAccountInvalid(name) : null;

  const token = secretValue(secret, key);
  if (token === undefined) return { apiToken: null, accountId, missing: cause.secretKeyMissing(name, key), malformed };
  if (token === null) return { apiToken: null, accountId, missing: cause.secretKeyNotText(name, key), malformed };
  if (token === '') return { apiToken: null, accountId, missing: cause.secretKeyEmpty(name, key), malformed };
  return { apiToken: token, accountId, missing: null, malformed };
}

interface Identification {
  readonly identity: TunnelIdentity | null;
  readonly problems: readonly Cause[];
}

/**
 * Tunnel and account: the connector token where it can be read, else what is configured. Contradictions are reported, never resolved by
 * guessing: nothing is written at Cloudflare. The proxies go on with the tunnel that is configured, as a wrong Secret must not end traffic.
 */
function identify(config: GatewayClassConfig, fromSecret: string | null, connector: Connector): Identification {
  const tunnelId = config.spec.tunnelID?.toLowerCase();
  const accountId = config.spec.accountId || null;
  if (makesTunnels(config)) return { identity: null, problems: [] };
  if (config.spec.entry === 'Local') return { identity: null, problems: [] };
  if (tunnelId === undefined && !config.spec.deriveFromToken) return { identity: null, problems: [cause.tunnelIdMissing()] };

  if (connector.kind === 'read') return compareWithToken(tunnelId, accountId, fromSecret, connector);

  const configured = tunnelId === undefined ? null : { tunnelId, accountId: accountId ?? fromSecret };
  if (connector.kind === 'unreadable') return { identity: configured, problems: [connector.cause] };
  if (configured !== null) return { identity: configured, problems: [] };
  const problem = connector.kind === 'absent' ? cause.tokenSecretNotFound(connector.secret) : cause.deriveWithoutTokenSecret();
  return { identity: null, problems: [problem] };
}

function compareWithToken(
  tunnelId: string | undefined,
  accountId: string | null,
  fromSecret: string | null,
  { secret, token }: Connector & { readonly kind: 'read' },
): Identification {
  const problems: Cause[] = [];
  if (tunnelId !== undefined && tunnelId !== token.tunnelId) problems.push(cause.tunnelContradiction(tunnelId, secret, token.tunnelId));
  if (accountId !== null && accountId !== token.accountId) {
    problems.push(cause.accountContradiction('spec.accountId', accountId, secret, token.accountId));
  } else if (accountId === null && fromSecret !== null && fromSecret !== token.accountId) {
    const field = 'key account-id of the Secret in spec.cloudflareCredentialsSecretRef';
    problems.push(cause.accountContradiction(field, fromSecret, secret, token.accountId));
  }
  if (problems.length > 0) return { identity: { tunnelId: tunnelId ?? token.tunnelId, accountId: null }, problems };
  return { identity: { tunnelId: token.tunnelId, accountId: token.accountId }, problems };
}

export const makesTunnels = ({ spec }: GatewayClassConfig): boolean => spec.tunnels === 'PerGateway' && spec.entry !== 'Local';

const offersLocal = (config: GatewayClassConfig): boolean => config.spec.entry === 'Local' || config.spec.entry === 'Both';

export function buildConfig(config: GatewayClassConfig, secrets: ReadonlyMap<Key, Secret>, settings: Settings): ConfigNode {
  const credentials = readCredentials(config, secrets, settings);
  const { identity, problems } = identify(config, credentials.accountId, readConnector(secrets, settings));
  const entry = config.spec.entry ?? 'Tunnel';
  const unavailable = offersLocal(config) && !settings.localEntry ? cause.localEntryUnavailable(entry) : null;
  const unmakeable = makesTunnels(config) && !settings.makesTunnels ? cause.tunnelsUnavailable() : null;
  return {
    object: config,
    secrets: credentials.missing,
    problem: combine([credentials.missing, credentials.malformed, ...problems, unavailable, unmakeable]),
    identity,
    apiToken: credentials.apiToken,
    policy: config.spec.configPolicy ?? 'Exclusive',
    perGateway: makesTunnels(config) && unmakeable === null ? { accountId: config.spec.accountId || credentials.accountId } : null,
    certificates: config.spec.edge?.certificates ?? 'Require',
    entry,
    local: offersLocal(config) && settings.localEntry ? { serviceType: config.spec.service?.type ?? 'ClusterIP' } : null,
  };
}
