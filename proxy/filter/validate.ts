// What filters may not do: break the framing of a message, inject lines into it, or ask for something that has no meaning.
import type { FilterConfig, HeaderModifier, PathModifier } from '#proxy/config/schema.ts';

/** A field, relative to the filter list, and what is wrong with it. */
export interface FilterProblem {
  readonly field: string;
  readonly message: string;
}

/** All problems of a rule's or a backend's filters. `prefixOnly`: every match of the rule is a PathPrefix, which ReplacePrefixMatch needs. */
export function filterProblems(filters: readonly FilterConfig[], prefixOnly: boolean): readonly FilterProblem[] {
  const problems = filters.flatMap((filter, index) =>
    problemsOf(filter, prefixOnly).map(({ field, message }) => ({ field: `[${index}].${field}`, message })),
  );
  for (const type of ['RequestRedirect', 'URLRewrite'] as const) {
    const second = filters.findIndex((filter, index) => filter.type === type && filters.findIndex((one) => one.type === type) < index);
    if (second !== -1) problems.push({ field: `[${second}].type`, message: `${type} may be used only once` });
  }
  const rewrite = filters.findIndex(({ type }) => type === 'URLRewrite');
  if (rewrite !== -1 && filters.some(({ type }) => type === 'RequestRedirect')) {
    problems.push({ field: `[${rewrite}].type`, message: 'URLRewrite and RequestRedirect cannot be used together' });
  }
  return problems;
}

function problemsOf(filter: FilterConfig, prefixOnly: boolean): readonly FilterProblem[] {
  if (filter.type === 'RequestHeaderModifier' || filter.type === 'ResponseHeaderModifier') return modifierProblems(filter.modifier);
  const problems: FilterProblem[] = [];
  const { hostname, path } = filter;
  if (hostname !== undefined && !/^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])$/.test(hostname)) {
    problems.push({ field: 'hostname', message: `hostname ${JSON.stringify(hostname)} must be a DNS name without port` });
  }
  if (path !== undefined) problems.push(...pathProblems(path, prefixOnly));
  return problems;
}

function pathProblems({ type, value }: PathModifier, prefixOnly: boolean): readonly FilterProblem[] {
  const problems: FilterProblem[] = [];
  // A space or line break would end the request line or the Location header; `?` and `#` would end the path.
  if (/[^\x21-\x7e]|[?#\\]/.test(value)) {
    problems.push({
      field: 'path.value',
      message: `path ${JSON.stringify(value)} must consist of URL path characters, others percent-encoded`,
    });
  }
  if (type === 'ReplacePrefixMatch' && !prefixOnly) {
    problems.push({ field: 'path.type', message: 'ReplacePrefixMatch needs every match of the rule to be a PathPrefix' });
  }
  return problems;
}

function modifierProblems({ set, add, remove }: HeaderModifier): readonly FilterProblem[] {
  const problems: FilterProblem[] = [];
  const checkName = (name: string, field: string): void => {
    const problem = nameProblem(name);
    if (problem !== null) problems.push({ field, message: problem });
  };
  for (const [list, pairs] of [
    ['set', set ?? []],
    ['add', add ?? []],
  ] as const) {
    pairs.forEach(({ name, value }, index) => {
      checkName(name, `modifier.${list}[${index}].name`);
      if (hasControl(value))
        problems.push({
          field: `modifier.${list}[${index}].value`,
          message: `the value of ${JSON.stringify(name)} contains control characters`,
        });
    });
  }
  remove?.forEach((name, index) => checkName(name, `modifier.remove[${index}]`));
  return problems;
}

/**
 * Names that decide where a message ends, where it goes or what the connection does (RFC 9110 sections 7.2 and 7.6.1): to edit them is to
 * desynchronise two parsers. `Host` is changed by URLRewrite.
 */
const FORBIDDEN = new Set(['connection', 'content-length', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']);

function nameProblem(name: string): string | null {
  const lower = name.toLowerCase();
  const quoted = JSON.stringify(name);
  if (lower === 'host') return `header ${quoted} cannot be modified: use a URLRewrite filter with hostname`;
  if (FORBIDDEN.has(lower) || lower.startsWith('proxy-') || lower.startsWith(':'))
    return `header ${quoted} cannot be modified: it belongs to the connection`;
  // RFC 9110 section 5.6.2: token.
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name) ? null : `${quoted} is not a header name`;
}

/** RFC 9110 section 5.5: field values have no CR, LF or NUL; other controls but the tab are no better. */
function hasControl(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const c = value.charCodeAt(i);
    if ((c < 0x20 && c !== 0x09) || c === 0x7f) return true;
  }
  return false;
}
