// One connection of a connector, seen from the edge: HTTP/2 with the edge as the client, the control stream, documents and requests.
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { z } from 'zod';
import type { ConnectionResponse, Registration } from '#proxy/connector/rpc.ts';
import { EDGE_SERVER_NAME, UPGRADE_CONFIGURATION, UPGRADE_CONTROL_STREAM, UPGRADE_HEADER } from '#proxy/connector/wire.ts';
import { serveControl } from './control.ts';
import type { EdgeConnection } from './types.ts';

export interface LinkHandlers {
  readonly register: (link: Link, registration: Registration) => ConnectionResponse;
  /** The connector knows that it is registered: time to push the document. */
  readonly registered: (link: Link) => void;
  readonly changed: () => void;
  readonly closed: (link: Link) => void;
}

/** What the registration said, kept with the link. */
export interface Identity {
  readonly id: string;
  readonly tunnelId: string;
  readonly connectorId: string;
  readonly registration: Registration;
  readonly originIp: string;
  readonly openedAt: string;
}

const WINDOW = 4 << 20;
const SESSION_WINDOW = 16 << 20;
/** A connector that does not say that it has read the answer gets its document all the same. */
const FINISH_WAIT_MS = 100;
/** Time for the last answer to arrive before the connection is closed. */
const LINGER_MS = 50;

const pushAnswer = z.object({ lastAppliedVersion: z.int(), err: z.unknown() });

export class Link {
  readonly #socket: TLSSocket;
  readonly #session: ClientHttp2Session;
  readonly #handlers: LinkHandlers;
  #identity: Identity | null = null;
  #appliedVersion = -1;
  #refusedDocument = false;
  #isDraining = false;
  #isClosed = false;
  #localDocument: string | null = null;
  #requests = 0;
  #pushes: Promise<void> = Promise.resolve();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(socket: TLSSocket, handlers: LinkHandlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    this.#session = http2.connect(`https://${EDGE_SERVER_NAME}`, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: WINDOW, maxHeaderListSize: WINDOW },
      maxSendHeaderBlockLength: WINDOW,
      maxHeaderListPairs: 10_000,
      maxSessionMemory: 1000,
    });
    this.#session.on('error', () => this.destroy());
    this.#session.on('close', () => this.destroy());
    this.#session.on('goaway', () => this.#drain());
    this.#session.on('connect', () => this.#session.setLocalWindowSize(SESSION_WINDOW));
    socket.on('close', () => this.destroy());
    this.#openControl();
  }

  get identity(): Identity | null {
    return this.#identity;
  }

  set identity(identity: Identity) {
    this.#identity = identity;
  }

  /** True when a visitor's request may be sent here. */
  get isUsable(): boolean {
    return this.#identity !== null && !this.#isDraining && !this.#isClosed && !this.#session.closed;
  }

  /** True once the connector has answered a document, so that its rules are in force. */
  get hasDocument(): boolean {
    return this.#appliedVersion >= 0 || this.#localDocument !== null;
  }

  get view(): EdgeConnection | null {
    if (this.#identity === null || this.#isClosed) return null;
    const { id, connectorId, registration, originIp, openedAt } = this.#identity;
    return {
      id,
      connectorId,
      index: registration.connectionIndex,
      version: registration.version,
      arch: registration.arch,
      features: registration.features,
      originIp,
      openedAt,
      appliedVersion: this.#appliedVersion,
      refusedDocument: this.#refusedDocument,
      isDraining: this.#isDraining,
      localDocument: this.#localDocument,
      requests: this.#requests,
    };
  }

  /** Opens a stream for a visitor. `headers` is a flat list that begins with the pseudo-headers. */
  request(headers: readonly string[], endStream: boolean): ClientHttp2Stream {
    const stream = this.#session.request(headers, { endStream });
    this.#requests += 1;
    stream.once('close', () => {
      this.#requests -= 1;
      this.#closeWhenIdle();
    });
    return stream;
  }

  /** Pushes a document; documents follow each other in order. Resolves when the connector has answered or is gone. */
  push(document: { readonly version: number; readonly config: unknown }): Promise<void> {
    this.#pushes = this.#pushes.then(() => this.#push(JSON.stringify({ version: document.version, config: document.config })));
    return this.#pushes;
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#session.destroy();
    this.#socket.destroy();
    this.#handlers.closed(this);
  }

  #openControl(): void {
    const stream = this.#open(UPGRADE_CONTROL_STREAM, 'GET');
    let isAcknowledged = false;
    const acknowledge = (): void => {
      if (isAcknowledged || this.#isClosed || this.#identity === null) return;
      isAcknowledged = true;
      this.#handlers.registered(this);
    };
    serveControl(stream, {
      register: (registration) => {
        const response = this.#handlers.register(this, registration);
        if (response.kind === 'details') this.#after(FINISH_WAIT_MS, acknowledge);
        return response;
      },
      registered: acknowledge,
      // The connector reports the refusal only when the connection ends.
      refused: () => this.#after(LINGER_MS, () => this.destroy()),
      unregistered: () => this.#drain(),
      localDocument: (config) => {
        this.#localDocument = config;
        this.#handlers.changed();
      },
      // After its farewell a connector goes on with what is in flight.
      ended: () => this.#isDraining || this.#after(LINGER_MS, () => this.destroy()),
      broken: () => this.#after(LINGER_MS, () => this.destroy()),
    });
  }

  #open(kind: string, method: string): ClientHttp2Stream {
    const stream = this.#session.request(
      { ':method': method, ':path': '/', ':scheme': 'https', ':authority': EDGE_SERVER_NAME, [UPGRADE_HEADER]: kind },
      { endStream: false },
    );
    stream.on('error', () => undefined);
    return stream;
  }

  #drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#handlers.changed();
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (this.#isDraining && this.#requests === 0) this.#after(LINGER_MS, () => this.destroy());
  }

  async #push(body: string): Promise<void> {
    if (this.#isClosed) return;
    const answer = await this.#exchange(body);
    if (answer === null) return;
    this.#appliedVersion = answer.lastAppliedVersion;
    this.#refusedDocument = answer.err !== null && answer.err !== undefined;
    this.#handlers.changed();
  }

  #exchange(body: string): Promise<z.infer<typeof pushAnswer> | null> {
    const stream = this.#open(UPGRADE_CONFIGURATION, 'PUT');
    const chunks: Buffer[] = [];
    return new Promise((resolve) => {
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => resolve(parseAnswer(Buffer.concat(chunks).toString('utf8'))));
      stream.on('close', () => resolve(null));
      stream.end(body);
    });
  }

  #after(ms: number, action: () => void): void {
    if (this.#isClosed) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, ms);
    this.#timers.add(timer);
  }
}

function parseAnswer(text: string): z.infer<typeof pushAnswer> | null {
  try {
    return pushAnswer.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
