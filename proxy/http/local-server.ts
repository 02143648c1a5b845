// A port of the proxy's own entry: looks at the first bytes of each connection and hands it to TLS, HTTP/1.1 or HTTP/2.
import { createServer, type Server, type Socket } from 'node:net';
import type { LocalEntry } from '#proxy/table/types.ts';
import { serverName, speaksHttp2 } from './client-hello.ts';
import type { Front } from './connection.ts';
import { H2Connection } from './h2-connection.ts';
import type { Plane } from './plane.ts';
import * as reply from './reply.ts';
import { finishRaw, FrontServer, listenOn, type PortServer } from './server.ts';
import { TlsDoor } from './tls-door.ts';

/** A fatal alert, unrecognized_name, in a record of its own (RFC 6066 section 3): nothing is encrypted yet. */
const UNRECOGNIZED_NAME = Buffer.from([21, 3, 3, 0, 2, 2, 112]);

export class LocalServer implements PortServer {
  readonly front: Front;
  private readonly plane: Plane;
  private readonly acceptor: Server;
  private readonly http1: FrontServer;
  private readonly door: TlsDoor;
  private readonly sockets = new Set<Socket>();
  /** Connections that have not said yet what they are, by the tick of their beginning. */
  private readonly undecided = new Map<Socket, number>();
  private readonly sessions = new Set<H2Connection>();
  private closed: Promise<void> | null = null;

  private constructor(plane: Plane, acceptor: Server, port: number) {
    this.plane = plane;
    this.acceptor = acceptor;
    this.front = { port, entry: null, trustedHops: plane.options.trustedHops, closing: false };
    this.http1 = FrontServer.behind(plane, this.front);
    this.door = new TlsDoor(plane.log, plane.options.headersTimeout, (socket) => this.serve(socket, socket.alpnProtocol === 'h2'));
    acceptor.on('error', (error: Error) => plane.log.warn({ port, error: error.message }, 'listener error'));
    acceptor.on('connection', (socket) => this.accept(socket));
  }

  static async listen(plane: Plane, port: number, host: string): Promise<LocalServer> {
    const acceptor = createServer({ allowHalfOpen: true, noDelay: true, highWaterMark: 65_536 });
    return new LocalServer(plane, acceptor, await listenOn(acceptor, port, host));
  }

  private accept(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', ignore);
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.undecided.delete(socket);
    });
    const local = this.front.entry?.local ?? null;
    if (local === null) {
      socket.destroy();
      return;
    }
    this.undecided.set(socket, this.plane.tick);
    peek(socket, (bytes) => (local.protocol === 'HTTPS' ? this.openDoor(socket, bytes, local) : this.openClear(socket, bytes)));
  }

  private openClear(socket: Socket, bytes: Buffer): (() => void) | null {
    const http2 = speaksHttp2(bytes);
    return http2 === null ? null : () => this.serve(socket, http2);
  }

  private openDoor(socket: Socket, bytes: Buffer, local: LocalEntry): (() => void) | null {
    const hello = serverName(bytes);
    if (hello === 'incomplete') return null;
    if (hello === 'malformed') return () => finishRaw(socket, reply.rawReply(reply.TLS_ONLY));
    const server = this.door.serverFor(local, hello.name);
    if (server === null) return () => finishRaw(socket, UNRECOGNIZED_NAME);
    return () => {
      this.undecided.delete(socket);
      server.emit('connection', socket);
    };
  }

  private serve(socket: Socket, http2: boolean): void {
    this.undecided.delete(socket);
    if (http2) this.sessions.add(new H2Connection(this.plane, this.front, socket, (closed) => this.sessions.delete(closed)));
    else this.http1.take(socket);
  }

  close(): Promise<void> {
    this.front.closing = true;
    this.closed ??= new Promise((resolve) => {
      this.acceptor.close(() => {
        this.http1.release();
        resolve();
      });
    });
    for (const session of this.sessions) session.close();
    return this.closed;
  }

  closeIdle(): void {
    this.http1.closeIdle();
    for (const socket of this.undecided.keys()) socket.destroy();
    for (const session of this.sessions) if (session.idle) session.close();
  }

  destroy(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  checkStall(tick: number): void {
    const { headersTimeout, tickTime } = this.plane.options;
    for (const [socket, since] of this.undecided) if ((tick - since) * tickTime > headersTimeout) socket.destroy();
    this.http1.checkStall(tick);
    for (const session of this.sessions) session.checkStall(tick);
  }

  get allIdle(): boolean {
    return this.http1.allIdle && [...this.sessions].every(({ idle }) => idle);
  }

  get connectionCount(): number {
    return this.sockets.size;
  }
}

/** Shows the first bytes to `decide` until it says what to do with the connection, and gives them back before that is done. */
function peek(socket: Socket, decide: (bytes: Buffer) => (() => void) | null): void {
  let bytes: Buffer = Buffer.alloc(0);
  const onReadable = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    const proceed = decide(bytes);
    if (proceed === null) return;
    socket.off('readable', onReadable);
    socket.off('end', onEnd);
    socket.unshift(bytes);
    proceed();
  };
  const onEnd = (): void => void socket.destroy();
  socket.on('readable', onReadable);
  socket.on('end', onEnd);
}

function ignore(): void {}
