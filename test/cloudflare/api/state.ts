// What the double remembers: accounts, zones, API tokens, tunnels with their documents, DNS records.
import { randomBytes, randomUUID } from 'node:crypto';

export type Permission =
  | 'Account Settings: Read'
  | 'Cloudflare Tunnel: Read'
  | 'Cloudflare Tunnel: Edit'
  | 'Zone: Read'
  | 'DNS: Read'
  | 'DNS: Edit';

export interface Account {
  readonly id: string;
  readonly name: string;
}

export interface Zone {
  readonly id: string;
  readonly name: string;
  readonly accountId: string;
}

export interface ApiToken {
  readonly id: string;
  /** What the request log calls it; the value itself is never logged. */
  readonly name: string;
  readonly value: string;
  readonly kind: 'user' | 'account';
  readonly permissions: readonly Permission[];
  /** Accounts and zones that the permissions hold for; null means all. */
  readonly accounts: readonly string[] | null;
  readonly zones: readonly string[] | null;
  revoked: boolean;
}

/** A tunnel's configuration as the API stores it; null until the first write. */
export interface TunnelDocument {
  readonly version: number;
  readonly config: Readonly<Record<string, unknown>> | null;
}

export interface TunnelConnection {
  readonly id: string;
  readonly clientId: string;
  readonly clientVersion: string;
  readonly colo: string;
  readonly originIp: string;
  readonly openedAt: string;
}

export interface Tunnel {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly configSrc: 'local' | 'cloudflare';
  /** Base64. */
  readonly secret: string;
  readonly createdAt: string;
  /** What its maker sent along. */
  readonly metadata: Readonly<Record<string, unknown>>;
  deletedAt: string | null;
  document: TunnelDocument;
  readonly connections: Map<string, TunnelConnection>;
}

export interface DnsRecord {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly content: string;
  readonly proxied: boolean;
  readonly ttl: number;
  readonly comment: string | null;
  readonly tags: readonly string[];
  readonly created_on: string;
  readonly modified_on: string;
}

export interface State {
  readonly accounts: Map<string, Account>;
  readonly zones: Map<string, Zone>;
  readonly tokens: Map<string, ApiToken>;
  readonly tunnels: Map<string, Tunnel>;
  /** By zone, then by record. */
  readonly records: Map<string, ReadonlyMap<string, DnsRecord>>;
  /** The most rules that a document may have. */
  readonly ruleLimit: number;
  /** The most tunnels that an account may have. */
  readonly tunnelLimit: number;
  readonly now: () => number;
}

export function createState(ruleLimit: number, tunnelLimit: number, now: () => number): State {
  return { accounts: new Map(), zones: new Map(), tokens: new Map(), tunnels: new Map(), records: new Map(), ruleLimit, tunnelLimit, now };
}

export const hexId = (): string => randomBytes(16).toString('hex');

export const timestamp = (state: State): string => new Date(state.now()).toISOString();

export interface TunnelSeed {
  readonly id?: string;
  readonly name: string;
  readonly configSrc?: 'local' | 'cloudflare';
  /** Base64, at least 32 bytes. */
  readonly secret?: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export function addTunnel(state: State, accountId: string, seed: TunnelSeed): Tunnel {
  const tunnel: Tunnel = {
    id: seed.id ?? randomUUID(),
    accountId,
    name: seed.name,
    configSrc: seed.configSrc ?? 'cloudflare',
    secret: seed.secret ?? randomBytes(32).toString('base64'),
    createdAt: timestamp(state),
    metadata: seed.metadata ?? {},
    deletedAt: null,
    document: seed.config === undefined ? { version: 0, config: null } : { version: 1, config: seed.config },
    connections: new Map(),
  };
  state.tunnels.set(tunnel.id, tunnel);
  return tunnel;
}

/** What `cloudflared tunnel run --token` takes: base64 of account, tunnel and secret. */
export function connectorToken(tunnel: Tunnel): string {
  return Buffer.from(JSON.stringify({ a: tunnel.accountId, t: tunnel.id, s: tunnel.secret })).toString('base64');
}
