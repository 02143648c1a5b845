// Compiling a whole configuration: in slices, without side effects, and with bad rules beside good ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileSteps, compileTable } from '#proxy/table/compile.ts';
import { sortSteps } from '#proxy/table/sort.ts';
import { config, exact, match, pattern, prefix, route, rule, table, winner } from './build.ts';

const big = config(
  Array.from({ length: 3000 }, (_, i) =>
    route(`r${i}`, {
      hostnames: i % 2 === 0 ? [`h${i}.example.com`] : [],
      rules: [rule(prefix(`/p${i}`), exact(`/e${i}`), pattern(`^/x${i}/[0-9]+$`))],
    }),
  ),
);

function countSteps(steps: Generator<void, unknown>): number {
  for (let count = 0; ; count++) {
    if (steps.next().done === true) return count;
  }
}

test('a large configuration is compiled in many small steps', () => {
  // 9,000 matches and 3,000 expressions; a step prepares 500 matches or 20 expressions.
  assert.ok(countSteps(compileSteps(big)) > 150);
});

test('many arms under one hostname, or many hostnames, are arranged in steps too', () => {
  const rules = Array.from({ length: 64 }, () => rule(...Array.from({ length: 64 }, () => prefix('/'))));
  const oneHost = config(Array.from({ length: 4 }, (_, i) => route(`r${i}`, { rules })));
  assert.ok(countSteps(compileSteps(oneHost)) > 32 + 16);
});

test('a large table answers', () => {
  const routes = compileTable(big);
  assert.equal(winner(routes, { host: 'h2998.example.com', path: '/p2998/x' }), 'r2998[0]');
  assert.equal(winner(routes, { host: 'h2998.example.com', path: '/p2996/x' }), 'none');
  assert.equal(winner(routes, { host: 'other', path: '/x2999/12' }), 'r2999[0]');
  assert.equal(winner(routes, { host: 'other', path: '/e2999' }), 'r2999[0]');
  assert.equal(winner(routes, { host: 'other', path: '/e2999/' }), 'none');
  assert.deepEqual(routes.counts, { routes: 3000, rules: 3000, backends: 1 });
});

test('compiling changes nothing of the configuration, and its result is frozen', () => {
  const frozen = deepFreeze(structuredClone({ ...big, routes: big.routes.slice(0, 20) }));
  const routes = compileTable(frozen);
  const arm = match(routes, { host: 'h2.example.com', path: '/p2' });
  assert.ok(Object.isFrozen(routes) && Object.isFrozen(arm) && Object.isFrozen(arm?.rule) && Object.isFrozen(arm?.rule.choices));
  assert.ok(Object.isFrozen(routes.backends.get('b')));
});

test('an entry that nothing is attached to answers nothing', () => {
  assert.equal(match(table([])), null);
  assert.equal(compileTable({ tunnels: [], entries: [], certificates: [], localEntries: [], backends: [], routes: [] }).entries.size, 0);
});

test('sorting in steps sorts, and keeps equal items in their order', () => {
  const items = Array.from({ length: 10_000 }, (_, i) => ({ key: (i * 7919) % 100, i }));
  const steps = sortSteps(items, (a, b) => a.key - b.key);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  assert.deepEqual(
    step.value,
    [...items].sort((a, b) => a.key - b.key),
  );
});

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const child of Object.values(value)) deepFreeze(child);
  }
  return value;
}
