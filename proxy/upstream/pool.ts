// HTTP/1.1 connections to one endpoint: the last one used is reused first, their number is capped, and those who wait have a deadline.
import { H1Connection, type ConnectionOwner } from './h1.ts';
import type { Failure, Job } from './job.ts';
import type { UpstreamOptions } from './options.ts';

const FULL: Failure = { kind: 'overload', message: 'every connection is taken and the queue is full', stale: false };
const LATE: Failure = { kind: 'overload', message: 'no connection became free in time', stale: false };

interface Waiter {
  readonly job: Job;
  readonly until: number;
}

export class H1Pool implements ConnectionOwner {
  readonly host: string;
  readonly port: number;
  readonly connectTimeout: number;
  private readonly options: UpstreamOptions;
  private readonly onConnected: () => void;
  /** Oldest first: the end is taken, so that a pool that is too large for its load grows old at the front. */
  private readonly idle: H1Connection[] = [];
  private readonly all = new Set<H1Connection>();
  private readonly queue: Waiter[] = [];
  /** Jobs that must not meet a connection that is closing: they take an idle one after all pending socket events were seen. */
  private careful: Job[] = [];
  private retired = false;

  constructor(host: string, port: number, options: UpstreamOptions, onConnected: () => void) {
    this.host = host;
    this.port = port;
    this.options = options;
    this.connectTimeout = options.connectTimeout;
    this.onConnected = onConnected;
  }

  get count(): number {
    return this.all.size;
  }

  /** Finds a connection for the job, now or later; `fresh` asks for a new one. */
  acquire(job: Job, fresh: boolean): void {
    if (fresh || this.idle.length === 0) this.connectOrWait(job);
    else if (job.repeatable) this.serve(job);
    else this.serveCarefully(job);
  }

  /** The job no longer wants a connection. */
  cancel(job: Job): void {
    const waiting = this.queue.findIndex((waiter) => waiter.job === job);
    if (waiting !== -1) this.queue.splice(waiting, 1);
    const careful = this.careful.indexOf(job);
    if (careful !== -1) this.careful.splice(careful, 1);
  }

  private serve(job: Job): void {
    const now = performance.now();
    for (;;) {
      const connection = this.idle.pop();
      if (connection === undefined) {
        this.connectOrWait(job);
        return;
      }
      if (connection.idleUntil > now && connection.usable) {
        connection.serve(job);
        return;
      }
      connection.destroy();
    }
  }

  /**
   * What cannot be sent twice waits until this turn of the event loop has delivered the ends and stray bytes that have already arrived on
   * idle connections. Once per turn, not once per request.
   */
  private serveCarefully(job: Job): void {
    this.careful.push(job);
    if (this.careful.length > 1) return;
    setImmediate(() => {
      const jobs = this.careful;
      this.careful = [];
      for (const next of jobs) this.serve(next);
    });
  }

  private connectOrWait(job: Job): void {
    if (this.all.size < this.options.maxConnections) {
      this.all.add(new H1Connection(this, job));
    } else if (this.queue.length < this.options.maxQueue) {
      this.queue.push({ job, until: performance.now() + this.options.queueTimeout });
    } else {
      job.onFailure(FULL);
    }
  }

  connected(): void {
    this.onConnected();
  }

  release(connection: H1Connection, keepAliveHint: number): void {
    const waiter = this.queue.shift();
    if (waiter !== undefined) {
      connection.serve(waiter.job);
      return;
    }
    const keep = this.idleTime(keepAliveHint);
    if (this.retired || keep <= 0) {
      connection.destroy();
      return;
    }
    connection.idleUntil = performance.now() + keep;
    this.idle.push(connection);
  }

  /** One second less than the backend says: it must never close first, for that loses the request that is on its way. */
  private idleTime(keepAliveHint: number): number {
    return keepAliveHint < 0 ? this.options.idleTimeout : Math.min(keepAliveHint * 1000 - 1000, this.options.maxIdleTimeout);
  }

  closed(connection: H1Connection): void {
    this.all.delete(connection);
    const index = this.idle.lastIndexOf(connection);
    if (index !== -1) this.idle.splice(index, 1);
    const waiter = this.queue.shift();
    if (waiter !== undefined) this.connectOrWait(waiter.job);
  }

  /** Closes what has been idle for too long and turns away who has waited for too long. */
  sweep(now: number): void {
    for (const connection of this.idle.filter((candidate) => candidate.idleUntil <= now)) connection.destroy();
    while (this.queue.length > 0 && this.queue[0]!.until <= now) this.queue.shift()!.job.onFailure(LATE);
  }

  /** The endpoint is gone: idle connections close, busy ones finish their exchange. */
  retire(): void {
    this.retired = true;
    this.closeIdle();
  }

  closeIdle(): void {
    for (const connection of this.idle.slice()) connection.destroy();
  }

  destroy(): void {
    this.retired = true;
    this.queue.length = 0;
    for (const connection of this.all) connection.destroy();
  }
}
