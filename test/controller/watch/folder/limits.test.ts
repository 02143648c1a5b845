// Bad input of any size: a clear error with its place, bounded work, and everything else works on.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { defaultLimits, readContent, type DocumentCache } from '#controller/watch/folder/content.ts';
import { route, startFolder, temporaryFolder } from './rig.ts';

const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

/** What a folder with a bad file beside a good one says; the good one must be in force. */
async function complaint(context: Parameters<typeof startFolder>[0], name: string, bytes: string | Uint8Array): Promise<string> {
  const dir = temporaryFolder(context);
  writeFileSync(path.join(dir, name), bytes);
  const rig = startFolder(context, { 'good.yaml': route('good') }, { dir });
  await rig.synced();
  assert.deepEqual(rig.keys('HTTPRoute'), ['default/good']);
  assert.equal(rig.problems().length, 1);
  return rig.problems()[0] ?? '';
}

suite('files that are no YAML', () => {
  for (const [what, bytes, expected] of [
    ['binary', Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7919) % 251), /^bad\.yaml:1:1: is not UTF-8 text$/],
    ['zeros', new Uint8Array(1000), /^bad\.yaml:1:1: .*null byte/],
    ['UTF-16', Buffer.from(`\ufeff${route('a')}`, 'utf16le'), /^bad\.yaml:1:1: is not UTF-8 text$/],
    ['a word', 'hello', /^bad\.yaml:1:1: a document must be an object with apiVersion, kind and metadata$/],
    ['half an object', 'apiVersion: v1\nkind: [', /^bad\.yaml:2:8: .*flow collection/],
  ] as const) {
    test(what, async (context) => assert.match(await complaint(context, 'bad.yaml', bytes), expected));
  }

  test('a byte order mark is none of them', async (context) => {
    const rig = startFolder(context, { 'a.yaml': `\ufeff${route('one')}` });
    await rig.synced();
    assert.deepEqual(rig.problems(), []);
    assert.deepEqual(rig.keys('HTTPRoute'), ['default/one']);
  });

  test('only the document with the wrong bytes is refused', async (context) => {
    const rig = startFolder(context);
    rig.write(
      'a.yaml',
      Buffer.concat([Buffer.from(`${configMap('one')}---\n`), Buffer.from([0xff, 0xfe]), Buffer.from(`\n---\n${configMap('two')}`)]),
    );
    await rig.synced();
    assert.deepEqual(rig.problems(), ['a.yaml:4:1: is not UTF-8 text']);
    assert.deepEqual(rig.keys('ConfigMap'), ['default/one', 'default/two']);
  });

  test(
    'what is no file is not opened, as a pipe would never end',
    { skip: process.platform === 'win32' && 'no sockets in folders' },
    async (context) => {
      const dir = temporaryFolder(context);
      const server = net.createServer().listen(path.join(dir, 'socket.yaml'));
      await once(server, 'listening');
      context.after(() => server.close());
      mkdirSync(path.join(dir, 'folder.yaml'));
      const rig = startFolder(context, { 'good.yaml': route('good') }, { dir });
      await rig.synced();
      assert.deepEqual(rig.problems(), ['socket.yaml: is no regular file']);
    },
  );
});

