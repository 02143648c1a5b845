// The `cloudflare` package behind our interface: no retries of its own, every call bounded in time and size, nothing from the environment.
import { createHash } from 'node:crypto';
import { APIError } from 'cloudflare/error';
import { BaseAccounts } from 'cloudflare/resources/accounts/accounts';
import { Cloudflared } from 'cloudflare/resources/zero-trust/tunnels/cloudflared/cloudflared';
import { createClient } from 'cloudflare/tree-shakable';
import { z } from 'zod';
import { failure, readAnswer, type Answer, type Operation, type Page } from './answer.ts';
import type { Account, CloudflareApi, CloudflareObserver, Result, Tunnel, TunnelDocument } from './api.ts';
import type { RateLimiter } from './rate.ts';

const DEFAULT_BASE_URL = 'https://api.cloudflare.com/client/v4';

export interface CloudflareClientOptions {
  /** Secret. Surrounding white space is removed: Secrets made from files end with a line break. */
  readonly apiToken: string;
  readonly limiter: RateLimiter;
  /** Default: Cloudflare's own. */
  readonly baseURL?: string;
  /** For one whole call, body included. Milliseconds, default 10,000. */
  readonly timeoutMs?: number;
  readonly observer?: Pick<CloudflareObserver, 'call'>;
  /** Wall clock in milliseconds, for dates in Retry-After. */
  readonly now?: () => number;
}

/** A document of 1,000 rules has about 200 kB; what is larger than this is not an answer of this API. */
const LARGEST_BODY = 16 * 1024 * 1024;
const ACCOUNTS_PER_PAGE = 50;
const TUNNELS_PER_PAGE = 100;
const MOST_PAGES = 100;

const source = z.enum(['cloudflare', 'local']);
const accountsShape = z.array(z.object({ id: z.string().min(1), name: z.string() }));
const tunnelShape = z
  .object({
    id: z.string(),
    name: z.string(),
    config_src: source,
    deleted_at: z.string().nullish(),
    metadata: z.record(z.string(), z.unknown()).nullish().catch(null),
    connections: z.array(z.unknown()).nullish(),
  })
  .transform((tunnel): Tunnel => {
    return {
      id: tunnel.id,
      name: tunnel.name,
      configSource: tunnel.config_src,
      deleted: tunnel.deleted_at != null,
      metadata: tunnel.metadata ?? {},
      connections: tunnel.connections?.length ?? 0,
    };
  });
const documentShape = z
  .object({ version: z.int().min(0), config: z.record(z.string(), z.unknown()).nullish(), source: source.nullish() })
  .transform(({ version, config, source }): TunnelDocument => ({ version, config: config ?? null, configSource: source ?? null }));
const tokenShape = z.string().min(1);

type Sdk = ReturnType<typeof createSdk>;

/** Everything that the package would otherwise take from CLOUDFLARE_* variables is set here. */
function createSdk(apiToken: string, baseURL: string, timeout: number) {
  return createClient({
    resources: [BaseAccounts, Cloudflared],
    apiToken,
    apiKey: null,
    apiEmail: null,
    userServiceKey: null,
    baseURL,
    timeout,
    maxRetries: 0,
    logLevel: 'off',
    // A redirect would carry the token to wherever it points.
    fetchOptions: { redirect: 'manual' },
    // Last word over CLOUDFLARE_CUSTOM_HEADERS.
    defaultHeaders: { authorization: `Bearer ${apiToken}`, 'x-auth-key': null, 'x-auth-email': null, 'x-auth-user-service-key': null },
  });
}

/** What may stand in an Authorization header. Anything else makes `fetch` throw an error that quotes the value. */
const possibleToken = /^[\x21-\x7e]{1,512}$/;

/** A stable name for an API token that says nothing about it. */
export const tokenHash = (apiToken: string): string => createHash('sha256').update(apiToken.trim()).digest('base64url').slice(0, 16);

