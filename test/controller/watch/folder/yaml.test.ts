// From bytes to plain data: documents, scalars as kubectl reads them, errors with their place, and nothing that crashes or grows.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { decodeDocument } from '#controller/watch/folder/decode.ts';
import { splitDocuments } from '#controller/watch/folder/documents.ts';
import { Places } from '#controller/watch/folder/place.ts';

const value = (text: string): unknown => {
  const decoded = decodeDocument(text);
  assert.ok('value' in decoded, JSON.stringify(decoded));
  return decoded.value;
};

const problem = (text: string): string => {
  const decoded = decodeDocument(text);
  assert.ok('error' in decoded, `${text} is taken as ${JSON.stringify(decoded).slice(0, 200)}`);
  return `${decoded.place.line}:${decoded.place.column}: ${decoded.error}`;
};

const split = (text: string): readonly (readonly [number, string])[] =>
  [...splitDocuments(Buffer.from(text))].map(({ bytes, line }) => [line, Buffer.from(bytes).toString()]);

test('plain scalars mean what they mean to kubectl', () => {
  // Written down from the JSON that kubectl 1.36 makes of the same lines.
  const words = 'y, N, on, Off, yes, true, TRUE, tRue, ~, null, Null, "on"';
  assert.deepEqual(value(`[${words}]`), [true, false, true, false, true, true, true, 'tRue', null, null, null, 'on']);
  const numbers = '0777, 08, 0o17, 0x1F, 0b11, 1_000, -0x10, +5, 1e3, .5, 5., -.5, 0, -0, 00, 0_7, 1_0.5';
  assert.deepEqual(value(`[${numbers}]`), [511, 8, 15, 31, 3, 1000, -16, 5, 1000, 0.5, 5, -0.5, 0, 0, 0, 7, 10.5]);
  assert.deepEqual(value('[12:30:45, 2020-01-01, 1.2.3, ._5, 0x, 1e, "5"]'), ['12:30:45', '2020-01-01', '1.2.3', '._5', '0x', '1e', '5']);
  assert.deepEqual(value('{8080: a, on: b, 1.5: c, base: &b {k: 1, l: 2}, m: {<<: *b, l: 3}}'), {
    '8080': 'a',
    true: 'b',
    '1.5': 'c',
    base: { k: 1, l: 2 },
    m: { k: 1, l: 3 },
  });
});

test('JSON is YAML, also when indented with tabs', () => {
  assert.deepEqual(value('{"a":\t1,\n\t"b": [\n\t\t1,\n\t\t"\\u00e4"\n\t]\n}'), { a: 1, b: [1, 'ä'] });
});

suite('documents', () => {
  test('are cut at markers, wherever these stand', () => {
    assert.deepEqual(split('a: 1\n---\nb: |\n  ---\n--- c\n...\nd\n'), [
      [1, 'a: 1\n'],
      [2, '---\nb: |\n  ---\n'],
      [5, '--- c\n...\n'],
      [7, 'd\n'],
    ]);
  });

  test('keep the comments and directives that belong to them', () => {
    assert.deepEqual(split('# licence\n%YAML 1.2\n---\na\n----\n'), [[1, '# licence\n%YAML 1.2\n---\na\n----\n']]);
  });

  test('may be empty, with any line ends', () => {
    assert.deepEqual(split(''), []);
    assert.deepEqual(
      split('---\r\n---\r\na: 1\r\n').map(([, text]) => value(text)),
      [null, { a: 1 }],
    );
  });

  test('together are the file, byte for byte', () => {
    const line = fc.constantFrom('---', '--- x', '...', 'a: 1', '', '# c', '%TAG', '---x', ' ---', 'ä');
    fc.assert(
      fc.property(fc.array(line), fc.constantFrom('\n', '\r\n'), (lines, end) => {
        const text = lines.join(end);
        assert.equal(
          split(text)
            .map(([, part]) => part)
            .join(''),
          text,
        );
        for (const [start, part] of split(text))
          assert.ok(
            text
              .split('\n')
              .slice(start - 1)
              .join('\n')
              .startsWith(part),
          );
      }),
    );
  });
});

