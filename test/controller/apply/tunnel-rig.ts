// A tunnel applier over sockets to the API double, with a clock that the test moves and everything it says on record.
import assert from 'node:assert/strict';
import type { IngressRule, TunnelFact, TunnelPlan } from '#controller/api/plan.ts';
import { TunnelApplier, type Shrink, type Timers, type TunnelNotice } from '#controller/apply/tunnel.ts';
import { createCloudflareClient } from '#controller/cloudflare/client.ts';
import { RateLimiter } from '#controller/cloudflare/rate.ts';
import { startCloudflareApi, type CloudflareApiDouble, type LoggedRequest } from '#test/cloudflare/api/server.ts';
import type { ApiToken, Tunnel, TunnelSeed } from '#test/cloudflare/api/state.ts';

export const origin = 'http://127.0.0.1:8080';
export const settings = { connectTimeout: 5, keepAliveConnections: 1024 };
export const end: IngressRule = { service: 'http_status:404' };
export const own = (hostname: string): IngressRule => ({ hostname, service: origin, originRequest: settings });
export const names = (count: number): readonly IngressRule[] => Array.from({ length: count }, (_, n) => own(`h${n}.example.com`));

/** Timers that fire when the test says so. */
export class ManualTimers implements Timers {
  #now = Date.UTC(2026, 10, 29, 3, 0, 0);
  #pending: { readonly due: number; readonly action: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, action: () => void): () => void {
    const entry = { due: this.#now + milliseconds, action };
    this.#pending.push(entry);
    return () => {
      this.#pending = this.#pending.filter((other) => other !== entry);
    };
  }

  /** Milliseconds until each timer fires, soonest first. */
  get waits(): readonly number[] {
    return this.#pending.map(({ due }) => due - this.#now).sort((a, b) => a - b);
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
    const due = this.#pending.filter((entry) => entry.due <= this.#now);
    this.#pending = this.#pending.filter((entry) => entry.due > this.#now);
    for (const { action } of due) action();
  }
}

export interface RigOptions {
  readonly confirmShrink?: (shrink: Shrink) => Promise<boolean>;
  readonly onNotice?: (notice: TunnelNotice) => void | Promise<void>;
  readonly ruleLimit?: number;
  /** For each call to the API, in milliseconds of real time. */
  readonly timeoutMs?: number;
}

export class Rig {
  readonly api: CloudflareApiDouble;
  readonly applier: TunnelApplier;
  readonly timers = new ManualTimers();
  readonly accountId: string;
  readonly token: ApiToken;
  readonly facts: { readonly tunnelId: string; readonly fact: TunnelFact | null }[] = [];
  readonly notices: TunnelNotice[] = [];
  readonly logs: { readonly level: string; readonly message: string; readonly fields: object }[] = [];
  skipped = 0;
  /** What the jitter draws: 1 gives the longest waits. */
  jitter = 1;
  readonly #secrets: string[] = [];
  readonly #waiting = new Set<() => void>();

  static async start(options: RigOptions = {}): Promise<Rig> {
    return new Rig(await startCloudflareApi(options.ruleLimit === undefined ? {} : { ruleLimit: options.ruleLimit }), options);
  }

