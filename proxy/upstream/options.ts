// Limits towards backends, in milliseconds, bytes and counts.

export interface UpstreamOptions {
  /** A connection must be established within this time. */
  readonly connectTimeout: number;
  /** An idle connection is closed after this time when the backend gives no hint: below the shortest keep-alive in common use (5 s). */
  readonly idleTimeout: number;
  /** Upper limit for what a backend's `Keep-Alive: timeout` hint may extend that to. */
  readonly maxIdleTimeout: number;
  /** HTTP/1.1 connections to one endpoint, upgraded ones not counted. */
  readonly maxConnections: number;
  /** Exchanges that may wait for one of them, and how long. */
  readonly maxQueue: number;
  readonly queueTimeout: number;
  /** An endpoint is left out after so many connection failures in a row … */
  readonly ejectAfter: number;
  /** … for this long at first, doubled with every further failure up to the maximum. */
  readonly ejectTime: number;
  readonly maxEjectTime: number;
  /** Concurrent HTTP/2 streams on one connection, if the backend allows as many. */
  readonly maxStreams: number;
  /** A silent HTTP/2 connection with open streams is probed after this time and given up after it once more. */
  readonly pingInterval: number;
}

export const UPSTREAM_DEFAULTS: UpstreamOptions = {
  connectTimeout: 5_000,
  idleTimeout: 4_000,
  maxIdleTimeout: 120_000,
  maxConnections: 1024,
  maxQueue: 1024,
  queueTimeout: 5_000,
  ejectAfter: 2,
  ejectTime: 1_000,
  maxEjectTime: 30_000,
  maxStreams: 256,
  pingInterval: 15_000,
};
