// A Connector in TypeScript: speaks the tunnel's HTTP/2 protocol itself, several connections wide, and obeys the pushed tunnel document.
//
// Experimental. The protocol is not published, so this may stop working with the real edge at any time; it introduces itself by its own
// name and version. Cloudflare's edge presents certificates of a private authority: give it as `edgeCa` (Cloudflare publishes it as its
// Origin CA); without one the certificates that Node trusts are used.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Connector, ConnectorError, ConnectorOptions, ConnectorState } from '../connector.ts';
import { decodeToken, type DecodedToken } from '../token.ts';
import { AddressPool, discoverEdge, parseAddress, type EdgeAddress } from './addresses.ts';
import type { ConnectionHandlers, ConnectionSettings } from './connection.ts';
import { DocumentStore } from './document.ts';
import { handleRequest } from './handle.ts';
import { singleOriginDocument, type TunnelDocument } from './ingress.ts';
import { OriginPools } from './origins.ts';
import { Slot, type Backoff } from './slot.ts';

/** What only tests and experiments change. */
export interface NativeTuning {
  /** Connections to the edge, at most one for each of its addresses. */
  readonly connections: number;
  /** Wait between the starts of the second and later connections. */
  readonly spacingMs: number;
  readonly backoff: Backoff;
  readonly timeoutMs: number;
  readonly pingMs: number;
}

const DEFAULTS: NativeTuning = {
  connections: 4,
  spacingMs: 1000,
  backoff: { firstMs: 1000, mostMs: 32_000 },
  timeoutMs: 15_000,
  pingMs: 15_000,
};
const VERSION = 'cftunnel-native/0.1.0';
const FEATURES = ['serialized_headers', 'allow_remote_config'];

export function createNativeConnector(options: ConnectorOptions, tuning: Partial<NativeTuning> = {}): Connector {
  return new NativeConnector(options, { ...DEFAULTS, ...tuning });
}

class NativeConnector implements Connector {
  readonly #options: ConnectorOptions;
  readonly #tuning: NativeTuning;
  readonly #listeners = new Set<(state: ConnectorState) => void>();
  readonly #clientId = uuidBytes();
  readonly #origins = new OriginPools();
  readonly #documents: DocumentStore;
  readonly #stopping = new AbortController();
  #slots: readonly Slot[] = [];
  #state: ConnectorState = { phase: 'starting', connections: 0, configVersion: -1, error: null };
  #isStarted = false;
  #wasRegistered = false;
  /** A failure outside any connection: of the token, an option or discovery. */
  #failure: ConnectorError | null = null;
  #ending: 'draining' | 'stopped' | 'failed' | null = null;

  constructor(options: ConnectorOptions, tuning: NativeTuning) {
    this.#options = options;
    this.#tuning = tuning;
    const initial = options.originPort === undefined ? null : singleOriginDocument(options.originPort);
    this.#documents = new DocumentStore(initial, (document) => this.#documentApplied(document));
  }

  get state(): ConnectorState {
    return this.#state;
  }

