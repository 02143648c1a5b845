// Graph and facts → everything that should be: the outputs side by side.
import type { EventPlan, Facts, ObjectPlan, PlanePlan, ProvisionPlan, StatusUpdate, TunnelPlan } from '../api/plan.ts';
import type { Snapshot } from '../api/snapshot.ts';
import type { Graph } from '../graph/types.ts';
import { renderEntryObjects } from './entry-service.ts';
import { renderEvents } from './events.ts';
import type { Ports } from './ports.ts';
import { renderProvisions } from './provision.ts';
import { renderPlanes } from './proxy-config.ts';
import { renderStatuses } from './status.ts';
import { renderTunnels } from './tunnel.ts';

export interface Plan {
  readonly planes: readonly PlanePlan[];
  readonly tunnels: readonly TunnelPlan[];
  readonly provisions: readonly ProvisionPlan[];
  readonly statuses: readonly StatusUpdate[];
  readonly events: readonly EventPlan[];
  readonly objects: readonly ObjectPlan[];
}

/** The loop renders in two steps, because statuses wait for what became of planes and tunnels; who only wants to see the plan renders at once. */
/** `proxies` are their addresses. */
export const renderPlan = (graph: Graph, facts: Facts, snapshot: Snapshot, ports: Ports, proxies: readonly string[] = []): Plan => ({
  planes: renderPlanes(graph, ports),
  tunnels: renderTunnels(graph, ports),
  provisions: renderProvisions(graph, new Set(snapshot.objects.Gateway.keys())),
  statuses: renderStatuses(graph, facts, snapshot),
  events: renderEvents(graph, facts),
  objects: renderEntryObjects(graph, ports, proxies),
});
