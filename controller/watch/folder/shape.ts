// The values of an object against its schema: types, bounds, patterns, required fields. Ajv does it; the words are ours.
import { isIPv4, isIPv6 } from 'node:net';
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { RE2JS } from 're2js';
import type { StructuralSchema } from '#controller/api/structural.ts';
import { nearest, quote, type Findings } from './finding.ts';
import type { FieldPath } from './place.ts';

export type ShapeCheck = (value: unknown, findings: Findings) => void;

/** Patterns of Kubernetes are RE2; a backtracking engine could be stalled with them. */
const regExp = Object.assign((pattern: string) => RE2JS.compile(pattern), { code: 'RE2JS' });

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const within = (least: number, most: number) => (value: number) => value >= least && value <= most;

/** The formats that the API server checks and that occur in our schemas; others mean nothing to it either. */
const formats: NonNullable<Options['formats']> = {
  int32: { type: 'number', validate: within(-(2 ** 31), 2 ** 31 - 1) },
  int64: { type: 'number', validate: within(-(2 ** 63), 2 ** 63) },
  ipv4: isIPv4,
  ipv6: isIPv6,
  // Line breaks are allowed, as base64(1) writes them.
  byte: (text: string) => BASE64.test(text.replaceAll(/[\r\n]/g, '')),
};

let ajv: Ajv | null = null;

/** Compiles on first use: some 10 ms to 100 ms a kind. `secret`: no value may stand in a message. */
export function shapeCheck(schema: StructuralSchema, secret: boolean): ShapeCheck {
  let validate: ValidateFunction | null = null;
  return (value, findings) => {
    ajv ??= new Ajv({ allErrors: true, verbose: true, strict: false, logger: false, code: { regExp }, formats });
    validate ??= ajv.compile(jsonSchema(schema));
    if (validate(value)) return;
    for (const error of withoutSummaries(validate.errors ?? [])) {
      const text = explain(error, secret);
      if (text !== null) findings.add(fieldOf(error, value), text, error.keyword === 'required' ? 'key' : 'value');
    }
  };
}

/** Keywords whose errors say only that something below did not fit. */
const SUMMARIES = new Set(['oneOf', 'anyOf', 'not']);

/** Summaries are told where nothing better is: what exactly does not fit helps, and that it is none of several forms does not. */
function withoutSummaries(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const isSummary = ({ keyword }: ErrorObject): boolean => SUMMARIES.has(keyword);
  const isWithin = (inner: ErrorObject, outer: ErrorObject): boolean => `${inner.instancePath}/`.startsWith(`${outer.instancePath}/`);
  const explained = errors.filter((outer) => isSummary(outer) && errors.some((inner) => !isSummary(inner) && isWithin(inner, outer)));
  return errors.filter((error) => !isSummary(error) || !explained.some((outer) => isWithin(error, outer)));
}

/** Keywords that mean the same in both. */
const PLAIN = new Set(
  'type nullable required enum format pattern minimum maximum minLength maxLength minItems maxItems minProperties maxProperties'.split(' '),
);

/** Structural schema → JSON Schema: what is left after unknown fields and defaults have been dealt with. */
function jsonSchema(schema: StructuralSchema): object {
  const { properties, additionalProperties, items } = schema;
  const plain = Object.entries(schema).filter(([name]) => PLAIN.has(name));
  const branches = (['allOf', 'anyOf', 'oneOf'] as const).flatMap((name) =>
    schema[name] ? [[name, schema[name].map(jsonSchema)] as const] : [],
  );
  return {
    ...Object.fromEntries(plain),
    ...(schema['x-kubernetes-int-or-string'] ? { type: ['integer', 'string'], anyOf: undefined } : Object.fromEntries(branches)),
    ...(schema.not ? { not: jsonSchema(schema.not) } : {}),
    ...(properties ? { properties: Object.fromEntries(Object.entries(properties).map(([name, child]) => [name, jsonSchema(child)])) } : {}),
    ...(typeof additionalProperties === 'object' ? { additionalProperties: jsonSchema(additionalProperties) } : {}),
    ...(items ? { items: jsonSchema(items) } : {}),
  };
}

/** The JSON pointer of an error as a path; list indices are told by the value itself. */
function fieldOf({ instancePath, keyword, params }: ErrorObject, root: unknown): FieldPath {
  const path: (string | number)[] = [];
  let at = root;
  for (const part of instancePath.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(at) ? Number(name) : name);
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return keyword === 'required' ? [...path, String(params['missingProperty'])] : path;
}

/** null for errors that only sum up others. */
function explain({ keyword, params, data }: ErrorObject, secret: boolean): string | null {
  const limit = String(params['limit']);
  const shown = secret || data === undefined ? '' : `, not ${quote(data)}`;
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'type':
      return wrongType(params['type'] as string | readonly string[], data);
    case 'enum':
      return notAllowed((params['allowedValues'] as readonly unknown[]) ?? [], data, secret);
    case 'pattern':
      return `${PATTERNS[String(params['pattern'])] ?? `must match ${String(params['pattern'])}`}${shown}`;
    case 'format':
      return `${FORMATS[String(params['format'])] ?? `must be a valid ${String(params['format'])}`}${shown}`;
    case 'minimum':
      return `must be at least ${limit}${shown}`;
    case 'maximum':
      return `must be at most ${limit}${shown}`;
    case 'minLength':
      return limit === '1' ? 'must not be empty' : `must have at least ${limit} characters`;
    case 'maxLength':
      return `must have at most ${limit} characters, has ${String(data).length}`;
    case 'minItems':
      return `must have at least ${limit} ${limit === '1' ? 'item' : 'items'}`;
    case 'minProperties':
      return `must have at least ${limit} ${limit === '1' ? 'entry' : 'entries'}`;
    case 'not':
    case 'oneOf':
      return 'is not one of the allowed combinations';
    case 'anyOf':
      return 'has none of the allowed forms';
    default:
      return null;
  }
}

/** What the patterns that people stumble over ask for. */
const PATTERNS: Readonly<Record<string, string>> = {
  '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$':
    'must be a host name in lower case, without port; only its first part may be *',
  '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$': 'must be a DNS name in lower case',
  '^([0-9]{1,5}(h|m|s|ms)){1,4}$': 'must be a duration of whole numbers such as 10s, 1500ms or 1m30s',
  '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$': 'must be a UUID in lower case',
};

const FORMATS: Readonly<Record<string, string>> = {
  byte: 'must be base64 (a Secret may have plain text under stringData)',
  int32: 'must be a whole number of 32 bits',
  int64: 'must be a whole number of 64 bits',
  ipv4: 'must be an IPv4 address',
  ipv6: 'must be an IPv6 address',
};

function wrongType(type: string | readonly string[], data: unknown): string {
  const wanted = [type].flat().map((name) => TYPES[name] ?? name);
  const is = Array.isArray(data) ? 'a list' : data === null ? 'empty' : (TYPES[typeof data] ?? typeof data);
  const quotes = wanted.includes('text') && (typeof data === 'number' || typeof data === 'boolean');
  return `must be ${wanted.join(' or ')}, is ${is}${quotes ? ' (put it in quotes)' : ''}`;
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};

function notAllowed(allowed: readonly unknown[], data: unknown, secret: boolean): string {
  const list = `must be one of ${allowed.map((value) => quote(value)).join(', ')}`;
  if (secret || typeof data !== 'string') return list;
  const meant = nearest(
    data,
    allowed.filter((value) => typeof value === 'string'),
  );
  return `${list}, not ${quote(data)}${meant === null ? '' : `; did you mean ${quote(meant)}?`}`;
}
