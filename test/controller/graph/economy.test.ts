// How much is done for one change in a cluster of many tenants, counted and not timed: what is read, what is made anew, what is written.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KubeObject } from '#controller/api/core.ts';
import { keyOf } from '#controller/api/ref.ts';
import type { Snapshot } from '#controller/api/snapshot.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import type { Graph } from '#controller/graph/types.ts';
import { mergeStatus } from '#controller/output/merge-status.ts';
import { renderPlan, type Plan } from '#controller/output/plan.ts';
import { allocatePorts } from '#controller/output/ports.ts';
import { classConfig } from '#test/build/objects.ts';
import { happyFacts } from '#test/build/plan.ts';
import { snapshotOf, withObject, withoutObject } from '#test/build/snapshot.ts';
import { tenantCluster, tenantGateway, tenantNamespace, tenantRoute, tenantRules, tenantSlice, type Size } from '#test/build/tenants.ts';

const SIZE: Size = { routes: 400, gateways: 16, namespaces: 40 };
const NOW = '2026-06-01T00:00:00Z';

interface Work {
  /** `Kind namespace/name` of objects whose status must be written, in order. */
  readonly writes: readonly string[];
  /** Routes whose node is another one than before. */
  readonly nodes: number;
  /** Items that differ from those before. */
  readonly items: readonly string[];
  /** Routes whose spec was looked at. */
  readonly read: number;
}

/** A controller's memory from build to build: what it has built, and the statuses that it has written. */
class Bench {
  readonly #build = createGraphBuilder();
  #snapshot: Snapshot;
  #graph: Graph | null = null;
  #plan: Plan | null = null;
  readonly #read = new Set<string>();

