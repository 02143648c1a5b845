// When one tunnel is looked at: at once for a new plan, with backoff after a failure, now and then otherwise, and never twice at a time.
import { TunnelReason } from '../api/condition.ts';
import type { TunnelFact, TunnelPlan } from '../api/plan.ts';
import { tokenHash } from '../cloudflare/client.ts';
import { canonical } from '../output/tunnel-rules.ts';
import * as words from './tunnel-facts.ts';
import type { RetryClass, TunnelFailure, TunnelNotice } from './tunnel-facts.ts';
import { TunnelSync, type SyncDependencies, type SyncOutcome } from './tunnel-sync.ts';

export interface Timers {
  /** Time of day in milliseconds. */
  now(): number;
  /** Runs `action` after `milliseconds`, unless the returned function is called first. */
  after(milliseconds: number, action: () => void): () => void;
}

export const systemTimers: Timers = {
  now: () => Date.now(),
  after(milliseconds, action) {
    const timer = setTimeout(action, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Nobody tells us when another writer changes the document: it is read again after about this time. */
const RECHECK_MS = 10 * 60_000;
export const backoffs: Readonly<Record<RetryClass, { readonly first: number; readonly most: number }>> = {
  credentials: { first: 5000, most: 5 * 60_000 },
  document: { first: 5000, most: 5 * 60_000 },
  service: { first: 1000, most: 30_000 },
};
/** A longer wait than this is not believed. */
const LONGEST_WAIT_MS = 10 * 60_000;

export interface WorkerDependencies extends Omit<SyncDependencies, 'notify' | 'wallNow'> {
  readonly onFact: (fact: TunnelFact) => void;
  readonly onNotice: (notice: TunnelNotice) => void | Promise<void>;
  readonly skipped: () => void;
  readonly timers: Timers;
  /** In [0, 1). */
  readonly random: () => number;
}

export class TunnelWorker {
  readonly #deps: WorkerDependencies;
  readonly #sync: TunnelSync;
  readonly #stopped = new AbortController();
  #plan: TunnelPlan;
  #key: string;
  #busy = false;
  /** The passes that run now, or ran last. */
  #running: Promise<void> = Promise.resolve();
  #cancelTimer: () => void = () => {};
  /** The last pass for this identity ended in this failure; null after a success and before the first pass. */
  #failure: TunnelFailure | null = null;
  #attempts = 0;
  #fact: TunnelFact;

  constructor(plan: TunnelPlan, deps: WorkerDependencies) {
    this.#deps = deps;
    this.#plan = plan;
    this.#key = planKey(plan);
    this.#sync = new TunnelSync({
      ...deps,
      wallNow: () => deps.timers.now(),
      notify: async (notice, foreignRules, version) => {
        const { reason, message } = notice;
        this.#publish({ ...this.#fact, reason, message, version, foreignRules: words.someNames(foreignRules) });
        await deps.onNotice(notice);
      },
    });
    this.#fact = {
      state: 'Pending',
      accountId: plan.accountId,
      version: 0,
      reason: TunnelReason.Pending,
      message: 'The tunnel has not been looked at yet.',
      foreignRules: [],
    };
  }

  /** Begins with a full look at the tunnel. */
  start(): void {
    this.#deps.onFact(this.#fact);
    this.#start();
  }

  get fact(): TunnelFact {
    return this.#fact;
  }

  /** Makes `plan` the wanted one. A pass in flight sees it before it writes; an equal plan costs nothing. */
  offer(plan: TunnelPlan): void {
    const before = this.#plan;
    const key = plan === before ? this.#key : planKey(plan);
    const changed = key !== this.#key;
    this.#plan = plan;
    this.#key = key;
    if (!changed) {
      if (!this.#busy && this.#failure === null) this.#deps.skipped();
      return;
    }
    if (!this.#busy && this.#mayTryNow(before, plan)) this.#start();
  }

  /** Ends calls in flight and timers; nothing is published afterwards. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#cancelTimer();
    await this.#running;
  }

  /**
   * After a failure new rules alone are no reason to hurry: the wait protects Cloudflare and the quota. Other credentials are, and so are
   * other rules when the old ones were what Cloudflare refused.
   */
  #mayTryNow(before: TunnelPlan, plan: TunnelPlan): boolean {
    if (this.#failure === null) return true;
    if (identity(before) === identity(plan)) return this.#failure.retry === 'document';
    this.#attempts = 0;
    return true;
  }

  #start(): void {
    this.#cancelTimer();
    this.#busy = true;
    // Not at once: the plans that one step of the caller brings in a row need one pass.
    this.#running = Promise.resolve().then(() => this.#passes());
  }

  /** Passes until one ends with the plan that is then wanted, or has to wait. Busy ends in the same step, so that no offer falls between. */
  async #passes(): Promise<void> {
    try {
      while (!this.#stopped.signal.aborted) {
        const plan = this.#plan;
        const key = this.#key;
        const outcome = await this.#pass(plan, key);
        if (this.#stopped.signal.aborted) return;
        if (outcome.kind === 'superseded') continue;
        this.#record(plan, outcome);
        if (this.#key !== key && this.#mayTryNow(plan, this.#plan)) continue;
        if (this.#failure === null) this.#schedule(RECHECK_MS * (0.9 + 0.2 * this.#deps.random()), true);
        else this.#schedule(this.#wait(this.#failure), false);
        return;
      }
    } catch (error) {
      this.#deps.log.error({ tunnel: this.#plan.tunnelId, error: String(error) }, 'a callback of the tunnel applier failed');
      this.#schedule(backoffs.service.most, false);
    } finally {
      this.#busy = false;
    }
  }

  async #pass(plan: TunnelPlan, key: string): Promise<SyncOutcome> {
    try {
      return await this.#sync.run(plan, () => this.#key === key && !this.#stopped.signal.aborted, this.#stopped.signal);
    } catch (error) {
      this.#deps.log.error({ tunnel: plan.tunnelId, error: String(error) }, 'synchronising a tunnel failed unexpectedly');
      const { accountId, version, foreignRules } = this.#fact;
      return { kind: 'failed', failure: words.internalError(plan), accountId, version, foreignRules };
    }
  }

  #record(plan: TunnelPlan, outcome: Exclude<SyncOutcome, { kind: 'superseded' }>): void {
    const { accountId, version } = outcome;
    const foreignRules = words.someNames(outcome.foreignRules);
    if (outcome.kind === 'synced') {
      if (!outcome.wrote) this.#deps.skipped();
      this.#failure = null;
      this.#attempts = 0;
      this.#publish({ ...words.describeSynced(plan, outcome.merge, version), accountId, version, foreignRules });
      return;
    }
    this.#failure = outcome.failure;
    this.#attempts += 1;
    const { reason, message } = outcome.failure;
    this.#publish({ state: 'Failed', accountId, version, reason, message, foreignRules });
  }

  #publish(fact: TunnelFact): void {
    if (canonical(fact) === canonical(this.#fact)) return;
    this.#fact = fact;
    if (fact.state === 'Failed') this.#deps.log.warn({ tunnel: this.#plan.tunnelId, reason: fact.reason }, fact.message);
    this.#deps.onFact(fact);
  }

  /** Exponential with full jitter, but never at once; what Cloudflare asks for comes first. */
  #wait(failure: TunnelFailure): number {
    const { first, most } = backoffs[failure.retry];
    const { random } = this.#deps;
    if (failure.retryAfterMs !== null) return Math.min(failure.retryAfterMs, LONGEST_WAIT_MS) + first * random();
    return Math.max(first / 2, Math.min(most, first * 2 ** (this.#attempts - 1)) * random());
  }

  #schedule(milliseconds: number, thorough: boolean): void {
    if (this.#stopped.signal.aborted) return;
    this.#cancelTimer = this.#deps.timers.after(milliseconds, () => {
      if (thorough) this.#sync.distrust();
      this.#start();
    });
  }
}

/** Whose eyes the tunnel is looked at with, and what may be done to it. */
const identity = (plan: TunnelPlan): string =>
  JSON.stringify([
    tokenHash(plan.apiToken),
    plan.accountId,
    plan.policy,
    plan.connectorToken === null ? '' : tokenHash(plan.connectorToken),
  ]);

/** Equal for plans that want the same of Cloudflare. */
const planKey = (plan: TunnelPlan): string => JSON.stringify([identity(plan), plan.rules, plan.last, plan.folded]);
