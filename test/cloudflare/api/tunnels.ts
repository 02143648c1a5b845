// /accounts/{account}/cfd_tunnel: tunnels, their tokens, connections and configuration documents.
import { Router, type Request, type Response } from 'express';
import { requireOnAccount } from './auth.ts';
import { fault, query, sendPage, sendResult } from './envelope.ts';
import { validDocument } from './ingress.ts';
import { addTunnel, connectorToken, timestamp, type ApiToken, type State, type Tunnel, type TunnelDocument } from './state.ts';

type Body = Readonly<Record<string, unknown>>;
type Params = { readonly account: string; readonly tunnel: string };

export interface TunnelEvents {
  readonly configured: (tunnel: Tunnel) => void;
}

function connectionResult(tunnel: Tunnel): readonly unknown[] {
  return [...tunnel.connections.values()].map((connection) => ({
    id: connection.id,
    uuid: connection.id,
    client_id: connection.clientId,
    client_version: connection.clientVersion,
    colo_name: connection.colo,
    is_pending_reconnect: false,
    opened_at: connection.openedAt,
    origin_ip: connection.originIp,
  }));
}

/** Connectors with the connections that each has. */
function clientResult(tunnel: Tunnel): readonly unknown[] {
  const byClient = Map.groupBy(tunnel.connections.values(), (connection) => connection.clientId);
  return [...byClient].map(([id, connections]) => ({
    id,
    arch: 'linux_amd64',
    config_version: tunnel.document.version,
    features: ['allow_remote_config', 'serialized_headers'],
    version: connections[0]?.clientVersion,
    run_at: connections[0]?.openedAt,
    conns: connections.map((connection) => ({
      id: connection.id,
      uuid: connection.id,
      client_id: id,
      client_version: connection.clientVersion,
      colo_name: connection.colo,
      is_pending_reconnect: false,
      opened_at: connection.openedAt,
      origin_ip: connection.originIp,
    })),
  }));
}

function tunnelResult(tunnel: Tunnel): Body {
  const connected = tunnel.connections.size;
  return {
    id: tunnel.id,
    account_tag: tunnel.accountId,
    created_at: tunnel.createdAt,
    deleted_at: tunnel.deletedAt,
    name: tunnel.name,
    connections: connectionResult(tunnel),
    conns_active_at: connected > 0 ? tunnel.createdAt : null,
    conns_inactive_at: connected > 0 ? null : tunnel.createdAt,
    tun_type: 'cfd_tunnel',
    metadata: tunnel.metadata,
    status: connected === 0 ? 'inactive' : connected < 4 ? 'degraded' : 'healthy',
    remote_config: tunnel.configSrc === 'cloudflare',
    config_src: tunnel.configSrc,
  };
}

function configurationResult(tunnel: Tunnel): Body {
  return {
    account_id: tunnel.accountId,
    tunnel_id: tunnel.id,
    version: tunnel.document.version,
    config: tunnel.document.config,
    source: tunnel.configSrc,
    created_at: tunnel.createdAt,
  };
}

/** Stores a valid document under the next version. Used by PUT and by writers that are not the API's caller. */
export function putDocument(state: State, events: TunnelEvents, tunnel: Tunnel, config: unknown): TunnelDocument {
  const next = validDocument(config, state.ruleLimit);
  tunnel.document = { version: tunnel.document.version + 1, config: next };
  events.configured(tunnel);
  return tunnel.document;
}

/** Filters of the list, by the names of the query parameters. */
function listed(tunnel: Tunnel, request: Request): boolean {
  const deleted = query(request, 'is_deleted');
  if (deleted !== undefined && (deleted === 'true') !== (tunnel.deletedAt !== null)) return false;
  const name = query(request, 'name');
  if (name !== undefined && name !== tunnel.name) return false;
  const uuid = query(request, 'uuid');
  if (uuid !== undefined && uuid !== tunnel.id) return false;
  const prefix = query(request, 'include_prefix');
  if (prefix !== undefined && !tunnel.name.startsWith(prefix)) return false;
  const excluded = query(request, 'exclude_prefix');
  if (excluded !== undefined && tunnel.name.startsWith(excluded)) return false;
  const status = query(request, 'status');
  return status === undefined || status === tunnelResult(tunnel)['status'];
}

