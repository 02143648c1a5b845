// One connection of a client that speaks HTTP/2: its session, and the exchanges that are open on it.
import { performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { Connection, type Front } from './connection.ts';
import { H2Exchange } from './h2-exchange.ts';
import type { Plane } from './plane.ts';

/** Bounds what one client can make us hold: bodies wait in windows, not in memory, while a backend is slow. */
const MAX_STREAMS = 128;
const STREAM_WINDOW = 1 << 18;
const SESSION_WINDOW = 1 << 20;
const SESSION_MEMORY_MB = 16;
const MAX_FIELDS = 2000;

export class H2Connection {
  private readonly plane: Plane;
  private readonly connection: Connection;
  private readonly session: ServerHttp2Session;
  private idleSince: number;

  constructor(plane: Plane, front: Front, socket: Socket, onClosed: (connection: H2Connection) => void) {
    this.plane = plane;
    this.connection = new Connection(front, socket);
    this.idleSince = plane.tick;
    const { maxHeaderSize } = plane.options;
    this.session = performServerHandshake(socket, {
      settings: {
        maxConcurrentStreams: MAX_STREAMS,
        initialWindowSize: STREAM_WINDOW,
        maxHeaderListSize: maxHeaderSize,
        enablePush: false,
      },
      maxHeaderListPairs: MAX_FIELDS,
      maxSendHeaderBlockLength: 2 * maxHeaderSize,
      maxSessionMemory: SESSION_MEMORY_MB,
    });
    const { session } = this;
    session.setLocalWindowSize(SESSION_WINDOW);
    session.on('error', ignore);
    session.on('stream', (stream, _headers, _flags, raw) => {
      new H2Exchange(plane, this.connection, stream, raw).start();
      if (front.closing) session.close();
    });
    session.on('close', () => {
      socket.destroy();
      this.connection.closed();
      onClosed(this);
    });
  }

  get idle(): boolean {
    return this.connection.exchanges().length === 0;
  }

  /** No new requests; what is open finishes. */
  close(): void {
    this.session.close();
  }

  checkStall(tick: number): void {
    const { keepAliveTimeout, lingerTime, tickTime } = this.plane.options;
    this.connection.checkStall(tick, 0);
    if (!this.idle) this.idleSince = tick;
    const idle = (tick - this.idleSince) * tickTime;
    if (idle > keepAliveTimeout) this.close();
    if (idle > keepAliveTimeout + lingerTime) this.connection.socket.destroy();
  }
}

function ignore(): void {}
