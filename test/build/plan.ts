// From objects to a plan in one call, and plans as text that people can read and compare.
import type { Condition, KubeObject } from '#controller/api/core.ts';
import type { Facts, StatusUpdate } from '#controller/api/plan.ts';
import { formatRef } from '#controller/api/ref.ts';
import type { Settings } from '#controller/api/settings.ts';
import type { Snapshot } from '#controller/api/snapshot.ts';
import { buildGraph } from '#controller/graph/build.ts';
import type { Graph } from '#controller/graph/types.ts';
import { renderPlan, type Plan } from '#controller/output/plan.ts';
import { allocatePorts, type Ports } from '#controller/output/ports.ts';
import type { ConfigItem } from '#proxy/config/schema.ts';
import { settings as defaults } from './objects.ts';
import { snapshotOf } from './snapshot.ts';

/** Everything went well: documents are written, proxies have acknowledged. */
export const happyFacts = (graph: Pick<Graph, 'tunnels'>): Facts => ({
  tunnels: new Map(
    graph.tunnels.map(({ id }) => [
      id,
      { state: 'Synced', accountId: null, version: 1, reason: 'Synced', message: 'the tunnel has its rules', foreignRules: [] },
    ]),
  ),
  planes: new Map([['shared', { state: 'Acknowledged', message: '', proxies: 2 }]]),
  objects: new Map(),
  provisions: new Map(),
});

export const nothingKnown: Facts = { tunnels: new Map(), planes: new Map(), objects: new Map(), provisions: new Map() };

export interface Planned {
  readonly snapshot: Snapshot;
  readonly graph: Graph;
  readonly ports: Ports;
  readonly plan: Plan;
}

export function planOf(
  objects: readonly KubeObject[],
  settings: Settings = defaults(),
  facts: (graph: Graph) => Facts = happyFacts,
): Planned {
  const snapshot = snapshotOf(objects);
  const graph = buildGraph(snapshot, settings);
  const ports = allocatePorts(graph, new Map());
  return { snapshot, graph, ports, plan: renderPlan(graph, facts(graph), snapshot, ports) };
}

/** `Accepted: True/Accepted` with the message behind it. */
const line = ({ type, status, reason, message }: Condition): string => `${type}: ${status}/${reason} — ${message}`;

/** A status as plain data, conditions as lines. Names the generation only where a condition has another one than its object, which is always a mistake. */
function readable({ ref, generation, desired }: StatusUpdate): Readonly<Record<string, unknown>> {
  const lines = (conditions: readonly Condition[]): readonly string[] =>
    conditions.map((condition) => (condition.observedGeneration === generation ? line(condition) : `STALE ${line(condition)}`));
  const object = formatRef(ref);
  if (desired.form === 'parents') {
    const parents = desired.parents.map(({ parentRef, controllerName, conditions }) => ({
      parentRef,
      controllerName,
      conditions: lines(conditions),
    }));
    return { object, parents };
  }
  if (desired.form === 'ancestors') {
    const ancestors = desired.ancestors.map(({ ancestorRef, controllerName, conditions }) => ({
      ancestorRef,
      controllerName,
      conditions: lines(conditions),
    }));
    return { object, ancestors };
  }
  return {
    object,
    conditions: lines(desired.conditions),
    ...('supportedFeatures' in desired ? { supportedFeatures: desired.supportedFeatures?.map(({ name }) => name) } : {}),
    ...('addresses' in desired ? { addresses: desired.addresses } : {}),
    ...('attachedListenerSets' in desired ? { attachedListenerSets: desired.attachedListenerSets } : {}),
    ...('listeners' in desired
      ? {
          listeners: desired.listeners.map(({ name, supportedKinds, attachedRoutes, conditions }) => ({
            name,
            supportedKinds: supportedKinds?.map(({ kind }) => kind),
            attachedRoutes,
            conditions: lines(conditions),
          })),
        }
      : {}),
  };
}

/** Conditions of one object as `Type: Status/Reason`; of a route's first parent, a policy's first ancestor; `listener` names one of a Gateway or set. */
export function conditions(plan: Plan, object: string, listener?: string): Readonly<Record<string, string>> {
  return Object.fromEntries(find(plan, object, listener).map(({ type, status, reason }) => [type, `${status}/${reason}`]));
}

export function message(plan: Plan, object: string, type: string, listener?: string): string {
  return find(plan, object, listener).find((condition) => condition.type === type)?.message ?? '';
}

function find(plan: Plan, object: string, listener: string | undefined): readonly Condition[] {
  const desired = plan.statuses.find(({ ref }) => formatRef(ref) === object)?.desired;
  if (desired === undefined)
    throw new Error(`there is no status for ${object}, only for ${plan.statuses.map(({ ref }) => formatRef(ref)).join(', ')}`);
  if (desired.form === 'parents') return desired.parents[0]?.conditions ?? [];
  if (desired.form === 'ancestors') return desired.ancestors[0]?.conditions ?? [];
  if (listener === undefined) return desired.conditions;
  return 'listeners' in desired ? (desired.listeners.find(({ name }) => name === listener)?.conditions ?? []) : [];
}

/** Whose key and certificate are served is what matters, and that a tunnel comes with its token. */
function withoutSecrets(item: ConfigItem): unknown {
  if (item.kind === 'certificate') return { kind: item.kind, id: item.id };
  return item.kind === 'tunnel' && item.token !== undefined ? { ...item, token: '(a token)' } : item;
}

/** The plan as plain data for goldens. API tokens are left out: that they are there is tested elsewhere. */
export const readablePlan = ({ statuses, tunnels, provisions, planes, events, objects }: Plan): unknown => ({
  statuses: statuses.map(readable),
  tunnels: tunnels.map(({ tunnelId, accountId, policy, configs, folded, rules, last }) => ({
    tunnelId,
    accountId,
    policy,
    configs: configs.map((ref) => (ref.kind === 'GatewayClassConfig' ? ref.name : formatRef(ref))),
    folded,
    rules: rules.map(({ hostname, service }) => `${hostname} → ${service}`),
    last: last.service,
  })),
  ...(provisions.length > 0 && {
    provisions: provisions.map(({ id, accountId, prefix, tunnels }) => ({
      id,
      accountId,
      prefix,
      tunnels: tunnels.map(({ gateway, name, secret, connectorToken }) => ({ gateway, name, secret, hasToken: connectorToken !== null })),
    })),
  }),
  planes: planes.map(({ id, items }) => ({ id, items: items.map(withoutSecrets) })),
  ...(objects.length > 0 && { objects: objects.map(({ manifest }) => manifest) }),
  events: events.map(({ ref, type, reason, action, message }) => ({
    object: formatRef(ref),
    event: `${type}/${reason}/${action}`,
    message,
  })),
});
