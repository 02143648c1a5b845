// The rules of a schema that go beyond single values: lists without duplicates, and CEL. Pure.
import type { CelInput } from '@bufbuild/cel';
import type { StructuralSchema } from '#controller/api/structural.ts';
import { celName, celValue, compileRule, isTransition, type CompiledRule } from './cel.ts';
import { quote, type Findings } from './finding.ts';
import type { FieldPath } from './place.ts';

export type RuleCheck = (value: unknown, findings: Findings) => void;

/** A part of a schema that has rules somewhere in it; parts without any are left out, so that objects are entered only where needed. */
interface RuleNode {
  readonly rules: readonly CompiledRule[];
  readonly list: 'set' | 'map' | null;
  readonly keys: readonly string[];
  readonly items: RuleNode | null;
  readonly others: RuleNode | null;
  readonly properties: ReadonlyMap<string, RuleNode>;
}

/** Compiles on first use. */
export function ruleCheck(schema: StructuralSchema): RuleCheck {
  let node: RuleNode | null | undefined;
  return (value, findings) => {
    node ??= compileNode(schema);
    if (node !== null) checkNode(node, value, celValue(value, schema), [], findings);
  };
}

function compileNode(schema: StructuralSchema): RuleNode | null {
  const rules = (schema['x-kubernetes-validations'] ?? []).filter((rule) => !isTransition(rule)).map(compileRule);
  const type = schema['x-kubernetes-list-type'];
  const list = type === 'set' || type === 'map' ? type : null;
  const items = schema.items ? compileNode(schema.items) : null;
  const others = typeof schema.additionalProperties === 'object' ? compileNode(schema.additionalProperties) : null;
  const properties = new Map<string, RuleNode>();
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const compiled = compileNode(child);
    if (compiled !== null) properties.set(name, compiled);
  }
  if (rules.length === 0 && list === null && items === null && others === null && properties.size === 0) return null;
  return { rules, list, keys: schema['x-kubernetes-list-map-keys'] ?? [], items, others, properties };
}

function checkNode(node: RuleNode, value: unknown, cel: CelInput, path: FieldPath, findings: Findings): void {
  if (value === null || value === undefined) return;
  for (const rule of node.rules) {
    const failed = rule(cel);
    if (failed !== null) findings.add(path, failed);
  }
  if (Array.isArray(value)) {
    if (node.list !== null) checkUnique(node.list, node.keys, value, path, findings);
    const { items } = node;
    const list = cel as readonly CelInput[];
    if (items !== null) value.forEach((item, index) => checkNode(items, item, list[index] ?? null, [...path, index], findings));
  } else if (typeof value === 'object') {
    const map = cel as ReadonlyMap<string, CelInput>;
    for (const [name, child] of Object.entries(value)) {
      const known = node.properties.get(name);
      if (known !== undefined) checkNode(known, child, map.get(celName(name)) ?? null, [...path, name], findings);
      else if (node.others !== null) checkNode(node.others, child, map.get(name) ?? null, [...path, name], findings);
    }
  }
}

function checkUnique(type: 'set' | 'map', keys: readonly string[], list: readonly unknown[], path: FieldPath, findings: Findings): void {
  const seen = new Set<string>();
  list.forEach((item, index) => {
    const key = type === 'set' ? item : keys.map((name) => (item as Readonly<Record<string, unknown>> | null)?.[name] ?? null);
    const text = JSON.stringify(key);
    if (seen.has(text))
      findings.add(
        [...path, index],
        `stands twice: ${keys.map((name) => `${name} `).join('')}${quote(keys.length === 1 ? (key as unknown[])[0] : key)}`,
      );
    seen.add(text);
  });
}
