// A Cloudflare edge on loopback: connectors register here with the real protocol, visitors come in by HTTP, HTTPS, WebSocket and gRPC.
import tls, { type TLSSocket } from 'node:tls';
import { EDGE_SERVER_NAME, PROBE_SERVER_NAME } from '#proxy/connector/wire.ts';
import { createCertificateAuthority, type CertificateAuthority } from '../certs.ts';
import { Doors } from './doors.ts';
import { Faults } from './faults.ts';
import { Link } from './link.ts';
import { Registry } from './registry.ts';
import type { EdgeConnection, EdgeFault, EdgeOptions, TunnelAddress } from './types.ts';

export type * from './types.ts';

export interface Edge {
  /** `host:port` of each place for connectors. */
  readonly addresses: readonly string[];
  /** Signs the certificates for connectors and for visitors. */
  readonly ca: CertificateAuthority;
  /** Gives the tunnel its loopback address and opens it for visitors, once. Registering a connector does it too. */
  openTunnel(tunnelId: string): Promise<TunnelAddress>;
  closeTunnel(tunnelId: string): Promise<void>;
  /** Undefined before `openTunnel` has resolved. */
  address(tunnelId: string): TunnelAddress | undefined;
  connections(tunnelId: string): readonly EdgeConnection[];
  /** Pushes the tunnel's document to all its connectors. Resolves when they have answered. */
  configChanged(tunnelId: string): Promise<void>;
  /** Calls the listener when a connection comes, goes or applies a document. */
  onChange(listener: () => void): () => void;
  /** Resolves when the condition holds; it is looked at after each change. Rejects after `timeoutMs` (10 s). */
  when(condition: () => boolean, timeoutMs?: number): Promise<void>;
  /** Fails visitors until the returned function is called. */
  fail(fault: EdgeFault): () => void;
  /** Refuses registrations until the returned function is called, or `count` times. */
  refuseRegistrations(
    cause: string,
    options?: { readonly retry?: boolean; readonly retryAfterMs?: number; readonly count?: number },
  ): () => void;
  /** Cuts connectors' connections without a word; those of one tunnel or of one connector, or all. */
  dropConnections(tunnelId?: string, connectorId?: string): void;
  /** An outage: connections are cut and new ones are not accepted until `resume`. */
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

export async function startEdge(options: EdgeOptions): Promise<Edge> {
  const edge = new LocalEdge(options, options.ca ?? (await createCertificateAuthority()));
  await edge.listen();
  return edge;
}

const DEFAULT_CONNECTOR_PORTS = [0, 0, 0, 0] as const;
const DEFAULT_WAIT_MS = 10_000;

class LocalEdge implements Edge {
  readonly ca: CertificateAuthority;
  readonly #options: EdgeOptions;
  readonly #faults = new Faults();
  readonly #registry: Registry;
  readonly #doors: Doors;
  readonly #listeners = new Set<() => void>();
  readonly #links = new Set<Link>();
  readonly #sockets = new Set<TLSSocket>();
  readonly #endSubscription: () => void;
  #servers: readonly tls.Server[] = [];
  #addresses: readonly string[] = [];
  #isPaused = false;

