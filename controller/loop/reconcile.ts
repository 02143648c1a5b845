// The page: snapshot → graph → outputs → apply. Reading it explains the controller.
import type { PlanePusher } from '#controller/apply/proxy.ts';
import type { ObjectSink } from '#controller/apply/objects.ts';
import { proxyUrls, visitorAddresses } from '#controller/apply/proxy-endpoints.ts';
import type { EventSink } from '#controller/apply/events.ts';
import type { StatusSink } from '#controller/apply/status-sink.ts';
import type { TunnelApplier } from '#controller/apply/tunnel.ts';
import type { TunnelProvisioner } from '#controller/apply/tunnel-provisioner.ts';
import type { Facts, TunnelPlan } from '#controller/api/plan.ts';
import type { Settings } from '#controller/api/settings.ts';
import type { Snapshot } from '#controller/api/snapshot.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import { wantedObjects } from '#controller/graph/references.ts';
import type { Graph } from '#controller/graph/types.ts';
import { renderEntryObjects } from '#controller/output/entry-service.ts';
import { renderEvents } from '#controller/output/events.ts';
import { allocatePorts } from '#controller/output/ports.ts';
import type { Ports } from '#controller/output/ports.ts';
import { renderProvisions } from '#controller/output/provision.ts';
import { renderPlanes } from '#controller/output/proxy-config.ts';
import { renderStatuses } from '#controller/output/status.ts';
import { renderTunnels } from '#controller/output/tunnel.ts';
import type { Source } from '#controller/watch/source.ts';

/** Who may write, in which order, and what must be remembered of it. */
export interface Authority {
  /** Order of what is decided now; null while another replica leads. */
  order(): { readonly epoch: number; readonly sequence: number } | null;
  readonly ports: Ports;
  keepPorts(ports: Ports): void;
}

export interface ReconcilerParts {
  readonly source: Source;
  readonly settings: Settings;
  readonly authority: Authority;
  /** Loopback port of the first tunnel. */
  readonly entryPort: number;
  /** --proxy-endpoints. */
  readonly proxyEndpoints: readonly string[];
  readonly plane: PlanePusher;
  readonly tunnels: TunnelApplier;
  /** Null where no tunnels can be made. */
  readonly provisioner: TunnelProvisioner | null;
  readonly statuses: StatusSink;
  readonly events: EventSink | null;
  /** Null where no objects may be made. */
  readonly objects: ObjectSink | null;
  /** Told after each run, for metrics and readiness. */
  readonly onRun: (report: RunReport) => void;
}

export interface RunReport {
  readonly graph: Graph;
  readonly tunnels: readonly TunnelPlan[];
  readonly facts: Facts;
}

/** Statuses wait this long for proxies that are slow to take the configuration that they speak of. */
const ROUND_MS = 2000;

export class Reconciler {
  readonly #parts: ReconcilerParts;
  readonly #buildGraph = createGraphBuilder();
  /** What the last run wanted of the tunnels. */
  tunnels: readonly TunnelPlan[] = [];

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  /** One level-triggered pass over everything; unchanged parts cost a comparison. False when it is too early to act. */
  async run(): Promise<boolean> {
    const { source, settings, authority, plane, tunnels } = this.#parts;
    const snapshot = source.snapshot();
    if (!source.synced) return false;
    source.want(wantedObjects(snapshot, settings));
    if (!source.synced) return false;
    const order = authority.order();
    if (order === null) return false;

    const graph = this.#buildGraph(snapshot, settings);
    const ports = allocatePorts(graph, authority.ports, this.#parts.entryPort);
    authority.keepPorts(ports);

    const wanted = renderTunnels(graph, ports);
    this.tunnels = wanted;
    tunnels.apply(wanted);
    this.#parts.provisioner?.apply(renderProvisions(graph, new Set(snapshot.objects.Gateway.keys())));
    plane.follow(proxyUrls(this.#parts.proxyEndpoints, snapshot));
    for (const plan of renderPlanes(graph, ports)) plane.apply(plan, order);
    const objects = renderEntryObjects(graph, ports, visitorAddresses(this.#parts.proxyEndpoints, snapshot));
    await Promise.all([plane.round(ROUND_MS), this.#parts.objects?.apply(objects)]);
    await this.#report(graph, wanted, snapshot);
    return true;
  }

  async #report(graph: Graph, plans: readonly TunnelPlan[], snapshot: Snapshot): Promise<void> {
    const { statuses, events, objects, plane, tunnels, onRun } = this.#parts;
    const facts: Facts = {
      tunnels: tunnels.facts(),
      planes: new Map([['shared', plane.fact()]]),
      objects: objects?.facts() ?? new Map(),
      provisions: this.#parts.provisioner?.facts() ?? new Map(),
    };
    await statuses.apply(renderStatuses(graph, facts, snapshot));
    events?.record(renderEvents(graph, facts));
    onRun({ graph, tunnels: plans, facts });
  }
}
