// Choice of backend by weight, of endpoint by load and health.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { BackendChoice, CompiledRule } from '#proxy/table/types.ts';
import { pickChoice, pickEndpoint, type Candidate } from '#proxy/upstream/balance.ts';

function weighted(...weights: readonly number[]): CompiledRule {
  let total = 0;
  const choices = weights.map((weight): BackendChoice => {
    total += weight;
    return { backend: null, status: 503, upTo: total, requestEdits: null, responseEdits: null, rewrite: null, redirect: null };
  });
  return {
    routeId: 'r',
    ruleIndex: 0,
    type: 'HTTP',
    error: 0,
    redirect: null,
    responseEdits: null,
    choices,
    totalWeight: total,
    requestTimeout: 0,
    backendRequestTimeout: 0,
  };
}

test('shares follow the weights, and weight 0 gets nothing', () => {
  const rule = weighted(1, 0, 3);
  const counts = [0, 0, 0];
  for (let i = 0; i < 1000; i++) {
    const index = rule.choices.indexOf(pickChoice(rule, i / 1000)!);
    counts[index]! += 1;
  }
  assert.deepEqual(counts, [250, 0, 750]);
});

test('no weight at all: nobody may be chosen', () => {
  assert.equal(pickChoice(weighted(0, 0), 0), null);
  assert.equal(pickChoice(weighted(), 0), null);
});

test('large weights do not overflow', () => {
  const rule = weighted(1_000_000, 1_000_000);
  assert.equal(pickChoice(rule, 0.999_999), rule.choices[1]);
});

function candidates(...loads: readonly (number | readonly [number, number])[]): Candidate[] {
  return loads.map((load) => (typeof load === 'number' ? { active: load, ejectedUntil: 0 } : { active: load[0], ejectedUntil: load[1] }));
}

test('the least loaded of a few, a random one among equals', () => {
  const four = candidates(3, 1, 2, 1);
  const seen = new Set<Candidate | null>();
  for (let i = 0; i < 100; i++) seen.add(pickEndpoint(four, null, 0, () => i / 100));
  assert.ok(seen.size === 2 && seen.has(four[1]!) && seen.has(four[3]!));
});

test('of many, the less loaded of two drawn ones', () => {
  const many = candidates(9, 9, 9, 0, 9, 9);
  const draws = [0, 0.4];
  assert.equal(
    pickEndpoint(many, null, 0, () => draws.shift()!),
    many[3],
  );
});

test('the ejected are left out until their time is over, unless nobody else is left', () => {
  const two = candidates([0, 100], 5);
  assert.equal(
    pickEndpoint(two, null, 50, () => 0),
    two[1],
  );
  assert.equal(
    pickEndpoint(two, null, 100, () => 0),
    two[0],
  );
  const all = candidates([3, 100], [1, 100]);
  assert.equal(
    pickEndpoint(all, null, 50, () => 0),
    all[1],
  );
});

test('one that has been tried is not chosen again', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ active: fc.nat(5), ejectedUntil: fc.constantFrom(0, 100) }), { maxLength: 12 }),
      fc.array(fc.nat(11)),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (list, triedIndexes, drawn) => {
        const tried = new Set(triedIndexes.flatMap((index) => list[index] ?? []));
        const chosen = pickEndpoint(list, tried, 50, () => drawn);
        const left = list.filter((one) => !tried.has(one));
        if (left.length === 0) assert.equal(chosen, null);
        else {
          assert.ok(chosen !== null && left.includes(chosen));
          if (left.some(({ ejectedUntil }) => ejectedUntil === 0)) assert.equal(chosen.ejectedUntil, 0);
        }
      },
    ),
  );
});
