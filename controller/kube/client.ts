// Requests to the API server: one keep-alive connection per request in flight, our own timeouts, typed errors, credentials renewed on 401.
import http from 'node:http';
import https from 'node:https';
import type { KubeConfig } from '@kubernetes/client-node';
import { type Applied, Credentials } from './credentials.ts';
import { KubeError, parseRetryAfter } from './errors.ts';
import { parseJson } from './json.ts';
import { readBody } from './lines.ts';

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path below the server's address; its segments are already encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Type of the body; PATCH has no useful default. */
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
  /** The request fails after so many ms without a byte in either direction. */
  readonly idleMs?: number;
  /** Longest answer that `json` reads. */
  readonly maxBytes?: number;
}

export interface KubeClientOptions {
  readonly kubeConfig: KubeConfig;
  readonly userAgent?: string;
}

const USER_AGENT = 'cloudflare-tunnel-gateway-controller';
const IDLE_MS = 30_000;
const MAX_BYTES = 64 << 20;
const MAX_ERROR_BYTES = 64 << 10;

/**
 * Speaks HTTP/1.1, a connection per watch. One multiplexed HTTP/2 connection would be fewer sockets, but when it dies silently every
 * watch and every renewal of the Lease on it dies with it, for as long as TCP retransmits.
 */
export class KubeClient {
  readonly #credentials: Credentials;
  readonly #userAgent: string;
  readonly #agent: http.Agent | https.Agent;
  readonly #secure: boolean;

  constructor(options: KubeClientOptions) {
    this.#credentials = new Credentials(options.kubeConfig);
    this.#userAgent = options.userAgent ?? USER_AGENT;
    this.#secure = this.#credentials.server.protocol === 'https:';
    // TCP keep-alive finds peers that vanished; free sockets are closed before a load balancer closes them under us.
    const agentOptions = { keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: 16, timeout: 20_000 };
    this.#agent = this.#secure ? new https.Agent(agentOptions) : new http.Agent(agentOptions);
  }

  /** The head of a successful answer, its body unread: read it to the end or destroy it. Throws KubeError for every other status. */
  async open(request: KubeRequest): Promise<http.IncomingMessage> {
    const applied = await this.#credentials.apply();
    const response = await this.#send(request, applied);
    if (response.statusCode !== 401) return await successful(response);
    response.destroy();
    this.#credentials.renew(applied.generation);
    return await successful(await this.#send(request, await this.#credentials.apply()));
  }

  /** The parsed JSON body of a successful answer. Throws KubeError, BodyTooLarge or what the connection failed with. */
  async json(request: KubeRequest): Promise<unknown> {
    const response = await this.open(request);
    return parseJson(await readBody(response, request.maxBytes ?? MAX_BYTES));
  }

  /** Closes all connections; requests in flight fail. */
  close(): void {
    this.#agent.destroy();
  }

  async #send(request: KubeRequest, applied: Applied): Promise<http.IncomingMessage> {
    try {
      return await this.#sendOnce(request, applied);
    } catch (error) {
      // A kept connection may be closed by the server just as it is used again. All but POST can be repeated: writes carry a resourceVersion.
      if (request.method === 'POST' || !(error instanceof StaleConnection)) throw error;
      return await this.#sendOnce(request, applied);
    }
  }

  #sendOnce(request: KubeRequest, { options, agent }: Applied): Promise<http.IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    const payload = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body));
    const idleMs = request.idleMs ?? IDLE_MS;
    const outgoing = (this.#secure ? https : http).request(this.#urlOf(request), {
      ...options,
      method: request.method,
      headers: { ...(options.headers as http.OutgoingHttpHeaders), ...this.#headers(request, payload) },
      agent: agent ?? this.#agent,
      timeout: idleMs,
      ...(request.signal && { signal: request.signal }),
    });
    let response: http.IncomingMessage | null = null;
    outgoing.once('response', (incoming) => resolve((response = incoming)));
    // Destroying the response, where there is one, lets its reader see this error instead of a bare "aborted".
    // Also set here: the agent lets a kept socket keep the (shorter) timeout of its idle time when ours happens to equal the agent's own.
    outgoing.setTimeout(idleMs, () => (response ?? outgoing).destroy(new Error(`no byte from the API server for ${idleMs} ms`)));
    outgoing.on('error', (error: NodeJS.ErrnoException) =>
      reject(outgoing.reusedSocket && error.code === 'ECONNRESET' ? new StaleConnection(error.message) : error),
    );
    outgoing.end(payload);
    return promise;
  }

  #headers(request: KubeRequest, payload: Buffer | undefined): http.OutgoingHttpHeaders {
    return {
      accept: request.accept ?? 'application/json',
      'user-agent': this.#userAgent,
      ...(payload && { 'content-type': request.contentType ?? 'application/json', 'content-length': payload.length }),
    };
  }

  #urlOf(request: KubeRequest): URL {
    const { server } = this.#credentials;
    // Some servers live below a path, for instance a cluster behind Rancher.
    const url = new URL(server.pathname.replace(/\/$/, '') + request.path, server);
    for (const [name, value] of Object.entries(request.query ?? {})) if (value !== undefined) url.searchParams.set(name, value);
    return url;
  }
}

class StaleConnection extends Error {}

async function successful(response: http.IncomingMessage): Promise<http.IncomingMessage> {
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) return response;
  const retryAfter = parseRetryAfter(response.headers['retry-after'], Date.now());
  throw new KubeError(status, await errorBody(response), retryAfter);
}

/** The Status object, or the beginning of whatever a proxy in between says. */
async function errorBody(response: http.IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      pieces.push(chunk);
      length += chunk.length;
      if (length >= MAX_ERROR_BYTES) break;
    }
    return parseJson(Buffer.concat(pieces));
  } catch {
    return Buffer.concat(pieces).toString('utf8');
  }
}
