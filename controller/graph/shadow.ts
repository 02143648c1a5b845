// One hostname claimed from several namespaces: where ownership is enforced, the namespace whose domain is closest to it serves it.
//
// Scope is the tunnel: Gateways that share one cannot be told apart by a visitor, Gateways of different tunnels do not meet, and on its own
// entry every Gateway stands alone.
import { compareText } from '../api/ref.ts';
import type { ParentBinding } from './attach.ts';
import { entriesOf } from './entry.ts';
import { hostnamesAbove } from './hostname.ts';
import { lastFor } from './memo.ts';
import type { Ownership } from './ownership.ts';

export interface Claimant {
  readonly namespace: string;
  readonly parents: readonly ParentBinding[];
}

/** Who serves a contested hostname of a scope. Hostnames that nobody contests are not in it. */
export type Verdicts = ReadonlyMap<string, ReadonlySet<string>>;

const claimKey = (scope: string, hostname: string): string => `${scope} ${hostname}`;

/** Hostnames under which a match is reached: a route that names none has those of its listener. */
const claimed = (hostnames: readonly string[], listenerHostname: string): readonly string[] =>
  hostnames.length > 0 ? hostnames : [listenerHostname];

interface Claim {
  readonly key: string;
  /** Claims of wildcards that cover it. */
  readonly above: readonly string[];
}

/** What a route claims; remembered, because all claims are looked at whenever one changes. */
const claimsOf = lastFor((bindings: readonly ParentBinding[]): readonly Claim[] =>
  bindings.flatMap(({ gateway, matches }) =>
    matches.flatMap(({ listener, hostnames }) =>
      entriesOf(gateway, listener).flatMap(({ scope }) =>
        claimed(hostnames, listener.hostname).map((hostname) => ({
          key: claimKey(scope, hostname),
          above: hostnamesAbove(hostname).map((above) => claimKey(scope, above)),
        })),
      ),
    ),
  ),
);

/** Most hostnames have one claimant, which is kept without a set around it. */
type Claimants = string | Set<string>;

function collectClaimants(routes: readonly Claimant[]): ReadonlyMap<string, Claimants> {
  const contests = new Map<string, Claimants>();
  for (const { namespace, parents } of routes) {
    for (const { key } of claimsOf(parents)) {
      const before = contests.get(key);
      if (before === undefined) contests.set(key, namespace);
      else if (typeof before !== 'string') before.add(namespace);
      else if (before !== namespace) contests.set(key, new Set([before, namespace]));
    }
  }
  return contests;
}

const setOf = (claimants: Claimants): ReadonlySet<string> => (typeof claimants === 'string' ? new Set([claimants]) : claimants);

interface Ranked {
  readonly rank: number;
  readonly namespaces: readonly string[];
}

/** Those of the longest domain; namespaces that are not policed come after all that are. */
function closest(namespaces: Iterable<string>, ownership: Ownership): Ranked {
  const ranked = [...namespaces].map((namespace) => ({ namespace, rank: ownership.domainOf(namespace)?.length ?? -1 }));
  const rank = Math.max(...ranked.map((one) => one.rank));
  return { rank, namespaces: ranked.filter((one) => one.rank === rank).map(({ namespace }) => namespace) };
}

/**
 * The longest owning domain wins, so that a parent tenant cannot take over a host of its child, neither by the same hostname nor by one below
 * the child's wildcard. Claimants of equal rank share the hostname by the specification's precedence.
 */
export function decideClaims(routes: readonly Claimant[], ownership: Ownership): Verdicts {
  const verdicts = new Map<string, ReadonlySet<string>>();
  if (!ownership.enforced) return verdicts;
  const contests = collectClaimants(routes);
  const wildcards = new Map<string, Ranked>();
  for (const [key, claimants] of contests) if (key.includes(' *.')) wildcards.set(key, closest(setOf(claimants), ownership));

  for (const { key, above } of routes.flatMap(({ parents }) => claimsOf(parents))) {
    const claimants = contests.get(key) ?? '';
    const covering = wildcards.size === 0 ? [] : above.flatMap((wider) => wildcards.get(wider) ?? []);
    if (verdicts.has(key) || (typeof claimants === 'string' && covering.length === 0)) continue;
    let best = closest(setOf(claimants), ownership);
    // What the platform publishes by name is not lost to a tenant's wildcard.
    if (best.rank >= 0) for (const other of covering) if (other.rank > best.rank) best = other;
    const winners = new Set([...best.namespaces].sort(compareText));
    if ([...setOf(claimants)].some((namespace) => !winners.has(namespace))) verdicts.set(key, winners);
  }
  return verdicts;
}

export interface Loss {
  readonly hostname: string;
  readonly owners: readonly string[];
}

/** The hostnames of a match that its namespace keeps (null: none at all), and those that it loses. */
export function settleClaims(
  verdicts: Verdicts,
  { namespace, scope }: { readonly namespace: string; readonly scope: string },
  { hostnames, listener }: ParentBinding['matches'][number],
): { readonly kept: readonly string[] | null; readonly losses: readonly Loss[] } {
  if (verdicts.size === 0) return { kept: hostnames, losses: [] };
  const losses: Loss[] = [];
  const kept = claimed(hostnames, listener.hostname).filter((hostname) => {
    const owners = verdicts.get(claimKey(scope, hostname));
    if (owners === undefined || owners.has(namespace)) return true;
    losses.push({ hostname, owners: [...owners] });
    return false;
  });
  // An empty list would mean every host of the listener.
  if (kept.length === 0) return { kept: null, losses };
  return { kept: hostnames.length > 0 ? kept : hostnames, losses };
}

/** The verdicts of before when the new ones say the same, so that what was built from them can be kept. */
export function keepVerdicts(before: Verdicts, now: Verdicts): Verdicts {
  if (before.size !== now.size) return now;
  for (const [key, owners] of now) {
    const old = before.get(key);
    if (old === undefined || old.size !== owners.size || [...owners].some((owner) => !old.has(owner))) return now;
  }
  return before;
}
