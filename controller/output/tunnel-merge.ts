// From the document that a tunnel has and the one that it should have: what to write, and what of it is someone else's.
import type { IngressRule, TunnelPlan } from '../api/plan.ts';
import { covers, isOwnService, isWildcard, ownPorts, readRules, sameRules, type StoredRule } from './tunnel-rules.ts';

export type TunnelConfig = Readonly<Record<string, unknown>>;

/** Hostnames, `*` for the last rule. */
export interface TunnelChanges {
  readonly added: readonly string[];
  /** Ours, no longer planned. */
  readonly removed: readonly string[];
  /** Not ours, and not in `next` any more. */
  readonly removedForeign: readonly string[];
}

export interface TunnelMerge {
  /** The document to write; null when it would be equal, or under Observe. */
  readonly next: TunnelConfig | null;
  /** Hostnames of rules that are not ours, in the document as it is. */
  readonly foreignRules: readonly string[];
  /** The rules themselves, for a log from which they can be put back. */
  readonly removedForeignRules: readonly unknown[];
  readonly changes: TunnelChanges;
  /** Hostnames that rules of ours have now, and those among them that would reach the proxy no longer. */
  readonly owned: number;
  readonly lost: readonly string[];
  /** Under Observe: planned hostnames that do not reach the proxy with the document as it is. */
  readonly unrouted: readonly string[];
}

/**
 * A rule is ours if it leads to the proxy beside the connector (`isOwnService`). Everything else in the document stays as it is: other keys
 * always, and of a rule of ours that is kept the `originRequest` settings that the plan does not name.
 *
 * - Exclusive: exactly the plan's rules.
 * - Merge: foreign rules keep their order. Our exact hostnames come first; each of our wildcards comes just before the first foreign rule that
 *   would take all its hosts, else behind all foreign rules, so that a foreign rule for a more specific host keeps working and a foreign
 *   wildcard never swallows a host of ours. A foreign last rule stays, unless ours must be the proxy.
 * - Observe: nothing is written; the differences are told.
 */
export function mergeTunnel(current: { readonly config: unknown }, plan: TunnelPlan): TunnelMerge {
  const config: TunnelConfig = isObject(current.config) ? current.config : {};
  const ports = ownPorts(plan);
  const stored = readRules(config['ingress']);
  const last = lastRule(stored);
  const own = new Set(stored.filter((rule) => isOwnService(rule, ports)));
  const foreign = stored.filter((rule) => !own.has(rule) && !(rule === last && isPlainEnd(rule, plan)));

  const exclusive = plan.policy === 'Exclusive';
  const throughLast = isOwnService(readRules([plan.last])[0], ports);
  const keepLast = !exclusive && !throughLast && last !== null && foreign.includes(last);
  const kept = exclusive ? [] : foreign.filter((rule) => rule !== last);
  const removedForeign = foreign.filter((rule) => !kept.includes(rule) && !(keepLast && rule === last));

  const byName = new Map([...own].filter((rule) => rule !== last).map((rule) => [keyOf(rule), rule]));
  const ours = plan.rules.map((rule) => adopt(rule, byName.get(keyOf(rule))));
  const sameEnd = last !== null && (own.has(last) || last.service === plan.last.service);
  const end = keepLast ? last.raw : adopt(plan.last, sameEnd ? last : undefined);
  const ingress = [...interleave(ours, kept), end];
  const equal = sameRules(
    stored.map(({ raw }) => raw),
    ingress,
  );

  const planned = new Set(plan.rules.map(({ hostname }) => nameOf(hostname)));
  const had = new Set([...byName.values()].map(({ hostname }) => nameOf(hostname)));
  const removed = [...had].filter((name) => !planned.has(name));
  return {
    next: equal || plan.policy === 'Observe' ? null : { ...config, ingress },
    foreignRules: names(foreign),
    removedForeignRules: removedForeign.map(({ raw }) => raw),
    changes: { added: [...planned].filter((name) => !had.has(name)), removed, removedForeign: names(removedForeign) },
    owned: had.size,
    lost: throughLast ? [] : removed.filter((name) => !plan.rules.some(({ hostname }) => covers(hostname, name))),
    unrouted: plan.policy === 'Observe' ? [...planned].filter((name) => !reachesUs(name, stored, own)) : [],
  };
}

const isObject = (value: unknown): value is TunnelConfig => typeof value === 'object' && value !== null && !Array.isArray(value);

const nameOf = (hostname: string | undefined): string => (hostname === undefined || hostname === '' ? '*' : hostname);

const names = (rules: readonly StoredRule[]): readonly string[] => [...new Set(rules.map(({ hostname }) => nameOf(hostname)))];

const keyOf = (rule: { readonly hostname?: string | undefined; readonly path?: string | undefined }): string =>
  `${nameOf(rule.hostname)}\n${rule.path ?? ''}`;

/** The last rule, if it ends the list as it must: without hostname and path. */
function lastRule(stored: readonly StoredRule[]): StoredRule | null {
  const last = stored.at(-1);
  return last !== undefined && nameOf(last.hostname) === '*' && (last.path ?? '') === '' ? last : null;
}

/** Every document must end with such a rule, so it says nothing about who wrote it. */
const isPlainEnd = (last: StoredRule, plan: TunnelPlan): boolean =>
  last.service === 'http_status:404' || last.service === plan.last.service;

/** Our rule as it is to be written: over the one that stands there, so that settings made by hand (say, `access`) survive. */
function adopt(rule: IngressRule, before: StoredRule | undefined): unknown {
  if (before === undefined || !isObject(before.raw)) return rule;
  const settings = before.raw['originRequest'];
  const originRequest = { ...(isObject(settings) ? settings : {}), ...rule.originRequest };
  return { ...before.raw, ...rule, ...(Object.keys(originRequest).length > 0 ? { originRequest } : {}) };
}

/** Puts our rules among foreign ones whose order stays. Both lists are walked from the end, so that our order stays too. */
function interleave(ours: readonly unknown[], foreign: readonly StoredRule[]): readonly unknown[] {
  const own = readRules(ours);
  const before: unknown[][] = Array.from({ length: foreign.length + 1 }, () => []);
  let place = foreign.length;
  for (const rule of own.toReversed()) {
    const taker = isWildcard(rule.hostname) ? foreign.findIndex(({ hostname }) => covers(hostname, nameOf(rule.hostname))) : 0;
    if (taker >= 0) place = Math.min(place, taker);
    before[place]?.unshift(rule.raw);
  }
  return before.flatMap((rules, index) => [...rules, ...(foreign[index] === undefined ? [] : [foreign[index].raw])]);
}

/** Whether the first rule that takes all of `hostname` is one of ours. Rules for single paths are passed over. */
function reachesUs(hostname: string, stored: readonly StoredRule[], own: ReadonlySet<StoredRule>): boolean {
  const taker = stored.find((rule) => (rule.path ?? '') === '' && covers(rule.hostname, hostname));
  return taker !== undefined && own.has(taker);
}
