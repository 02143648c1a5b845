// One pass over one tunnel: read the document, merge, report what will be lost, write if it differs, check that nobody wrote in between.
import type { TunnelPlan } from '../api/plan.ts';
import type { CloudflareApi, CloudflareError, TunnelDocument } from '../cloudflare/api.ts';
import { tokenHash } from '../cloudflare/client.ts';
import { mergeTunnel, type TunnelConfig, type TunnelMerge } from '../output/tunnel-merge.ts';
import { isSameConnector } from '../output/tunnel-token.ts';
import { canonical, sameRules } from '../output/tunnel-rules.ts';
import type { AccountFinder } from './tunnel-account.ts';
import * as words from './tunnel-facts.ts';
import type { TunnelFailure, TunnelNotice } from './tunnel-facts.ts';

/** How often a write that met another writer is repeated at once. */
const MOST_ROUNDS = 3;

/** Losing more than this many hostnames of ours and more than half of them needs a second look. */
const MANY_HOSTNAMES = 10;

export interface Shrink {
  /** Of the plan. */
  readonly id: string;
  readonly tunnelId: string;
  /** Hostnames that would reach the proxy no longer, and how many there are now. */
  readonly lost: number;
  readonly owned: number;
}

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface SyncDependencies {
  readonly client: (apiToken: string) => CloudflareApi;
  readonly accounts: AccountFinder;
  readonly confirmShrink: (shrink: Shrink) => Promise<boolean>;
  /** Awaited before the rules that it tells of are removed. */
  readonly notify: (notice: TunnelNotice, foreignRules: readonly string[], version: number) => Promise<void>;
  readonly log: Log;
  /** Time of day in milliseconds. */
  readonly wallNow: () => number;
}

export interface Observation {
  readonly accountId: string | null;
  /** 0 when unknown. */
  readonly version: number;
  readonly foreignRules: readonly string[];
}

export type SyncOutcome =
  | ({ readonly kind: 'synced'; readonly merge: TunnelMerge; readonly wrote: boolean } & Observation)
  | ({ readonly kind: 'failed'; readonly failure: TunnelFailure } & Observation)
  /** The plan is no longer wanted; nothing was written for it. */
  | { readonly kind: 'superseded' };

export class TunnelSync {
  readonly #deps: SyncDependencies;
  /** Token and account with which the tunnel was found to be one that can be written. */
  #checked: string | null = null;
  /** What was sent last and what Cloudflare made of it: a document that it stores differently is not sent again and again. */
  #sent: { readonly wanted: string; readonly stored: string } | null = null;
  #seen: Observation = { accountId: null, version: 0, foreignRules: [] };

  constructor(deps: SyncDependencies) {
    this.#deps = deps;
  }

  /** Looks at the tunnel itself again in the next pass, not only at its document. */
  distrust(): void {
    this.#checked = null;
  }

