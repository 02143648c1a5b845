// Header modifiers merged into one set of edits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { HeaderModifier } from '#proxy/config/schema.ts';
import { headerEdits } from '#proxy/filter/edits.ts';
import { toBytes } from '#proxy/table/bytes.ts';

/** What the exchange does with edits: skip, then append. */
function apply(modifiers: readonly HeaderModifier[], headers: readonly (readonly [string, string])[]): readonly string[] {
  const edits = headerEdits(modifiers);
  if (edits === null) return headers.map(([name, value]) => `${name}: ${value}`);
  const kept = headers.filter(([name]) => {
    const mayGo = (edits.removeMask & (1 << (name.length & 31))) !== 0;
    assert.ok(mayGo || !edits.remove.has(name.toLowerCase()), 'the mask must never rule out a name that goes');
    return !mayGo || !edits.remove.has(name.toLowerCase());
  });
  const lines = kept.map(([name, value]) => `${name}: ${value}`);
  const added = edits.appendText.split('\r\n').slice(0, -1);
  assert.deepEqual(
    edits.append.filter((_, i) => i % 2 === 1),
    added.map((line) => line.slice(line.indexOf(': ') + 2)),
  );
  return [...lines, ...added];
}

const one = (name: string, value: string) => [{ name, value }];

test('rule 44: set replaces all values, whatever the case of the name', () => {
  assert.deepEqual(
    apply(
      [{ set: one('X-A', 'new') }],
      [
        ['x-a', '1'],
        ['b', '2'],
        ['X-a', '3'],
      ],
    ),
    ['b: 2', 'X-A: new'],
  );
});

test('rule 44: add appends to existing values', () => {
  assert.deepEqual(apply([{ add: one('x-a', 'new') }], [['x-a', '1']]), ['x-a: 1', 'x-a: new']);
});

test('rule 44: remove ignores case', () => {
  assert.deepEqual(
    apply(
      [{ remove: ['X-A'] }],
      [
        ['x-a', '1'],
        ['b', '2'],
      ],
    ),
    ['b: 2'],
  );
});

test('modifiers follow each other: each works on what those before it left', () => {
  assert.deepEqual(apply([{ add: one('a', '1') }, { remove: ['A'] }], [['a', '0']]), []);
  assert.deepEqual(apply([{ remove: ['a'] }, { add: one('A', '1') }], [['a', '0']]), ['A: 1']);
  assert.deepEqual(apply([{ set: one('a', '1') }, { add: one('a', '2') }, { set: one('A', '3') }], []), ['A: 3']);
});

test('of entries with one name the first counts', () => {
  assert.deepEqual(apply([{ set: [...one('a', '1'), ...one('A', '2')], add: [...one('b', '1'), ...one('B', '2')] }], []), ['a: 1', 'b: 1']);
});

test('values are bytes, ready for the wire', () => {
  assert.deepEqual(headerEdits([{ set: one('a', 'é') }])?.append, ['a', toBytes('é')]);
});

test('the mask has the bit of each name’s length, modulo 32', () => {
  assert.equal(headerEdits([{ remove: ['abc', 'x'.repeat(36)] }])?.removeMask, (1 << 3) | (1 << 4));
});

test('modifiers that change nothing are no edits', () => {
  assert.equal(headerEdits([]), null);
  assert.equal(headerEdits([{}, { set: [], remove: [] }]), null);
});

test('merged edits do what the modifiers do one after the other', () => {
  const name = fc.constantFrom('a', 'A', 'bb', 'BB', 'ccc');
  const pairs = fc.array(fc.record({ name, value: fc.constantFrom('1', '2') }), { maxLength: 3 });
  const modifier = fc.record({ set: pairs, add: pairs, remove: fc.array(name, { maxLength: 2 }) });
  fc.assert(
    fc.property(
      fc.array(modifier, { maxLength: 4 }),
      fc.array(fc.tuple(name, fc.constant('0')), { maxLength: 4 }),
      (modifiers, headers) => {
        const stepwise = modifiers.reduce<readonly (readonly [string, string])[]>(
          (lines, one) =>
            apply([one], lines).map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(': ') + 2)] as const),
          headers,
        );
        assert.deepEqual(
          apply(modifiers, headers),
          stepwise.map(([name, value]) => `${name}: ${value}`),
        );
      },
    ),
  );
});
