import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { canBeVisited, compareSpecificity, intersect, isWithin, normalise } from '#controller/graph/hostname.ts';

test('intersection of listener and route hostnames', () => {
  for (const [a, b, expected] of [
    ['', '', ''],
    ['', 'a.com', 'a.com'],
    ['a.com', '', 'a.com'],
    ['a.com', 'a.com', 'a.com'],
    ['a.com', 'b.com', null],
    ['*.a.com', 'x.a.com', 'x.a.com'],
    ['*.a.com', 'x.y.a.com', 'x.y.a.com'],
    ['*.a.com', 'a.com', null],
    ['*.a.com', '.a.com', null],
    ['*.a.com', 'xa.com', null],
    ['*.a.com', '*.b.a.com', '*.b.a.com'],
    ['*.a.com', '*.a.com', '*.a.com'],
    ['*.a.com', '*.b.com', null],
    ['*.com', '*.a.com', '*.a.com'],
  ] as const) {
    assert.equal(intersect(a, b), expected, `${a} ∩ ${b}`);
    assert.equal(intersect(b, a), expected, `${b} ∩ ${a}`);
  }
});

test('the most specific hostname comes first', () => {
  const sorted = ['*.com', '*.b.a.com', 'b.com', '*.a.com', 'a.com', '*.x.com'].sort(compareSpecificity);
  assert.deepEqual(sorted, ['a.com', 'b.com', '*.b.a.com', '*.a.com', '*.x.com', '*.com']);
});

const label = fc.constantFrom('a', 'b', 'www', 'app');
const host = fc
  .tuple(fc.boolean(), fc.array(label, { minLength: 1, maxLength: 4 }))
  .map(([wild, labels]) => `${wild ? '*.' : ''}${labels.join('.')}`);

test('an intersection is one of both, does not depend on order, and is covered by either', () => {
  fc.assert(
    fc.property(host, host, (a, b) => {
      const common = intersect(a, b);
      assert.equal(common, intersect(b, a));
      if (common === null) return;
      assert.ok(common === a || common === b);
      assert.equal(intersect(common, a), common);
      assert.equal(intersect(common, b), common);
    }),
  );
});

test('specificity is a total order', () => {
  fc.assert(
    fc.property(host, host, host, (a, b, c) => {
      assert.equal(Math.sign(compareSpecificity(a, b)) + Math.sign(compareSpecificity(b, a)), 0);
      assert.equal(compareSpecificity(a, b) === 0, a === b);
      if (compareSpecificity(a, b) <= 0 && compareSpecificity(b, c) <= 0) assert.ok(compareSpecificity(a, c) <= 0);
    }),
  );
});

test('a domain owns itself and what is below, and an empty one nothing', () => {
  assert.ok(isWithin('a.com', 'a.com') && isWithin('x.a.com', 'a.com') && isWithin('*.a.com', 'a.com'));
  for (const [name, domain] of [
    ['xa.com', 'a.com'],
    ['com', 'a.com'],
    ['', ''],
    ['a.com', ''],
    ['*.com', 'a.com'],
  ] as const)
    assert.ok(!isWithin(name, domain), `${name} in ${domain}`);
});

test('names are folded to lower case', () => {
  assert.equal(normalise('WWW.Example.COM'), 'www.example.com');
  assert.equal(normalise(undefined), '');
});

test('what no visitor can ask for', () => {
  const label = 'a'.repeat(63);
  for (const good of [
    'a',
    'localhost',
    'a-b.example.com',
    '*.example.com',
    '1.2.3.com',
    'xn--bcher-kva.example.com',
    `${label}.${label}.${label}.${'a'.repeat(61)}`,
  ])
    assert.ok(canBeVisited(good), good);
  const bad = [
    '',
    '*',
    '*.',
    'a.*.com',
    'a..com',
    'a.com.',
    '.a.com',
    '-a.com',
    'a-.com',
    'a_b.com',
    'a b.com',
    'a/b',
    'a:80',
    'bücher.com',
    '10.0.0.1',
    '::1',
    `${label}a.com`,
    `${label}.${label}.${label}.${'a'.repeat(62)}`,
  ];
  for (const hostname of bad) assert.ok(!canBeVisited(hostname), hostname);
});