  constructor(size: Size) {
    const snapshot = snapshotOf(tenantCluster(size));
    const routes = new Map([...snapshot.objects.HTTPRoute].map(([key, route]) => [key, this.#watched(key, route)]));
    this.#snapshot = { ...snapshot, objects: { ...snapshot.objects, HTTPRoute: routes } };
  }

  /** The object, telling when its spec is read. */
  #watched<T extends KubeObject & { readonly spec: unknown }>(key: string, object: T): T {
    const { spec } = object;
    const told = (): unknown => {
      this.#read.add(key);
      return spec;
    };
    return Object.freeze(Object.defineProperty({ ...object }, 'spec', { get: told, enumerable: true }));
  }

  change(next: (snapshot: Snapshot) => Snapshot): Work {
    this.#read.clear();
    this.#snapshot = next(this.#snapshot);
    const graph = this.#build(this.#snapshot, tenantRules);
    const plan = renderPlan(graph, happyFacts(graph), this.#snapshot, allocatePorts(graph, new Map()));
    const read = this.#read.size;
    const nodesBefore = new Set(this.#graph?.routes);
    const itemsBefore = new Map(this.#plan?.planes.flatMap(({ items }) => items.map((item) => [item.id, JSON.stringify(item)])));
    const work = {
      writes: this.#write(plan),
      nodes: graph.routes.filter((node) => !nodesBefore.has(node)).length,
      items: plan.planes.flatMap(({ items }) =>
        items.filter((item) => itemsBefore.get(item.id) !== JSON.stringify(item)).map(({ id }) => id),
      ),
      read,
    };
    [this.#graph, this.#plan] = [graph, plan];
    return work;
  }

  /** Takes over every status as the API server would, and tells which had to be written. */
  #write(plan: Plan): readonly string[] {
    const writes: string[] = [];
    for (const update of plan.statuses) {
      const { kind } = update.ref;
      const key = keyOf(update.ref.namespace, update.ref.name);
      const stored: KubeObject | undefined = this.#snapshot.objects[kind].get(key);
      const merged = stored === undefined ? null : mergeStatus(stored, update, NOW);
      if (stored === undefined || merged === null) continue;
      writes.push(`${kind} ${key}`);
      const parts = { ...Object.getOwnPropertyDescriptors(stored), status: { value: merged.status, enumerable: true } };
      const written = Object.freeze(Object.defineProperties({}, parts)) as KubeObject;
      const map = new Map<string, KubeObject>(this.#snapshot.objects[kind]).set(key, written);
      this.#snapshot = { ...this.#snapshot, objects: { ...this.#snapshot.objects, [kind]: map } };
    }
    return writes;
  }
}

const withGeneration = (object: KubeObject, generation: number): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, generation },
});

function started(size = SIZE): Bench {
  const bench = new Bench(size);
  bench.change((snapshot) => snapshot);
  return bench;
}

suite('the work of one change', () => {
  test('nothing changed but our own statuses: nothing is written, read or made', () => {
    const { writes, nodes, items } = started().change((snapshot) => snapshot);
    assert.deepEqual({ writes, nodes, items }, { writes: [], nodes: 0, items: [] });
  });

  test('a route: its status, its node, its item', () => {
    const bench = started();
    bench.change((snapshot) => snapshot);
    const moved = withGeneration(tenantRoute(7, SIZE, 'moved.tenant-7.example.com'), 2);
    const { writes, nodes, items, read } = bench.change((snapshot) => withObject(snapshot, moved));
    assert.deepEqual(writes, ['HTTPRoute tenant-7/app-7']);
    assert.equal(nodes, 1);
    assert.deepEqual(items, ['HTTPRoute/tenant-7/app-7']);
    assert.ok(read <= 1, `${read} routes were looked at`);
  });

  test('a route that goes: the number of its Gateway, and no item', () => {
    const bench = started();
    bench.change((snapshot) => snapshot);
    const { writes, nodes, items } = bench.change((snapshot) => withoutObject(snapshot, 'HTTPRoute', 'tenant-7/app-7'));
    assert.deepEqual(writes, ['Gateway infra/tunnel']);
    assert.deepEqual({ nodes, items }, { nodes: 0, items: [] });
  });

  test('an endpoint: its backend, and no status', () => {
    const bench = started();
    bench.change((snapshot) => snapshot);
    const { writes, nodes, items, read } = bench.change((snapshot) => withObject(snapshot, tenantSlice(7, SIZE, ['10.3.0.1'])));
    assert.deepEqual(writes, []);
    assert.deepEqual(items, ['Service/tenant-7/app-7:80/http1']);
    assert.equal(nodes, 1);
    assert.equal(read, 0);
  });

  test('a label of a namespace that nobody selects by: nothing', () => {
    const bench = started();
    bench.change((snapshot) => snapshot);
    const { writes, items } = bench.change((snapshot) => withObject(snapshot, tenantNamespace(7, { colour: 'blue' })));
    assert.deepEqual({ writes, items }, { writes: [], items: [] });
  });

  test('the domain of a namespace: its routes, and the Gateways that lose them', () => {
    const bench = started();
    bench.change((snapshot) => snapshot);
    const { writes, items } = bench.change((snapshot) =>
      withObject(snapshot, tenantNamespace(39, { 'example.com/domain': 'elsewhere.example.com' })),
    );
    const routes = Array.from({ length: 10 }, (_, index) => `HTTPRoute tenant-39/app-${39 + index * 40}`).sort();
    assert.deepEqual([...writes].sort(), ['Gateway infra/tunnel', ...routes]);
    assert.deepEqual(items, []);
  });

  test('a listener: its Gateway, the routes that were on it, the entry', () => {
    const bench = started();
    bench.change((snapshot) => snapshot);
    const before = tenantGateway('tenant-2');
    const fewer = { ...before, spec: { ...before.spec, listeners: before.spec.listeners?.slice(1) } };
    const { writes, items } = bench.change((snapshot) => withObject(snapshot, withGeneration(fewer, 2)));
    const ours = Array.from({ length: 10 }, (_, index) => `tenant-2/app-${2 + index * 40}`);
    assert.deepEqual([...writes].sort(), ['Gateway tenant-2/own', ...ours.map((key) => `HTTPRoute ${key}`)].sort());
    assert.equal(items.filter((id) => id.startsWith('HTTPRoute/')).length, ours.length);
    assert.deepEqual(items.filter((id) => !id.startsWith('HTTPRoute/')).length, 1);
  });

  test('the class: every route is spoken of by its own status alone', () => {
    const bench = started();
    bench.change((snapshot) => snapshot);
    const { writes, nodes } = bench.change((snapshot) => withObject(snapshot, withGeneration(classConfig({ configPolicy: 'Merge' }), 2)));
    assert.deepEqual(writes, ['GatewayClassConfig main']);
    assert.ok(nodes <= SIZE.routes);
  });
});

test('the work of a first build grows with the cluster, not faster', () => {
  const cpu = (times: number): number => {
    const snapshot = snapshotOf(tenantCluster({ routes: 500 * times, gateways: 20 * times, namespaces: 50 * times }));
    const runs = Array.from({ length: 4 }, () => {
      const before = process.cpuUsage();
      createGraphBuilder()(snapshot, tenantRules);
      return process.cpuUsage(before).user;
    });
    return Math.min(...runs);
  };
  cpu(1);
  const [small, large] = [cpu(1), cpu(6)];
  // In proportion it would be 6 times as much, and 36 times if everything were compared with everything.
  assert.ok(large < 18 * small, `${large} µs for a cluster six times as large, ${small} µs for the small one`);
});