export function tunnelRoutes(state: State, events: TunnelEvents): Router {
  const router = Router({ mergeParams: true });
  const token = (response: Response): ApiToken => response.locals['token'] as ApiToken;

  const may = (request: Request<Params>, response: Response, permission: 'Read' | 'Edit'): void =>
    requireOnAccount(state, token(response), request.params.account, `Cloudflare Tunnel: ${permission}`);

  const find = (request: Request<Params>): Tunnel => {
    const { account, tunnel: id } = request.params;
    const tunnel = /^[0-9a-f-]{36}$/.test(id) ? state.tunnels.get(id) : undefined;
    if (tunnel === undefined || tunnel.accountId !== account) throw fault(404, 1003, 'Tunnel not found');
    return tunnel;
  };
  const findLive = (request: Request<Params>): Tunnel => {
    const tunnel = find(request);
    if (tunnel.deletedAt !== null) throw fault(404, 1003, 'Tunnel not found');
    return tunnel;
  };

  router.get('/', (request: Request<Params>, response) => {
    may(request, response, 'Read');
    const mine = [...state.tunnels.values()].filter((tunnel) => tunnel.accountId === request.params.account && listed(tunnel, request));
    sendPage(request, response, mine.map(tunnelResult), { usual: 100, most: 1000 });
  });

  router.post('/', (request: Request<Params>, response) => {
    may(request, response, 'Edit');
    const { name, config_src: configSrc = 'local', tunnel_secret: secret, metadata } = request.body as Body;
    if (typeof name !== 'string' || name === '') throw fault(400, 1001, 'name is required');
    if (configSrc !== 'local' && configSrc !== 'cloudflare') throw fault(400, 1001, 'config_src must be local or cloudflare');
    if (secret !== undefined && (typeof secret !== 'string' || Buffer.from(secret, 'base64').length < 32)) {
      throw fault(400, 1001, 'tunnel_secret must be at least 32 bytes in base64');
    }
    for (const other of state.tunnels.values()) {
      if (other.accountId === request.params.account && other.name === name && other.deletedAt === null) {
        throw fault(409, 1013, 'You already have a tunnel with this name. Choose another name, or delete that tunnel');
      }
    }
    const alive = [...state.tunnels.values()].filter(
      ({ accountId, deletedAt }) => accountId === request.params.account && deletedAt === null,
    );
    // The real code is not documented.
    if (alive.length >= state.tunnelLimit) throw fault(400, 1010, 'You have reached the limit of tunnels for your account');
    const tunnel = addTunnel(state, request.params.account, {
      name,
      configSrc,
      ...(secret === undefined ? {} : { secret }),
      ...(typeof metadata === 'object' && metadata !== null ? { metadata: metadata as Body } : {}),
    });
    sendResult(response, {
      ...tunnelResult(tunnel),
      credentials_file: { AccountTag: tunnel.accountId, TunnelID: tunnel.id, TunnelName: tunnel.name, TunnelSecret: tunnel.secret },
      token: connectorToken(tunnel),
    });
  });

  router.get('/:tunnel', (request: Request<Params>, response) => {
    may(request, response, 'Read');
    sendResult(response, tunnelResult(find(request)));
  });

  router.delete('/:tunnel', (request: Request<Params>, response) => {
    may(request, response, 'Edit');
    const tunnel = findLive(request);
    if (tunnel.connections.size > 0) {
      throw fault(400, 1022, 'Cannot delete tunnel because it has active connections');
    }
    tunnel.deletedAt = timestamp(state);
    sendResult(response, tunnelResult(tunnel));
  });

  router.get('/:tunnel/token', (request: Request<Params>, response) => {
    may(request, response, 'Edit');
    sendResult(response, connectorToken(findLive(request)));
  });

  router.get('/:tunnel/connections', (request: Request<Params>, response) => {
    may(request, response, 'Read');
    sendResult(response, clientResult(findLive(request)));
  });

  router.delete('/:tunnel/connections', (request: Request<Params>, response) => {
    may(request, response, 'Edit');
    const tunnel = findLive(request);
    const client = query(request, 'client_id');
    for (const [id, connection] of tunnel.connections) {
      if (client === undefined || client === connection.clientId) tunnel.connections.delete(id);
    }
    sendResult(response, null);
  });

  router.get('/:tunnel/configurations', (request: Request<Params>, response) => {
    may(request, response, 'Read');
    sendResult(response, configurationResult(findLive(request)));
  });

  router.put('/:tunnel/configurations', (request: Request<Params>, response) => {
    may(request, response, 'Edit');
    const tunnel = findLive(request);
    putDocument(state, events, tunnel, (request.body as Body)['config']);
    sendResult(response, configurationResult(tunnel));
  });

  return router;
}
