// The chart carries the CRDs of crds/ unchanged: as files that Helm installs first, and on request as objects of the release.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { load } from 'js-yaml';
import { chartFolder, helm, helmUnavailable, render, required, type Manifest } from './helm.ts';

const source = path.join(chartFolder, '..', 'crds');
const read = (folder: string): ReadonlyMap<string, string> => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  return new Map(files.sort().map((file) => [file, readFileSync(path.join(folder, file), 'utf8')]));
};

test('the CRDs of the chart are those of crds/', () => {
  const wanted = read(source);
  assert.ok(wanted.size > 0);
  assert.deepEqual(read(path.join(chartFolder, 'crds')), wanted, 'run: cp crds/*.yaml chart/crds/');
});

suite('CRDs', { skip: helmUnavailable() ?? false }, () => {
  const wanted = [...read(source).values()].map((text) => load(text) as Manifest);

  test('are not objects of the release by default', async () => {
    assert.ok(!(await render()).some(({ kind }) => kind === 'CustomResourceDefinition'));
    const { stdout } = await helm(['template', 'rel', chartFolder, '--include-crds', '--values', '-'], required);
    assert.equal([...stdout.matchAll(/^kind: CustomResourceDefinition$/gm)].length, wanted.length);
  });

  test('are, on request, objects that stay when the release goes', async () => {
    const rendered = (await render({ crds: { upgrade: true } })).filter(({ kind }) => kind === 'CustomResourceDefinition');
    assert.deepEqual(
      rendered.map(({ metadata }) => metadata.annotations),
      wanted.map(() => ({ 'helm.sh/resource-policy': 'keep' })),
    );
    assert.deepEqual(
      rendered.map(({ metadata, ...rest }) => ({ ...rest, metadata: { name: metadata.name } })),
      wanted,
    );
  });
});
