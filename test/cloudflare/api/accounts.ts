// /accounts, /zones and the two ways to verify an API token.
import { Router, type Response } from 'express';
import { mayListZones, requireOnZone, seesAccount, seesZone } from './auth.ts';
import { fault, query, sendPage, sendResult } from './envelope.ts';
import type { ApiToken, State, Zone } from './state.ts';

const tokenOf = (response: Response): ApiToken => response.locals['token'] as ApiToken;

export function accountRoutes(state: State): Router {
  const router = Router();
  const accountResult = ({ id, name }: { id: string; name: string }) => ({
    id,
    name,
    type: 'standard',
    settings: { enforce_twofactor: false },
    created_on: '2026-01-01T00:00:00Z',
  });

  router.get('/accounts', (request, response) => {
    const name = query(request, 'name');
    const seen = [...state.accounts.values()].filter(
      (account) => seesAccount(tokenOf(response), account.id) && (name === undefined || account.name.includes(name)),
    );
    if (query(request, 'direction') === 'desc') seen.reverse();
    sendPage(request, response, seen.map(accountResult), { usual: 20, most: 50 });
  });

  router.get('/accounts/:account', (request, response) => {
    const account = state.accounts.get(request.params.account);
    if (account === undefined || !seesAccount(tokenOf(response), account.id))
      throw fault(403, 9109, 'Unauthorized to access requested resource');
    sendResult(response, accountResult(account));
  });

  const verified = (response: Response): void =>
    sendResult(response, { id: tokenOf(response).id, status: 'active' }, undefined, [
      { code: 10000, message: 'This API Token is valid and active' },
    ]);

  // A token that an account owns is unknown to the user's endpoint, and the reverse.
  router.get('/user/tokens/verify', (_request, response) => {
    if (tokenOf(response).kind !== 'user') throw fault(401, 1000, 'Invalid API Token');
    verified(response);
  });

  router.get('/accounts/:account/tokens/verify', (request, response) => {
    const token = tokenOf(response);
    if (token.kind !== 'account' || !seesAccount(token, request.params.account)) throw fault(401, 1000, 'Invalid API Token');
    verified(response);
  });
  return router;
}

export function zoneRoutes(state: State): Router {
  const router = Router();
  const zoneResult = (zone: Zone) => ({
    id: zone.id,
    name: zone.name,
    status: 'active',
    paused: false,
    type: 'full',
    account: { id: zone.accountId, name: state.accounts.get(zone.accountId)?.name },
    name_servers: ['ns1.cloudflare.test', 'ns2.cloudflare.test'],
    permissions: ['#zone:read'],
    plan: { name: 'Free Website' },
  });

  router.get('/zones', (request, response) => {
    const token = tokenOf(response);
    const name = query(request, 'name');
    const account = query(request, 'account.id');
    const status = query(request, 'status');
    const seen = [...state.zones.values()].filter(
      (zone) =>
        mayListZones(token) &&
        seesZone(token, zone.id, zone.accountId) &&
        (name === undefined || name === zone.name) &&
        (account === undefined || account === zone.accountId) &&
        (status === undefined || status === 'active'),
    );
    sendPage(request, response, seen.map(zoneResult), { usual: 20, most: 50 });
  });

  router.get('/zones/:zone', (request, response) => {
    requireOnZone(state, tokenOf(response), request.params.zone, 'Zone: Read');
    const zone = state.zones.get(request.params.zone);
    if (zone === undefined) throw fault(404, 1001, 'Zone not found');
    sendResult(response, zoneResult(zone));
  });
  return router;
}
