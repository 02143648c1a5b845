// The connections of every tunnel: who may register, and which one serves the next request.
import { randomUUID, timingSafeEqual } from 'node:crypto';
import type { ConnectionResponse, Registration } from '#proxy/connector/rpc.ts';
import type { Link } from './link.ts';
import type { EdgeAuthority, EdgeConnection, Refusal } from './types.ts';

export interface RegistryOptions {
  readonly authority: EdgeAuthority;
  readonly choice: 'round-robin' | 'random';
  readonly colo: string;
  /** A refusal that is in force now, whoever asks. */
  readonly refusal: () => Refusal | null;
}

export class Registry {
  readonly #options: RegistryOptions;
  readonly #links = new Map<string, Set<Link>>();
  readonly #farewells = new Map<Link, () => void>();
  #turn = 0;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  register(link: Link, registration: Registration, originIp: string): ConnectionResponse {
    const refusal = this.#options.refusal();
    if (refusal !== null) return refuse(refusal.cause, refusal.retry, refusal.retryAfterMs);
    const tunnelId = formatUuid(registration.tunnelId);
    const connectorId = formatUuid(registration.clientId);
    const tunnel = tunnelId === null ? undefined : this.#options.authority.tunnel(tunnelId);
    if (tunnelId === null || tunnel === undefined) return refuse('Unauthorized: Tunnel not found', false, 0);
    if (tunnel.accountTag !== registration.account) return refuse('Unauthorized: Invalid account tag', false, 0);
    if (!sameBytes(Buffer.from(tunnel.secret, 'base64'), registration.secret))
      return refuse('Unauthorized: Invalid tunnel secret', false, 0);
    if (connectorId === null) return refuse('Bad request: invalid connector ID', false, 0);
    if (link.identity !== null) return refuse('EDUPCONN', true, 0);
    const twin = this.#find(tunnelId, connectorId, registration.connectionIndex);
    if (twin !== undefined && !registration.replaceExisting) return refuse('EDUPCONN', true, 0);
    twin?.destroy();
    const identity = { id: randomUUID(), tunnelId, connectorId, registration, originIp, openedAt: new Date().toISOString() };
    link.identity = identity;
    this.#of(tunnelId).add(link);
    this.#announce(link);
    return {
      kind: 'details',
      connectionId: Buffer.from(identity.id.replaceAll('-', ''), 'hex'),
      location: this.#options.colo,
      remotelyManaged: tunnel.configSrc === 'cloudflare',
    };
  }

  remove(link: Link): void {
    if (link.identity !== null) this.#of(link.identity.tunnelId).delete(link);
    this.#farewells.get(link)?.();
    this.#farewells.delete(link);
  }

  /** A connection for a visitor, or null. One that already runs with a document is preferred: the others answer 503 for an instant. */
  choose(tunnelId: string, except: ReadonlySet<Link>): Link | null {
    const usable = this.links(tunnelId).filter((link) => link.isUsable && !except.has(link));
    const ready = usable.filter((link) => link.hasDocument);
    const candidates = ready.length > 0 ? ready : usable;
    this.#turn += 1;
    const index = this.#options.choice === 'random' ? Math.floor(Math.random() * candidates.length) : this.#turn % candidates.length;
    return candidates[index] ?? null;
  }

  links(tunnelId: string): readonly Link[] {
    return [...(this.#links.get(tunnelId) ?? [])];
  }

  all(): readonly Link[] {
    return [...this.#links.values()].flatMap((links) => [...links]);
  }

  views(tunnelId: string): readonly EdgeConnection[] {
    return this.links(tunnelId).flatMap((link) => link.view ?? []);
  }

  #of(tunnelId: string): Set<Link> {
    const links = this.#links.get(tunnelId) ?? new Set();
    this.#links.set(tunnelId, links);
    return links;
  }

  #find(tunnelId: string, connectorId: string, index: number): Link | undefined {
    return this.links(tunnelId).find(
      ({ identity }) => identity?.connectorId === connectorId && identity.registration.connectionIndex === index,
    );
  }

  #announce(link: Link): void {
    const { authority, colo } = this.#options;
    if (link.identity === null || authority.connected === undefined) return;
    const { id, connectorId, tunnelId, registration, originIp, openedAt } = link.identity;
    const connection = { id, clientId: connectorId, clientVersion: registration.version, colo, originIp, openedAt };
    this.#farewells.set(link, authority.connected(tunnelId, connection));
  }
}

function refuse(cause: string, shouldRetry: boolean, retryAfterMs: number): ConnectionResponse {
  return { kind: 'error', cause, shouldRetry, retryAfterMs };
}

function formatUuid(bytes: Uint8Array): string | null {
  if (bytes.length !== 16) return null;
  const hex = Buffer.from(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
