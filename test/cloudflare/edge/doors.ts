// Visitors' entrances: one loopback address per tunnel, with an HTTP and an HTTPS listener on it.
import { createHash } from 'node:crypto';
import http from 'node:http';
import http2 from 'node:http2';
import net, { type Server, type Socket } from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import type { CertificateAuthority } from '../certs.ts';
import { relay, type RelayContext } from './relay.ts';
import type { TunnelAddress } from './types.ts';
import { http1Visitor, http2Visitor } from './visitor.ts';
import { relayUpgrade } from './websocket.ts';

export interface DoorOptions {
  readonly ca: CertificateAuthority;
  readonly ports: { readonly http: number; readonly https: number };
  /** Whether HTTP/2 is understood without TLS too. */
  readonly clearHttp2: boolean;
  readonly context: RelayContext;
}

/** Cloudflare's limit for all request headers together. */
const MAX_HEADER_BYTES = 128 * 1024;
const MAX_BIND_TRIES = 8;
const WINDOW = 1 << 20;
const SESSION_WINDOW = 16 << 20;
const SERVER_OPTIONS = {
  maxHeaderSize: MAX_HEADER_BYTES,
  // Uploads and streams may last.
  requestTimeout: 0,
  headersTimeout: 15_000,
  keepAliveTimeout: 75_000,
  // Other upgrades (h2c) are ignored, as RFC 9110 section 7.8 lets a server do.
  shouldUpgradeCallback: (request: http.IncomingMessage): boolean => request.headers.upgrade?.toLowerCase() === 'websocket',
} as const;

export class Doors {
  readonly #options: DoorOptions;
  readonly #doors = new Map<string, Promise<Door>>();
  readonly #open = new Map<string, Door>();
  readonly #used = new Set<string>();

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /** Opens the tunnel's listeners, once. */
  async open(tunnelId: string): Promise<TunnelAddress> {
    const existing = this.#doors.get(tunnelId);
    if (existing !== undefined) return (await existing).address;
    const opening = this.#bind(tunnelId);
    this.#doors.set(tunnelId, opening);
    const door = await opening;
    this.#open.set(tunnelId, door);
    return door.address;
  }

  address(tunnelId: string): TunnelAddress | undefined {
    return this.#open.get(tunnelId)?.address;
  }

  async close(tunnelId: string): Promise<void> {
    const door = await this.#doors.get(tunnelId);
    this.#doors.delete(tunnelId);
    this.#open.delete(tunnelId);
    if (door === undefined) return;
    this.#used.delete(door.address.ip);
    await door.close();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#doors.keys()].map((tunnelId) => this.close(tunnelId)));
  }

  async #bind(tunnelId: string): Promise<Door> {
    let failure: unknown;
    for (let attempt = 0; attempt < MAX_BIND_TRIES; attempt += 1) {
      const ip = this.#choose(tunnelId, attempt);
      try {
        return await Door.open(ip, tunnelId, this.#options);
      } catch (error) {
        failure = error;
        this.#used.delete(ip);
        if (this.#hasOneLoopback(error)) return Door.open('127.0.0.1', tunnelId, this.#options);
      }
    }
    this.#doors.delete(tunnelId);
    throw new Error(`cannot open the visitors' ports of tunnel ${tunnelId}`, { cause: failure });
  }

  /** Not Linux: only 127.0.0.1 is there. It does for all tunnels when each has ports of its own. */
  #hasOneLoopback(error: unknown): boolean {
    const { http, https } = this.#options.ports;
    return http === 0 && https === 0 && (error as NodeJS.ErrnoException).code === 'EADDRNOTAVAIL';
  }

  /** Derived from the tunnel's id, so that a tunnel has the same address after a restart. */
  #choose(tunnelId: string, attempt: number): string {
    const hash = createHash('sha256').update(tunnelId).digest();
    for (let probe = attempt; ; probe += 1) {
      const number = (hash.readUInt16BE(0) + probe * 257) % (256 * 254);
      const ip = `127.77.${Math.floor(number / 254)}.${1 + (number % 254)}`;
      if (this.#used.has(ip)) continue;
      this.#used.add(ip);
      return ip;
    }
  }
}

class Door {
  readonly address: TunnelAddress;
  readonly #servers: readonly Server[];
  readonly #sockets: Set<Socket>;

  private constructor(address: TunnelAddress, servers: readonly Server[], sockets: Set<Socket>) {
    this.address = address;
    this.#servers = servers;
    this.#sockets = sockets;
  }

  static async open(ip: string, tunnelId: string, options: DoorOptions): Promise<Door> {
    const sockets = new Set<Socket>();
    const plain = options.clearHttp2 ? clearServer(tunnelId, options.context) : http1Server('http', tunnelId, options.context);
    const secure = await secureServer(ip, tunnelId, options);
    const servers = [plain, secure];
    for (const server of servers) {
      server.on('connection', (socket: Socket) => {
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
      });
    }
    try {
      const httpPort = await listen(plain, ip, options.ports.http);
      const httpsPort = await listen(secure, ip, options.ports.https);
      return new Door({ ip, httpPort, httpsPort }, servers, sockets);
    } catch (error) {
      for (const server of servers) server.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const closed = this.#servers.map((server) => new Promise((resolve) => server.close(resolve)));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }
}

function http1Server(scheme: 'http' | 'https', tunnelId: string, context: RelayContext): http.Server {
  const server = http.createServer(SERVER_OPTIONS);
  server.on('request', (request, response) => relay(http1Visitor(request, response, scheme), tunnelId, context));
  server.on('upgrade', (request, socket, head) => relayUpgrade({ request, socket, head, scheme }, tunnelId, context));
  return server;
}

/** HTTP/2 with prior knowledge begins with a method that HTTP/1.1 has not (RFC 9113 section 3.4); a visitor sends more than that at once. */
function clearServer(tunnelId: string, context: RelayContext): Server {
  const http1 = http1Server('http', tunnelId, context);
  return net.createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (first) => {
      socket.pause();
      socket.unshift(first);
      if (first.toString('latin1', 0, 4) === 'PRI ') return serveHttp2(socket, tunnelId, context);
      http1.emit('connection', socket);
      socket.resume();
    });
  });
}

/** Speaks HTTP/2 or HTTP/1.1, as the visitor's handshake asks. */
async function secureServer(ip: string, tunnelId: string, { ca, context }: DoorOptions): Promise<tls.Server> {
  const http1 = http1Server('https', tunnelId, context);
  const server = tls.createServer({
    ...(await ca.issue(ip)),
    ALPNProtocols: ['h2', 'http/1.1'],
    SNICallback: ca.select,
  });
  server.on('secureConnection', (socket) => {
    socket.on('error', () => undefined);
    if (socket.alpnProtocol === 'h2') serveHttp2(socket, tunnelId, context);
    else http1.emit('connection', socket);
  });
  // Visitors that do not trust the certificate or speak no TLS are none of our business.
  server.on('tlsClientError', () => undefined);
  return server;
}

function serveHttp2(socket: Socket | TLSSocket, tunnelId: string, context: RelayContext): void {
  const session = http2.performServerHandshake(socket, {
    settings: { initialWindowSize: WINDOW },
    maxHeaderListPairs: 2000,
    maxSessionMemory: 1000,
  });
  session.setLocalWindowSize(SESSION_WINDOW);
  session.on('error', () => undefined);
  session.on('stream', (stream, headers, _flags, raw) => {
    if (headers.expect === '100-continue') stream.additionalHeaders({ ':status': 100 });
    relay(http2Visitor(stream, headers, raw), tunnelId, context);
  });
}

function listen(server: Server, ip: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, ip, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}