export function createCloudflareClient(options: CloudflareClientOptions): CloudflareApi {
  const apiToken = options.apiToken.trim();
  const holder = tokenHash(apiToken);
  const { limiter, observer, baseURL = DEFAULT_BASE_URL, timeoutMs = 10_000, now = Date.now } = options;
  const sdk = possibleToken.test(apiToken) ? createSdk(apiToken, baseURL, timeoutMs) : null;

  /** One call: admitted by the limiter, bounded, counted, and its answer checked against `shape`. */
  async function call<T>(
    operation: Operation,
    shape: z.ZodType<T>,
    outer: AbortSignal | undefined,
    send: (sdk: Sdk, request: { readonly signal: AbortSignal }) => Promise<Response>,
  ): Promise<Result<Page<T>>> {
    if (sdk === null) {
      return failure(
        'Unauthorized',
        0,
        0,
        `Cannot ${operation.what}: the API token is empty, has more than 512 characters, or some that no token has, such as a line break.`,
      );
    }
    const wait = limiter.admit(holder);
    if (wait > 0)
      return failure(
        'RateLimited',
        0,
        0,
        `Waiting before the attempt to ${operation.what}: the calls that Cloudflare allows are used up for now.`,
        wait,
      );
    const started = performance.now();
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = outer === undefined ? timeout : AbortSignal.any([outer, timeout]);
    let result: Result<Page<T>>;
    try {
      const answer = await collect(() => send(sdk, { signal }));
      result = readAnswer(operation, answer, shape, now());
    } catch (error) {
      result = timeout.aborted
        ? failure('Timeout', 0, 0, `Cloudflare did not answer the attempt to ${operation.what} within ${timeoutMs / 1000} s.`)
        : failure(
            'Network',
            0,
            0,
            `Cloudflare could not be reached to ${operation.what}: ${outer?.aborted === true ? 'stopped' : causeOf(error)}.`,
          );
    }
    result = withoutToken(result, apiToken);
    if (!result.ok && result.error.kind === 'RateLimited') {
      result = { ok: false, error: { ...result.error, retryAfterMs: limiter.holdOff(holder, result.error.retryAfterMs ?? 30_000) } };
    }
    const status = result.ok ? '200' : String(result.error.status || result.error.kind);
    observer?.call(operation.method, operation.resource, status, (performance.now() - started) / 1000);
    return result;
  }

  return {
    async accounts(signal) {
      const operation: Operation = {
        what: 'list the accounts of the API token',
        method: 'GET',
        resource: 'accounts',
        permission: 'Account → Account Settings: Read',
      };
      return allPages<Account>(ACCOUNTS_PER_PAGE, (page) =>
        call(operation, accountsShape, signal, (client, request) =>
          client.accounts.list({ page, per_page: ACCOUNTS_PER_PAGE }, request).asResponse(),
        ),
      );
    },

    async tunnels(accountId, prefix, signal) {
      const operation = accountOperation('GET', `list the tunnels of account ${accountId}`);
      const query = { account_id: accountId, include_prefix: prefix, is_deleted: false, per_page: TUNNELS_PER_PAGE };
      return allPages<Tunnel>(TUNNELS_PER_PAGE, (page) =>
        call(operation, z.array(tunnelShape), signal, (client, request) =>
          client.zeroTrust.tunnels.cloudflared.list({ ...query, page }, request).asResponse(),
        ),
      );
    },

    async createTunnel(accountId, { name, metadata }, signal) {
      const operation = accountOperation('POST', `create tunnel ${name}`);
      const body = { account_id: accountId, name, config_src: 'cloudflare', metadata } as const;
      return only(
        await call(operation, tunnelShape, signal, (client, request) =>
          client.zeroTrust.tunnels.cloudflared.create(body, request).asResponse(),
        ),
      );
    },

    async deleteTunnel(accountId, tunnelId, signal) {
      const operation = accountOperation('DELETE', `delete tunnel ${tunnelId}`);
      return only(
        await call(operation, tunnelShape, signal, (client, request) =>
          client.zeroTrust.tunnels.cloudflared.delete(tunnelId, { account_id: accountId }, request).asResponse(),
        ),
      );
    },

    async tunnel(accountId, tunnelId, signal) {
      return only(
        await call(tunnelOperation('read', 'tunnel', tunnelId), tunnelShape, signal, (client, request) =>
          client.zeroTrust.tunnels.cloudflared.get(tunnelId, { account_id: accountId }, request).asResponse(),
        ),
      );
    },

    async tunnelDocument(accountId, tunnelId, signal) {
      return only(
        await call(tunnelOperation('read', 'configuration', tunnelId), documentShape, signal, (client, request) =>
          client.zeroTrust.tunnels.cloudflared.configurations.get(tunnelId, { account_id: accountId }, request).asResponse(),
        ),
      );
    },

    async putTunnelDocument(accountId, tunnelId, config, signal) {
      return only(
        await call(tunnelOperation('write', 'configuration', tunnelId), documentShape, signal, (client, request) =>
          client.zeroTrust.tunnels.cloudflared.configurations.update(tunnelId, { account_id: accountId, config }, request).asResponse(),
        ),
      );
    },

    async tunnelToken(accountId, tunnelId, signal) {
      return only(
        await call(tunnelOperation('read', 'connector token', tunnelId), tokenShape, signal, (client, request) =>
          client.zeroTrust.tunnels.cloudflared.token.get(tunnelId, { account_id: accountId }, request).asResponse(),
        ),
      );
    },
  };
}