  constructor(options: EdgeOptions, ca: CertificateAuthority) {
    this.ca = ca;
    this.#options = options;
    const { authority, choice = 'round-robin', colo = 'TST', country = 'XX', requireDns = false } = options;
    this.#registry = new Registry({ authority, choice, colo, refusal: () => this.#faults.registration() });
    const context = { registry: this.#registry, faults: this.#faults, authority, requireDns, colo, country };
    this.#doors = new Doors({ ca, ports: options.visitorPorts ?? { http: 0, https: 0 }, clearHttp2: options.clearHttp2 ?? false, context });
    this.#endSubscription = authority.onConfigChange?.((tunnelId) => void this.configChanged(tunnelId)) ?? (() => undefined);
  }

  get addresses(): readonly string[] {
    return this.#addresses;
  }

  async listen(): Promise<void> {
    const host = this.#options.connectorHost ?? '127.0.0.1';
    const identity = await this.ca.issue(EDGE_SERVER_NAME);
    const ports = this.#options.connectorPorts ?? DEFAULT_CONNECTOR_PORTS;
    this.#servers = ports.map(() => this.#connectorServer(identity));
    this.#addresses = await Promise.all(
      this.#servers.map(async (server, i) => {
        await new Promise<void>((resolve, reject) => server.once('error', reject).listen(ports[i], host, resolve));
        const bound = server.address();
        return `${host}:${typeof bound === 'object' && bound !== null ? bound.port : ''}`;
      }),
    );
  }

  openTunnel(tunnelId: string): Promise<TunnelAddress> {
    return this.#doors.open(tunnelId);
  }

  async closeTunnel(tunnelId: string): Promise<void> {
    this.dropConnections(tunnelId);
    await this.#doors.close(tunnelId);
  }

  address(tunnelId: string): TunnelAddress | undefined {
    return this.#doors.address(tunnelId);
  }

  connections(tunnelId: string): readonly EdgeConnection[] {
    return this.#registry.views(tunnelId);
  }

  async configChanged(tunnelId: string): Promise<void> {
    await Promise.all(this.#registry.links(tunnelId).map((link) => this.#push(link, tunnelId)));
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async when(condition: () => boolean, timeoutMs = DEFAULT_WAIT_MS): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        unsubscribe();
        settle();
      };
      const timer = setTimeout(
        () => end(() => reject(new Error(`the edge did not get there in ${timeoutMs} ms: ${String(condition)}`))),
        timeoutMs,
      );
      const unsubscribe = this.onChange(() => condition() && end(resolve));
    });
  }

  fail(fault: EdgeFault): () => void {
    return this.#faults.add(fault);
  }

  refuseRegistrations(cause: string, { retry = true, retryAfterMs = 0, count = Infinity } = {}): () => void {
    return this.#faults.refuse({ cause, retry, retryAfterMs }, count);
  }

  dropConnections(tunnelId?: string, connectorId?: string): void {
    for (const link of this.#registry.all()) {
      const { identity } = link;
      const isMeant =
        (tunnelId ?? identity?.tunnelId) === identity?.tunnelId && (connectorId ?? identity?.connectorId) === identity?.connectorId;
      if (isMeant) link.destroy();
    }
  }

  pause(): void {
    this.#isPaused = true;
    for (const link of this.#links) link.destroy();
  }

  resume(): void {
    this.#isPaused = false;
  }

  async close(): Promise<void> {
    this.#endSubscription();
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)));
    for (const link of this.#links) link.destroy();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([...closed, this.#doors.closeAll()]);
  }

  #connectorServer(identity: { readonly key: string; readonly cert: string }): tls.Server {
    const server = tls.createServer({ ...identity, minVersion: 'TLSv1.3', SNICallback: this.ca.select });
    server.on('secureConnection', (socket) => this.#accept(socket));
    // A connector that does not trust us, or a port scan.
    server.on('tlsClientError', () => undefined);
    return server;
  }

  #accept(socket: TLSSocket): void {
    socket.on('error', () => undefined);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#isPaused) return void socket.destroy();
    // cloudflared's connectivity checks only want to see the handshake succeed.
    if ((socket as { servername?: unknown }).servername === PROBE_SERVER_NAME) return void socket.resume();
    const originIp = socket.remoteAddress ?? '';
    const link = new Link(socket, {
      register: (self, registration) => {
        const response = this.#registry.register(self, registration, originIp);
        this.#changed();
        return response;
      },
      registered: (self) => this.#registered(self),
      changed: () => this.#changed(),
      closed: (self) => {
        this.#links.delete(self);
        this.#registry.remove(self);
        this.#changed();
      },
    });
    this.#links.add(link);
  }

  #registered(link: Link): void {
    if (link.identity === null) return;
    const { tunnelId } = link.identity;
    void this.#push(link, tunnelId);
    // A port that is taken fails `openTunnel` for whoever asks for the address; connectors need no visitors.
    this.openTunnel(tunnelId).catch(() => undefined);
  }

  async #push(link: Link, tunnelId: string): Promise<void> {
    const tunnel = this.#options.authority.tunnel(tunnelId);
    if (tunnel?.configSrc === 'cloudflare') await link.push(tunnel.document);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
