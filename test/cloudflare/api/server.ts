// A stateful stand-in for Cloudflare's API over real HTTP, good enough for an unmodified `cloudflare` client.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import { accountRoutes, zoneRoutes } from './accounts.ts';
import { authenticate } from './auth.ts';
import { createAuthority, type Authority, type ConfigListener } from './authority.ts';
import { Transaction } from './dns.ts';
import { dnsRoutes } from './dns-routes.ts';
import { ApiFault, fault, sendFault } from './envelope.ts';
import { Faults, type FaultRule, type Match, type Trouble } from './faults.ts';
import { RateWindows, type RateLimit } from './rate-limit.ts';
import { addTunnel, connectorToken, createState, hexId, timestamp } from './state.ts';
import type { Account, ApiToken, DnsRecord, Permission, State, Tunnel, TunnelDocument, TunnelSeed, Zone } from './state.ts';
import { putDocument, tunnelRoutes, type TunnelEvents } from './tunnels.ts';

export interface TokenSeed {
  readonly name: string;
  /** Default: random. */
  readonly value?: string;
  /** Owned by a user (default) or by an account. */
  readonly kind?: 'user' | 'account';
  /** Default: everything that the double knows. */
  readonly permissions?: readonly Permission[];
  /** Ids; default: all accounts, all their zones. */
  readonly accounts?: readonly string[];
  readonly zones?: readonly string[];
}

export interface CloudflareApiOptions {
  /** Where it listens; loopback by default. */
  readonly host?: string;
  /** Default: any free port. */
  readonly port?: number;
  /** Default: Cloudflare's 1,200 calls in five minutes. */
  readonly rateLimit?: RateLimit;
  /** The most ingress rules of a document. Default 1,000. */
  readonly ruleLimit?: number;
  /** The most tunnels of an account. Default 1,000. */
  readonly tunnelLimit?: number;
  readonly now?: () => number;
}

/** One request as it came in; no credentials in it. `status` is null while it is open, and for ever if it was never answered. */
export interface LoggedRequest {
  readonly method: string;
  /** Below the base path, without the query. */
  readonly path: string;
  readonly query: string;
  /** Name of the API token, null when it was not recognised. */
  readonly token: string | null;
  readonly status: number | null;
  readonly trouble?: Trouble;
}

export interface CloudflareApiDouble {
  /** Base URL for clients: `http://<host>:<port>/client/v4`. */
  readonly url: string;
  readonly authority: Authority;
  /** The last 10,000. */
  readonly requests: readonly LoggedRequest[];
  addAccount(seed: { readonly id?: string; readonly name: string }): Account;
  addZone(accountId: string, name: string): Zone;
  addToken(seed: TokenSeed): ApiToken;
  revokeToken(token: ApiToken): void;
  addTunnel(accountId: string, seed: TunnelSeed): Tunnel;
  deleteTunnel(tunnelId: string): void;
  /** Those that are not deleted. */
  tunnels(): readonly Tunnel[];
  /** The token that cloudflared takes for the tunnel. */
  connectorToken(tunnelId: string): string;
  document(tunnelId: string): TunnelDocument;
  /** Another writer: the dashboard, terraform. Validates as PUT does and returns the new document. */
  writeConfig(tunnelId: string, config: unknown): TunnelDocument;
  records(zoneId: string): readonly DnsRecord[];
  addRecord(zoneId: string, record: Readonly<Record<string, unknown>>): DnsRecord;
  /** The next `times` matching requests get this trouble; the returned function calls it off. */
  fail(rule: FaultRule): () => void;
  /** Runs `action` just before the next matching request is handled. */
  before(match: Match, action: () => void | Promise<void>, times?: number): () => void;
  /** Slows matching requests down until the returned function is called. */
  delay(match: Match, milliseconds: number): () => void;
  close(): Promise<void>;
}

const everything: readonly Permission[] = ['Account Settings: Read', 'Cloudflare Tunnel: Edit', 'Zone: Read', 'DNS: Edit'];

/** The quick start runs for days. */
const LONGEST_LOG = 10_000;

type OpenEntry = { -readonly [K in keyof LoggedRequest]: LoggedRequest[K] };

