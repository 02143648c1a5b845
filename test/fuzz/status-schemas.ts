// What the API server would say to a status that we write: the status part of the CRDs, our own and those of the Gateway API.
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { loadAll } from 'js-yaml';
import type { StructuralSchema } from '#controller/api/structural.ts';
import { Findings } from '#controller/watch/folder/finding.ts';
import { shapeCheck, type ShapeCheck } from '#controller/watch/folder/shape.ts';
import { gatewayApiCrds } from '#tools/tool-paths.ts';

interface Crd {
  readonly spec?: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: StructuralSchema } }[];
  };
}

const fetched = (['experimental', 'standard'] as const).map(gatewayApiCrds).filter((folder) => folder !== null);
const folders = [path.join(import.meta.dirname, '../../chart/crds'), ...fetched];

const checks = new Map<string, ShapeCheck[]>();
for (const file of folders.flatMap((folder) => globSync(path.join(folder, '*.yaml')))) {
  for (const { spec } of loadAll(readFileSync(file, 'utf8')) as readonly Crd[]) {
    for (const { schema } of spec?.versions ?? []) {
      const { status } = schema.openAPIV3Schema.properties ?? {};
      if (spec === undefined || status === undefined) continue;
      checks.set(spec.names.kind, [...(checks.get(spec.names.kind) ?? []), shapeCheck(status, false)]);
    }
  }
}

/** Kinds whose statuses cannot be judged here because their CRDs were not fetched. */
export const statusesKnown = fetched.length > 0;

/** Everything that is wrong with a status, by any of the schemas that the kind has. */
export function statusProblems(kind: string, status: unknown): readonly string[] {
  const findings = new Findings();
  for (const check of checks.get(kind) ?? []) check(status, findings);
  return findings.list.map(({ message, path: field }) => `${field.join('.')} ${message}`);
}
