// What the API server does to an object before it looks at the values: unknown fields, nulls and defaults. Changes the object in place. Pure.
import type { StructuralSchema } from '#controller/api/structural.ts';
import { nearest, quote, type Findings } from './finding.ts';
import type { FieldPath } from './place.ts';

type JsonObject = Record<string, unknown>;

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Removes nulls (`field:` with nothing behind it) where the schema has none, fills in defaults from the outside in, and reports fields that the
 * schema does not know: kubectl refuses those as well, since a misspelt field silently does nothing. Lists longer than the schema allows are
 * reported and not entered, so that the work is bounded by the schema.
 */
export function settle(value: unknown, schema: StructuralSchema, path: FieldPath, findings: Findings): void {
  if (Array.isArray(value)) settleList(value, schema, path, findings);
  else if (isObject(value)) settleObject(value, schema, path, findings);
}

function settleList(list: unknown[], schema: StructuralSchema, path: FieldPath, findings: Findings): void {
  if (schema.maxItems !== undefined && list.length > schema.maxItems) {
    findings.add(path, `has ${list.length} items, at most ${schema.maxItems} are allowed`);
    return;
  }
  const items = schema.items ?? {};
  list.forEach((item, index) => {
    if (item === null && !items.nullable && items.default !== undefined) list[index] = structuredClone(items.default);
    settle(list[index], items, [...path, index], findings);
  });
}

function settleObject(object: JsonObject, schema: StructuralSchema, path: FieldPath, findings: Findings): void {
  // Where the schema wants no object its fields say nothing; below a Secret they could even be what must not be shown.
  if (schema.type !== undefined && schema.type !== 'object') return;
  const names = Object.keys(object);
  if (schema.maxProperties !== undefined && names.length > schema.maxProperties) {
    findings.add(path, `has ${names.length} entries, at most ${schema.maxProperties} are allowed`);
    return;
  }
  for (const name of names) {
    const child = childSchema(schema, name);
    if (child === null) findings.add([...path, name], unknownField(name, schema));
    else if (object[name] === null && !child.nullable) delete object[name];
  }
  for (const [name, { default: value }] of Object.entries(schema.properties ?? {})) {
    if (value !== undefined && !Object.hasOwn(object, name)) object[name] = structuredClone(value);
  }
  for (const [name, value] of Object.entries(object)) {
    const child = childSchema(schema, name);
    if (child !== null) settle(value, child, [...path, name], findings);
  }
}

const ANYTHING: StructuralSchema = { nullable: true, 'x-kubernetes-preserve-unknown-fields': true };

/** The schema of a field; null when there is no such field. */
function childSchema(schema: StructuralSchema, name: string): StructuralSchema | null {
  const { properties, additionalProperties } = schema;
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name] ?? null;
  if (typeof additionalProperties === 'object') return additionalProperties;
  return additionalProperties === true || schema['x-kubernetes-preserve-unknown-fields'] ? ANYTHING : null;
}

function unknownField(name: string, schema: StructuralSchema): string {
  const known = Object.keys(schema.properties ?? {});
  const meant = nearest(name, known);
  if (meant !== null) return `unknown field; did you mean ${quote(meant)}?`;
  return known.length > 0 && known.length <= 12 ? `unknown field; known here: ${known.sort().join(', ')}` : 'unknown field';
}