/** Reading needs less than Edit, but a token that cannot write is of no use here: name what is needed at once. */
function tunnelOperation(verb: 'read' | 'write', part: 'tunnel' | 'configuration' | 'connector token', tunnelId: string): Operation {
  return {
    what: part === 'tunnel' ? `read tunnel ${tunnelId}` : `${verb} the ${part} of tunnel ${tunnelId}`,
    method: verb === 'write' ? 'PUT' : 'GET',
    resource: part === 'tunnel' ? 'tunnel' : part === 'configuration' ? 'tunnel-configuration' : 'tunnel-token',
    permission: 'Account → Cloudflare Tunnel: Edit',
  };
}

const accountOperation = (method: string, what: string): Operation => ({
  what,
  method,
  resource: 'tunnel',
  permission: 'Account → Cloudflare Tunnel: Edit',
});

/** Until a page is the last by its own word, or not full. */
async function allPages<T>(size: number, read: (page: number) => Promise<Result<Page<readonly T[]>>>): Promise<Result<readonly T[]>> {
  const found: T[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const answer = await read(page);
    if (!answer.ok) return answer;
    const { result, totalPages } = answer.value;
    found.push(...result);
    if (result.length === 0 || page >= (totalPages ?? (result.length < size ? page : page + 1))) break;
  }
  return { ok: true, value: found };
}

const only = <T>(page: Result<Page<T>>): Result<T> => (page.ok ? { ok: true, value: page.value.result } : page);

/** Status, headers and body, whether the package throws for the status or not. */
async function collect(send: () => Promise<Response>): Promise<Answer> {
  try {
    const response = await send();
    return { status: response.status, headers: response.headers, body: await readText(response) };
  } catch (error) {
    if (!(error instanceof APIError) || error.status === undefined) throw error;
    return { status: error.status, headers: error.headers ?? new Headers(), body: JSON.stringify(error.error ?? null) };
  }
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    if (size > LARGEST_BODY) throw new Error(`its answer is larger than ${LARGEST_BODY} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The innermost reason of a failed fetch: `ECONNREFUSED`, `ENOTFOUND`, a TLS error. */
function causeOf(error: unknown): string {
  let inner = error;
  for (let depth = 0; depth < 5 && inner instanceof Error && inner.cause instanceof Error; depth += 1) inner = inner.cause;
  if (!(inner instanceof Error)) return 'unknown error';
  const code = (inner as { code?: unknown }).code;
  return typeof code === 'string' && !inner.message.includes(code) ? `${code} ${inner.message}`.trim() : inner.message;
}

/** Whatever the other side says may quote what it was sent. */
function withoutToken<T>(result: Result<T>, apiToken: string): Result<T> {
  if (result.ok || !result.error.message.includes(apiToken)) return result;
  return { ok: false, error: { ...result.error, message: result.error.message.replaceAll(apiToken, '[redacted]') } };
}
