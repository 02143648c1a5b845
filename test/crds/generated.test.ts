// The generated files are what their sources say, and a difference is found and shown.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { load } from 'js-yaml';
import type { StructuralSchema } from '#controller/api/structural.ts';
import { compileRule } from '#controller/watch/folder/cel.ts';
import { folderKinds } from '#controller/watch/folder/kinds.ts';
import { ownCrds } from '../../tools/generate-crds.ts';
import { gatewayApiSchemas } from '../../tools/generate-schemas.ts';
import { describeDrift, writeGenerated } from '../../tools/generated-files.ts';
import { buildHint, gatewayApiCrds } from '../../tools/tool-paths.ts';

const root = path.join(import.meta.dirname, '..', '..');

function temporary(context: TestContext): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'generated-'));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('crds/ holds what the schemas say', () => {
  assert.equal(describeDrift(ownCrds(path.join(root, 'crds'))), '');
});

const crds = gatewayApiCrds('experimental');

test(
  'the bundled Gateway API schemas are those of the pinned release',
  { skip: crds === null && buildHint(['gateway-api-crds']) },
  async () => {
    assert.equal(describeDrift(await gatewayApiSchemas(path.join(root, 'controller/watch/folder/schemas'), crds ?? '')), '');
  },
);

test('a change, a missing and a stale file are told apart and mended', (context) => {
  const folder = temporary(context);
  const generated = ownCrds(folder);
  assert.match(describeDrift(generated), /^gatewayclassconfigs\.yaml: missing/);
  writeGenerated(generated);
  assert.equal(describeDrift(generated), '');
  const file = path.join(folder, 'gatewayconfigs.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('maximum: 100', 'maximum: 99'));
  writeFileSync(path.join(folder, 'old.yaml'), '');
  const drift = describeDrift(generated);
  assert.match(drift, /gatewayconfigs\.yaml:\d+:\n- +maximum: 99\n\+ +maximum: 100/);
  assert.match(drift, /old\.yaml: should not exist/);
  writeGenerated(generated);
  assert.equal(describeDrift(generated), '');
});

test('our kinds are what their users expect of them', () => {
  const read = (name: string) => load(readFileSync(path.join(root, 'crds', `${name}.yaml`), 'utf8')) as Crd;
  const summary = ['gatewayclassconfigs', 'gatewayconfigs', 'externalbackends'].map((name) => {
    const { metadata, spec } = read(name);
    const [version] = spec.versions;
    return [metadata.name, spec.scope, spec.names.shortNames, version?.name, version?.subresources !== undefined];
  });
  assert.deepEqual(summary, [
    ['gatewayclassconfigs.cf.k8s.lex.la', 'Cluster', ['gcconfig'], 'v1alpha1', true],
    ['gatewayconfigs.cf.k8s.lex.la', 'Namespaced', ['gwconfig'], 'v1alpha1', true],
    ['externalbackends.cf.k8s.lex.la', 'Namespaced', ['extbackend'], 'v1alpha1', false],
  ]);
});

interface Crd {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly scope: string;
    readonly names: { readonly shortNames: readonly string[] };
    readonly versions: readonly { readonly name: string; readonly subresources?: object }[];
  };
}

test('every CEL rule of every kind compiles', () => {
  let rules = 0;
  const visit = (schema: StructuralSchema): void => {
    for (const rule of schema['x-kubernetes-validations'] ?? []) {
      compileRule(rule);
      rules++;
    }
    for (const child of Object.values(schema.properties ?? {})) visit(child);
    if (schema.items) visit(schema.items);
    if (typeof schema.additionalProperties === 'object') visit(schema.additionalProperties);
  };
  for (const { schema } of folderKinds) visit(schema);
  assert.ok(rules > 150, `found only ${rules}`);
});
