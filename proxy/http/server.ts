// node:http in front: every limit is written down here, and what it reports is turned into exchanges.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Connection, type Front } from './connection.ts';
import { Exchange } from './exchange.ts';
import { FrontRequest, FrontResponse } from './message.ts';
import type { HttpOptions } from './options.ts';
import type { Plane } from './plane.ts';
import * as reply from './reply.ts';
import { UpgradeExchange } from './upgrade.ts';

const OWN = Symbol('connection');
type FrontSocket = Socket & { [OWN]?: Connection };

const MAX_FIELDS = 2000;

/** What a request that is not HTTP is answered with, by the parser's error code. */
const PARSE_ANSWERS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: rawStatus('431 Request Header Fields Too Large'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: rawStatus('413 Content Too Large'),
  ERR_HTTP_REQUEST_TIMEOUT: rawStatus('408 Request Timeout'),
};
const BAD_REQUEST = rawStatus('400 Bad Request');

function rawStatus(status: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
}

/** A listening port, whatever it speaks. */
export interface PortServer {
  readonly front: Front;
  /** Stops accepting; connections end with their next answer, idle ones now. Resolves when the last one is closed. */
  close(): Promise<void>;
  closeIdle(): void;
  destroy(): void;
  checkStall(tick: number): void;
  /** Every answer has left. */
  readonly allIdle: boolean;
  readonly connectionCount: number;
}

/** Resolves with the port, a free one for 0. Rejects when it cannot be had. */
export async function listenOn(server: NetServer, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: 2048 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

/** HTTP/1.1, on a port of its own or on connections that are handed over. */
export class FrontServer implements PortServer {
  readonly front: Front;
  private readonly plane: Plane;
  private readonly server: Server<typeof FrontRequest, typeof FrontResponse>;
  private readonly connections = new Set<Connection>();
  private closed: Promise<void> | null = null;

  private constructor(plane: Plane, front: Front, server: Server<typeof FrontRequest, typeof FrontResponse>) {
    this.plane = plane;
    this.front = front;
    this.server = server;
    this.attach();
  }

  /** Port 0 takes a free one. Rejects when the port cannot be had. */
  static async listen(plane: Plane, port: number, host: string): Promise<FrontServer> {
    const server = httpServer(plane.options);
    const actual = await listenOn(server, port, host);
    return new FrontServer(plane, { port: actual, entry: null, trustedHops: 0, closing: false }, server);
  }

  /** Serves what `take` is given. */
  static behind(plane: Plane, front: Front): FrontServer {
    const server = httpServer(plane.options);
    // What ends slow requests begins to look when a server listens, and this one gets its connections from another.
    server.emit('listening');
    return new FrontServer(plane, front, server);
  }

  take(socket: Socket): void {
    this.server.emit('connection', socket);
  }

  /** There will be no more connections to take: ends the looking after slow ones. */
  release(): void {
    this.server.close();
  }

  private attach(): void {
    const { server, plane } = this;
    // Accepting may fail for want of file descriptors; the listener goes on.
    server.on('error', (error: Error) => plane.log.warn({ port: this.front.port, error: error.message }, 'listener error'));
    server.on('connection', (socket) => this.accept(socket));
    server.on('request', (req, res) => this.serve(req, res, false));
    server.on('checkContinue', (req, res) => this.serve(req, res, true));
    server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => this.upgrade(req, socket as FrontSocket, head));
    server.on('connect', (_req: IncomingMessage, socket: Duplex) => finishRaw(socket as Socket, reply.rawReply(reply.NO_CONNECT)));
    server.on('clientError', (error: Error, socket: Duplex) => this.clientError(error, socket as FrontSocket));
  }

  private accept(socket: FrontSocket): void {
    const connection = new Connection(this.front, socket);
    socket[OWN] = connection;
    this.connections.add(connection);
    // First of all: a socket without this brings the process down, whoever owns it at that moment.
    socket.on('error', ignore);
    socket.on('close', () => {
      this.connections.delete(connection);
      connection.closed();
    });
  }

  private serve(req: FrontRequest, res: FrontResponse, expects: boolean): void {
    const connection = (req.socket as FrontSocket)[OWN];
    if (connection === undefined || req.socket.destroyed) return;
    new Exchange(this.plane, connection, req, res, expects).start();
  }

  private upgrade(req: IncomingMessage, socket: FrontSocket, head: Buffer): void {
    const connection = socket[OWN];
    if (connection === undefined || socket.destroyed) return;
    const { method, url, rawHeaders, httpVersionMajor, httpVersionMinor } = req;
    new UpgradeExchange(this.plane, connection, { method, url, rawHeaders, httpVersionMajor, httpVersionMinor }, head).start();
  }

  private clientError(error: Error, socket: FrontSocket): void {
    const open = socket[OWN]?.exchanges() ?? [];
    const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
    // A connection that broke, or ended in the middle of a request: nobody is left to be told.
    const gone = code === 'HPE_INVALID_EOF_STATE' ? open.length > 0 : !/^(?:HPE_|ERR_HTTP_REQUEST_TIMEOUT$)/.test(code);
    if (gone || !socket.writable) {
      socket.destroy();
      return;
    }
    // What is under way can be told what went wrong only if nothing of its answer has been sent yet.
    const states = open.map((exchange) => exchange.clientBroke());
    if (states.includes('underway')) socket.destroy();
    else if (states.includes('answered')) socket.destroySoon();
    else finishRaw(socket, PARSE_ANSWERS[code] ?? BAD_REQUEST);
  }

  close(): Promise<void> {
    this.front.closing = true;
    // http.Server's own close would also cut connections whose answer is still on its way out.
    this.closed ??= new Promise((resolve) => {
      NetServer.prototype.close.call(this.server, () => {
        // This time for the timers that http.Server keeps.
        this.server.close();
        resolve();
      });
    });
    return this.closed;
  }

  closeIdle(): void {
    for (const connection of this.connections) if (connection.idle) connection.socket.destroy();
  }

  destroy(): void {
    for (const connection of this.connections) connection.socket.destroy();
  }

  checkStall(tick: number): void {
    const { stallTimeout, tickTime } = this.plane.options;
    for (const connection of this.connections) connection.checkStall(tick, stallTimeout / tickTime);
  }

  get allIdle(): boolean {
    return [...this.connections].every(({ idle }) => idle);
  }

  get connectionCount(): number {
    return this.connections.size;
  }
}

