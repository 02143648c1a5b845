// One connection to the edge: TLS, HTTP/2 with reversed roles (the edge is the client), registration, requests, and its end.
import http2 from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import tls from 'node:tls';
import { breakOff, endedCleanly } from '../h2.ts';
import type { ConnectionResponse, Registration } from '../rpc.ts';
import { EDGE_SERVER_NAME, UPGRADE_CONFIGURATION, UPGRADE_CONTROL_STREAM, UPGRADE_HEADER } from '../wire.ts';
import { ControlRpc } from './control-rpc.ts';
import type { PushAnswer } from './document.ts';
import type { EdgeAddress } from './addresses.ts';

const WINDOW = 1 << 20;
const SESSION_WINDOW = 8 << 20;
/** A document of a few thousand rules is about 1 MiB. */
const MAX_DOCUMENT_BYTES = 16 << 20;
/** After the farewell, requests that are already on their way get this long to arrive. */
const QUIET_MS = 100;

export interface ConnectionSettings {
  readonly address: EdgeAddress;
  readonly ca: string | undefined;
  readonly registration: Registration;
  /** Limit for everything up to the registration's answer, and for each call after it. */
  readonly timeoutMs: number;
  /** How often the edge must answer a ping. */
  readonly pingMs: number;
}

export interface ConnectionHandlers {
  /** A request for the origin. */
  readonly onRequest: (stream: http2.ServerHttp2Stream, headers: readonly string[]) => void;
  readonly onPush: (json: string) => PushAnswer;
  readonly onRegistered: (details: ConnectionResponse & { readonly kind: 'details' }) => void;
}

/** Why a connection has ended, and what that means for the next try. */
export interface ConnectionEnd {
  readonly code: string;
  readonly message: string;
  readonly registered: boolean;
  /** backoff: try again later. elsewhere: at once, at another address. never: the edge does not want this connector. */
  readonly next: 'backoff' | 'elsewhere' | 'never';
  readonly retryAfterMs: number;
}

export class EdgeConnection {
  readonly closed: Promise<ConnectionEnd>;
  readonly #settings: ConnectionSettings;
  readonly #handlers: ConnectionHandlers;
  readonly #socket: tls.TLSSocket;
  readonly #timers: NodeJS.Timeout[] = [];
  #resolveClosed: (end: ConnectionEnd) => void = () => undefined;
  #session: http2.ServerHttp2Session | null = null;
  #control: ControlRpc | null = null;
  #registered = false;
  #requests = 0;
  #onIdle: (() => void) | null = null;
  #end: ConnectionEnd | null = null;

  constructor(settings: ConnectionSettings, handlers: ConnectionHandlers) {
    this.#settings = settings;
    this.#handlers = handlers;
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    const { host, port } = settings.address;
    this.#socket = tls.connect({ host, port, servername: EDGE_SERVER_NAME, ...(settings.ca === undefined ? {} : { ca: settings.ca }) });
    this.#socket.on('secureConnect', () => this.#handshake());
    this.#socket.on('error', (error) => this.#finish('Unreachable', `the connection to the edge failed: ${error.message}`));
    this.#socket.on('close', () => this.#finish('Unreachable', 'the edge closed the connection before it was registered'));
    this.#timers.push(setTimeout(() => this.#late(), settings.timeoutMs));
  }

  get isRegistered(): boolean {
    return this.#registered;
  }