  onState(listener: (state: ConnectorState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    if (this.#isStarted || this.#ending !== null) return;
    this.#isStarted = true;
    const token = decodeToken(this.#options.token);
    if ('error' in token) return this.#giveUp('InvalidToken', token.error);
    if (this.#options.protocol === 'quic') return this.#giveUp('Unsupported', 'the native connector speaks http2 only');
    const given = this.#options.edge.map(parseAddress);
    const wrong = given.indexOf(null);
    if (wrong !== -1) return this.#giveUp('Unsupported', `edge address ${wrong + 1} is not of the form host:port`);
    void this.#connect(token, given as EdgeAddress[]);
  }

  async drain(): Promise<void> {
    if (this.#ending === null) {
      this.#ending = 'draining';
      this.#stopping.abort();
      this.#update();
      const grace = new AbortController();
      const timer = setTimeout(() => grace.abort(), this.#options.gracePeriodMs);
      await Promise.all(this.#slots.map((slot) => slot.drain(grace.signal)));
      clearTimeout(timer);
    }
    await this.stop();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#slots.map((slot) => slot.stop()));
    this.#origins.destroy();
    this.#ending = 'stopped';
    this.#update();
  }

  async #connect(token: DecodedToken, given: readonly EdgeAddress[]): Promise<void> {
    const addresses = given.length > 0 ? given : await this.#discover();
    if (this.#stopping.signal.aborted) return;
    const pool = new AddressPool(addresses);
    const width = Math.min(this.#tuning.connections, addresses.length);
    this.#slots = Array.from({ length: width }, (_, index) => this.#slot(index, pool, token));
    this.#slots[0]?.start();
  }

  async #discover(): Promise<readonly EdgeAddress[]> {
    for (let wait = this.#tuning.backoff.firstMs; !this.#stopping.signal.aborted; wait = Math.min(wait * 2, this.#tuning.backoff.mostMs)) {
      const found = await discoverEdge().catch(() => []);
      this.#failure = found.length > 0 ? null : { code: 'Discovery', message: 'DNS names no address of the edge' };
      if (found.length > 0) return found;
      this.#options.log.warn({ code: 'Discovery', retryInMs: wait }, 'no edge address found');
      this.#update();
      await delay(wait, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
    return [];
  }

  #slot(index: number, pool: AddressPool, token: DecodedToken): Slot {
    return new Slot({
      index,
      pool,
      backoff: this.#tuning.backoff,
      log: this.#options.log,
      settings: (address, previousAttempts) => this.#connectionSettings(index, token, address, previousAttempts),
      handlers: this.#handlers(),
      onRegistered: (slot, remotelyManaged) => this.#registered(slot, remotelyManaged),
      onChange: () => this.#update(),
    });
  }

  #connectionSettings(index: number, token: DecodedToken, address: EdgeAddress, previousAttempts: number): ConnectionSettings {
    return {
      address,
      ca: this.#options.edgeCa,
      timeoutMs: this.#tuning.timeoutMs,
      pingMs: this.#tuning.pingMs,
      registration: {
        connectionIndex: index,
        account: token.account,
        secret: token.secret,
        tunnelId: Buffer.from(token.tunnelId.replaceAll('-', ''), 'hex'),
        clientId: this.#clientId,
        features: FEATURES,
        version: VERSION,
        arch: `${process.platform}_${process.arch}`,
        previousAttempts,
        // A connection that the edge has not noticed to be dead must not keep its successor out.
        replaceExisting: true,
      },
    };
  }

  #handlers(): Omit<ConnectionHandlers, 'onRegistered'> {
    const origins = this.#origins;
    const { log } = this.#options;
    return {
      onRequest: (stream, headers) => handleRequest(stream, headers, { document: this.#documents.document, origins, log }),
      onPush: (json) => {
        const before = this.#documents.version;
        const answer = this.#documents.push(json);
        if (answer.err !== null) log.error({ error: answer.err, version: before }, 'tunnel document refused, the previous one stays');
        return answer;
      },
    };
  }

  #documentApplied(document: TunnelDocument): void {
    this.#origins.retain(document);
    const unsupported = document.rules.flatMap(({ service, hostname }) =>
      service.kind === 'unsupported' ? [`${hostname || '*'}: ${service.reason}`] : [],
    );
    const fields = { version: this.#documents.version, rules: document.rules.length };
    if (unsupported.length === 0) this.#options.log.info(fields, 'tunnel document applied');
    else
      this.#options.log.warn({ ...fields, unsupported: unsupported.slice(0, 20) }, 'tunnel document applied, some rules cannot be served');
    this.#update();
  }

  #registered(slot: Slot, remotelyManaged: boolean): void {
    const { originPort } = this.#options;
    if (!remotelyManaged && slot.index === 0 && originPort !== undefined) {
      slot.reportLocalDocument(Buffer.from(JSON.stringify({ ingress: [{ service: `http://127.0.0.1:${originPort}` }] })));
    }
    const isFirst = !this.#wasRegistered;
    this.#wasRegistered = true;
    this.#update();
    if (isFirst) void this.#startOthers();
  }

  /** The further connections follow one by one, so that a fleet that starts together does not fall upon the edge. */
  async #startOthers(): Promise<void> {
    for (const slot of this.#slots.slice(1)) {
      await delay(this.#tuning.spacingMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      if (this.#stopping.signal.aborted) return;
      slot.start();
    }
  }

  #giveUp(code: string, message: string): void {
    this.#failure = { code, message };
    this.#ending = 'failed';
    this.#options.log.error({ code }, message);
    this.#update();
  }

  #update(): void {
    const started = this.#slots.filter((slot) => slot.isRegistered || slot.error !== null || slot.hasGivenUp);
    const connections = this.#ending === null ? started.filter((slot) => slot.isRegistered).length : 0;
    const error = this.#failure ?? started.findLast((slot) => !slot.isRegistered && slot.error !== null)?.error ?? null;
    const hasGivenUp = started.length > 0 && started.every((slot) => slot.hasGivenUp);
    const next: ConnectorState = {
      phase: this.#ending ?? (connections > 0 ? 'connected' : hasGivenUp ? 'failed' : this.#wasRegistered ? 'reconnecting' : 'starting'),
      connections,
      configVersion: this.#documents.version,
      error: this.#ending === 'stopped' || this.#ending === 'draining' ? null : error,
    };
    if (sameState(next, this.#state)) return;
    this.#state = next;
    for (const listener of this.#listeners) listener(next);
  }
}

function sameState(a: ConnectorState, b: ConnectorState): boolean {
  return (
    a.phase === b.phase &&
    a.connections === b.connections &&
    a.configVersion === b.configVersion &&
    a.error?.code === b.error?.code &&
    a.error?.message === b.error?.message
  );
}

function uuidBytes(): Uint8Array {
  const bytes = randomBytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes;
}