  private constructor(api: CloudflareApiDouble, options: RigOptions) {
    this.api = api;
    this.accountId = api.addAccount({ name: 'Example' }).id;
    this.token = this.addToken('controller');
    const limiter = new RateLimiter({ now: () => this.timers.now() });
    const log = (level: string) => (fields: object, message: string) => void this.logs.push({ level, message, fields });
    this.applier = new TunnelApplier({
      client: (apiToken) =>
        createCloudflareClient({ apiToken, baseURL: api.url, limiter, now: () => this.timers.now(), timeoutMs: options.timeoutMs ?? 5000 }),
      onFact: (tunnelId, fact) => {
        this.facts.push({ tunnelId, fact });
        for (const check of this.#waiting) check();
      },
      onNotice: (notice) => {
        this.notices.push(notice);
        return options.onNotice?.(notice);
      },
      ...(options.confirmShrink === undefined ? {} : { confirmShrink: options.confirmShrink }),
      observer: { skipped: () => void (this.skipped += 1) },
      log: { info: log('info'), warn: log('warn'), error: log('error') },
      timers: this.timers,
      random: () => this.jitter,
    });
  }

  addToken(name: string, permissions?: ApiToken['permissions'], accounts?: readonly string[]): ApiToken {
    const token = this.api.addToken({
      name,
      ...(permissions === undefined ? {} : { permissions }),
      ...(accounts === undefined ? {} : { accounts }),
    });
    this.#secrets.push(token.value);
    return token;
  }

  addTunnel(seed: Partial<TunnelSeed> = {}): Tunnel {
    const tunnel = this.api.addTunnel(this.accountId, { name: `tunnel ${this.facts.length}`, ...seed });
    this.#secrets.push(tunnel.secret);
    return tunnel;
  }

  plan(tunnel: Tunnel, over: Partial<TunnelPlan> = {}): TunnelPlan {
    return {
      id: tunnel.id,
      tunnelId: tunnel.id,
      accountId: this.accountId,
      apiToken: this.token.value,
      policy: 'Exclusive',
      rules: [own('a.example.com')],
      last: end,
      connectorToken: null,
      configs: [{ kind: 'GatewayClassConfig', namespace: '', name: 'main' }],
      folded: false,
      ...over,
    };
  }

  /** The tunnel's next fact, from now on, with this reason. */
  async next(tunnel: Tunnel, reason: string): Promise<TunnelFact> {
    const from = this.facts.length;
    return this.#when(
      () => this.facts.slice(from).findLast(({ tunnelId, fact }) => tunnelId === tunnel.id && fact?.reason === reason)?.fact,
    );
  }

  /** Applies the plans and waits for a fact of the first one's tunnel. */
  async apply(tunnel: Tunnel, reason: string, ...plans: readonly TunnelPlan[]): Promise<TunnelFact> {
    const fact = this.next(tunnel, reason);
    this.applier.apply(plans);
    return fact;
  }

  /** Lets the next timer fire and waits for the fact that follows. */
  async tick(tunnel: Tunnel, reason: string): Promise<TunnelFact> {
    const fact = this.next(tunnel, reason);
    this.advanceToNext();
    return fact;
  }

  advanceToNext(): void {
    const [wait] = this.timers.waits;
    assert.ok(wait !== undefined, 'no timer is pending');
    this.timers.advance(wait);
  }

  /** Waits until the double has seen this many requests in all. */
  requested(count: number): Promise<void> {
    return this.until(`${count} requests`, () => this.api.requests.length >= count);
  }

  /** Waits for something that no fact tells of. */
  async until(what: string, condition: () => boolean): Promise<void> {
    const deadline = performance.now() + 5000;
    while (!condition()) {
      assert.ok(performance.now() < deadline, `waited in vain for ${what}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Lets the next timer fire and waits until the applier waits again. */
  async retry(): Promise<void> {
    this.advanceToNext();
    await this.until('the next timer', () => this.timers.waits.length > 0);
  }

  /** Requests since the start, as `GET tunnel`, `PUT configuration`. */
  get calls(): readonly string[] {
    return this.api.requests.map(describeCall);
  }

  ingress(tunnel: Tunnel): unknown {
    return this.api.document(tunnel.id).config?.['ingress'];
  }

  /** Ends everything, and fails if a secret was said anywhere. */
  async close(): Promise<void> {
    await this.applier.stop();
    await this.api.close();
    assert.deepEqual(this.timers.waits, [], 'a timer is left');
    const said = JSON.stringify([this.facts, this.notices, this.logs, this.api.requests]);
    for (const secret of this.#secrets) assert.ok(!said.includes(secret), 'a secret was said');
  }

  async #when<T>(found: () => T | null | undefined): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const check = (): void => {
      const value = found();
      if (value !== null && value !== undefined) resolve(value);
    };
    this.#waiting.add(check);
    check();
    return promise.finally(() => this.#waiting.delete(check));
  }
}

function describeCall({ method, path }: LoggedRequest): string {
  if (path.endsWith('/configurations')) return `${method} configuration`;
  return `${method} ${/\/cfd_tunnel\/[^/]+$/.test(path) ? 'tunnel' : path.slice(1)}`;
}
