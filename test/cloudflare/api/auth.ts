// Who is asking, and may they: API tokens and their permissions, as the API answers for missing ones.
import type { Request } from 'express';
import { ApiFault, fault } from './envelope.ts';
import type { ApiToken, Permission, State } from './state.ts';

/** The token of a request; throws what the API answers to a missing, malformed or unknown one. */
export function authenticate(state: State, request: Request): ApiToken {
  const header = request.headers.authorization;
  if (header === undefined) throw fault(400, 9106, 'Missing X-Auth-Key, X-Auth-Email or Authorization headers');
  const value = /^Bearer ([A-Za-z0-9_-]{20,120})$/.exec(header)?.[1];
  if (value === undefined) {
    throw new ApiFault(400, {
      code: 6003,
      message: 'Invalid request headers',
      error_chain: [{ code: 6111, message: 'Invalid format for Authorization header' }],
    });
  }
  const token = state.tokens.get(value);
  if (token === undefined || token.revoked) {
    throw request.path.endsWith('/tokens/verify') ? fault(401, 1000, 'Invalid API Token') : fault(401, 9109, 'Invalid access token');
  }
  return token;
}

const implied: Partial<Record<Permission, Permission>> = {
  'Cloudflare Tunnel: Read': 'Cloudflare Tunnel: Edit',
  'DNS: Read': 'DNS: Edit',
};

function holds(token: ApiToken, permission: Permission): boolean {
  const stronger = implied[permission];
  return token.permissions.includes(permission) || (stronger !== undefined && token.permissions.includes(stronger));
}

export const seesAccount = (token: ApiToken, accountId: string): boolean => token.accounts === null || token.accounts.includes(accountId);

export const seesZone = (token: ApiToken, zoneId: string, accountId: string): boolean =>
  seesAccount(token, accountId) && (token.zones === null || token.zones.includes(zoneId));

const refused = (): ApiFault => fault(403, 10000, 'Authentication error');

/** A foreign account and an account that does not exist look alike: the API tells no one which ids exist. */
export function requireOnAccount(state: State, token: ApiToken, accountId: string, permission: Permission): void {
  if (!state.accounts.has(accountId) || !seesAccount(token, accountId) || !holds(token, permission)) throw refused();
}

export function requireOnZone(state: State, token: ApiToken, zoneId: string, permission: Permission): void {
  const zone = state.zones.get(zoneId);
  if (zone === undefined || !seesZone(token, zoneId, zone.accountId) || !holds(token, permission)) throw refused();
}

export const mayListZones = (token: ApiToken): boolean => holds(token, 'Zone: Read') || holds(token, 'DNS: Read');
