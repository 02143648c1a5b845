// What an exchange needs of the data plane that it runs in.
import type { AccessLog } from '#proxy/observe/access-log.ts';
import type { Metrics } from '#proxy/observe/metrics.ts';
import type { Upstreams } from '#proxy/upstream/upstreams.ts';
import type { RequestKey } from '#proxy/table/types.ts';
import type { HttpOptions } from './options.ts';
import type { RequestHead } from './request-head.ts';

/** The shape of pino's methods that are used here. */
export interface Log {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface Plane {
  readonly options: HttpOptions;
  readonly upstreams: Upstreams;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics | null;
  readonly accessLog: AccessLog | null;
  /** Reused by every request: read, matched and written without a pause between. */
  readonly head: RequestHead;
  readonly key: RequestKey;
  /** Coarse clock: one step every `options.tickTime` milliseconds. */
  readonly tick: number;
  exchangeOpened(): void;
  exchangeClosed(): void;
  tunnelOpened(): void;
  tunnelClosed(): void;
}