function buildApp(state: State, faults: Faults, rates: RateWindows, log: LoggedRequest[], events: TunnelEvents): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  const api = express.Router();

  api.use((request: Request, response: Response, next) => {
    const entry: OpenEntry = {
      method: request.method,
      path: request.path,
      query: new URL(request.url, 'http://double').search.slice(1),
      token: null,
      status: null,
    };
    log.push(entry);
    if (log.length > LONGEST_LOG) log.shift();
    response.locals['entry'] = entry;
    response.on('close', () => {
      if (response.headersSent) entry.status = response.statusCode;
      const trouble = response.locals['outcome'] as Trouble | undefined;
      if (trouble !== undefined) entry.trouble = trouble;
    });
    next();
  });
  api.use((request, response, next) => {
    const token = authenticate(state, request);
    response.locals['token'] = token;
    response.locals['tokenName'] = token.name;
    (response.locals['entry'] as OpenEntry).token = token.name;
    rates.count(token, response);
    next();
  });
  api.use(faults.handler());
  api.use(express.json({ limit: '20mb', strict: true }));
  api.use((request, _response, next) => {
    if (request.body === undefined || typeof request.body !== 'object') request.body = {};
    next();
  });
  api.use(accountRoutes(state));
  api.use('/accounts/:account/cfd_tunnel', tunnelRoutes(state, events));
  api.use(zoneRoutes(state));
  api.use('/zones/:zone/dns_records', dnsRoutes(state));
  api.use((request) => {
    throw fault(404, 7000, `No route for that URI: ${request.method} ${request.path}`);
  });
  app.use('/client/v4', api);

  const onError: ErrorRequestHandler = (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    if (error instanceof ApiFault) return sendFault(response, error);
    const status = (error as { status?: unknown }).status;
    const known = typeof status === 'number' && status >= 400 && status < 500;
    return sendFault(response, known ? fault(status, 1001, 'Could not read the request body') : fault(500, 1001, 'Internal error'));
  };
  app.use(onError);
  return app;
}

/** Starts the double on loopback. It has no accounts and no tokens yet: add them. */
export async function startCloudflareApi(options: CloudflareApiOptions = {}): Promise<CloudflareApiDouble> {
  const now = options.now ?? Date.now;
  const state = createState(options.ruleLimit ?? 1000, options.tunnelLimit ?? 1000, now);
  const listeners = new Set<ConfigListener>();
  const log: LoggedRequest[] = [];
  const faults = new Faults();
  const events: TunnelEvents = {
    configured: (tunnel) => {
      for (const listener of listeners) listener(tunnel.id, tunnel.document);
    },
  };
  const rates = new RateWindows(options.rateLimit ?? { limit: 1200, windowMs: 300_000 }, now);
  const server = createServer(buildApp(state, faults, rates, log, events));
  const host = options.host ?? '127.0.0.1';
  server.listen(options.port ?? 0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const tunnelOf = (id: string): Tunnel => {
    const tunnel = state.tunnels.get(id);
    if (tunnel === undefined) throw new Error(`no tunnel ${id} in the double`);
    return tunnel;
  };

  return {
    url: `http://${host}:${port}/client/v4`,
    authority: createAuthority(state, listeners),
    requests: log,
    addAccount(seed) {
      const account: Account = { id: seed.id ?? hexId(), name: seed.name };
      state.accounts.set(account.id, account);
      return account;
    },
    addZone(accountId, name) {
      if ([...state.zones.values()].some((zone) => zone.name === name)) throw new Error(`the double has a zone ${name} already`);
      const zone: Zone = { id: hexId(), name, accountId };
      state.zones.set(zone.id, zone);
      return zone;
    },
    addToken(seed) {
      const token: ApiToken = {
        id: hexId(),
        name: seed.name,
        value: seed.value ?? `cfut_${hexId()}`,
        kind: seed.kind ?? 'user',
        permissions: seed.permissions ?? everything,
        accounts: seed.accounts ?? null,
        zones: seed.zones ?? null,
        revoked: false,
      };
      state.tokens.set(token.value, token);
      return token;
    },
    revokeToken(token) {
      token.revoked = true;
    },
    addTunnel: (accountId, seed) => addTunnel(state, accountId, seed),
    tunnels: () => [...state.tunnels.values()].filter(({ deletedAt }) => deletedAt === null),
    deleteTunnel(tunnelId) {
      tunnelOf(tunnelId).deletedAt = timestamp(state);
    },
    connectorToken: (tunnelId) => connectorToken(tunnelOf(tunnelId)),
    document: (tunnelId) => tunnelOf(tunnelId).document,
    writeConfig: (tunnelId, config) => putDocument(state, events, tunnelOf(tunnelId), config),
    records: (zoneId) => [...(state.records.get(zoneId)?.values() ?? [])],
    addRecord(zoneId, record) {
      const zone = state.zones.get(zoneId);
      if (zone === undefined) throw new Error(`no zone ${zoneId} in the double`);
      const transaction = new Transaction(zone, state.records.get(zoneId) ?? new Map(), timestamp(state));
      const made = transaction.create(record);
      state.records.set(zoneId, transaction.records);
      return made;
    },
    fail: (rule) => faults.fail(rule),
    before: (match, action, times) => faults.before(match, action, times),
    delay: (match, milliseconds) => faults.delay(match, milliseconds),
    async close() {
      faults.clear();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
