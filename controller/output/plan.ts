// Graph and facts → everything that should be: the four outputs side by side.
import type { EventPlan, Facts, PlanePlan, StatusUpdate, TunnelPlan } from '../api/plan.ts';
import type { Snapshot } from '../api/snapshot.ts';
import type { Graph } from '../graph/types.ts';
import { renderEvents } from './events.ts';
import type { Ports } from './ports.ts';
import { renderPlanes } from './proxy-config.ts';
import { renderStatuses } from './status.ts';
import { renderTunnels } from './tunnel.ts';

export interface Plan {
  readonly planes: readonly PlanePlan[];
  readonly tunnels: readonly TunnelPlan[];
  readonly statuses: readonly StatusUpdate[];
  readonly events: readonly EventPlan[];
}

/** The loop renders in two steps, because statuses wait for what became of planes and tunnels; who only wants to see the plan renders at once. */
export const renderPlan = (graph: Graph, facts: Facts, snapshot: Snapshot, ports: Ports): Plan => ({
  planes: renderPlanes(graph, ports),
  tunnels: renderTunnels(graph, ports),
  statuses: renderStatuses(graph, facts, snapshot),
  events: renderEvents(graph, facts),
});
