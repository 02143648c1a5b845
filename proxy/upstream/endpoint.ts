// One address of a backend: its connections, its load and what is known of its health. Survives configuration changes.
import { H2Pool } from './h2c.ts';
import type { FailureKind, Job } from './job.ts';
import type { UpstreamOptions } from './options.ts';
import { H1Pool } from './pool.ts';

export class Endpoint {
  readonly address: string;
  /** Exchanges in flight. */
  active = 0;
  ejectedUntil = 0;

  readonly h1: H1Pool;
  private h2: H2Pool | null = null;
  private readonly options: UpstreamOptions;
  private readonly host: string;
  private readonly port: number;
  private failures = 0;

  constructor(address: string, options: UpstreamOptions) {
    this.address = address;
    this.options = options;
    const { host, port } = splitAddress(address);
    this.host = host;
    this.port = port;
    this.h1 = new H1Pool(host, port, options, () => this.succeeded());
  }

  /** Starts one try of the job here. */
  dispatch(job: Job, protocol: 'http1' | 'h2c', fresh: boolean): void {
    if (protocol === 'http1') this.h1.acquire(job, fresh);
    else (this.h2 ??= new H2Pool(this.host, this.port, this.options, () => this.succeeded())).acquire(job);
  }

  /** The job gives up before it was assigned a connection. */
  cancel(job: Job): void {
    this.h1.cancel(job);
  }

  /** A job could not be served here. Returns true when this ejects the endpoint. */
  failed(kind: FailureKind, now: number): boolean {
    if (kind !== 'connect' && kind !== 'connect-timeout') return false;
    this.failures += 1;
    const over = this.failures - this.options.ejectAfter;
    if (over < 0) return false;
    const wasHealthy = this.ejectedUntil <= now;
    this.ejectedUntil = now + Math.min(this.options.ejectTime * 2 ** Math.min(over, 16), this.options.maxEjectTime);
    return wasHealthy;
  }

  private succeeded(): void {
    this.failures = 0;
    this.ejectedUntil = 0;
  }

  sweep(now: number): void {
    this.h1.sweep(now);
    this.h2?.sweep(now);
  }

  retire(): void {
    this.h1.retire();
    this.h2?.retire();
  }

  /** Nothing is open any more. */
  get quiet(): boolean {
    return this.active === 0 && this.h1.count === 0 && (this.h2 === null || this.h2.count === 0);
  }

  get connections(): number {
    return this.h1.count + (this.h2?.count ?? 0);
  }

  closeIdle(): void {
    this.h1.closeIdle();
    this.h2?.closeIdle();
  }

  destroy(): void {
    this.h1.destroy();
    this.h2?.destroy();
  }
}

/** `address:port` or `[v6]:port`. A malformed one gives port 0, which refuses every connection. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, Math.max(colon, 0));
  const port = Number(address.slice(colon + 1));
  const valid = colon > 0 && Number.isInteger(port) && port > 0 && port < 65_536;
  return { host: host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host, port: valid ? port : 0 };
}
