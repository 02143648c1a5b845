// A provisioner over sockets to the API double, with a clock that the test moves and Secrets that it can look into, lose and refuse.
import assert from 'node:assert/strict';
import type { ProvisionFact, ProvisionPlan } from '#controller/api/plan.ts';
import type { Key } from '#controller/api/ref.ts';
import { TunnelProvisioner } from '#controller/apply/tunnel-provisioner.ts';
import type { TunnelRecord, TunnelSecrets } from '#controller/apply/tunnel-secrets.ts';
import { createCloudflareClient } from '#controller/cloudflare/client.ts';
import { RateLimiter } from '#controller/cloudflare/rate.ts';
import { startCloudflareApi, type CloudflareApiDouble } from '#test/cloudflare/api/server.ts';
import type { ApiToken, Tunnel } from '#test/cloudflare/api/state.ts';
import { ManualTimers } from './tunnel-rig.ts';

const OWNER = { controller: 'cf.k8s.lex.la/tunnel-controller', cluster: 'c1c2c3c4' };
export const nameOf = (gateway: Key): string => `k8s-c1c2c3c4-${gateway.replace('/', '-')}`;
export const secretOf = (gateway: Key): Key => `cloudflare/tunnel-${gateway.replace('/', '-')}`;

/** What the cluster keeps. */
class StoredSecrets implements TunnelSecrets {
  readonly kept = new Map<Key, TunnelRecord & { readonly token: string }>();
  refusal: Error | null = null;

  list(): Promise<readonly TunnelRecord[]> {
    return Promise.resolve([...this.kept.values()].map(({ token: _, ...record }) => record));
  }

  write(record: TunnelRecord, token: string): Promise<void> {
    if (this.refusal !== null) return Promise.reject(this.refusal);
    this.kept.set(record.secret, { ...record, token });
    return Promise.resolve();
  }

  remove(secret: Key): Promise<void> {
    this.kept.delete(secret);
    return Promise.resolve();
  }
}

export class ProvisionRig {
  readonly api: CloudflareApiDouble;
  readonly accountId: string;
  readonly token: ApiToken;
  readonly timers = new ManualTimers();
  readonly secrets = new StoredSecrets();
  readonly logs: object[] = [];
  readonly #told: ReadonlyMap<Key, ProvisionFact>[] = [];
  /** Gateways that a fresh look still finds. */
  readonly stillThere = new Set<Key>();
  provisioner: TunnelProvisioner;

  static async start(options: { readonly tunnelLimit?: number } = {}): Promise<ProvisionRig> {
    return new ProvisionRig(await startCloudflareApi(options));
  }

  private constructor(api: CloudflareApiDouble) {
    this.api = api;
    this.accountId = api.addAccount({ name: 'Example' }).id;
    this.token = api.addToken({ name: 'controller' });
    this.provisioner = this.#create();
  }

  #create(): TunnelProvisioner {
    const limiter = new RateLimiter({ now: () => this.timers.now() });
    const log = (fields: object, message: string): void => void this.logs.push({ fields, message });
    return new TunnelProvisioner({
      client: (apiToken) => createCloudflareClient({ apiToken, baseURL: this.api.url, limiter, now: () => this.timers.now() }),
      secrets: this.secrets,
      confirmGone: (gateways) => Promise.resolve(new Set(gateways.filter((key) => !this.stillThere.has(key)))),
      onFact: () => void this.#told.push(this.provisioner.facts()),
      log: { info: log, warn: log, error: log },
      timers: this.timers,
      random: () => 1,
    });
  }

  /** As the graph would plan it from what is in the Secrets now. */
  plan(...gateways: readonly Key[]): ProvisionPlan {
    return {
      id: 'main',
      apiToken: this.token.value,
      accountId: this.accountId,
      prefix: 'k8s-c1c2c3c4-',
      owner: OWNER,
      tunnels: gateways.map((gateway) => ({
        gateway,
        name: nameOf(gateway),
        secret: secretOf(gateway),
        connectorToken: this.secrets.kept.get(secretOf(gateway))?.token ?? null,
      })),
      gateways: new Set(gateways),
    };
  }

  /** Applies what these Gateways need and waits until the pass for it has ended. */
  async settle(...gateways: readonly Key[]): Promise<void> {
    this.provisioner.apply([this.plan(...gateways)]);
    await this.idle();
  }

  /** Lets the next timer fire and waits for the pass that follows. */
  async tick(): Promise<void> {
    const [wait] = this.timers.waits;
    assert.ok(wait !== undefined, 'no timer is pending');
    this.timers.advance(wait);
    await this.idle();
  }

  async idle(): Promise<void> {
    await this.until('the end of a pass', () => this.timers.waits.length > 0);
  }

  async until(what: string, condition: () => boolean): Promise<void> {
    const deadline = performance.now() + 5000;
    while (!condition()) {
      assert.ok(performance.now() < deadline, `waited in vain for ${what}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Another process takes over; the Secrets are in the cluster. */
  async restart(): Promise<void> {
    await this.provisioner.stop();
    this.provisioner = this.#create();
  }

  tunnel(gateway: Key): Tunnel | undefined {
    return this.api.tunnels().find(({ name }) => name === nameOf(gateway));
  }

  fact(gateway: Key): ProvisionFact | undefined {
    return this.provisioner.facts().get(gateway);
  }

  /** Calls that change something. */
  get writes(): readonly string[] {
    return this.api.requests.filter(({ method }) => method !== 'GET').map(({ method }) => method);
  }

  async close(): Promise<void> {
    await this.provisioner.stop();
    await this.api.close();
    assert.deepEqual(this.timers.waits, [], 'a timer is left');
    const said = JSON.stringify([this.#told.map((facts) => [...facts]), this.logs]);
    for (const secret of [this.token.value, ...[...this.secrets.kept.values()].map(({ token }) => token)])
      assert.ok(!said.includes(secret), 'a secret was said');
  }
}
