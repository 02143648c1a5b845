// When tunnels of Gateways are looked after: at once for a new plan, with backoff after trouble, now and then otherwise, one pass at a time.
import type { ProvisionFact, ProvisionPlan } from '../api/plan.ts';
import type { Key } from '../api/ref.ts';
import type { CloudflareApi } from '../cloudflare/api.ts';
import { tokenHash } from '../cloudflare/client.ts';
import { AccountFinder } from './tunnel-account.ts';
import { describeError } from './tunnel-facts.ts';
import { ProvisionPass, type ProvisionDependencies, type ProvisionOutcome } from './tunnel-provision.ts';
import { backoffs, systemTimers, type Timers } from './tunnel-worker.ts';

export interface ProvisionerOptions extends Omit<ProvisionDependencies, 'wallNow'> {
  /** A view of Cloudflare for one API token. */
  readonly client: (apiToken: string) => CloudflareApi;
  /** Something that `facts` tells has changed. */
  readonly onFact: () => void;
  readonly timers?: Timers;
  /** In [0, 1); default `Math.random`. */
  readonly random?: () => number;
}

/** Nobody tells us when somebody deletes a tunnel or rotates its token. */
const RECHECK_MS = 10 * 60_000;

export class TunnelProvisioner {
  readonly #options: ProvisionerOptions;
  readonly #accounts = new AccountFinder();
  readonly #keepers = new Map<string, Keeper>();
  readonly #leaving = new Set<Promise<void>>();

  constructor(options: ProvisionerOptions) {
    this.#options = options;
  }

  /** All that is wanted, each time: level-triggered. What a plan made is left as it is when the plan goes. */
  apply(plans: readonly ProvisionPlan[]): void {
    this.#accounts.keep(plans.map(({ apiToken }) => apiToken));
    const wanted = new Map(plans.map((plan) => [plan.id, plan]));
    for (const [id, keeper] of this.#keepers) {
      if (wanted.has(id)) continue;
      this.#keepers.delete(id);
      const gone = keeper.stop().finally(() => this.#leaving.delete(gone));
      this.#leaving.add(gone);
    }
    for (const [id, plan] of wanted) {
      let keeper = this.#keepers.get(id);
      if (keeper === undefined) this.#keepers.set(id, (keeper = new Keeper(this.#options, this.#accounts)));
      keeper.offer(plan);
    }
  }

  /** By Gateway: why it has no tunnel yet. */
  facts(): ReadonlyMap<Key, ProvisionFact> {
    return new Map([...this.#keepers.values()].flatMap((keeper) => [...keeper.facts]));
  }

  async stop(): Promise<void> {
    this.#accounts.stop();
    await Promise.all([...[...this.#keepers.values()].map((keeper) => keeper.stop()), ...this.#leaving]);
  }
}

/** Looks after the tunnels of one plan. */
class Keeper {
  readonly #options: ProvisionerOptions;
  readonly #accounts: AccountFinder;
  readonly #timers: Timers;
  readonly #stopped = new AbortController();
  #plan: ProvisionPlan | null = null;
  #key = '';
  #busy = false;
  /** The passes that run now, or ran last. */
  #running: Promise<void> = Promise.resolve();
  #cancelTimer: () => void = () => {};
  #attempts = 0;
  facts: ReadonlyMap<Key, ProvisionFact> = new Map();

  constructor(options: ProvisionerOptions, accounts: AccountFinder) {
    this.#options = options;
    this.#accounts = accounts;
    this.#timers = options.timers ?? systemTimers;
  }

  offer(plan: ProvisionPlan): void {
    const key = keyOf(plan);
    const isFirst = this.#plan === null;
    this.#plan = plan;
    if (key === this.#key) return;
    this.#key = key;
    this.#attempts = 0;
    this.#start(isFirst);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#cancelTimer();
    await this.#running;
  }

  #start(thorough: boolean): void {
    if (this.#busy) return;
    this.#cancelTimer();
    this.#busy = true;
    this.#running = this.#passes(thorough);
  }

  /** Passes until one ends with the plan that is then wanted. Busy ends in the same step, so that no offer falls between. */
  async #passes(thorough: boolean): Promise<void> {
    // Not at once: the plans that one step of the caller brings in a row need one pass.
    await Promise.resolve();
    while (!this.#stopped.signal.aborted && this.#plan !== null) {
      const key = this.#key;
      const outcome = await this.#pass(this.#plan, key, thorough);
      if (this.#stopped.signal.aborted) return;
      this.#publish(outcome.facts);
      if (this.#key !== key) continue;
      this.#busy = false;
      const wait = this.#wait(outcome);
      this.#cancelTimer = this.#timers.after(wait, () => this.#start(outcome.retry === null));
      return;
    }
  }

  async #pass(plan: ProvisionPlan, key: string, thorough: boolean): Promise<ProvisionOutcome> {
    const { signal } = this.#stopped;
    const wallNow = (): number => this.#timers.now();
    const failed = (message: string, retryAfterMs: number | null = null): ProvisionOutcome => ({
      facts: new Map(
        plan.tunnels
          .filter(({ connectorToken }) => connectorToken === null)
          .map(({ gateway }) => [gateway, { reason: 'Pending', message }]),
      ),
      retry: 'service',
      retryAfterMs,
    });
    try {
      const api = this.#options.client(plan.apiToken);
      const account =
        plan.accountId === null ? await this.#accounts.find(plan.apiToken, api) : { ok: true as const, accountId: plan.accountId };
      if (!account.ok && account.reason === 'ApiError') {
        const { message, retryAfterMs } = describeError(account.error, wallNow());
        return failed(message, retryAfterMs);
      }
      if (!account.ok) return failed(account.message);
      const run = { signal, wanted: () => this.#key === key && !signal.aborted };
      return await new ProvisionPass(plan, account.accountId, api, { ...this.#options, wallNow }, run).run(thorough);
    } catch (error) {
      this.#options.log.error({ config: plan.id, error: String(error) }, 'the tunnels of Gateways could not be looked after');
      return failed(`the Secret with the token of the tunnel cannot be kept: ${error instanceof Error ? error.message : 'unknown error'}`);
    }
  }

  #publish(facts: ReadonlyMap<Key, ProvisionFact>): void {
    const before = JSON.stringify([...this.facts]);
    this.facts = facts;
    if (JSON.stringify([...facts]) !== before) this.#options.onFact();
  }

  #wait({ retry, retryAfterMs }: ProvisionOutcome): number {
    const { random = Math.random } = this.#options;
    if (retry === null) {
      this.#attempts = 0;
      return RECHECK_MS * (0.9 + 0.2 * random());
    }
    const { first, most } = backoffs[retry];
    this.#attempts += 1;
    if (retryAfterMs !== null) return Math.min(retryAfterMs, RECHECK_MS) + first * random();
    return Math.max(first / 2, Math.min(most, first * 2 ** (this.#attempts - 1)) * random());
  }
}

/** Equal for plans that want the same. */
const keyOf = ({ apiToken, tunnels, gateways, ...rest }: ProvisionPlan): string =>
  JSON.stringify([
    rest,
    tokenHash(apiToken),
    tunnels.map(({ connectorToken, ...tunnel }) => [tunnel, connectorToken === null ? '' : tokenHash(connectorToken)]),
    [...gateways].sort(),
  ]);
