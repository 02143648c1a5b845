// The image has what its processes import and runs as the user that the chart asks for. It is read here, not built.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { chartFolder, type Values } from './helm.ts';

const root = path.join(chartFolder, '..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

const lines = read('Dockerfile')
  .replaceAll(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));
const lastStage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));

/** What the last stage takes from the folder, without what it takes from other stages. */
const copied = lastStage
  .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
  .flatMap((line) => line.split(/\s+/).slice(1, -1));

const isCopied = (file: string): boolean => copied.some((source) => file === source || file.startsWith(`${source}/`));

const importsOf = (file: string): readonly string[] =>
  [...read(file).matchAll(/(?:^|\n)(?:import|export)\b[^;]*?\bfrom\s+'([^']+)'|\bimport\(\s*'([^']+)'|(?:^|\n)import\s+'([^']+)'/g)].map(
    (match) => match[1] ?? match[2] ?? match[3] ?? '',
  );

const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

test('everything that is copied into the image exists, and nothing of it is kept out of the build', () => {
  assert.ok(copied.includes('main.ts'));
  for (const source of copied) assert.ok(existsSync(path.join(root, source)), source);
  const ignored = read('.dockerignore').split('\n');
  const all = lines
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(/\s+/).slice(1, -1));
  for (const source of all) assert.ok(ignored.includes(`!${source}`), source);
});

test('every file in the image imports only what is in the image', () => {
  const { dependencies } = JSON.parse(read('package.json')) as { readonly dependencies: Readonly<Record<string, string>> };
  const sources = globSync(['main.ts', 'controller/**/*.ts', 'proxy/**/*.ts'], { cwd: root });
  assert.ok(sources.length > 50);
  for (const file of sources) {
    for (const specifier of importsOf(file)) {
      if (specifier.startsWith('node:') || builtinModules.includes(specifier)) continue;
      const target = specifier.startsWith('#') ? specifier.slice(1) : path.posix.join(path.posix.dirname(file), specifier);
      if (/^[.#]/.test(specifier)) assert.ok(isCopied(target), `${file} imports ${specifier}`);
      else assert.ok(packageOf(specifier) in dependencies, `${file} imports ${specifier}, which is no dependency at run time`);
    }
  }
});

test('the user of the image is the one that the chart asks for, by number, so that it can be told from root', () => {
  const values = load(readFileSync(path.join(chartFolder, 'values.yaml'), 'utf8')) as Values;
  const { runAsUser } = values['podSecurityContext'] as Values;
  assert.deepEqual(
    lastStage.filter((line) => line.startsWith('USER ')),
    [`USER ${String(runAsUser)}:${String(runAsUser)}`],
  );
});

test('the first process of the image gets signals itself and passes its arguments on', () => {
  const entry = lastStage.find((line) => line.startsWith('ENTRYPOINT ')) ?? '';
  const words = JSON.parse(entry.replace('ENTRYPOINT ', '')) as readonly string[];
  assert.equal(words[0], '/usr/bin/tini');
  assert.equal(words.at(-1), 'main.ts');
});
