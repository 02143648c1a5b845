// HTTP/2 with prior knowledge to one endpoint: as few connections as its stream limit allows, each carrying many exchanges.
import { connect as connectSession, constants, type ClientHttp2Session } from 'node:http2';
import { connect as connectSocket, isIPv6 } from 'node:net';
import { H2Stream, type StreamOwner } from './h2-stream.ts';
import type { Failure, FailureKind, Job } from './job.ts';
import type { UpstreamOptions } from './options.ts';

/** What RFC 9113 section 6.5.2 recommends as the least; assumed until the backend's settings arrive. */
const STREAMS_BEFORE_SETTINGS = 100;
const MAX_SESSIONS = 64;
const STREAM_WINDOW = 1 << 20;
const SESSION_WINDOW = 1 << 24;
/** gRPC servers take more frequent pings on a silent connection for an attack and close it. */
const PING_SPACING = 305_000;

const FULL: Failure = { kind: 'overload', message: 'every HTTP/2 connection to the endpoint is full', stale: false };

export class H2Pool {
  private readonly authority: string;
  private readonly host: string;
  private readonly port: number;
  private readonly options: UpstreamOptions;
  private readonly onConnected: () => void;
  private readonly sessions = new Set<H2Session>();

  constructor(host: string, port: number, options: UpstreamOptions, onConnected: () => void) {
    this.host = host;
    this.port = port;
    this.authority = `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
    this.options = options;
    this.onConnected = onConnected;
  }

  get count(): number {
    return this.sessions.size;
  }

  acquire(job: Job): void {
    for (const session of this.sessions) {
      if (session.hasRoom) {
        session.serve(job);
        return;
      }
    }
    if (this.sessions.size >= MAX_SESSIONS) {
      job.onFailure(FULL);
      return;
    }
    const session = new H2Session(this.authority, this.host, this.port, this.options, {
      connected: this.onConnected,
      closed: () => this.sessions.delete(session),
    });
    this.sessions.add(session);
    session.serve(job);
  }

  sweep(now: number): void {
    for (const session of this.sessions) session.sweep(now);
  }

  /** The endpoint is gone: streams finish, then the connections close. */
  retire(): void {
    for (const session of this.sessions) session.close();
  }

  closeIdle(): void {
    for (const session of this.sessions) if (session.active === 0) session.close();
  }

  destroy(): void {
    for (const session of this.sessions) session.destroy();
  }
}

interface SessionOwner {
  connected(): void;
  closed(): void;
}

class H2Session implements StreamOwner {
  active = 0;
  private readonly session: ClientHttp2Session;
  private readonly options: UpstreamOptions;
  private readonly owner: SessionOwner;
  private timer: NodeJS.Timeout | null;
  private waiting: Job[] = [];
  private open = false;
  private draining = false;
  private served = 0;
  private failure: { readonly kind: FailureKind; readonly message: string } | null = null;
  private lastReceived = performance.now();
  private lastPing = -PING_SPACING;
  private pinging = false;

  constructor(authority: string, host: string, port: number, options: UpstreamOptions, owner: SessionOwner) {
    this.options = options;
    this.owner = owner;
    const socket = connectSocket({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 });
    socket.on('error', (error: Error) => this.end(this.open ? 'reset' : 'connect', error.message));
    this.session = connectSession(authority, {
      createConnection: () => socket,
      settings: { initialWindowSize: STREAM_WINDOW, enablePush: false, maxHeaderListSize: 131_072 },
      maxHeaderListPairs: 2000,
      maxSendHeaderBlockLength: 262_144,
      maxSessionMemory: 64,
    });
    this.session.on('error', (error: Error) => this.end(this.open ? 'protocol' : 'connect', error.message));
    this.session.on('connect', () => this.onConnect());
    this.session.on('goaway', () => this.close());
    this.session.on('close', () => this.end(this.open ? 'reset' : 'connect', 'connection closed'));
    this.timer = setTimeout(() => this.end('connect-timeout', `no connection within ${options.connectTimeout} ms`), options.connectTimeout);
  }

  /** May take one more stream. */
  get hasRoom(): boolean {
    if (this.draining) return false;
    if (!this.open) return this.waiting.length < STREAMS_BEFORE_SETTINGS;
    const allowed = this.session.remoteSettings?.maxConcurrentStreams ?? STREAMS_BEFORE_SETTINGS;
    return this.active < Math.min(allowed, this.options.maxStreams);
  }

  serve(job: Job): void {
    if (this.open) this.start(job);
    else {
      this.waiting.push(job);
      job.onAssigned({
        write: () => true,
        end: () => {},
        pause: () => {},
        resume: () => {},
        destroy: () => {
          this.waiting = this.waiting.filter((waiting) => waiting !== job);
        },
      });
    }
  }

  private start(job: Job): void {
    this.served += 1;
    this.active += 1;
    const stream = new H2Stream(this, job);
    stream.start(this.session, this.served > 1);
  }

  private onConnect(): void {
    this.stopTimer();
    this.open = true;
    this.session.setLocalWindowSize(SESSION_WINDOW);
    this.owner.connected();
    const jobs = this.waiting;
    this.waiting = [];
    for (const job of jobs) this.start(job);
  }

  received(): void {
    this.lastReceived = performance.now();
    this.pinging = false;
  }

  released(): void {
    this.active -= 1;
    if (this.active === 0 && this.draining) this.session.close();
  }

  /** Why the connection ended, for the streams that went down with it. */
  get ended(): { readonly kind: FailureKind; readonly message: string } | null {
    return this.failure;
  }

  sweep(now: number): void {
    const silence = now - this.lastReceived;
    if (this.active === 0) {
      if (silence > this.options.maxIdleTimeout) this.close();
      return;
    }
    if (!this.open || silence < this.options.pingInterval) return;
    if (this.pinging && now - this.lastPing > this.options.pingInterval) {
      this.end('reset', 'no answer to a ping');
    } else if (!this.pinging && now - this.lastPing > PING_SPACING) {
      this.lastPing = now;
      this.pinging = this.session.ping((error) => {
        if (error === null) this.received();
      });
    }
  }

  /** No new streams; closes when the last one has ended. */
  close(): void {
    this.draining = true;
    if (this.active === 0 && this.waiting.length === 0) this.session.close();
  }

  destroy(): void {
    this.end('reset', 'shutting down');
  }

  private end(kind: FailureKind, message: string): void {
    if (this.failure !== null) return;
    this.failure = { kind, message };
    this.draining = true;
    this.stopTimer();
    this.owner.closed();
    this.session.destroy(undefined, constants.NGHTTP2_CANCEL);
    const jobs = this.waiting;
    this.waiting = [];
    for (const job of jobs) job.onFailure({ kind, message, stale: false });
  }

  private stopTimer(): void {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
  }
}
