// Limits towards clients, in milliseconds and bytes.

export interface HttpOptions {
  /** Of one head, in both directions: Access cookies and tokens are large, the edge allows 128 KiB. */
  readonly maxHeaderSize: number;
  /** From the first byte of a request to the end of its head. */
  readonly headersTimeout: number;
  /** Longer than the connector keeps idle connections (cloudflared: 90 s), so that it is never us who close first. */
  readonly keepAliveTimeout: number;
  /** An exchange in which nothing moves, in neither direction, for so long is ended; 0: never. */
  readonly stallTimeout: number;
  /** The same for a response whose length is not known in advance: event streams, gRPC. */
  readonly streamStallTimeout: number;
  /** The same for upgraded connections; 0: never, the edge has a limit of its own. */
  readonly upgradeStallTimeout: number;
  /** All tries to connect, together. */
  readonly connectBudget: number;
  /** What is still read of a request that has been answered before its end, so that the client gets to see the answer. */
  readonly lingerBytes: number;
  readonly lingerTime: number;
  /** Step of the coarse clock by which silence and idleness are measured. */
  readonly tickTime: number;
  /** Proxies in front of the proxy's own entry whose `X-Forwarded-*` are believed. */
  readonly trustedHops: number;
}

export const HTTP_DEFAULTS: HttpOptions = {
  maxHeaderSize: 131_072,
  headersTimeout: 15_000,
  keepAliveTimeout: 120_000,
  stallTimeout: 300_000,
  streamStallTimeout: 900_000,
  upgradeStallTimeout: 0,
  connectBudget: 10_000,
  lingerBytes: 8 << 20,
  lingerTime: 5_000,
  tickTime: 500,
  trustedHops: 0,
};
