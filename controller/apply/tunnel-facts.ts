// The words about a tunnel: reasons, and messages that say what failed, what Cloudflare said and what to do.
import { TunnelReason } from '../api/condition.ts';
import type { TunnelFact, TunnelPlan } from '../api/plan.ts';
import type { ObjectRef } from '../api/ref.ts';
import type { CloudflareError, CloudflareErrorKind } from '../cloudflare/api.ts';
import type { TunnelMerge } from '../output/tunnel-merge.ts';

/** At most this many hostnames go into a fact. */
const MOST_NAMES = 20;
const MOST_NAME_CHARACTERS = 500;

/** How soon another try makes sense. `credentials`: a person must act, somewhere. `document`: the plan must change. `service`: it passes by itself. */
export type RetryClass = 'credentials' | 'document' | 'service';

export interface TunnelFailure {
  readonly reason: TunnelReason;
  readonly message: string;
  readonly retry: RetryClass;
  /** Milliseconds that Cloudflare asked to wait. */
  readonly retryAfterMs: number | null;
}

/** Something that happened once and that people should see, as an event. */
export interface TunnelNotice {
  readonly reason: typeof TunnelReason.ForeignRulesRemoved | typeof TunnelReason.ConcurrentWrite;
  readonly tunnelId: string;
  readonly configs: readonly ObjectRef[];
  readonly hostnames: readonly string[];
  readonly message: string;
}

const byKind: Readonly<
  Record<CloudflareErrorKind, { readonly reason: TunnelReason; readonly retry: RetryClass; readonly advice: string }>
> = {
  Unauthorized: {
    reason: TunnelReason.ApiTokenInvalid,
    retry: 'credentials',
    advice: 'Put a valid API token into the credentials Secret; it is tried as soon as the Secret changes.',
  },
  Forbidden: {
    reason: TunnelReason.PermissionDenied,
    retry: 'credentials',
    advice:
      'Edit the API token in the Cloudflare dashboard, or put another one into the credentials Secret. Retried at least every 5 minutes.',
  },
  NotFound: { reason: TunnelReason.TunnelNotFound, retry: 'credentials', advice: 'Check spec.tunnelID and spec.accountId.' },
  Invalid: {
    reason: TunnelReason.ConfigurationRejected,
    retry: 'document',
    advice: 'The tunnel keeps its previous rules. Correct what the message names.',
  },
  RateLimited: { reason: TunnelReason.RateLimited, retry: 'service', advice: '' },
  Conflict: { reason: TunnelReason.Conflict, retry: 'service', advice: 'Retried automatically.' },
  Server: {
    reason: TunnelReason.CloudflareFailed,
    retry: 'service',
    advice: 'The tunnel keeps its rules; retried automatically. See www.cloudflarestatus.com.',
  },
  Network: {
    reason: TunnelReason.CloudflareUnreachable,
    retry: 'service',
    advice: 'The tunnel keeps its rules; retried automatically. Check DNS, egress rules and NetworkPolicies of the controller.',
  },
  Timeout: {
    reason: TunnelReason.CloudflareTimeout,
    retry: 'service',
    advice: 'The tunnel keeps its rules; retried automatically. Check egress rules and NetworkPolicies of the controller.',
  },
  Malformed: { reason: TunnelReason.UnexpectedAnswer, retry: 'service', advice: 'The tunnel keeps its rules; retried automatically.' },
};

/** `wallNow` is the time of day in milliseconds. */
export function describeError(error: CloudflareError, wallNow: number): TunnelFailure {
  const { reason, retry, advice } = byKind[error.kind];
  const until =
    error.kind === 'RateLimited' && error.retryAfterMs !== null ? `Rate limited until ${clock(wallNow + error.retryAfterMs)}.` : advice;
  return { reason, retry, message: `${error.message} ${until}`.trim(), retryAfterMs: error.retryAfterMs };
}

const clock = (time: number): string => `${new Date(Math.ceil(time / 1000) * 1000).toISOString().slice(0, 19)}Z`;

const refusal = (reason: TunnelReason, message: string, retry: RetryClass = 'credentials'): TunnelFailure => ({
  reason,
  message,
  retry,
  retryAfterMs: null,
});

export const accountUnknown = (reason: TunnelReason, message: string): TunnelFailure => refusal(reason, message);

export const tunnelDeleted = (plan: TunnelPlan): TunnelFailure =>
  refusal(
    TunnelReason.TunnelDeleted,
    `Tunnel ${plan.tunnelId} has been deleted at Cloudflare. Create a tunnel and set its id as spec.tunnelID, with its connector token in the proxy's Secret.`,
  );

/** The token that proxies would connect with is not the tunnel's: it was rotated at Cloudflare, or never was its token. */
export const connectorTokenInvalid = (plan: TunnelPlan): TunnelFailure =>
  refusal(
    TunnelReason.ConnectorTokenInvalid,
    `The connector token in the Secret is not, or no longer, the token of tunnel ${plan.tunnelId}, so connectors with it are refused and nothing is written. Copy the token of the tunnel into the Secret again.`,
  );

