// Keeps ONE proxy at the latest configuration: pushes, retries with backoff, asks now and then what it has. Knows nothing of the others.
import http from 'node:http';
import https from 'node:https';
import { configStateSchema } from '#proxy/config/schema.ts';
import type { ConfigState } from '#proxy/config/schema.ts';

/** A configuration ready to send: its order, its digest and the body in chunks. */
export interface Push {
  readonly epoch: number;
  readonly sequence: number;
  readonly digest: string;
  readonly body: readonly Buffer[];
}

export interface LinkOptions {
  readonly url: URL;
  readonly token: string | null;
  readonly agent: http.Agent | https.Agent;
  /** Called after every attempt that changed what is known of this proxy. */
  readonly onChange: () => void;
  /** The proxy follows a controller with a higher epoch: ours must be raised, or we are no longer the leader. */
  readonly onHigherEpoch: (epoch: number) => void;
  readonly pollMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly random: () => number;
}

const ANSWER_TIMEOUT_MS = 10_000;
/** A state has some hundred bytes. */
const LONGEST_ANSWER = 1 << 20;
const BACKOFF_FIRST_MS = 200;
const BACKOFF_MOST_MS = 10_000;

const NO_PROXY = 'its answer is not that of a proxy: check --proxy-endpoints';

interface Answer {
  readonly status: number;
  readonly body: string;
}

export class ProxyLink {
  readonly url: URL;
  /** What the proxy said it has, null before its first answer. */
  state: ConfigState | null = null;
  /** Why the latest push is not there yet; null when it is, or when nothing was tried. */
  error: string | null = null;
  /** The proxy read the latest push and refused it: trying again will not help. */
  rejected = false;
  lastAnswer: number | null = null;

  private latest: Push | null = null;
  private stopped = false;
  private running = false;
  private failures = 0;
  private timer: NodeJS.Timeout | null = null;
  private readonly options: LinkOptions;

  constructor(options: LinkOptions) {
    this.options = options;
    this.url = options.url;
  }

  /** The latest configuration replaces whatever was on its way. */
  offer(push: Push): void {
    this.latest = push;
    this.rejected = false;
    this.failures = 0;
    this.kick();
  }

  get acknowledged(): boolean {
    return this.latest !== null && this.has(this.latest);
  }

  stop(): void {
    this.stopped = true;
    if (this.timer) clearTimeout(this.timer);
  }

  private has(push: Push): boolean {
    return this.state !== null && this.state.digest === push.digest && this.state.epoch === push.epoch;
  }

  private kick(): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    if (!this.running && !this.stopped) void this.run();
  }

  private async run(): Promise<void> {
    this.running = true;
    const push = this.latest;
    try {
      if (push && !this.has(push) && !this.rejected) await this.push(push);
      else await this.ask();
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
    this.running = false;
    this.options.onChange();
    if (this.stopped) return;
    if (this.latest !== push) this.kick();
    else this.timer = setTimeout(() => this.kick(), this.delay());
  }

  /** Fast again after a failure, with jitter so that a fleet does not retry in step; the slow poll otherwise. */
  private delay(): number {
    const behind = this.latest !== null && !this.has(this.latest) && !this.rejected;
    if (!behind || this.failures === 0) return behind ? 0 : this.options.pollMs;
    const most = Math.min(BACKOFF_MOST_MS, BACKOFF_FIRST_MS * 2 ** (this.failures - 1));
    return most / 2 + (most / 2) * this.options.random();
  }

  private fail(message: string): void {
    this.failures += 1;
    this.error = message;
  }

  private async push(push: Push): Promise<void> {
    const answer = await this.request('PUT', push.body);
    if (answer.status === 200) {
      const isState = this.learn(answer.body);
      // Whatever answers there is believed only when it says what it has: else it would be asked again and again without a pause.
      if (!this.has(push)) return this.fail(isState ? 'it took the configuration, but has another one' : NO_PROXY);
      this.failures = 0;
      this.error = null;
      return;
    }
    if (answer.status === 409) {
      this.learn(answer.body);
      if (this.state && this.state.epoch > push.epoch) this.options.onHigherEpoch(this.state.epoch);
    }
    if (answer.status === 400 || answer.status === 413) this.rejected = true;
    this.fail(`it answered ${answer.status}: ${reasonOf(answer.body)}`);
  }

  private async ask(): Promise<void> {
    const answer = await this.request('GET', []);
    if (answer.status !== 200) return this.fail(`it answered ${answer.status}: ${reasonOf(answer.body)}`);
    if (!this.learn(answer.body)) return this.fail(NO_PROXY);
    if (this.latest === null || this.has(this.latest)) {
      this.failures = 0;
      this.error = null;
    }
  }

  /** False when it is not the answer of a proxy. */
  private learn(body: string): boolean {
    const parsed = configStateSchema.safeParse(tryJson(body));
    if (parsed.success) this.state = parsed.data;
    return parsed.success;
  }

  private request(method: string, body: readonly Buffer[]): Promise<Answer> {
    const { url, token, agent } = this.options;
    const client = agent instanceof https.Agent ? https : http;
    return new Promise((resolve, reject) => {
      const headers: Record<string, string> = { 'user-agent': 'cftunnel-controller' };
      if (token !== null) headers['authorization'] = `Bearer ${token}`;
      if (method === 'PUT') headers['content-type'] = 'application/x-ndjson';
      const request = client.request({
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port || 8081,
        path: url.pathname,
        method,
        headers,
        agent,
        timeout: ANSWER_TIMEOUT_MS,
      });
      request.on('timeout', () => request.destroy(new Error(`no answer within ${ANSWER_TIMEOUT_MS / 1000} s`)));
      request.on('error', (error) => reject(new Error(explain(error))));
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > LONGEST_ANSWER) request.destroy(new Error(NO_PROXY));
          else chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () => {
          this.lastAnswer = this.options.now();
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() });
        });
      });
      writeAll(request, body);
    });
  }
}

/** Writes chunk by chunk with backpressure; an error shows on the request itself. */
function writeAll(request: http.ClientRequest, body: readonly Buffer[]): void {
  let index = 0;
  const next = (): void => {
    while (index < body.length) {
      const chunk = body[index++];
      if (chunk !== undefined && !request.write(chunk)) {
        request.once('drain', next);
        return;
      }
    }
    request.end();
  };
  next();
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The `message` of an error answer, or the start of whatever came. */
function reasonOf(body: string): string {
  const json = tryJson(body);
  const message = typeof json === 'object' && json !== null && 'message' in json ? json.message : null;
  return (typeof message === 'string' ? message : body).slice(0, 300);
}

/** A failed handshake means two different tokens: say so, since the raw text names only a MAC. */
function explain(error: NodeJS.ErrnoException): string {
  if (/bad record mac|decrypt error|handshake failure|unknown psk identity/i.test(error.message)) {
    return 'the TLS handshake failed: the proxy was started with another auth token (PROXY_AUTH_TOKEN) than the controller has';
  }
  return error.message;
}