  /** Takes the registration back, then ends as soon as nothing is in flight, at the latest when `signal` fires. */
  async drain(signal: AbortSignal): Promise<void> {
    const cut = (): void => this.destroy('Drained', 'the grace period is over');
    if (!this.#registered || signal.aborted) return cut();
    signal.addEventListener('abort', cut, { once: true });
    await this.#control?.unregister().catch(() => undefined);
    this.#control?.close();
    await this.#quiet();
    this.#session?.close();
    const lingering = setTimeout(cut, 1000);
    await this.closed;
    clearTimeout(lingering);
    signal.removeEventListener('abort', cut);
  }

  /** Resolves when nothing is in flight and nothing more comes: what the edge sent before it took the farewell into account is served. */
  async #quiet(): Promise<void> {
    do {
      if (this.#requests > 0 && this.#end === null) await new Promise<void>((resolve) => (this.#onIdle = resolve));
      await Promise.race([this.closed, delay(QUIET_MS, undefined, { ref: false })]);
    } while (this.#requests > 0 && this.#end === null);
  }

  destroy(code: string, message: string): void {
    this.#finish(code, message);
  }

  #handshake(): void {
    const session = http2.performServerHandshake(this.#socket, {
      settings: { initialWindowSize: WINDOW, maxFrameSize: WINDOW, maxHeaderListSize: WINDOW, maxConcurrentStreams: 0xffff_ffff },
      maxHeaderListPairs: 10_000,
      maxSendHeaderBlockLength: WINDOW,
      // The edge is trusted and multiplexes every visitor over this session: limits made for hostile clients would cut innocent ones.
      maxSessionMemory: 1000,
      streamResetBurst: 1_000_000,
      streamResetRate: 100_000,
    });
    this.#session = session;
    session.setLocalWindowSize(SESSION_WINDOW);
    session.on('stream', (stream, headers, _flags, raw) => this.#dispatch(stream, headers, raw));
    session.on('error', (error) => this.#finish('Protocol', `the edge broke the HTTP/2 protocol: ${error.message}`));
    session.on('close', () => this.#finish('Lost', 'the edge closed the connection'));
    this.#timers.push(this.#pings(session));
  }

  /** A network that drops a connection silently shows only in pings that are not answered. */
  #pings(session: http2.ServerHttp2Session): NodeJS.Timeout {
    let isWaiting = false;
    return setInterval(() => {
      if (isWaiting) return this.#finish('Lost', 'the edge stopped answering');
      if (session.closed || session.destroyed) return;
      isWaiting = true;
      session.ping((error) => {
        if (error === null) isWaiting = false;
      });
    }, this.#settings.pingMs);
  }

  #dispatch(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders, raw: readonly string[]): void {
    // Without a listener an error of one stream would end the process; every stream's end is seen through `close`.
    stream.on('error', () => undefined);
    switch (headers[UPGRADE_HEADER]) {
      case UPGRADE_CONTROL_STREAM:
        return this.#register(stream);
      case UPGRADE_CONFIGURATION:
        return this.#receiveDocument(stream);
      default:
        this.#requests += 1;
        stream.once('close', () => this.#requestEnded());
        this.#handlers.onRequest(stream, raw);
    }
  }

  #requestEnded(): void {
    this.#requests -= 1;
    if (this.#requests === 0) this.#onIdle?.();
  }

  #register(stream: http2.ServerHttp2Stream): void {
    if (this.#control !== null) return breakOff(stream);
    stream.respond({ ':status': 200 });
    const control = new ControlRpc(stream, this.#settings.timeoutMs, (error) => this.#finish('Protocol', error.message));
    this.#control = control;
    control.register(this.#settings.registration).then(
      (response) => this.#registrationAnswered(response),
      (error: unknown) => this.#finish('Protocol', error instanceof Error ? error.message : String(error)),
    );
  }

  #registrationAnswered(response: ConnectionResponse): void {
    if (response.kind === 'error') return this.#refused(response);
    clearTimeout(this.#timers[0]);
    if (this.#end !== null) return;
    this.#registered = true;
    this.#handlers.onRegistered(response);
  }

  #refused(response: ConnectionResponse & { readonly kind: 'error' }): void {
    const message = `the edge refuses the registration: ${response.cause}`;
    const { retryAfterMs } = response;
    if (response.cause === 'EDUPCONN') return this.#finish('Duplicate', message, { next: 'elsewhere', retryAfterMs });
    // A tunnel or secret that was made a moment ago is not known everywhere yet, so this is tried again whatever the edge advises.
    if (response.cause.includes('Unauthorized')) return this.#finish('Unauthorized', message, { next: 'backoff', retryAfterMs });
    this.#finish('Refused', message, { next: response.shouldRetry ? 'backoff' : 'never', retryAfterMs });
  }

  /** Sends the document of a tunnel that is not managed remotely. The edge may refuse it: then it only shows less. */
  reportLocalDocument(config: Uint8Array): void {
    this.#control?.updateLocalConfiguration(config).catch(() => undefined);
  }

  #receiveDocument(stream: http2.ServerHttp2Stream): void {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_DOCUMENT_BYTES) breakOff(stream);
      else chunks.push(chunk);
    });
    stream.on('end', () => {
      if (!endedCleanly(stream)) return;
      const answer = this.#handlers.onPush(Buffer.concat(chunks).toString('utf8'));
      stream.respond({ ':status': 200, 'content-type': 'application/json' });
      stream.end(JSON.stringify(answer));
    });
  }

  #late(): void {
    this.#finish('Unreachable', 'the edge did not complete the registration in time');
  }

  #finish(code: string, message: string, next: Pick<ConnectionEnd, 'next' | 'retryAfterMs'> = { next: 'backoff', retryAfterMs: 0 }): void {
    if (this.#end !== null) return;
    this.#end = { code: this.#registered && next.next === 'backoff' ? 'Lost' : code, message, registered: this.#registered, ...next };
    this.#registered = false;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#session?.destroy();
    this.#socket.destroy();
    this.#onIdle?.();
    this.#resolveClosed(this.#end);
  }
}
