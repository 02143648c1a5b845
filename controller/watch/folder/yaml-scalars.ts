// How a plain YAML scalar becomes a value: as kubectl's parser reads it, so that a file means the same here and in a cluster.
import { CORE_SCHEMA, NOT_RESOLVED, boolYaml11Tag, defineScalarTag, mergeTag } from 'js-yaml';
import type { Schema } from 'js-yaml';

// Adding 0 turns -0, which JSON does not have, into 0.

/** Forms of whole numbers, after underscores and the sign are gone: how they begin, their digits, their radix. */
const WHOLE: readonly (readonly [RegExp, number])[] = [
  [/^0x([0-9a-f]+)$/i, 16],
  [/^0b([01]+)$/i, 2],
  [/^0o?([0-7]+)$/i, 8],
  [/^(0|[1-9][0-9]*)$/, 10],
];

const DECIMAL = /^(\.[0-9]+|[0-9]+(\.[0-9]*)?)(e[-+]?[0-9]+)?$/i;
const NOT_FINITE = /^[-+]?\.(inf|Inf|INF)$|^\.(nan|NaN|NAN)$/;
const STARTS = '-+.0123456789'.split('');

function splitSign(source: string): { readonly sign: number; readonly digits: string } {
  const plain = source.startsWith('.') ? source : source.replaceAll('_', '');
  if (plain.startsWith('-')) return { sign: -1, digits: plain.slice(1) };
  return { sign: 1, digits: plain.startsWith('+') ? plain.slice(1) : plain };
}

function resolveInteger(source: string): number | typeof NOT_RESOLVED {
  const { sign, digits } = splitSign(source);
  for (const [form, radix] of WHOLE) {
    const match = form.exec(digits);
    if (match?.[1] !== undefined) return sign * Number.parseInt(match[1], radix) + 0;
  }
  return NOT_RESOLVED;
}

function resolveDecimal(source: string): number | typeof NOT_RESOLVED {
  // Infinities and NaN are numbers in YAML and none in JSON: the decoder refuses them with their place.
  if (NOT_FINITE.test(source)) return Number.NaN;
  const { sign, digits } = splitSign(source);
  return DECIMAL.test(digits) ? sign * Number.parseFloat(digits) + 0 : NOT_RESOLVED;
}

const never = (): boolean => false;

/** The schema for js-yaml: YAML 1.1 booleans (`on`, `yes`, …) and octals, merge keys, dates stay text. */
export const KUBECTL_SCHEMA: Schema = CORE_SCHEMA.withTags(
  boolYaml11Tag,
  defineScalarTag('tag:yaml.org,2002:int', { implicit: true, implicitFirstChars: STARTS, resolve: resolveInteger, identify: never }),
  defineScalarTag('tag:yaml.org,2002:float', { implicit: true, implicitFirstChars: STARTS, resolve: resolveDecimal, identify: never }),
  mergeTag,
);