export const locallyManaged = (plan: TunnelPlan): TunnelFailure =>
  refusal(
    TunnelReason.TunnelLocallyManaged,
    `Tunnel ${plan.tunnelId} is locally managed (config_src "local"): its connectors ignore the configuration at Cloudflare, so nothing is written. ` +
      'Migrate it in the dashboard (Networks → Tunnels → Migrate), or use a tunnel created with config_src "cloudflare".',
  );

export const shrinkUnconfirmed = (plan: TunnelPlan, merge: TunnelMerge): TunnelFailure =>
  refusal(
    TunnelReason.RemovalNotConfirmed,
    `The change would take ${merge.lost.length} of ${merge.owned} hostnames from tunnel ${plan.tunnelId}, and a fresh look at the routes did not confirm it. ` +
      'The tunnel keeps its rules; looked at again automatically.',
    'service',
  );

export const writersDisagree = (plan: TunnelPlan, rounds: number): TunnelFailure =>
  refusal(
    TunnelReason.ConcurrentWriters,
    `Someone else wrote the configuration of tunnel ${plan.tunnelId} during each of ${rounds} attempts to write it. ` +
      'Give the tunnel one owner: stop the other controller, terraform or script, or set spec.configPolicy to Observe.',
    'service',
  );

/** A Cloudflare quirk or a bug of ours must end as a fact, too. */
export const internalError = (plan: TunnelPlan): TunnelFailure =>
  refusal(
    TunnelReason.InternalError,
    `Tunnel ${plan.tunnelId} could not be synchronised because of an error in the controller; its log has the details. Retried automatically.`,
    'service',
  );

/** Hostnames for a sentence. Bounded in length too: an Event's text may have 1,024 characters in all. */
function listNames(names: readonly string[]): string {
  let length = 0;
  const shown = names.slice(0, MOST_NAMES).filter((name) => (length += name.length + 2) <= MOST_NAME_CHARACTERS);
  const rest = names.length - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

export const someNames = (names: readonly string[]): readonly string[] => names.slice(0, MOST_NAMES);

export function foreignRemoval(plan: TunnelPlan, merge: TunnelMerge): TunnelNotice {
  const hostnames = merge.changes.removedForeign;
  const why =
    plan.policy === 'Exclusive'
      ? 'because spec.configPolicy is Exclusive. Set it to Merge to keep such rules'
      : 'because a route without hostname needs the last rule of the tunnel';
  return {
    reason: TunnelReason.ForeignRulesRemoved,
    tunnelId: plan.tunnelId,
    configs: plan.configs,
    hostnames: someNames(hostnames),
    message: `Removing ${merge.removedForeignRules.length} ingress rule(s) of tunnel ${plan.tunnelId} that are not from this controller (${listNames(hostnames)}), ${why}. The controller's log has them in full.`,
  };
}

export function concurrentWrite(plan: TunnelPlan, readVersion: number, writtenVersion: number): TunnelNotice {
  return {
    reason: TunnelReason.ConcurrentWrite,
    tunnelId: plan.tunnelId,
    configs: plan.configs,
    hostnames: [],
    message:
      `Someone else wrote the configuration of tunnel ${plan.tunnelId} between our read (version ${readVersion}) and our write (version ${writtenVersion}); ` +
      "the API has no precondition, so that change is replaced. The tunnel's configuration is read and merged again.",
  };
}

/** The sentence of a tunnel that has what the plan wants, or, under Observe, of one that is only looked at. */
export function describeSynced(plan: TunnelPlan, merge: TunnelMerge, version: number): Pick<TunnelFact, 'state' | 'reason' | 'message'> {
  if (plan.policy === 'Observe') return describeObserved(plan, merge, version);
  const parts = [`Version ${version} of the tunnel's configuration has the ${plan.rules.length} planned rule(s).`];
  if (plan.folded) parts.push('There are too many hostnames for one rule each: the last rule takes all of them to the proxy.');
  if (merge.changes.removedForeign.length > 0) parts.push(`Rules of others were removed: ${listNames(merge.changes.removedForeign)}.`);
  else if (merge.foreignRules.length > 0) parts.push(`Rules of others are kept: ${listNames(merge.foreignRules)}.`);
  return { state: 'Synced', reason: TunnelReason.Synced, message: parts.join(' ') };
}

function describeObserved(plan: TunnelPlan, merge: TunnelMerge, version: number): Pick<TunnelFact, 'state' | 'reason' | 'message'> {
  if (merge.unrouted.length > 0) {
    return {
      state: 'Failed',
      reason: TunnelReason.NotRouted,
      message:
        `Version ${version} of the tunnel's configuration does not lead ${listNames(merge.unrouted)} to the proxy, and spec.configPolicy is Observe, so nothing is written. ` +
        `Add rules with service ${plan.rules[0]?.service ?? plan.last.service} yourself, or set configPolicy to Merge.`,
    };
  }
  return {
    state: 'Synced',
    reason: TunnelReason.Observed,
    message: `Version ${version} of the tunnel's configuration leads every planned hostname to the proxy. Nothing is written, because spec.configPolicy is Observe.`,
  };
}
