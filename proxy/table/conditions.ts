// The conditions of one match, ready to be tested: path, method, headers, query. All of them hold together.
import type { MatchConfig, ValueMatchConfig } from '#proxy/config/schema.ts';
import { toBytes } from './bytes.ts';
import { hasHeader, isGrpc, nextHeader } from './header.ts';
import { hasPrefix, normalisePath, normalisePrefix } from './path.ts';
import { decodedValue, findParameter, valueEquals, type ValueRange } from './query.ts';
import type { Pattern, PatternCache } from './regex/pattern.ts';
import type { RequestKey } from './types.ts';
import type { Work } from './work.ts';

/** In order of precedence: any Exact beats any RegularExpression beats any PathPrefix. */
export const PATH = { exact: 0, pattern: 1, prefix: 2 };

interface ValueCondition {
  /** Header: lower case. Query: as bytes. */
  readonly name: string;
  /** As bytes; not used when there is a pattern. */
  readonly value: string;
  readonly pattern: Pattern | null;
}

/** Flat, and with shared empty lists: at thousands of rules, every object on the way is a cache miss. */
export interface Conditions {
  /** One of PATH. */
  readonly pathType: number;
  /** Normalised path or prefix; the source of an expression. */
  readonly path: string;
  readonly pattern: Pattern | null;
  readonly method: string | null;
  readonly grpc: boolean;
  readonly headers: readonly ValueCondition[];
  readonly query: readonly ValueCondition[];
}

/** A field below the match, and what is wrong with it. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

export type ConditionsResult = { readonly conditions: Conditions } | { readonly problems: readonly FieldProblem[] };

/** Prepares a match. With any problem it can match nothing: to leave out a condition would widen it. */
export function prepareConditions(type: 'HTTP' | 'GRPC', match: MatchConfig, patterns: PatternCache): ConditionsResult {
  const problems: FieldProblem[] = [];
  const conditions: Conditions = {
    ...preparePath(match.path, patterns, problems),
    method: match.method ?? null,
    grpc: type === 'GRPC',
    headers: prepareValues(match.headers, 'headers', patterns, problems),
    query: prepareValues(match.query, 'query', patterns, problems),
  };
  return problems.length > 0 ? { problems } : { conditions };
}

type PathCondition = Pick<Conditions, 'pathType' | 'path' | 'pattern'>;

function preparePath(path: MatchConfig['path'], patterns: PatternCache, problems: FieldProblem[]): PathCondition {
  const { type, value } = path ?? { type: 'PathPrefix', value: '/' };
  if (type === 'RegularExpression') {
    return { pathType: PATH.pattern, path: value, pattern: preparePattern(value, 'path.value', patterns, problems) };
  }
  if (!value.startsWith('/')) problems.push({ field: 'path.value', message: `path ${JSON.stringify(value)} must begin with "/"` });
  if (type === 'Exact') return { pathType: PATH.exact, path: normalisePath(toBytes(value)), pattern: null };
  return { pathType: PATH.prefix, path: normalisePrefix(toBytes(value)), pattern: null };
}

function prepareValues(
  list: readonly ValueMatchConfig[] | undefined,
  field: 'headers' | 'query',
  patterns: PatternCache,
  problems: FieldProblem[],
): readonly ValueCondition[] {
  if (list === undefined || list.length === 0) return NONE;
  const conditions = new Map<string, ValueCondition>();
  list.forEach(({ name: written, type, value }, index) => {
    const name = field === 'headers' ? written.toLowerCase() : toBytes(written);
    // The Gateway API: of entries with an equivalent name only the first counts.
    if (conditions.has(name)) return;
    const pattern = type === 'Exact' ? null : preparePattern(value, `${field}[${index}].value`, patterns, problems);
    conditions.set(name, { name, value: toBytes(value), pattern });
  });
  return [...conditions.values()];
}

const NONE: readonly ValueCondition[] = [];

function preparePattern(source: string, field: string, patterns: PatternCache, problems: FieldProblem[]): Pattern | null {
  const result = patterns.compile(source);
  if ('pattern' in result) return result.pattern;
  problems.push({ field, message: result.error });
  return null;
}

/**
 * Whether everything but an Exact or PathPrefix path holds, for callers that found the arm by its path.
 * Also true when the work is spent (`work.left < 0`): then the arm wins, and the table answers 500 for it.
 */
export function holdBesidesPath(conditions: Conditions, request: RequestKey, work: Work): boolean {
  work.left -= 2;
  if (conditions.method !== null && conditions.method !== request.method) return false;
  if (conditions.grpc && !isGrpc(request.method, request.rawHeaders, work)) return false;
  for (const condition of conditions.headers) {
    if (!headerHolds(condition, request, work)) return work.left < 0;
  }
  for (const condition of conditions.query) {
    if (!parameterHolds(condition, request, work)) return work.left < 0;
  }
  return true;
}

/** The same for any kind of path; `path` is normalised. */
export function hold(conditions: Conditions, path: string, request: RequestKey, work: Work): boolean {
  if (conditions.pathType === PATH.exact) {
    if (path !== conditions.path) return false;
  } else if (conditions.pathType === PATH.prefix) {
    if (!hasPrefix(path, conditions.path)) return false;
  } else if (conditions.pattern?.test(path, work) !== true) return work.left < 0;
  return holdBesidesPath(conditions, request, work);
}

function headerHolds({ name, value, pattern }: ValueCondition, { rawHeaders }: RequestKey, work: Work): boolean {
  if (pattern === null) return hasHeader(rawHeaders, name, value, work);
  for (let at = nextHeader(rawHeaders, name, 0, work); at !== -1; at = nextHeader(rawHeaders, name, at + 2, work)) {
    if (pattern.test(rawHeaders[at + 1] ?? '', work)) return true;
    if (work.left < 0) return false;
  }
  return false;
}

/** Reused by every request: a decision is made in one go. */
const range: ValueRange = { start: 0, end: 0 };

function parameterHolds({ name, value, pattern }: ValueCondition, { query }: RequestKey, work: Work): boolean {
  if (!findParameter(query, name, range, work)) return false;
  return pattern === null ? valueEquals(query, range, value, work) : pattern.test(decodedValue(query, range, work), work);
}