  /** `wanted` says whether the plan still is the latest; `signal` ends calls in flight. Does not throw for anything that Cloudflare does. */
  async run(plan: TunnelPlan, wanted: () => boolean, signal: AbortSignal): Promise<SyncOutcome> {
    const api = this.#deps.client(plan.apiToken);
    this.#seen = { ...this.#seen, accountId: plan.accountId };
    const accountId = plan.accountId ?? (await this.#detectAccount(plan, api));
    if (typeof accountId !== 'string') return accountId;
    this.#seen = { ...this.#seen, accountId };
    const unusable = await this.#checkTunnel(plan, api, accountId, signal);
    if (unusable !== null) return unusable;

    for (let round = 1; round <= MOST_ROUNDS; round += 1) {
      const read = await api.tunnelDocument(accountId, plan.tunnelId, signal);
      if (!read.ok) return this.#refused(plan, read.error);
      if (read.value.configSource === 'local') return this.#failed(words.locallyManaged(plan));
      const merge = mergeTunnel(read.value, plan);
      this.#seen = { accountId, version: read.value.version, foreignRules: merge.foreignRules };
      if (merge.next === null || this.#isAsSent(read.value, merge.next)) return { kind: 'synced', merge, wrote: round > 1, ...this.#seen };
      if (isMassRemoval(merge) && !(await this.#confirmed(plan, merge, signal))) return this.#failed(words.shrinkUnconfirmed(plan, merge));
      if (merge.removedForeignRules.length > 0) await this.#reportForeign(plan, merge, read.value.version, signal);
      if (!wanted()) return { kind: 'superseded' };

      const put = await api.putTunnelDocument(accountId, plan.tunnelId, merge.next, signal);
      if (!put.ok) return this.#refused(plan, put.error);
      this.#remember(plan, merge.next, put.value);
      this.#seen = { ...this.#seen, version: put.value.version, foreignRules: plan.policy === 'Exclusive' ? [] : merge.foreignRules };
      this.#deps.log.info(
        {
          tunnel: plan.tunnelId,
          version: put.value.version,
          rules: plan.rules.length,
          added: merge.changes.added.length,
          removed: merge.changes.removed.length,
        },
        'wrote the ingress rules of a tunnel',
      );
      if (put.value.version === read.value.version + 1) return { kind: 'synced', merge, wrote: true, ...this.#seen };
      await this.#notify(words.concurrentWrite(plan, read.value.version, put.value.version), signal);
    }
    return this.#failed(words.writersDisagree(plan, MOST_ROUNDS));
  }

  async #detectAccount(plan: TunnelPlan, api: CloudflareApi): Promise<string | SyncOutcome> {
    const found = await this.#deps.accounts.find(plan.apiToken, api);
    if (found.ok) return found.accountId;
    return found.reason === 'ApiError' ? this.#refused(plan, found.error) : this.#failed(words.accountUnknown(found.reason, found.message));
  }

  /** A document would be stored for a deleted or locally managed tunnel as well, and nobody would ever read it. */
  async #checkTunnel(plan: TunnelPlan, api: CloudflareApi, accountId: string, signal: AbortSignal): Promise<SyncOutcome | null> {
    const key = [plan.apiToken, plan.connectorToken ?? ''].map(tokenHash).concat(accountId).join(' ');
    if (this.#checked === key) return null;
    const tunnel = await api.tunnel(accountId, plan.tunnelId, signal);
    if (!tunnel.ok) return this.#refused(plan, tunnel.error);
    if (tunnel.value.deleted) return this.#failed(words.tunnelDeleted(plan));
    if (tunnel.value.configSource !== 'cloudflare') return this.#failed(words.locallyManaged(plan));
    const refused = await this.#checkConnectorToken(plan, api, accountId, signal);
    if (refused !== null) return refused;
    this.#checked = key;
    return null;
  }

  /** Whoever can name a tunnel could ask for its rules to be written; whoever has its token may. Observers write nothing and may not read tokens. */
  async #checkConnectorToken(plan: TunnelPlan, api: CloudflareApi, accountId: string, signal: AbortSignal): Promise<SyncOutcome | null> {
    if (plan.connectorToken === null || plan.policy === 'Observe') return null;
    const token = await api.tunnelToken(accountId, plan.tunnelId, signal);
    if (!token.ok) return this.#refused(plan, token.error);
    return isSameConnector(token.value, plan.connectorToken) ? null : this.#failed(words.connectorTokenInvalid(plan));
  }

  async #confirmed(plan: TunnelPlan, merge: TunnelMerge, signal: AbortSignal): Promise<boolean> {
    try {
      const asked = this.#deps.confirmShrink({ id: plan.id, tunnelId: plan.tunnelId, lost: merge.lost.length, owned: merge.owned });
      return await unlessAborted(asked, signal);
    } catch (error) {
      this.#deps.log.warn({ tunnel: plan.tunnelId, error: String(error) }, 'could not confirm the removal of many hostnames');
      return false;
    }
  }

  async #reportForeign(plan: TunnelPlan, merge: TunnelMerge, version: number, signal: AbortSignal): Promise<void> {
    this.#deps.log.warn(
      { tunnel: plan.tunnelId, version, rules: merge.removedForeignRules.slice(0, 100), count: merge.removedForeignRules.length },
      'removing ingress rules that are not from this controller',
    );
    await this.#notify(words.foreignRemoval(plan, merge), signal);
  }

  async #notify(notice: TunnelNotice, signal: AbortSignal): Promise<void> {
    this.#deps.log.warn({ tunnel: notice.tunnelId, reason: notice.reason }, notice.message);
    try {
      await unlessAborted(this.#deps.notify(notice, this.#seen.foreignRules, this.#seen.version), signal);
    } catch (error) {
      this.#deps.log.warn({ tunnel: notice.tunnelId, error: String(error) }, 'could not report what happens to a tunnel');
    }
  }

  #isAsSent(document: TunnelDocument, next: TunnelConfig): boolean {
    return this.#sent !== null && this.#sent.stored === canonical(document.config) && this.#sent.wanted === canonical(next['ingress']);
  }

  #remember(plan: TunnelPlan, sent: TunnelConfig, answer: TunnelDocument): void {
    const same = sameRules(rulesOf(sent), rulesOf(answer.config));
    this.#sent = same ? null : { wanted: canonical(sent['ingress']), stored: canonical(answer.config) };
    if (!same)
      this.#deps.log.warn({ tunnel: plan.tunnelId, version: answer.version }, 'Cloudflare stored other ingress rules than were sent');
  }

  #refused(plan: TunnelPlan, error: CloudflareError): SyncOutcome {
    if (error.kind === 'Unauthorized' || error.kind === 'Forbidden') this.#deps.accounts.forget(plan.apiToken);
    return this.#failed(words.describeError(error, this.#deps.wallNow()));
  }

  #failed(failure: TunnelFailure): SyncOutcome {
    this.#checked = null;
    return { kind: 'failed', failure, ...this.#seen };
  }
}

const rulesOf = (config: TunnelConfig | null): readonly unknown[] =>
  Array.isArray(config?.['ingress']) ? (config['ingress'] as readonly unknown[]) : [];

const isMassRemoval = (merge: TunnelMerge): boolean => merge.lost.length > MANY_HOSTNAMES && merge.lost.length * 2 > merge.owned;

/** What the application does for us must not keep it from stopping. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(new Error('stopped'));
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
