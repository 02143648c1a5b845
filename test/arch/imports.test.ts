// The folders are the pipeline: this matrix of allowed imports is its documentation, and this test keeps it true.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'node:test';

const root = new URL('../../', import.meta.url);

/** Area → areas that it may import from (itself always). Order is the direction of the pipeline. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'proxy/config/schema.ts': [],
  'proxy/table': ['proxy/config/schema.ts', 'proxy/filter'],
  'proxy/filter': ['proxy/config/schema.ts', 'proxy/table'],
  'proxy/config': ['proxy/config/schema.ts', 'proxy/table'],
  'proxy/observe': ['proxy/table'],
  'proxy/upstream': ['proxy/table', 'proxy/observe'],
  'proxy/http': ['proxy/table', 'proxy/filter', 'proxy/upstream', 'proxy/observe'],
  'proxy/connector': [],
  proxy: [
    'proxy/config/schema.ts',
    'proxy/table',
    'proxy/filter',
    'proxy/config',
    'proxy/observe',
    'proxy/upstream',
    'proxy/http',
    'proxy/connector',
  ],
  'controller/api': ['proxy/config/schema.ts'],
  'controller/graph': ['controller/api', 'proxy/config/schema.ts', 'proxy/table'],
  'controller/output': ['controller/api', 'controller/graph', 'proxy/config/schema.ts', 'proxy/config'],
  'controller/kube': ['controller/api'],
  'controller/watch': ['controller/api', 'controller/kube'],
  'controller/cloudflare': ['controller/api'],
  'controller/apply': [
    'controller/api',
    'controller/kube',
    'controller/cloudflare',
    'controller/output',
    'proxy/config/schema.ts',
    'proxy/config',
  ],
  'controller/loop': ['controller/api', 'controller/kube', 'controller/graph', 'controller/output', 'controller/apply', 'controller/watch'],
  'controller/serve': ['controller/api', 'controller/cloudflare', 'controller/graph', 'controller/loop'],
  controller: [
    'controller/api',
    'controller/graph',
    'controller/output',
    'controller/kube',
    'controller/watch',
    'controller/cloudflare',
    'controller/apply',
    'controller/loop',
    'controller/serve',
    'proxy/config/schema.ts',
    'proxy/config',
  ],
};

/** Nothing but values in, values out. */
const PURE = ['controller/api', 'controller/graph', 'controller/output', 'proxy/table', 'proxy/filter', 'proxy/config/schema.ts'];
// Of node:crypto, hashing alone is a function of its argument.
const IMPURE =
  /(?<!import \{ hash \} )\bfrom 'node:crypto'|\bfrom '(node:(?!crypto')[^']+|pino|express|cloudflare[^']*|@kubernetes\/[^']+)'|\bDate\.now\b|\bMath\.random\b|\brandomUUID\b|\bprocess\.|\bconsole\.|\bperformance\./;

const areas = Object.keys(ALLOWED).sort((a, b) => b.length - a.length);
const areaOf = (file: string): string => areas.find((area) => file === area || file.startsWith(`${area}/`)) ?? 'outside';

/** Files of ours that `file` imports, as paths from the root. */
function imports(file: string, text: string): string[] {
  const specifiers = [
    ...text.matchAll(/(?:^|\n)\s*(?:import|export)\b[^;]*?\bfrom\s+'([^']+)'|\bimport\(\s*'([^']+)'|(?:^|\n)import\s+'([^']+)'/g),
  ];
  return specifiers
    .map((match) => match[1] ?? match[2] ?? match[3] ?? '')
    .filter((specifier) => specifier.startsWith('.') || specifier.startsWith('#'))
    .map((specifier) => (specifier.startsWith('#') ? specifier.slice(1) : posix.join(posix.dirname(file), specifier)));
}

const sources = globSync(['controller/**/*.ts', 'proxy/**/*.ts'], { cwd: root }).map((file) => file.replaceAll('\\', '/'));

test('imports go one way, along the pipeline', () => {
  assert.ok(sources.length > 10, 'found no sources to check');
  const wrong: string[] = [];
  for (const file of sources) {
    const from = areaOf(file);
    for (const target of imports(file, readFileSync(new URL(file, root), 'utf8'))) {
      const to = areaOf(target);
      if (to !== from && !ALLOWED[from]?.includes(to))
        wrong.push(`${file} imports ${target}: ${from} may import only [${ALLOWED[from]?.join(', ')}]`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('pure folders have no IO, no clock, no randomness and no logger', () => {
  const wrong = sources
    .filter((file) => PURE.includes(areaOf(file)))
    .flatMap((file) => {
      const text = readFileSync(new URL(file, root), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '');
      const found = IMPURE.exec(text);
      return found ? [`${file}: ${found[0]}`] : [];
    });
  assert.deepEqual(wrong, []);
});
