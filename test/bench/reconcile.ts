// CPU of a reconcile (graph and everything rendered from it) by number of routes, three endpoints each. Numbers and ratios, no verdicts:
//   node test/bench/reconcile.ts [routes …]
import type { KubeObject } from '#controller/api/core.ts';
import type { Snapshot } from '#controller/api/snapshot.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import { renderPlan, type Plan } from '#controller/output/plan.ts';
import { allocatePorts, type Ports } from '#controller/output/ports.ts';
import { endpointSlice, gateway, httpRoute, platform, service, settings } from '#test/build/objects.ts';
import { happyFacts } from '#test/build/plan.ts';
import { snapshotOf, withObject } from '#test/build/snapshot.ts';

const ROUTES_PER_NAMESPACE = 20;
const ROUNDS = 15;

const placeOf = (index: number) => ({ name: `app-${index}`, namespace: `tenant-${Math.floor(index / ROUTES_PER_NAMESPACE)}` });

function slice(index: number, addresses: readonly string[]): KubeObject {
  return endpointSlice(addresses, { service: `app-${index}`, namespace: placeOf(index).namespace });
}

function world(routes: number): readonly KubeObject[] {
  const objects: KubeObject[] = [...platform(), gateway()];
  for (let index = 0; index < routes; index++) {
    const place = placeOf(index);
    const address = `10.${(index >> 14) & 255}.${(index >> 7) & 127}.`;
    objects.push(
      httpRoute({
        ...place,
        hostnames: [`app-${index}.example.com`],
        rules: [
          { matches: [{ path: { type: 'PathPrefix', value: '/api' }, method: 'GET' }], backendRefs: [{ name: place.name, port: 80 }] },
          { matches: [{ path: { type: 'PathPrefix', value: '/' } }], backendRefs: [{ name: place.name, port: 80 }] },
        ],
      }),
      service(place),
      slice(
        index,
        [1, 2, 3].map((last) => `${address}${((index & 63) << 2) | last}`),
      ),
    );
  }
  return objects;
}

interface Measured {
  readonly cold: number;
  readonly endpoint: number;
  readonly route: number;
  readonly gateway: number;
}

function measure(routes: number): Measured {
  const build = createGraphBuilder();
  const configuration = settings({
    ownership: { enforce: false, labelKey: 'domain', namespaceSelector: '', unlabelled: 'Deny', emptyHostnames: 'Reject' },
  });
  let ports: Ports = new Map();
  const reconcile = (snapshot: Snapshot): Plan => {
    const graph = build(snapshot, configuration);
    ports = allocatePorts(graph, ports);
    return renderPlan(graph, happyFacts(graph), snapshot, ports);
  };
  let snapshot = snapshotOf(world(routes));
  const cpu = (next: Snapshot): number => {
    const before = process.cpuUsage();
    reconcile(next);
    const { user, system } = process.cpuUsage(before);
    snapshot = next;
    return (user + system) / 1000;
  };
  /** Median of rounds, each with another object changed. */
  const median = (change: (round: number) => KubeObject): number => {
    const times = Array.from({ length: ROUNDS }, (_, round) => cpu(withObject(snapshot, change(round)))).sort((a, b) => a - b);
    return times[Math.floor(ROUNDS / 2)] ?? 0;
  };
  const cold = cpu(snapshot);
  return {
    cold,
    endpoint: median((round) => slice(round, ['10.200.0.1', '10.200.0.2', `10.200.1.${round}`])),
    route: median((round) => httpRoute({ ...placeOf(round), hostnames: [`moved-${round}.example.com`] })),
    gateway: median((round) => gateway({ spec: { infrastructure: { labels: { round: String(round) } } } })),
  };
}

const sizes = process.argv.slice(2).map(Number);
const counts = sizes.length > 0 ? sizes : [1000, 10_000];
measure(200); // warms the compiler up, so that the first size is not the only cold one
let smallest: { readonly routes: number; readonly measured: Measured } | null = null;
for (const routes of counts) {
  const measured = measure(routes);
  smallest ??= { routes, measured };
  const base = smallest;
  const cells = (['cold', 'endpoint', 'route', 'gateway'] as const).map(
    (name) => `${name} ${measured[name].toFixed(1)} ms (×${(measured[name] / base.measured[name]).toFixed(1)})`,
  );
  console.log(`${routes} routes (×${routes / base.routes}): ${cells.join(', ')}`);
}