suite('sizes', () => {
  test('an object of 10 MiB is refused without being parsed', async (context) => {
    const big = `${configMap('big')}data: {a: "${'x'.repeat(10 * 2 ** 20)}"}\n`;
    assert.match(
      await complaint(context, 'big.yaml', big),
      /^big\.yaml:1:1: the document has 10\.0 MiB, at most 1\.5 MiB are allowed; a list/,
    );
  });

  test('a file beyond the limit is not read', async (context) => {
    const rig = startFolder(context, { 'a.yaml': configMap('a'), 'b.yaml': '#'.repeat(3000) }, { limits: { fileBytes: 2000 } });
    await rig.synced();
    assert.deepEqual(rig.problems(), ['b.yaml:1:1: has 3 KiB, at most 2 KiB are read. Split the file']);
    assert.deepEqual(rig.keys('ConfigMap'), ['default/a']);
  });

  test('documents beyond the limit are not read', async (context) => {
    const files = { 'a.yaml': ['a', 'b', 'c'].map(configMap).join('---\n') };
    const rig = startFolder(context, files, { limits: { documents: 2 } });
    await rig.synced();
    assert.deepEqual(rig.problems(), ['a.yaml:8:1: has more than 2 documents; what follows is not read. Split the file']);
    assert.deepEqual(rig.keys('ConfigMap'), ['default/a', 'default/b']);
  });

  test('100,000 documents are read, and others get their turn meanwhile', async (context) => {
    const many = Array.from({ length: 100_000 }, (_, index) => `apiVersion: x/v1\nkind: X\nmetadata: {name: x${index}}\n`);
    const rig = startFolder(context, { 'a.yaml': [...many, configMap('last')].join('---\n') });
    let turns = 0;
    const turn = setInterval(() => turns++, 1);
    context.after(() => clearInterval(turn));
    await rig.synced();
    assert.deepEqual(rig.problems(), []);
    assert.deepEqual(rig.keys('ConfigMap'), ['default/last']);
    assert.ok(turns > 20, `only ${turns} turns`);
  });

  test('a source that is stopped while it reads ends soon', async (context) => {
    const many = Array.from({ length: 50_000 }, (_, index) => configMap(`c${index}`)).join('---\n');
    const rig = startFolder(context, { 'a.yaml': many });
    await rig.stop();
    assert.equal(rig.source.synced, false);
    assert.deepEqual(rig.keys('ConfigMap'), []);
  });

  test('thousands of documents that are wrong give a bounded report, which says how many there are', async (context) => {
    const wrong = (name: string): string => configMap(name).replace('metadata', 'metadat');
    const files = { 'a.yaml': Array.from({ length: 3000 }, (_, index) => wrong(`x${index}`)).join('---\n'), 'b.yaml': configMap('good') };
    const rig = startFolder(context, files);
    await rig.synced();
    assert.equal(rig.problems().length, 101);
    assert.match(rig.problems().at(-1) ?? '', /^a\.yaml:\d+:\d+: from here on 2900 more problems of this file are not listed$/);
    assert.deepEqual(rig.keys('ConfigMap'), ['default/good']);
  });

  test('so do thousands of objects that are defined twice', async (context) => {
    const rig = startFolder(context, {
      'a.yaml': configMap('same'),
      'b.yaml': Array.from({ length: 3000 }, () => configMap('same')).join('---\n'),
    });
    await rig.synced();
    assert.equal(rig.problems().length, 101);
    assert.equal(rig.problems().at(-1), 'b.yaml: 2900 more of its objects are defined already elsewhere');
  });

  test('nothing but line breaks before a document is no problem, however many', async (context) => {
    const rig = startFolder(context);
    rig.write('a.yaml', Buffer.concat([Buffer.alloc(5 * 2 ** 20, '\n'), Buffer.from(`---\n${configMap('a')}`)]));
    await rig.synced();
    assert.match(rig.problems().join(), /^a\.yaml:1:1: the document has 5\.0 MiB/);
  });

  test('the objects of a long list are checked with pauses', async () => {
    const items = Array.from(
      { length: 500 },
      (_, index) => `- ${JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `x${index}` } })}\n`,
    );
    let pauses = 0;
    const { entries } = await readContent(
      Buffer.from(`apiVersion: v1\nkind: List\nitems:\n${items.join('')}`),
      new Map(),
      defaultLimits,
      () => {
        pauses++;
        return null;
      },
    );
    assert.equal(entries.length, 500);
    assert.ok(pauses >= 500, String(pauses));
  });

  test('a document with thousands of mistakes gives a bounded report', async (context) => {
    const items = Array.from({ length: 20_000 }, () => '{}').join(', ');
    const rig = startFolder(context, { 'a.yaml': `{apiVersion: v1, kind: List, items: [${items}]}` });
    await rig.synced();
    assert.ok(rig.problems().length <= 50, String(rig.problems().length));
    assert.match(rig.problems().at(-1) ?? '', /19990 more objects of this list are wrong as well$/);
    assert.match(rig.problems()[0] ?? '', /^a\.yaml:1:\d+: items\[0\]\.apiVersion: is required$/);
  });
});

test('a document that did not change is not read again, wherever it moved', async () => {
  const read = (text: string, previous: DocumentCache = new Map()) => readContent(Buffer.from(text), previous, defaultLimits, () => null);
  const before = await read(`${configMap('a')}---\n${configMap('b')}---\n${configMap('c')}`);
  const after = await read(`${configMap('new')}---\n${configMap('c').trimEnd()}\n---\n${configMap('b')}`, before.documents);
  assert.deepEqual(
    after.entries.map(({ key, line }) => [key, line]),
    [
      ['default/new', 1],
      ['default/c', 5],
      ['default/b', 9],
    ],
  );
  assert.equal(after.entries[2]?.object, before.entries[1]?.object);
  assert.equal(after.entries[1]?.object, before.entries[2]?.object);
});

test('no secret stands in problems or in the log, whatever is wrong with it', async (context) => {
  const head = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n';
  const bodies = [
    'data: {token: hunter2}',
    'stringData: hunter2',
    'stringData: {token: [hunter2]}',
    'stringData: {token: {hunter2}}',
    'stringData: {token: *hunter2}',
    'stringData: {token: !hunter2 x}',
    'stringData:\n  token: hunter2: x',
    'stringData:\n token: "hunter2',
    'stringData:\n  token: hunter2\n token: hunter2',
    'stringData: {token: hunter2, token: hunter2}',
    'token: hunter2\nimmutable: hunter2',
    'stringData: {"tok en": hunter2}',
  ];
  const rig = startFolder(context, Object.fromEntries(bodies.map((body, index) => [`${index}.yaml`, `${head}${body}\n`])));
  await rig.synced();
  assert.equal(rig.problems().length, bodies.length);
  assert.doesNotMatch(rig.problems().join('\n') + JSON.stringify(rig.log), /hunter2/);
});

test('reading never throws, whatever the bytes', async () => {
  const words = [
    'apiVersion: v1',
    'kind: Service',
    'kind: List',
    'items:',
    '- ',
    'metadata:',
    '  name: a',
    'spec: {ports: [{port: 80}]}',
    '---',
    '...',
    '{',
    '}',
    '&a',
    '*a',
    '"',
    '\0',
    '\u00ff',
    '\t',
  ];
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.array(fc.constantFrom(...words), { maxLength: 20 }).map((lines) => new TextEncoder().encode(lines.join('\n'))),
  );
  await fc.assert(
    fc.asyncProperty(bytes, async (file) => {
      const { problems } = await readContent(Buffer.from(file), new Map(), defaultLimits, () => null);
      for (const { place, message } of problems) assert.ok(place.line >= 1 && place.column >= 1 && message !== '');
    }),
    { numRuns: 2000 },
  );
});
