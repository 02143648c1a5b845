// CPU and memory of a reconcile in a cluster of many tenants: 5,000 routes, 200 Gateways, 500 namespaces, ownership enforced.
//   node test/bench/tenants.ts
import type { KubeObject } from '#controller/api/core.ts';
import type { Snapshot } from '#controller/api/snapshot.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import { renderPlan } from '#controller/output/plan.ts';
import { allocatePorts, type Ports } from '#controller/output/ports.ts';
import { happyFacts } from '#test/build/plan.ts';
import { snapshotOf, withObject } from '#test/build/snapshot.ts';
import { tenantCluster, tenantGateway, tenantNamespace, tenantRoute, tenantRules, tenantSlice, type Size } from '#test/build/tenants.ts';

const ROUNDS = 25;

function measure(size: Size): Readonly<Record<string, number>> {
  const build = createGraphBuilder();
  let ports: Ports = new Map();
  let snapshot = snapshotOf(tenantCluster(size));
  const cpu = (next: Snapshot): number => {
    const before = process.cpuUsage();
    const graph = build(next, tenantRules);
    ports = allocatePorts(graph, ports);
    renderPlan(graph, happyFacts(graph), next, ports);
    const { user, system } = process.cpuUsage(before);
    snapshot = next;
    return (user + system) / 1000;
  };
  /** Median of rounds, each with another object changed. */
  const median = (change: (round: number) => KubeObject): number => {
    const times = Array.from({ length: ROUNDS }, (_, round) => cpu(withObject(snapshot, change(round)))).sort((a, b) => a - b);
    return times[Math.floor(ROUNDS / 2)] ?? 0;
  };
  return {
    cold: cpu(snapshot),
    resident: process.memoryUsage.rss() / 1e6,
    route: median((round) => tenantRoute(round, size, `moved-${round}.tenant-${round}.example.com`)),
    endpoint: median((round) => tenantSlice(round, size, [`10.3.0.${round}`])),
    namespace: median((round) => tenantNamespace(round, { round: String(round) })),
    gateway: median((round) => {
      const changed = tenantGateway(`tenant-${round}`);
      return { ...changed, spec: { ...changed.spec, listeners: changed.spec.listeners?.slice(0, 2) } };
    }),
  };
}

measure({ routes: 200, gateways: 20, namespaces: 20 }); // warms the compiler up
const size: Size = { routes: 5000, gateways: 200, namespaces: 500 };
const cells = Object.entries(measure(size)).map(([name, value]) => `${name} ${value.toFixed(1)} ${name === 'resident' ? 'MB' : 'ms'}`);
console.log(`${size.routes} routes, ${size.gateways} Gateways, ${size.namespaces} namespaces: ${cells.join(', ')}`);
