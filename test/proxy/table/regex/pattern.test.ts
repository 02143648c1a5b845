// Expressions: RE2's language and nothing slower, checked against RE2JS itself, and bounded in steps whatever the pattern.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { RE2JS } from 're2js';
import { toBytes } from '#proxy/table/bytes.ts';
import { MAX_POOL_BYTES, StatePool } from '#proxy/table/regex/automaton.ts';
import { PatternCache, type Pattern } from '#proxy/table/regex/pattern.ts';
import { compileProgram } from '#proxy/table/regex/program.ts';
import { literalsOf } from '#proxy/table/regex/shape.ts';
import { estimateSize, MAX_PROGRAM } from '#proxy/table/regex/size.ts';
import { WORK_PER_REQUEST } from '#proxy/table/work.ts';

function pattern(source: string): Pattern {
  const result = new PatternCache(new StatePool()).compile(source);
  assert.ok('pattern' in result, `${source}: ${JSON.stringify(result)}`);
  return result.pattern;
}

function matches(source: string, text: string): boolean {
  return pattern(source).test(toBytes(text), { left: WORK_PER_REQUEST });
}

function error(source: string): string {
  const result = new PatternCache(new StatePool()).compile(source);
  assert.ok('error' in result, `${source} was accepted`);
  return result.error;
}

const table: readonly (readonly [pattern: string, text: string, expected: boolean])[] = [
  ['', '', true],
  ['', 'anything', true],
  ['foo', 'a foo b', true],
  ['foo', 'fo', false],
  ['^/foo', '/foobar', true],
  ['^/foo', '/a/foo', false],
  ['^/foo$', '/foo', true],
  ['^/foo$', '/foo/', false],
  ['\\.png$', '/a.png', true],
  ['\\.png$', '/a.png/x', false],
  ['^a|b$', 'xb', true],
  ['^a|b$', 'ba', false],
  ['^(?:/a|/b)(?:/|$)', '/b', true],
  ['^(?:/a|/b)(?:/|$)', '/bc', false],
  ['^/v[0-9]+/', '/v12/x', true],
  ['^/v[0-9]+/', '/v/x', false],
  ['(?i)^/foo', '/FOO', true],
  ['(?i)k', 'K', true],
  ['(?i)straße', 'STRAßE', true],
  ['a.c', 'a\nc', false],
  ['(?s)a.c', 'a\nc', true],
  ['(?m)^b$', 'a\nb\nc', true],
  ['^b$', 'a\nb\nc', false],
  ['\\bfoo\\b', 'a foo.', true],
  ['\\bfoo\\b', 'afoo', false],
  ['\\Boo', 'foo', true],
  ['^foo\\b', 'foo bar', true],
  ['^foo\\b', 'foobar', false],
  ['\\Aa\\n(?m:^)b+', 'a\nb', true],
  ['\\Aa(?m:^)b+', 'ab', false],
  ['é+$', 'caféé', true],
  ['^.$', 'é', true],
  ['^.$', '😀', true],
  ['\\p{Greek}', 'xλ', true],
  ['\\p{Greek}', 'xl', false],
  ['[^a]', 'aaa', false],
  ['^(a{2,3}){2}$', 'aaaaa', true],
  ['^(a{2,3}){2}$', 'aaa', false],
  ['$^', '', true],
  ['$^', 'a', false],
  ['\\Qa.b\\E', 'a.b', true],
  ['\\Qa.b\\E', 'axb', false],
];

for (const [source, text, expected] of table) {
  test(`pattern ${JSON.stringify(source)} ${expected ? 'matches' : 'does not match'} ${JSON.stringify(text)}`, () => {
    assert.equal(matches(source, text), expected);
  });
}

test('shapes that are plain literals are recognised, whatever their spelling', () => {
  const shape = (source: string): unknown => {
    const result = compileProgram(source);
    assert.ok('program' in result);
    return literalsOf(result.program);
  };
  assert.deepEqual(shape('^/foo'), [{ text: '/foo', atStart: true, atEnd: false }]);
  assert.deepEqual(shape('^/foo.*'), [{ text: '/foo', atStart: true, atEnd: false }]);
  assert.deepEqual(shape('(\\.png)$'), [{ text: '.png', atStart: false, atEnd: true }]);
  assert.equal((shape('^(?:cat|dog|cow)$') as unknown[]).length, 3);
  assert.deepEqual(shape('https?'), [{ text: 'http', atStart: false, atEnd: false }]);
  assert.equal(shape('^/[a-z]+'), null);
  assert.equal(shape('a.*b'), null);
});

