// Files that are no YAML, or no objects, or too much: each is refused with file, line and reason, and everything else goes on.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import * as o from './objects.ts';
import { System } from './rig.ts';
import { MIB } from './vigil.ts';

let system: System;
const password = randomBytes(24).toString('hex');

before(async () => {
  system = await System.start();
  system.secrets.add('password', password);
});
after(() => system?.stop());

const head = (kind: string, name: string): string =>
  `apiVersion: ${kind === 'HTTPRoute' ? 'gateway.networking.k8s.io/v1' : 'v1'}\nkind: ${kind}\nmetadata: {name: ${name}, namespace: tenant}\n`;

/** Name of the file, what it holds, and what must be said of it after its name. */
const small: readonly (readonly [string, string | Buffer, RegExp])[] = [
  ['unfinished', 'apiVersion: v1\nkind: [', /:2:8: unexpected end of the stream within a flow collection/],
  ['indentation', `${head('Service', 'x')}spec:\n  ports:\n   - port: 80\n  - port: 81\n`, /:7:\d+: .*indentation/],
  ['tab', `${head('Service', 'x')}spec:\n\tports: []\n`, /:5:\d+: .*tab/],
  ['word', 'hello', /:1:1: a document must be an object with apiVersion, kind and metadata/],
  ['number', '17', /:1:1: a document must be an object/],
  ['binary', randomBytes(100_000), /:1:1: is not UTF-8 text/],
  ['zeros', Buffer.alloc(1000), /:1:1: .*(null byte|non-printable)/],
  ['utf16', Buffer.from(`\ufeff${head('Service', 'x')}`, 'utf16le'), /:1:1: is not UTF-8 text/],
  ['gzip', Buffer.concat([Buffer.from('1f8b0800', 'hex'), randomBytes(5000)]), /:1:1: is not UTF-8 text/],
  ['deep', '['.repeat(50_000), /:1:\d+: nesting exceeded.*more than 100 levels/],
  [
    'bomb',
    ['a: &a [x,x,x,x,x,x,x,x,x]', ...'bcdefgh'.split('').map((name, at) => `${name}: &${name} [${`*${'abcdefgh'[at]},`.repeat(9)}]`)].join(
      '\n',
    ),
    /:1:1: aliases make the document many times larger/,
  ],
  [
    'merge-bomb',
    `a: &a {${Array.from({ length: 5000 }, (_, at) => `k${at}: 1`).join()}}\nb:\n${'- {<<: *a}\n'.repeat(5000)}`,
    /: merge keys exceeded/,
  ],
  ['loop', 'a: &a [*a]\n', /:1:1: .*anchor contains itself/],
  [
    'unknown-field',
    `${head('HTTPRoute', 'x')}spec: {hostname: [a.example.com]}\n`,
    /:4:8: HTTPRoute tenant\/x: spec\.hostname: unknown field; did you mean "hostnames"\?/,
  ],
  [
    'unknown-kind',
    head('HTTPRoutes', 'x').replace('v1', 'gateway.networking.k8s.io/v1'),
    /:2:7: kind: unknown kind; did you mean "HTTPRoute"\?/,
  ],
  [
    'unknown-version',
    head('HTTPRoute', 'x').replace('/v1', '/v9'),
    /:1:13: apiVersion: HTTPRoute has no version "v9" here; write gateway\.networking\.k8s\.io\/v1/,
  ],
  ['spec-list', `${head('HTTPRoute', 'x')}spec: [1]\n`, /:4:7: HTTPRoute tenant\/x: spec: must be an object/],
  ['spec-text', `${head('HTTPRoute', 'x')}spec: hello\n`, /:4:7: HTTPRoute tenant\/x: spec: must be an object/],
  ['rules-number', `${head('HTTPRoute', 'x')}spec: {rules: 5}\n`, /:4:15: HTTPRoute tenant\/x: spec\.rules: must be a list, is a number/],
  [
    'port-text',
    `${head('Service', 'x')}spec: {ports: [{port: http}]}\n`,
    /:4:23: Service tenant\/x: spec\.ports\[0\]\.port: must be a whole number, is text/,
  ],
  [
    'port-huge',
    `${head('Service', 'x')}spec: {ports: [{port: 70000}]}\n`,
    /:4:23: Service tenant\/x: spec\.ports\[0\]\.port: must be at most 65535, not 70000/,
  ],
  ['port-infinite', `${head('Service', 'x')}spec: {ports: [{port: .inf}]}\n`, /:4:\d+: infinity and NaN are not allowed/],
  ['metadata-list', 'apiVersion: v1\nkind: Service\nmetadata: [x]\n', /:3:1: metadata: is required, with a name/],
  [
    'name-number',
    'apiVersion: v1\nkind: Service\nmetadata: {name: 1}\n',
    /:3:18: Service default\/1: metadata\.name: must be text \(put it in quotes\)/,
  ],
  ['name-path', head('Service', '../../x'), /:3:18: Service tenant\/\.\.\/\.\.\/x: metadata\.name: must be a DNS/],
  ['name-long', head('HTTPRoute', 'n'.repeat(254)), /:3:18: HTTPRoute "n+…: metadata\.name: must be a DNS name/],
  ['namespace-path', head('HTTPRoute', 'x').replace('tenant', '../../etc'), /:3:\d+: HTTPRoute .*metadata\.namespace: must be a DNS label/],
  [
    'label-long',
    head('HTTPRoute', 'x').replace('tenant', `tenant, labels: {a: ${'v'.repeat(64)}}`),
    /:3:\d+: HTTPRoute tenant\/x: metadata\.labels\.a: a label's value has .* at most 63/,
  ],
  [
    'prototype',
    '{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "__proto__": {"a": 1}}',
    /: a field must not be called __proto__/,
  ],
  ['constructor', '{"apiVersion": "v1", "kind": "constructor", "metadata": {"name": "toString"}, "spec": {"hasOwnProperty": 1}}', /^$/],
  ['twice', `${head('Service', 'x')}kind: Service\n`, /:4:\d+: duplicated mapping key/],
  [
    'secret-number',
    `${head('Secret', 'x')}stringData: {password: [${password}]}\n`,
    /:4:24: Secret tenant\/x: stringData\.password: must be text/,
  ],
  ['secret-base64', `${head('Secret', 'x')}data: {password: "${password}!"}\n`, /:4:19: Secret tenant\/x: data\.password: must be base64/],
  ['secret-syntax', `${head('Secret', 'x')}stringData: {password: *${password}}\n`, /:4:\d+: unidentified alias/],
  ['secret-tag', `${head('Secret', 'x')}stringData: {password: !${password} x}\n`, /:4:\d+: unknown .*tag/],
  [
    'secret-key',
    `${head('Secret', 'x')}stringData: {"pass word": ${password}}\n`,
    /:4:\d+: Secret tenant\/x: stringData: keys may have letters/,
  ],
];

const problem = (name: string, pattern: RegExp): boolean =>
  pattern.source === '^$' ||
  system.problems().some(({ where, text }) => where.startsWith(`${name}:`) && pattern.test(`${where.slice(name.length)}: ${text}`));

/** One that is read in no time; another that takes its time must give way to others at least so often. */
interface Heavy {
  readonly content: () => string | Buffer;
  readonly problem?: RegExp;
  readonly beats?: number;
}

const MANY = 100_000;
const many = (document: (index: number) => string): string =>
  Array.from({ length: MANY }, (_, index) => `---\n${document(index)}`).join('');

const heavy: Readonly<Record<string, Heavy>> = {
  'an object of 10 MiB': {
    content: () => `${head('ConfigMap', 'big')}data: {a: "${'x'.repeat(10 * MIB)}"}\n`,
    problem: /:1:1: the document has 10\.0 MiB, at most 1\.5 MiB are allowed/,
  },
  'a file of 65 MiB': {
    content: () => Buffer.alloc(65 * MIB, 'a'),
    problem: /:1:1: has 65\.0 MiB, at most 64\.0 MiB are read\. Split the file/,
  },
  '5 MiB of line breaks': {
    content: () => Buffer.concat([Buffer.alloc(5 * MIB, '\n'), Buffer.from(`---\n${head('Service', 'x')}`)]),
    problem: /:1:1: the document has 5\.0 MiB/,
  },
  '100,000 documents of others': { content: () => many((index) => `apiVersion: x/v1\nkind: X\nmetadata: {name: x${index}}\n`), beats: 10 },
  '100,000 unfinished documents': {
    content: () => many(() => '- [\n'),
    problem: /from here on 99900 more problems of this file are not listed/,
    beats: 5,
  },
  '100,000 times the same object': {
    content: () => many(() => head('ConfigMap', 'same')),
    problem: /: 99899 more of its objects are defined already elsewhere/,
    beats: 5,
  },
  'a list of 3,000 routes': {
    content: () =>
      `apiVersion: v1\nkind: List\nitems:\n${Array.from({ length: 3000 }, (_, index) => `- ${JSON.stringify(o.rule(`item-${index}`, {}))}\n`).join('')}`,
    beats: 10,
  },
};

suite('bad documents', () => {
  test('are each refused with place, object, field and reason', async () => {
    await system.endures(
      'small bad files',
      () => {
        for (const [name, content] of small) system.write(`${name}.yaml`, content);
        // Told last: everything before it has been read.
        system.write('zzz.yaml', o.yaml(o.rule('last', {})));
      },
      async () => (await system.visit('last.example.com')).body === 'good',
    );
    await system
      .until('every file has its problem', () => small.every(([name, , pattern]) => problem(`${name}.yaml`, pattern)))
      .catch(() => {
        const missing = small
          .filter(([name, , pattern]) => !problem(`${name}.yaml`, pattern))
          .map(([name, , pattern]) => `${name}: ${pattern}`);
        const said = system.problems().map(({ where, text }) => `${where}: ${text}`);
        assert.fail(`not said:\n${missing.join('\n')}\nbut:\n${said.join('\n')}`);
      });
    for (const [name] of small) system.remove(`${name}.yaml`);
    await system.until('all is well again', () => system.controller.output.includes('"msg":"problem solved"'));
  });

  for (const [index, [name, { content, problem: expected, beats = 1 }]] of Object.entries(heavy).entries()) {
    test(name, async () => {
      const bytes = content();
      const from = system.controller.output.length;
      const told = (): boolean =>
        expected === undefined ||
        system.problems().some(({ where, text }) => where.startsWith('heavy.yaml') && expected.test(`${where.slice(10)}: ${text}`));
      await system.endures(
        name,
        () => {
          system.write('heavy.yaml', bytes);
          system.write('zzz.yaml', o.yaml(o.rule(`beside-${index}`, {})));
        },
        async () => told() && (await system.visit(`beside-${index}.example.com`)).body === 'good',
        { beats },
      );
      const said = system.controller.output.length - from;
      assert.ok(said < MIB, `${said} bytes of output`);
      system.remove('heavy.yaml');
    });
  }

  test('leave both processes small and silent about secrets', () => system.checkEnd({ controller: 700, proxy: 300 }));
});
