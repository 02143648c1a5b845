// Brings every planned tunnel to its plan and keeps it there; one worker per tunnel, so that none waits for another.
import type { TunnelFact, TunnelPlan } from '../api/plan.ts';
import type { CloudflareApi, CloudflareObserver } from '../cloudflare/api.ts';
import { AccountFinder } from './tunnel-account.ts';
import type { TunnelNotice } from './tunnel-facts.ts';
import type { Log, Shrink } from './tunnel-sync.ts';
import { systemTimers, TunnelWorker, type Timers } from './tunnel-worker.ts';

export type { TunnelNotice } from './tunnel-facts.ts';
export type { Log, Shrink } from './tunnel-sync.ts';
export type { Timers } from './tunnel-worker.ts';

export interface TunnelApplierOptions {
  /** A view of Cloudflare for one API token. */
  readonly client: (apiToken: string) => CloudflareApi;
  /** Called with each changed fact, and with null when a tunnel is no longer planned (its document stays as it is). */
  readonly onFact: (tunnelId: string, fact: TunnelFact | null) => void;
  /** Foreign rules about to be removed (awaited first), another writer met. */
  readonly onNotice?: (notice: TunnelNotice) => void | Promise<void>;
  /** Asked before many hostnames are taken from a tunnel: does a fresh look at the routes give the same plan? Default: yes. */
  readonly confirmShrink?: (shrink: Shrink) => Promise<boolean>;
  readonly observer?: Pick<CloudflareObserver, 'skipped'>;
  readonly log: Log;
  readonly timers?: Timers;
  /** In [0, 1); default `Math.random`. */
  readonly random?: () => number;
}

export class TunnelApplier {
  readonly #options: TunnelApplierOptions;
  readonly #accounts = new AccountFinder();
  readonly #workers = new Map<string, TunnelWorker>();
  /** Ends of workers whose tunnels are no longer planned. */
  readonly #leaving = new Set<Promise<void>>();
  #stopped = false;

  constructor(options: TunnelApplierOptions) {
    this.#options = options;
  }

  /** All tunnels that are wanted, each time: level-triggered. The first plan of a tunnel starts with a full look at it. */
  apply(plans: readonly TunnelPlan[]): void {
    if (this.#stopped) return;
    const wanted = new Map(plans.map((plan) => [plan.id, plan]));
    this.#accounts.keep(plans.map(({ apiToken }) => apiToken));
    for (const [id, worker] of this.#workers) {
      if (wanted.has(id)) continue;
      this.#workers.delete(id);
      this.#dismiss(worker);
      this.#options.onFact(id, null);
    }
    for (const [id, plan] of wanted) {
      const worker = this.#workers.get(id);
      if (worker === undefined) this.#hire(plan);
      else worker.offer(plan);
    }
  }

  /** What is known about each planned tunnel. */
  facts(): ReadonlyMap<string, TunnelFact> {
    return new Map([...this.#workers].map(([id, worker]) => [id, worker.fact]));
  }

  /** Ends everything; resolves when no call is in flight any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#accounts.stop();
    await Promise.all([...[...this.#workers.values()].map((worker) => worker.stop()), ...this.#leaving]);
  }

  #dismiss(worker: TunnelWorker): void {
    const gone = worker.stop().finally(() => this.#leaving.delete(gone));
    this.#leaving.add(gone);
  }

  #hire(plan: TunnelPlan): void {
    const { client, onFact, onNotice, confirmShrink, observer, log, timers = systemTimers, random = Math.random } = this.#options;
    const worker = new TunnelWorker(plan, {
      client,
      accounts: this.#accounts,
      onFact: (fact) => onFact(plan.id, fact),
      onNotice: onNotice ?? (() => {}),
      confirmShrink: confirmShrink ?? (() => Promise.resolve(true)),
      skipped: () => observer?.skipped(),
      log,
      timers,
      random,
    });
    this.#workers.set(plan.id, worker);
    worker.start();
  }
}
