// Random clusters through the whole pure pipeline. A failure prints the world that caused it and the seed to run it again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KubeObject } from '#controller/api/core.ts';
import { keyOf } from '#controller/api/ref.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import { wantedObjects } from '#controller/graph/references.ts';
import { mergeStatus } from '#controller/output/merge-status.ts';
import { renderPlan } from '#controller/output/plan.ts';
import { itemSchema } from '#proxy/config/schema.ts';
import { compileTable } from '#proxy/table/compile.ts';
import { happyFacts, nothingKnown, planOf, readablePlan } from '#test/build/plan.ts';
import { snapshotOf, withObject } from '#test/build/snapshot.ts';
import { statusesKnown, statusProblems } from './status-schemas.ts';
import { rules, worlds } from './worlds.ts';

const NOW = '2026-06-01T00:00:00Z';
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 150);

test('nothing throws, statuses are what the API server takes, and items what proxies take', { timeout: 600_000 }, (t) => {
  if (!statusesKnown) t.diagnostic('statuses of the Gateway API’s kinds are not judged: `npm run tools` fetches their CRDs');
  fc.assert(
    fc.property(worlds, rules, (objects, settings) => {
      const { plan, graph, snapshot } = planOf(objects, settings);
      wantedObjects(snapshot, settings);
      renderPlan(graph, nothingKnown, snapshot, new Map());
      const byRef = new Map(objects.map((object) => [`${object.kind} ${keyOf(object.metadata.namespace, object.metadata.name)}`, object]));
      for (const update of plan.statuses) {
        const object = byRef.get(`${update.ref.kind} ${keyOf(update.ref.namespace, update.ref.name)}`);
        assert.ok(object !== undefined, `a status for ${update.ref.kind} ${update.ref.name}, which there is not`);
        const merged = mergeStatus(object, update, NOW);
        if (merged !== null) assert.deepEqual(statusProblems(update.ref.kind, merged.status), [], update.ref.kind);
      }
      const items = plan.planes.flatMap((plane) => plane.items);
      for (const item of items) assert.deepEqual(itemSchema.parse(item), item);
      const { problems } = compileTable({
        tunnels: items.filter((item) => item.kind === 'tunnel'),
        entries: items.filter((item) => item.kind === 'entry'),
        localEntries: items.filter((item) => item.kind === 'localEntry'),
        certificates: items.filter((item) => item.kind === 'certificate'),
        backends: items.filter((item) => item.kind === 'backend'),
        routes: items.filter((item) => item.kind === 'route'),
      });
      assert.deepEqual(problems, []);
    }),
    { numRuns: RUNS },
  );
});

const shuffled = worlds.chain((objects) =>
  fc.tuple(fc.constant(objects), fc.shuffledSubarray([...objects], { minLength: objects.length })),
);

test('the same objects in another order give the same output, at once or one after another', { timeout: 600_000 }, () => {
  fc.assert(
    fc.property(shuffled, rules, ([objects, others], settings) => {
      const { plan, ports } = planOf(objects, settings);
      assert.deepEqual(readablePlan(planOf(others, settings).plan), readablePlan(plan));

      const build = createGraphBuilder();
      const namespaces = others.filter(({ kind }) => kind === 'Namespace');
      let snapshot = snapshotOf([...namespaces, ...others.slice(0, 1)]);
      for (const object of others as readonly KubeObject[]) {
        if (object.kind === 'Namespace') continue;
        snapshot = withObject(snapshot, object);
        build(snapshot, settings);
      }
      const kept = build(snapshot, settings);
      assert.deepEqual(readablePlan(renderPlan(kept, happyFacts(kept), snapshot, ports)), readablePlan(plan));
    }),
    { numRuns: Math.ceil(RUNS / 2) },
  );
});
