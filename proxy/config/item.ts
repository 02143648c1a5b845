// One item of a pushed configuration: read strictly, or, if it is bad and that is safe, put aside so that only its own users suffer.
import type { z } from 'zod';
import {
  backendSchema,
  certificateSchema,
  entrySchema,
  localEntrySchema,
  matchSchema,
  routeSchema,
  ruleSchema,
  tunnelSchema,
  type ConfigItem,
  type RouteConfig,
  type RuleConfig,
} from './schema.ts';

/** Something bad that was put aside. Never contains values of the configuration: tokens are among them. */
export interface ItemProblem {
  /** Identity of the item. */
  readonly item: string;
  /** Path of the field below the item, as `rules[0].matches[2].path.value`; '' for the whole item. */
  readonly field: string;
  readonly message: string;
}

export type ItemResult =
  /** `item` null: dropped, and whoever refers to it fails closed. */
  | { readonly item: ConfigItem | null; readonly problems: readonly ItemProblem[] }
  /** Nobody can tell what would be lost with it. */
  | { readonly refused: string };

const SCHEMAS = {
  tunnel: tunnelSchema,
  certificate: certificateSchema,
  entry: entrySchema,
  localEntry: localEntrySchema,
  backend: backendSchema,
  route: routeSchema,
};
type Kind = keyof typeof SCHEMAS;

/** Kind and id of an item, or null when it does not say what it is. */
export function identify(value: object): { readonly kind: Kind; readonly id: string } | null {
  const { kind, id } = value as { readonly kind?: unknown; readonly id?: unknown };
  if (typeof kind !== 'string' || !Object.hasOwn(SCHEMAS, kind)) return null;
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID ? { kind: kind as Kind, id } : null;
}

/** Kind, namespace and name of an object take half of this at most; ids go into messages. */
const MAX_ID = 1024;

/**
 * Without a backend its share of traffic gets 500, without a certificate its handshakes fail, without an entry or a tunnel nothing
 * arrives by it: those can be dropped. A route cannot,
 * because its hostnames would go to broader routes: its unreadable rules are closed instead, and if not even its hostnames can be read, the
 * whole configuration is refused.
 */
export function readItem(value: object, { kind, id }: { readonly kind: Kind; readonly id: string }): ItemResult {
  const result = SCHEMAS[kind].safeParse(value);
  if (result.success) return { item: result.data, problems: [] };
  if (kind === 'route') return readRoute(value, id);
  return { item: null, problems: [problemOf(id, '', result.error)] };
}

const routeHeadSchema = routeSchema.omit({ rules: true });

function readRoute(value: object, id: string): ItemResult {
  const head = routeHeadSchema.safeParse(value);
  if (!head.success) return { refused: describe(head.error) };
  const { rules } = value as { readonly rules?: unknown };
  if (!Array.isArray(rules)) return { refused: 'rules: it is not a list' };
  const problems: ItemProblem[] = [];
  const read = rules.map((rule: unknown, index): RuleConfig => {
    const result = ruleSchema.safeParse(rule);
    if (result.success) return result.data;
    problems.push(problemOf(id, `rules[${index}]`, result.error));
    return closedRule(rule, describe(result.error));
  });
  if (problems.length === 0) problems.push({ item: id, field: 'rules', message: 'there are too many rules' });
  const route: RouteConfig = { ...head.data, rules: read };
  return { item: route, problems };
}

/** Answers 500 where the matches can be read; those that cannot match nothing. */
function closedRule(rule: unknown, reason: string): RuleConfig {
  const matches = typeof rule === 'object' && rule !== null && 'matches' in rule && Array.isArray(rule.matches) ? rule.matches : [];
  return {
    matches: matches.flatMap((match: unknown) => {
      const result = matchSchema.safeParse(match);
      return result.success ? [result.data] : [];
    }),
    backends: [],
    error: { status: 500, reason },
  };
}

function problemOf(item: string, below: string, error: z.ZodError): ItemProblem {
  const [issue] = error.issues;
  return { item, field: `${below}${fieldOf(issue, below !== '')}`, message: issue?.message ?? 'it is invalid' };
}

/** The first issue as `field: message`. Zod's messages tell types, limits and choices, not the value that was found. */
export function describe(error: z.ZodError): string {
  const [issue] = error.issues;
  const field = fieldOf(issue, false);
  return `${field === '' ? '' : `${field}: `}${issue?.message ?? 'it is invalid'}`;
}

function fieldOf(issue: z.core.$ZodIssue | undefined, isBelow: boolean): string {
  const path = (issue?.path ?? []).map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return isBelow ? path : path.replace(/^\./, '');
}
