import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fromLabelSelector, parseSelector, selects, type Selector } from '#controller/graph/selector.ts';

const holds = (selector: Selector, labels: Readonly<Record<string, string>>): boolean => {
  if ('problem' in selector) assert.fail(selector.problem);
  return selects(selector.requirements, labels);
};

test('kubectl syntax', () => {
  for (const [text, labels, expected] of [
    ['', {}, true],
    ['a', { a: '' }, true],
    ['a', {}, false],
    ['!a', {}, true],
    ['!a', { a: '1' }, false],
    ['a=b', { a: 'b' }, true],
    ['a==b', { a: 'b' }, true],
    ['a = b', { a: 'b' }, true],
    ['a=', { a: '' }, true],
    ['a!=b', {}, true],
    ['a!=b', { a: 'b' }, false],
    ['a in (b, c)', { a: 'c' }, true],
    ['a in (b, c)', {}, false],
    ['a notin (b,c)', { a: 'c' }, false],
    ['a notin (b,c)', {}, true],
    ['x.io/a in (b,c),!d , e!=f', { 'x.io/a': 'b' }, true],
    ['x.io/a in (b,c),!d , e!=f', { 'x.io/a': 'b', d: '' }, false],
  ] as const) {
    assert.equal(holds(parseSelector(text), labels), expected, `${text} on ${JSON.stringify(labels)}`);
  }
});

test('what is not a selector is a problem', () => {
  for (const text of ['a in (', 'a in b', 'a,', ',a', '=b', 'a=b=c', 'a b', '!', 'a in ()x', '-a', 'a/b/c', 'x'.repeat(64)]) {
    assert.ok('problem' in parseSelector(text), text);
  }
});

test('object form', () => {
  assert.equal(holds(fromLabelSelector({}), { any: 'thing' }), true);
  assert.equal(
    holds(fromLabelSelector({ matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'DoesNotExist' }] }), { a: 'b' }),
    true,
  );
  assert.equal(holds(fromLabelSelector({ matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }] }), {}), true);
  assert.equal(holds(fromLabelSelector({ matchLabels: { constructor: 'b' } }), {}), false);
  for (const selector of [
    undefined,
    { matchExpressions: [{ key: 'a', operator: 'Like', values: ['b'] }] },
    { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] },
    { matchExpressions: [{ key: 'a', operator: 'In' }] },
    { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
    { matchLabels: { 'not a key': 'b' } },
    { matchLabels: { a: 'not a value!' } },
  ])
    assert.ok('problem' in fromLabelSelector(selector), JSON.stringify(selector));
});

test('any text is either a selector or a problem', () => {
  fc.assert(fc.property(fc.string({ maxLength: 200 }), (text) => void parseSelector(text)));
});
