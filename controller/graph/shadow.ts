// One hostname claimed from several namespaces: where ownership is enforced, the namespace whose domain is closest to it serves it.
//
// Scope is the tunnel: Gateways that share one cannot be told apart by a visitor, Gateways of different tunnels do not meet, and on its own
// entry every Gateway stands alone.
import { compareText } from '../api/ref.ts';
import type { ParentBinding } from './attach.ts';
import { entriesOf } from './entry.ts';
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

/** Claims by hostname; most have one claimant, which is kept without a set around it. */
function collectClaims(claimants: readonly Claimant[]): ReadonlyMap<string, string | ReadonlySet<string>> {
  const claims = new Map<string, string | Set<string>>();
  for (const { namespace, parents } of claimants) {
    for (const key of parents.flatMap(claimKeys)) {
      const before = claims.get(key) ?? namespace;
      if (before instanceof Set) before.add(namespace);
      else claims.set(key, before === namespace ? namespace : new Set([before, namespace]));
    }
  }
  return claims;
}

const claimKeys = ({ gateway, matches }: ParentBinding): readonly string[] =>
  matches.flatMap(({ listener, hostnames }) =>
    entriesOf(gateway, listener).flatMap(({ scope }) => claimed(hostnames, listener.hostname).map((hostname) => claimKey(scope, hostname))),
  );

/**
 * The longest owning domain wins, so that a parent tenant cannot take over a host of its child; namespaces that are not policed come after
 * all that are. Claimants of equal rank share the hostname by the specification's precedence.
 */
export function decideClaims(claimants: readonly Claimant[], ownership: Ownership): Verdicts {
  const verdicts = new Map<string, ReadonlySet<string>>();
  if (!ownership.enforced) return verdicts;
  for (const [key, namespaces] of collectClaims(claimants)) {
    if (typeof namespaces === 'string') continue;
    const ranked = [...namespaces].map((namespace) => ({ namespace, rank: ownership.domainOf(namespace)?.length ?? -1 }));
    const best = Math.max(...ranked.map(({ rank }) => rank));
    const winners = ranked.filter(({ rank }) => rank === best).map(({ namespace }) => namespace);
    if (winners.length < ranked.length) verdicts.set(key, new Set(winners.sort(compareText)));
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