test('the literal that a pattern begins with is known, so that others are not tried', () => {
  assert.equal(pattern('^/api/v[0-9]+').prefix, '/api/v');
  assert.equal(pattern('/api/v[0-9]+').prefix, '');
  assert.equal(pattern('^/api/v1$').prefix, '/api/v1');
});

test('an unusable pattern is quoted together with what is wrong', () => {
  assert.match(error('a('), /"a\(".*missing closing/);
  assert.match(error('(?=a)'), /invalid or unsupported Perl syntax/);
  assert.match(error('a\\1'), /invalid escape sequence/);
  assert.match(error('*'), /missing argument to repetition operator/);
});

test('a pattern whose program would be large is refused before it is compiled', () => {
  const hostile = ['(?:' + 'a'.repeat(1000) + '){1000}', '((ab|cd){40}){40}', '\\pL'.repeat(1000), `(?i)${'[b-\\x{1e000}]'.repeat(20)}`];
  for (const source of hostile) assert.match(error(source), /it would compile to a very large program/);
  assert.match(error('x'.repeat(1500)), new RegExp(`compiles to 1502 instructions, more than ${MAX_PROGRAM}`));
});

test('many alternatives with shared beginnings are not large', () => {
  const ids = Array.from({ length: 600 }, (_, i) => `a${i.toString(36)}`);
  assert.equal(matches(`^(?:${ids.join('|')})$`, 'abc'), true);
  assert.equal(matches(`^(?:${ids.join('|')})$`, 'azz'), false);
});

test('nested groups and malformed classes neither overflow the stack nor throw', () => {
  for (const source of [
    '('.repeat(4000),
    '('.repeat(2000) + ')'.repeat(2000),
    '['.repeat(4000),
    '[[:'.repeat(1000),
    '\\'.repeat(999),
    '{9'.repeat(999),
  ]) {
    new PatternCache(new StatePool()).compile(source);
  }
});

const hostile: readonly (readonly [string, string])[] = [
  ['(a|b)*a(a|b){200}[cd]', 'ab'.repeat(8192) + 'ba'.repeat(8192)],
  ['(a|b)*a(a|b){20}[cd]', Array.from({ length: 32768 }, (_, i) => (((i * i * 7919) % 1013) & 1 ? 'a' : 'b')).join('')],
  ['(x+x+)+y', 'x'.repeat(32768)],
  ['(.*)(.*)(.*)(.*)(.*)=z', 'x=y'.repeat(10922)],
  ['(\\pL|\\pN){40}z', 'é1'.repeat(8192)],
];

for (const [source, text] of hostile) {
  test(`${JSON.stringify(source)} on ${text.length} characters stays within the budget`, () => {
    const work = { left: WORK_PER_REQUEST };
    assert.equal(pattern(source).test(toBytes(text), work), false);
    // The last state built may overdraw by one visit of every instruction.
    assert.ok(work.left > -10 * MAX_PROGRAM, `overdrawn by ${-work.left}`);
  });
}

test('a match that the budget does not allow to decide says so', () => {
  const work = { left: 100 };
  assert.equal(pattern('a[0-9]+z').test('a1'.repeat(1000), work), false);
  assert.ok(work.left < 0);
});

test('a full pool makes every owner forget its states', () => {
  const pool = new StatePool();
  const forgetful: string[] = [];
  const owner = (name: string) => ({ forget: () => void forgetful.push(name) });
  pool.reserve(owner('first'), MAX_POOL_BYTES / 2);
  pool.reserve(owner('second'), MAX_POOL_BYTES / 2);
  assert.deepEqual(forgetful, []);
  pool.reserve(owner('third'), 1);
  assert.deepEqual(forgetful, ['first', 'second']);
  pool.reserve(owner('fourth'), MAX_POOL_BYTES);
  assert.deepEqual(forgetful, ['first', 'second', 'third']);
});

