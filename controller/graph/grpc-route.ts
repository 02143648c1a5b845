// GRPCRoute: its rules match on service and method, which travel as the path `/service/method` of an HTTP request.
import * as cause from '../api/cause-route.ts';
import type { GRPCRoute, GRPCRouteMatch, GRPCRouteRule } from '../api/gateway.ts';
import type { MatchConfig } from '#proxy/config/schema.ts';
import { convertValues, oneOf } from './http-route.ts';
import { EVERYTHING, type RuleDraft } from './rule.ts';

const METHOD_TYPES = ['Exact', 'RegularExpression'] as const;

/** A GRPCRoute without rules has none, unlike an HTTPRoute: the API gives it no default. */
export const draftGrpcRules = (route: GRPCRoute): readonly RuleDraft[] => (route.spec.rules ?? []).map(draftRule);

function draftRule(rule: GRPCRouteRule, index: number): RuleDraft {
  const field = `spec.rules[${index}]`;
  const problems: string[] = [];
  const declared = rule.matches ?? [];
  const matches = declared
    .map((match, position) => convertMatch(match, `${field}.matches[${position}]`, problems))
    .filter((match) => match !== null);
  return {
    field,
    name: rule.name,
    matches: declared.length === 0 ? [EVERYTHING] : matches,
    filters: rule.filters ?? [],
    backendRefs: rule.backendRefs ?? [],
    problems,
    ignored: rule.sessionPersistence === undefined ? [] : [cause.fieldIgnored(`${field}.sessionPersistence`)],
  };
}

function convertMatch(match: GRPCRouteMatch, field: string, problems: string[]): MatchConfig | null {
  const before = problems.length;
  const path = convertMethod(match.method ?? {}, `${field}.method`, problems);
  const headers = convertValues(match.headers, `${field}.headers`, problems);
  if (problems.length > before || path === null) return null;
  return { path, ...(headers === undefined ? {} : { headers }) };
}

/** Neither service nor method means every call; it is not dropped, which would make the rule narrower. */
function convertMethod(
  method: NonNullable<GRPCRouteMatch['method']>,
  field: string,
  problems: string[],
): NonNullable<MatchConfig['path']> | null {
  const type = oneOf(METHOD_TYPES, method.type ?? 'Exact', `${field}.type`, problems);
  if (type === null) return null;
  const service = method.service ?? '';
  const name = method.method ?? '';
  if (service === '' && name === '') return { type: 'PathPrefix', value: '/' };
  if (type === 'RegularExpression') {
    return { type, value: `^/(?:${service || ANY_SEGMENT})/(?:${name || ANY_SEGMENT})$` };
  }
  if (name === '') return { type: 'PathPrefix', value: `/${service}` };
  if (service === '') return { type: 'RegularExpression', value: `^/${ANY_SEGMENT}/${escapeExpression(name)}$` };
  return { type: 'Exact', value: `/${service}/${name}` };
}

const ANY_SEGMENT = '[^/]+';

const escapeExpression = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
