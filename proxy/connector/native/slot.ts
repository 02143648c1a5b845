// One of a connector's places at the edge: keeps one connection alive, with backoff between tries, until it is drained or given up.
import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectorError, ConnectorLog } from '../connector.ts';
import type { AddressPool, EdgeAddress } from './addresses.ts';
import { EdgeConnection, type ConnectionEnd, type ConnectionHandlers, type ConnectionSettings } from './connection.ts';

/** First and longest wait between two tries, in milliseconds. The wait doubles; what is waited is drawn from its upper half. */
export interface Backoff {
  readonly firstMs: number;
  readonly mostMs: number;
}

export interface SlotOptions {
  readonly index: number;
  readonly pool: AddressPool;
  readonly backoff: Backoff;
  readonly log: ConnectorLog;
  readonly settings: (address: EdgeAddress, previousAttempts: number) => ConnectionSettings;
  readonly handlers: Omit<ConnectionHandlers, 'onRegistered'>;
  /** The connection was registered. */
  readonly onRegistered: (slot: Slot, remotelyManaged: boolean) => void;
  readonly onChange: () => void;
}

/** A connection that lasted this long counts as healthy: the next loss starts with a short wait again. */
const HEALTHY_MS = 30_000;

/** What the edge asks for is done, within reason: a timer that is told to wait longer than 24 days fires at once. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;

export class Slot {
  readonly index: number;
  readonly #options: SlotOptions;
  readonly #stopping = new AbortController();
  #connection: EdgeConnection | null = null;
  #attempts = 0;
  #error: ConnectorError | null = null;
  #hasGivenUp = false;
  #running: Promise<void> | null = null;

  constructor(options: SlotOptions) {
    this.index = options.index;
    this.#options = options;
  }

  get isRegistered(): boolean {
    return this.#connection?.isRegistered === true;
  }

  get hasGivenUp(): boolean {
    return this.#hasGivenUp;
  }

  /** Why the connection is not there, or null when it is or was never tried. */
  get error(): ConnectorError | null {
    return this.#error;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async drain(signal: AbortSignal): Promise<void> {
    this.#stopping.abort();
    await this.#connection?.drain(signal);
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#connection?.destroy('Stopped', 'stopped');
    await this.#running;
  }

  reportLocalDocument(config: Uint8Array): void {
    this.#connection?.reportLocalDocument(config);
  }

  async #run(): Promise<void> {
    let address: EdgeAddress | null = null;
    while (!this.#stopping.signal.aborted && !this.#hasGivenUp) {
      address = this.#options.pool.take(address);
      const started = performance.now();
      const end = await this.#connect(address);
      this.#options.pool.release(address);
      if (this.#stopping.signal.aborted) break;
      this.#attempts = end.registered && performance.now() - started > HEALTHY_MS ? 1 : this.#attempts + 1;
      await this.#recover(end, address);
    }
  }

  async #connect(address: EdgeAddress): Promise<ConnectionEnd> {
    const { settings, handlers, log } = this.#options;
    const connection = new EdgeConnection(settings(address, this.#attempts), {
      ...handlers,
      onRegistered: (details) => {
        this.#error = null;
        log.info(
          { connection: this.index, edge: `${address.host}:${address.port}`, location: details.location },
          'tunnel connection registered',
        );
        this.#options.onRegistered(this, details.remotelyManaged);
      },
    });
    this.#connection = connection;
    const end = await connection.closed;
    this.#connection = null;
    return end;
  }

  async #recover(end: ConnectionEnd, address: EdgeAddress): Promise<void> {
    const { log, index, onChange, pool } = this.#options;
    this.#error = { code: end.code, message: end.message };
    this.#hasGivenUp = end.next === 'never';
    // With a single address there is no elsewhere, and trying at once would be a busy loop.
    const isElsewhere = end.next === 'elsewhere' && pool.size > 1 && this.#attempts < pool.size;
    const waitMs = this.#hasGivenUp || isElsewhere ? 0 : Math.max(this.#wait(), Math.min(end.retryAfterMs, LONGEST_RETRY_AFTER_MS));
    const fields = { connection: index, edge: `${address.host}:${address.port}`, code: end.code, retryInMs: Math.round(waitMs) };
    if (this.#hasGivenUp) log.error(fields, `tunnel connection given up: ${end.message}`);
    else log.warn(fields, `tunnel connection lost: ${end.message}`);
    onChange();
    await delay(waitMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  #wait(): number {
    const { firstMs, mostMs } = this.#options.backoff;
    const most = Math.min(mostMs, firstMs * 2 ** Math.min(this.#attempts - 1, 20));
    return most / 2 + (Math.random() * most) / 2;
  }
}
