// Rules as far as the route itself decides them: converted, checked with the proxy's own code, closed where they cannot be carried out.
import * as cause from '../api/cause-route.ts';
import type { Cause } from '../api/condition.ts';
import type { Route, RouteBackendRef, RouteFilter } from '../api/gateway.ts';
import { matchSchema, ruleSchema, type FilterConfig, type MatchConfig, type RuleConfig } from '#proxy/config/schema.ts';
import { validateRule } from '#proxy/table/compile.ts';
import { convertFilter, PAYLOAD } from './filter.ts';

export const EVERYTHING: MatchConfig = { path: { type: 'PathPrefix', value: '/' } };

/** A rule in the proxy's terms, apart from filters and backends, which both kinds of routes treat alike. */
export interface RuleDraft {
  /** `spec.rules[0]` */
  readonly field: string;
  readonly name: string | undefined;
  readonly matches: readonly MatchConfig[];
  readonly filters: readonly RouteFilter[];
  readonly backendRefs: readonly RouteBackendRef[];
  readonly timeouts?: RuleConfig['timeouts'];
  /** What closes the rule. */
  readonly problems: readonly string[];
  /** What is left undone without closing it. */
  readonly ignored: readonly string[];
}

export interface BackendOutline {
  /** `spec.rules[0].backendRefs[1]` */
  readonly field: string;
  readonly ref: RouteBackendRef;
  readonly weight: number;
  readonly filters: readonly FilterConfig[];
  /** Its filters cannot be carried out: its share is answered with 500. */
  readonly closed: boolean;
}

export interface RuleOutline {
  /** Without backends; null when no match of it can be read, so that there is nothing to answer. */
  readonly config: RuleConfig | null;
  readonly closed: boolean;
  readonly backends: readonly BackendOutline[];
  readonly messages: readonly string[];
}

/** What a route says by itself, whatever it refers to. */
export interface RouteOutline {
  readonly type: 'HTTP' | 'GRPC';
  readonly rules: readonly RuleOutline[];
  readonly unservable: Cause | null;
  readonly partial: Cause | null;
}

export function outlineRoute(route: Route, drafts: readonly RuleDraft[]): RouteOutline {
  const type = route.kind === 'GRPCRoute' ? 'GRPC' : 'HTTP';
  const rules = drafts.map((draft) => outlineRule(type, draft));
  const messages = rules.flatMap((rule) => rule.messages);
  const closed = rules.flatMap((rule, index) => (rule.closed ? [index] : []));
  const unservable = rules.length > 0 && closed.length === rules.length ? cause.allRulesClosed(messages) : null;
  const partial = unservable === null && messages.length > 0 ? cause.someRulesClosed(closed, messages) : null;
  return { type, rules, unservable, partial };
}

function convertFilters(
  type: 'HTTP' | 'GRPC',
  filters: readonly RouteFilter[],
  field: string,
): { readonly filters: FilterConfig[]; readonly problems: readonly string[] } {
  const converted = filters.map((filter, index) => convertFilter(type, filter, `${field}.filters[${index}]`));
  return {
    filters: converted.flatMap((result) => ('filter' in result ? [result.filter] : [])),
    problems: converted.flatMap((result) => ('problem' in result ? [result.problem] : [])),
  };
}

function outlineRule(type: 'HTTP' | 'GRPC', draft: RuleDraft): RuleOutline {
  const own = convertFilters(type, draft.filters, draft.field);
  const refs = draft.backendRefs.map((ref, index) => {
    const field = `${draft.field}.backendRefs[${index}]`;
    return { field, ref, ...convertFilters(type, ref.filters ?? [], field) };
  });
  const whole: RuleConfig = {
    ...(draft.name === undefined ? {} : { name: draft.name }),
    matches: [...draft.matches],
    ...(own.filters.length === 0 || own.problems.length > 0 ? {} : { filters: own.filters }),
    backends: refs.map(({ ref, filters, problems }) => ({ weight: ref.weight ?? 1, filters: problems.length > 0 ? [] : filters })),
    ...(draft.timeouts === undefined ? {} : { timeouts: draft.timeouts }),
  };
  const found = check(type, whole, draft);
  const broken = [...draft.problems, ...own.problems, ...found.rule];
  const backends = refs.map(({ field, ref, filters, problems }, index): BackendOutline => {
    return { field, ref, weight: ref.weight ?? 1, filters, closed: problems.length > 0 || found.backends.has(index) };
  });
  const shares = [...refs.flatMap(({ problems }) => problems), ...[...found.backends.values()].flat()];
  const messages = [...broken, ...shares.map((problem) => `${problem} (its share of requests is answered with 500)`), ...draft.ignored];
  const config = broken.length === 0 ? { ...whole, backends: [] } : closedRule(whole, broken[0] ?? '');
  return { config, closed: broken.length > 0, backends, messages };
}

/** Of the pushed configuration, and of the API. */
const MOST_MATCHES = 64;

/** Wins the requests that it would have won, and answers them with 500: they must not go to a rule that was meant for others. */
function closedRule(rule: RuleConfig, reason: string): RuleConfig | null {
  const matches = rule.matches.filter((match) => matchSchema.safeParse(match).success).slice(0, MOST_MATCHES);
  return matches.length === 0 ? null : { matches, backends: [], error: { status: 500, reason } };
}

interface Findings {
  readonly rule: readonly string[];
  /** By position of the backendRef. */
  readonly backends: ReadonlyMap<number, readonly string[]>;
}

const BACKEND = /^backends\[(\d+)\]/;
const BACKEND_FILTER = /^backends\[(\d+)\]\.filters/;

/** The limits of the pushed configuration first, then what the proxy's compiler says. Both name fields of the proxy's rule: told in the route's terms. */
function check(type: 'HTTP' | 'GRPC', rule: RuleConfig, draft: RuleDraft): Findings {
  const beyond = limits(rule);
  const problems = beyond.length > 0 ? beyond : validateRule(type, rule);
  const backends = new Map<number, string[]>();
  const own: string[] = [];
  for (const { field, message } of problems) {
    const text = `${draft.field}.${fieldInRoute(type, field, draft)}: ${message}`;
    const position = BACKEND_FILTER.exec(field)?.[1];
    if (position === undefined) own.push(text);
    else backends.set(Number(position), [...(backends.get(Number(position)) ?? []), text]);
  }
  return { rule: own, backends };
}

function limits(rule: RuleConfig): readonly { readonly field: string; readonly message: string }[] {
  // A rule whose matches are all unreadable has a problem of its own already.
  const result = ruleSchema.safeParse(rule.matches.length === 0 ? { ...rule, matches: [EVERYTHING] } : rule);
  if (result.success) return [];
  return result.error.issues.map(({ path, message }) => {
    const field = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
    return { field: field.slice(1), message };
  });
}

function fieldInRoute(type: 'HTTP' | 'GRPC', field: string, draft: RuleDraft): string {
  const position = BACKEND.exec(field)?.[1];
  const filters = position === undefined ? draft.filters : (draft.backendRefs[Number(position)]?.filters ?? []);
  const inFilter = field
    .replace(BACKEND, (_, index: string) => `backendRefs[${index}]`)
    .replace(
      /(filters\[(\d+)\])\.(?!type$)(?:modifier\.)?/,
      (_, at: string, index: string) => `${at}.${PAYLOAD[filters[Number(index)]?.type ?? ''] ?? ''}.`,
    );
  if (position !== undefined || !field.startsWith('matches')) return inFilter;
  return type === 'GRPC' ? field.replace('.path.value', '.method') : field.replace('.query[', '.queryParams[');
}
