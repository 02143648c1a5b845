// Ports of tunnels stay where they are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assignPorts } from '#controller/loop/ports.ts';

const range = { first: 8080, further: 8100 };

test('the first tunnel gets the expected port, further ones their own range', () => {
  assert.deepEqual(
    [...assignPorts(new Map(), ['a', 'b', 'c'], range)],
    [
      ['a', 8080],
      ['b', 8100],
      ['c', 8101],
    ],
  );
});

test('a tunnel keeps its port when others come and go; a freed port is used again', () => {
  const before = assignPorts(new Map(), ['a', 'b', 'c'], range);
  const after = assignPorts(before, ['c', 'b', 'd'], range);
  assert.equal(after.get('b'), 8100);
  assert.equal(after.get('c'), 8101);
  assert.equal(after.get('d'), 8080);
});

test('no two tunnels ever share a port, and known ones never move', () => {
  const ids = fc.uniqueArray(fc.constantFrom(...'abcdefgh'), { minLength: 1 });
  fc.assert(
    fc.property(fc.array(ids, { minLength: 1, maxLength: 6 }), (rounds) => {
      let known: ReadonlyMap<string, number> = new Map();
      for (const round of rounds) {
        const next = assignPorts(known, round, range);
        assert.equal(new Set(next.values()).size, round.length);
        for (const id of round) if (known.has(id)) assert.equal(next.get(id), known.get(id));
        known = next;
      }
    }),
  );
});
