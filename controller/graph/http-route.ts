// HTTPRoute: matches and timeouts of its rules.
import * as cause from '../api/cause-route.ts';
import type { HTTPRoute, HTTPRouteMatch, HTTPRouteRule, ValueMatch } from '../api/gateway.ts';
import type { MatchConfig, RuleConfig, ValueMatchConfig } from '#proxy/config/schema.ts';
import { parseDuration } from './duration.ts';
import { EVERYTHING, type RuleDraft } from './rule.ts';

const PATH_TYPES = ['Exact', 'PathPrefix', 'RegularExpression'] as const;
const VALUE_TYPES = ['Exact', 'RegularExpression'] as const;

/** Absent rules, like absent matches, mean every request. */
export const draftHttpRules = (route: HTTPRoute): readonly RuleDraft[] => (route.spec.rules ?? [{}]).map(draftRule);

function draftRule(rule: HTTPRouteRule, index: number): RuleDraft {
  const field = `spec.rules[${index}]`;
  const problems: string[] = [];
  const declared = rule.matches ?? [];
  const matches = declared
    .map((match, position) => convertMatch(match, `${field}.matches[${position}]`, problems))
    .filter((match) => match !== null);
  const timeouts = convertTimeouts(rule.timeouts, `${field}.timeouts`, problems);
  return {
    field,
    name: rule.name,
    matches: declared.length === 0 ? [EVERYTHING] : matches,
    filters: rule.filters ?? [],
    backendRefs: rule.backendRefs ?? [],
    ...(timeouts === undefined ? {} : { timeouts }),
    problems,
    ignored: (['retry', 'sessionPersistence'] as const)
      .filter((name) => rule[name] !== undefined)
      .map((name) => cause.fieldIgnored(`${field}.${name}`)),
  };
}

/** Null with a problem: a match with a condition left out would be wider than what was asked for. */
function convertMatch(match: HTTPRouteMatch, field: string, problems: string[]): MatchConfig | null {
  const before = problems.length;
  const type = oneOf(PATH_TYPES, match.path?.type ?? 'PathPrefix', `${field}.path.type`, problems);
  const headers = convertValues(match.headers, `${field}.headers`, problems);
  const query = convertValues(match.queryParams, `${field}.queryParams`, problems);
  if (problems.length > before || type === null) return null;
  return {
    path: { type, value: match.path?.value ?? '/' },
    ...(match.method === undefined ? {} : { method: match.method }),
    ...(headers === undefined ? {} : { headers }),
    ...(query === undefined ? {} : { query }),
  };
}

export function convertValues(
  values: readonly ValueMatch[] | undefined,
  field: string,
  problems: string[],
): ValueMatchConfig[] | undefined {
  if (values === undefined || values.length === 0) return undefined;
  return values.flatMap(({ type, name, value }, index) => {
    const known = oneOf(VALUE_TYPES, type ?? 'Exact', `${field}[${index}].type`, problems);
    return known === null ? [] : [{ name, type: known, value }];
  });
}

export function oneOf<T extends string>(choices: readonly T[], value: string, field: string, problems: string[]): T | null {
  const known = choices.find((choice) => choice === value);
  if (known === undefined) problems.push(cause.valueUnsupported(field, value, choices));
  return known ?? null;
}

function convertTimeouts(timeouts: HTTPRouteRule['timeouts'], field: string, problems: string[]): RuleConfig['timeouts'] {
  const result: { request?: number; backendRequest?: number } = {};
  for (const name of ['request', 'backendRequest'] as const) {
    const text = timeouts?.[name];
    if (text === undefined) continue;
    const milliseconds = parseDuration(text);
    if (milliseconds === null) problems.push(cause.durationInvalid(`${field}.${name}`, text));
    else result[name] = milliseconds;
  }
  return Object.keys(result).length === 0 ? undefined : result;
}