test('states are dropped when their pool is full, and answers stay right', () => {
  const cache = new PatternCache(new StatePool());
  const one = cache.compile('(a|b)*a(a|b){100}[cd]');
  const other = cache.compile('^/v[0-9]+$');
  assert.ok('pattern' in one && 'pattern' in other);
  const text = Array.from({ length: 20000 }, (_, i) => (((i * i * 7919) % 1013) & 1 ? 'a' : 'b')).join('');
  for (let round = 0; round < 4; round++) {
    assert.equal(one.pattern.test(text, { left: 100_000_000 }), false);
    assert.equal(one.pattern.test(`${text}c`, { left: 100_000_000 }), /a[ab]{100}c$/.test(`${text}c`));
    assert.equal(other.pattern.test('/v12', { left: WORK_PER_REQUEST }), true);
    assert.equal(other.pattern.test('/vx', { left: WORK_PER_REQUEST }), false);
  }
});

const atom = fc.constantFrom(
  'a',
  'b',
  'k',
  '/',
  '.',
  '\\.',
  '[ab]',
  '[^a]',
  '\\d',
  '\\w',
  '\\s',
  'é',
  '^',
  '$',
  '\\b',
  '\\B',
  '(?:)',
  '[[:alpha:]]',
  '\\pL',
);
const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    atom,
    fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `${a}${b}`),
    fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `(?:${a}|${b})`),
    fc
      .tuple(
        fc.constantFrom('(?:', '(', '(?i:', '(?s:', '(?m:'),
        tie('expression'),
        fc.constantFrom(')', ')*', ')+', ')?', '){2}', '){1,3}', ')*?'),
      )
      .map((parts) => parts.join('')),
  ),
}));
const text = fc
  .array(fc.constantFrom('a', 'b', 'A', 'k', 'K', '\u212a', '/', '.', '1', ' ', '\n', 'é', '😀', '_'), { maxLength: 12 })
  .map((chars) => chars.join(''));

test('answers as RE2JS does, on random patterns and texts', () => {
  fc.assert(
    fc.property(expression, fc.array(text, { minLength: 1, maxLength: 8 }), (source, texts) => {
      const ours = pattern(source);
      const library = RE2JS.compile(source);
      for (const one of texts) {
        const work = { left: WORK_PER_REQUEST };
        assert.equal(ours.test(toBytes(one), work), library.test(one), `${JSON.stringify(source)} on ${JSON.stringify(one)}`);
        assert.ok(work.left >= 0);
        assert.ok(!library.test(one) || toBytes(one).startsWith(ours.prefix));
      }
    }),
    { numRuns: 1500 },
  );
});

const tokens = fc.constantFrom(
  'a',
  'bc',
  '(',
  '(?:',
  ')',
  '[',
  ']',
  '[^',
  '[:',
  ':]',
  '[[:alpha:]]',
  '\\',
  '\\Q',
  '\\E',
  '{20}',
  '{2,9}',
  '{,3}',
  '\\x{',
  '}',
  '-',
  '|',
  '*',
  '\\]',
  '\\pL',
  '^',
);

test('the estimate is within a small factor of the compiled program, however the pattern is written', () => {
  const patterns = fc.oneof(
    expression,
    fc.array(tokens, { maxLength: 14 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(patterns, (source) => {
      const size = sizeOf(source);
      assert.ok(size <= 3 * estimateSize(source) + 4, `${JSON.stringify(source)}: estimated ${estimateSize(source)}, is ${size}`);
    }),
    {
      numRuns: 3000,
      examples: [
        ['\\Q[\\E(?:aaaaaaaaaa){30}]'],
        ['[[:a](?:aaaaaaaaaa){30}:]'],
        ['[\\Q](?:aaaaaaaaaa){30}\\E]'],
        ['(?:aaa\\Q)\\E){30}'],
        ['\\x{20}'],
        ['a{20}\\Q\\E{2,9}'],
        ['(){2,9}'],
        ['[:-[:x:](?:aaaaaaaaaa){30}]'],
        ['[a-[:](?:aaaaaaaaaa){30}:]'],
        ['[a-\\]](?:aaaaaaaaaa){30}]'],
      ],
    },
  );
});

function sizeOf(source: string): number {
  try {
    return RE2JS.compile(source).programSize();
  } catch {
    return 0;
  }
}
