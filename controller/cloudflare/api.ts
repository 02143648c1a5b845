// The Cloudflare API in our words: the few calls that the controller makes, and what can go wrong with them, as values.

/**
 * What a caller can do about a failure decides its kind.
 * - `Unauthorized`: the token itself is refused (unknown, revoked, expired, malformed).
 * - `Forbidden`: the token is good, but lacks a permission.
 * - `NotFound`, `Conflict`, `Invalid`: the request is wrong as it is; repeating it does not help.
 * - `RateLimited`: wait `retryAfterMs`.
 * - `Server`, `Network`, `Timeout`: trouble at or on the way to Cloudflare, worth a retry.
 * - `Malformed`: the answer is not the API's (a captive portal, a proxy's page) or not what it documents.
 */
export type CloudflareErrorKind =
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'RateLimited'
  | 'Invalid'
  | 'Server'
  | 'Network'
  | 'Timeout'
  | 'Malformed'
  | 'Conflict';

export interface CloudflareError {
  readonly kind: CloudflareErrorKind;
  /** HTTP status, 0 when there was no answer. */
  readonly status: number;
  /** The API's own number, 0 when it gave none. */
  readonly code: number;
  /** For people: what failed, the API's code and text, and for `Forbidden` the permission that is missing. Never a token. */
  readonly message: string;
  /** Milliseconds to wait before the next call with this token; null when the API did not say. */
  readonly retryAfterMs: number | null;
}

export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: CloudflareError };

export interface Account {
  readonly id: string;
  readonly name: string;
}

export interface Tunnel {
  readonly id: string;
  readonly name: string;
  /** `cloudflare`: the document at the API is what connectors get. `local`: connectors ignore it. */
  readonly configSource: 'cloudflare' | 'local';
  readonly deleted: boolean;
  /** What its maker noted with it; empty where the API keeps no notes. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Connections that connectors have now, as far as the API tells. */
  readonly connections: number;
}

/** A tunnel's whole configuration document; `config` is null as long as nobody has written one. */
export interface TunnelDocument {
  readonly version: number;
  readonly config: Readonly<Record<string, unknown>> | null;
  /** Where the tunnel takes its configuration from, as far as the API says so with the document. */
  readonly configSource: 'cloudflare' | 'local' | null;
}

/** One API token's view of Cloudflare. No method throws; `signal` ends a call early with `Network`. */
export interface CloudflareApi {
  /** Every account that the token can see, all pages. */
  accounts(signal?: AbortSignal): Promise<Result<readonly Account[]>>;
  tunnel(accountId: string, tunnelId: string, signal?: AbortSignal): Promise<Result<Tunnel>>;
  /** Tunnels that are not deleted and whose names begin so, all pages. */
  tunnels(accountId: string, prefix: string, signal?: AbortSignal): Promise<Result<readonly Tunnel[]>>;
  /** A tunnel whose document is at the API. `Conflict`: there is one of that name. */
  createTunnel(
    accountId: string,
    tunnel: { readonly name: string; readonly metadata: Readonly<Record<string, string>> },
    signal?: AbortSignal,
  ): Promise<Result<Tunnel>>;
  /** Never one with connections: the API refuses that as `Invalid`. */
  deleteTunnel(accountId: string, tunnelId: string, signal?: AbortSignal): Promise<Result<Tunnel>>;
  tunnelDocument(accountId: string, tunnelId: string, signal?: AbortSignal): Promise<Result<TunnelDocument>>;
  /** Replaces the whole document: the API has no partial write and no precondition. */
  putTunnelDocument(
    accountId: string,
    tunnelId: string,
    config: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ): Promise<Result<TunnelDocument>>;
  /** The connector token, a secret. */
  tunnelToken(accountId: string, tunnelId: string, signal?: AbortSignal): Promise<Result<string>>;
}

/** What the calls count into; metric names are defined where metrics are. */
export interface CloudflareObserver {
  /** One call that ended: `status` is the HTTP status, or the error kind when there was none. */
  call(method: string, resource: string, status: string, seconds: number): void;
  /** A write, or a whole synchronisation, that was not needed. */
  skipped(): void;
}