test('errors say where and what to do', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['a: 1\nb: [1, 2\n', /^3:1: deficient indentation/],
    ['a: 1\na: 2\n', /^2:1: duplicated mapping key \(the same field stands twice/],
    ['a: [1, 2', /^1:9: unexpected end of the stream within a flow collection$/],
    ['a:\n  b: 1\n c: 2\n', /^3:2: bad indentation of a mapping entry \(compare/],
    ['\ta: 1', /^1:\d: .*indent with spaces/],
    ['a: *nowhere', /^1:\d+: unidentified alias … \(put a value that begins with \* in quotes\)$/],
    ['a: !secret x', /^1:\d+: unknown scalar tag … \(put a value that begins with ! in quotes\)$/],
    ['a: {b: .nan}', /^1:5: infinity and NaN are not allowed$/],
    ['a: -.inf', /^1:1: infinity and NaN are not allowed$/],
    ['a: 1\n__proto__: {polluted: 1}', /^2:1: a field must not be called __proto__$/],
    ['a: [{__proto__: 1}]', /^1:\d+: a field must not be called __proto__$/],
    ['a: &a [*a]', /^1:\d+: .*an anchor contains itself$/],
    ['a: &a {b: {c: *a}}', /^1:\d+: .*an anchor contains itself$/],
    ['['.repeat(200), /^1:\d+: nesting exceeded maxDepth \(100\) \(more than 100 levels\)$/],
    ['a: \0', /^1:\d+: .*null byte.*$/],
    ['%YAML 3.0\n---\na', /^\d:\d+: unacceptable YAML version of the document$/],
  ];
  for (const [text, expected] of cases) assert.match(problem(text), expected, text.slice(0, 40));
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('no text of the document stands in an error', () => {
  for (const text of [
    'k: *hunter2',
    'k: !hunter2 x',
    'k: !<hunter2> x',
    'k: !hunter2! x',
    '!h!hunter2 x',
    '"hunter2',
    'k: "hunter2\\q"',
    'hunter2: hunter2: hunter2',
    '- hunter2\nhunter2: [',
  ]) {
    assert.doesNotMatch(problem(text), /hunter2/, text);
  }
});

suite('aliases', () => {
  test('are values of their own', () => {
    const { a, b } = value('a: &x {c: 1}\nb: *x') as { a: { c: number }; b: { c: number } };
    a.c = 2;
    assert.equal(b.c, 1);
  });

  test('cannot make a document explode', () => {
    const lists = 'bcdefghi'.split('').map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]},`.repeat(10)}]`);
    assert.match(problem(`a: &a [${'x,'.repeat(10)}]\n${lists.join('\n')}`), /aliases make the document many times larger/);
    assert.match(problem(`a: &a "${'x'.repeat(100_000)}"\nb: [${'*a,'.repeat(1000)}]`), /aliases make the document many times larger/);
  });

  test('may be used a lot in small documents', () => {
    assert.equal((value(`a: &a {k: v, l: w}\nb: [${'*a,'.repeat(1000)}]`) as { b: unknown[] }).b.length, 1000);
  });
});

suite('places', () => {
  const text = 'spec:\n  rules:\n  - matches:\n    - path: {type: X, value: "y"}\n  - "a": 1\n';
  for (const [path, what, line, column] of [
    [['spec', 'rules', 0, 'matches', 0, 'path', 'value'], 'value', 4, 31],
    [['spec', 'rules', 0, 'matches', 0, 'path', 'type'], 'key', 4, 14],
    [['spec', 'rules', 0, 'matches', 0, 'path', 'missing'], 'key', 4, 7],
    [['spec', 'rules', 1, 'a'], 'key', 5, 6],
    [['spec', 'rules', 7, 'a'], 'key', 2, 3],
    [[], 'value', 1, 1],
  ] as const) {
    test(`${path.join('.')} (${what})`, () => {
      const place = new Places(text).of(path, what);
      assert.equal(place.line, line);
      assert.ok(Math.abs(place.column - column) <= 1, `${place.column} is not about ${column}`);
    });
  }
});

suite('whatever the bytes', () => {
  const safely = (text: string): void => {
    const decoded = decodeDocument(text);
    if ('error' in decoded) assert.ok(decoded.place.line >= 1 && decoded.place.column >= 1);
    else assert.equal(typeof JSON.stringify(decoded.value ?? null), 'string');
  };

  test('decoding never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), safely), { numRuns: 1000 });
    const syntax = fc.constantFrom(
      '- ',
      ': ',
      '\n',
      '  ',
      '{',
      '}',
      '[',
      ']',
      '&a',
      '*a',
      '!!str ',
      '!x',
      '"',
      "'",
      '|',
      '>',
      '? ',
      '%',
      '#',
      ',',
      '<<',
      'a',
      '1',
      '\t',
      '---',
      '\0',
      '\u2028',
    );
    fc.assert(
      fc.property(
        fc.array(syntax, { maxLength: 40 }).map((parts) => parts.join('')),
        safely,
      ),
      { numRuns: 3000 },
    );
  });
});