function httpServer(options: HttpOptions): Server<typeof FrontRequest, typeof FrontResponse> {
  const server = createServer({ ...serverOptions(options), IncomingMessage: FrontRequest, ServerResponse: FrontResponse });
  server.maxHeadersCount = MAX_FIELDS;
  server.maxRequestsPerSocket = 0;
  server.setTimeout(0);
  return server;
}

function serverOptions(options: HttpOptions): Parameters<typeof createServer>[0] & object {
  return {
    insecureHTTPParser: false,
    requireHostHeader: true,
    maxHeaderSize: options.maxHeaderSize,
    headersTimeout: options.headersTimeout,
    keepAliveTimeout: options.keepAliveTimeout,
    // Uploads and streams may take as long as they move: that is watched by a limit of our own.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(5_000, options.headersTimeout),
    noDelay: true,
    highWaterMark: 65_536,
    rejectNonStandardBodyWrites: true,
    optimizeEmptyRequests: true,
    // Any other upgrade is an ordinary request, and its Upgrade field is ignored (RFC 9110 section 7.8).
    shouldUpgradeCallback: (req: IncomingMessage) => /^websocket$/i.test(req.headers.upgrade ?? ''),
  };
}

/** Answers and closes; what the client still sends is thrown away meanwhile. */
export function finishRaw(socket: Socket, last: string | Buffer): void {
  socket.on('error', ignore);
  socket.resume();
  socket.end(typeof last === 'string' ? Buffer.from(last, 'latin1') : last);
  socket.destroySoon();
}

function ignore(): void {}
