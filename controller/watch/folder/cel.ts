// CEL rules of schemas (x-kubernetes-validations), evaluated as the API server does when an object is created. Pure.
import { isIP } from 'node:net';
import { CelScalar, celEnv, celFunc, isCelError, parse, plan, type CelInput } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { RE2JS } from 're2js';
import type { StructuralSchema, ValidationRule } from '#controller/api/structural.ts';

/** null: the rule holds; otherwise what to tell the person who wrote the object. */
export type CompiledRule = (self: CelInput) => string | null;

/** The API server takes neither zones nor IPv4 addresses in IPv6 notation. */
const isPlainIp = (text: string): boolean => isIP(text) !== 0 && !text.includes('%') && !/^::ffff:[\d.]+$/i.test(text);

const env = celEnv({
  variables: { self: CelScalar.DYN },
  funcs: [...strings, celFunc('isIP', [CelScalar.STRING], CelScalar.BOOL, isPlainIp)],
  re2: { compile: (pattern) => RE2JS.compile(pattern) },
});

/** Throws if the rule is not CEL: rules come with the program, not from users. */
export function compileRule({ rule, message }: ValidationRule): CompiledRule {
  const evaluate = plan(env, parse(rule));
  const failed = message ?? `failed rule: ${rule.trim()}`;
  return (self) => {
    const result = evaluate({ self });
    if (isCelError(result)) return `${failed} (the rule cannot be evaluated: ${result.message})`;
    return result === true ? null : failed;
  };
}

/** Rules that compare with the object before the change have nothing to compare with here: a folder is always as if newly created. */
export const isTransition = ({ rule }: ValidationRule): boolean => /\boldSelf\b/.test(rule);

/**
 * A value as CEL sees it through its schema: whole numbers are ints, objects are maps of the fields that the schema knows under escaped names.
 */
export function celValue(value: unknown, schema: StructuralSchema): CelInput {
  if (Array.isArray(value)) return value.map((item: unknown) => celValue(item, schema.items ?? {}));
  if (typeof value === 'object' && value !== null) return celMapping(value as Readonly<Record<string, unknown>>, schema);
  if (typeof value === 'number') return schema.type === 'number' || !Number.isInteger(value) ? value : BigInt(value);
  return value as CelInput;
}

function celMapping(value: Readonly<Record<string, unknown>>, schema: StructuralSchema): CelInput {
  const map = new Map<string, CelInput>();
  const others = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : null;
  for (const [name, child] of Object.entries(value)) {
    const known = schema.properties?.[name];
    if (known !== undefined) map.set(celName(name), celValue(child, known));
    else if (others !== null) map.set(name, celValue(child, others));
  }
  return map;
}

const KEYWORDS = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

/** Field names that are no CEL identifiers, in the spelling that Kubernetes gives them. */
export function celName(name: string): string {
  if (KEYWORDS.has(name)) return `__${name}__`;
  if (/^[a-zA-Z0-9]+$/.test(name)) return name;
  return name.replaceAll('__', '__underscores__').replaceAll('.', '__dot__').replaceAll('-', '__dash__').replaceAll('/', '__slash__');
}
