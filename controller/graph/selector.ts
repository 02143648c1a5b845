// Label selectors: the object form of the API and the text form of kubectl, with the validity rules of the API server.
import type { LabelSelector } from '../api/core.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Requirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values: ReadonlySet<string>;
}

export type Selector = { readonly requirements: readonly Requirement[] } | { readonly problem: string };

const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

function isKey(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash < 0) return NAME.test(key);
  const prefix = key.slice(0, slash);
  return prefix.length <= 253 && PREFIX.test(prefix) && NAME.test(key.slice(slash + 1));
}

const isValue = (value: string): boolean => value === '' || NAME.test(value);

function requirement(key: string, operator: string, values: readonly string[]): Requirement | string {
  if (!isKey(key)) return `"${key.slice(0, 80)}" is not a label key`;
  const bad = values.find((value) => !isValue(value));
  if (bad !== undefined) return `"${bad.slice(0, 80)}" is not a label value`;
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) return `operator ${operator} of key ${key} needs values`;
      return { key, operator, values: new Set(values) };
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) return `operator ${operator} of key ${key} takes no values`;
      return { key, operator, values: new Set() };
    default:
      return `operator "${operator.slice(0, 40)}" of key ${key} is not one of In, NotIn, Exists, DoesNotExist`;
  }
}

function collect(parts: readonly (Requirement | string)[]): Selector {
  const requirements: Requirement[] = [];
  for (const part of parts) {
    if (typeof part === 'string') return { problem: part };
    requirements.push(part);
  }
  return { requirements };
}

/** The API's object form. An empty selector selects everything, a missing one is a mistake. */
export function fromLabelSelector(selector: LabelSelector | undefined): Selector {
  if (selector === undefined) return { problem: 'the selector is missing' };
  return collect([
    ...Object.entries(selector.matchLabels ?? {}).map(([key, value]) => requirement(key, 'In', [value])),
    ...(selector.matchExpressions ?? []).map(({ key, operator, values }) => requirement(key, operator, values ?? [])),
  ]);
}

const SET_TERM = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/;
const EQUALITY_TERM = /^([^\s=!]+)\s*(==|=|!=)\s*(\S*)$/;

function parseTerm(term: string): Requirement | string {
  const set = SET_TERM.exec(term);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    return requirement(
      key,
      operator === 'in' ? 'In' : 'NotIn',
      list.split(',').map((value) => value.trim()),
    );
  }
  const equality = EQUALITY_TERM.exec(term);
  if (equality !== null) {
    const [, key = '', operator, value = ''] = equality;
    return requirement(key, operator === '!=' ? 'NotIn' : 'In', [value]);
  }
  return term.startsWith('!') ? requirement(term.slice(1).trim(), 'DoesNotExist', []) : requirement(term, 'Exists', []);
}

/** kubectl's text form: `a=b,c!=d,e in (f,g),h notin (i),j,!k`. Empty text selects everything. */
export function parseSelector(text: string): Selector {
  if (text.trim() === '') return { requirements: [] };
  // A comma separates terms unless it stands inside the parentheses of a set.
  const terms = text.split(/,(?![^(]*\))/);
  return collect(terms.map((term) => parseTerm(term.trim())));
}

/** `NotIn` and `DoesNotExist` hold for an object without the label, as in the API server. */
export const selects = (requirements: readonly Requirement[], labels: Labels): boolean =>
  requirements.every((requirement) => holds(requirement, Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined));

function holds({ operator, values }: Requirement, value: string | undefined): boolean {
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  const listed = value !== undefined && values.has(value);
  return operator === 'In' ? listed : !listed;
}
