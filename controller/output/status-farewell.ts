// What we told objects that no longer concern us is taken back.
import { ConditionType, isUnknown, Reason } from '../api/condition.ts';
import type { Condition, KubeObject } from '../api/core.ts';
import type { Gateway, ListenerSet, Route } from '../api/gateway.ts';
import type { DesiredStatus, StatusUpdate } from '../api/plan.ts';
import { compareText, keyOf } from '../api/ref.ts';
import type { KindName, Snapshot } from '../api/snapshot.ts';
import { parentGateway } from '../graph/gateway.ts';
import type { Graph } from '../graph/types.ts';
import { GATEWAY_PROGRAMMED, SET_PROGRAMMED } from './sentences.ts';
import { conditionsOf, updateOf } from './status-update.ts';

export const renderFarewells = (graph: Graph, snapshot: Snapshot): readonly StatusUpdate[] => [
  ...orphans(snapshot),
  ...abandonedRoutes(graph, snapshot),
];

/** Routes that once referred to us and no longer do lose the entries that we wrote. */
function abandonedRoutes({ routes, controllerName }: Graph, { objects }: Snapshot): readonly StatusUpdate[] {
  const ours = new Set(routes.map(({ id }) => id));
  const desired: DesiredStatus = { form: 'parents', controllerName, parents: [] };
  const farewell = (kind: KindName & Route['kind'], route: Route): readonly StatusUpdate[] => {
    if (!route.status?.parents?.some((parent) => parent.controllerName === controllerName)) return [];
    return ours.has(`${kind}/${keyOf(route.metadata.namespace, route.metadata.name)}`) ? [] : [updateOf(kind, route, desired)];
  };
  return [
    ...[...objects.HTTPRoute.values()].flatMap((route) => farewell('HTTPRoute', route)),
    ...[...objects.GRPCRoute.values()].flatMap((route) => farewell('GRPCRoute', route)),
  ].sort(inOrder);
}

const inOrder = (a: StatusUpdate, b: StatusUpdate): number => compareText(a.key, b.key) || compareText(a.ref.kind, b.ref.kind);

/**
 * Gateways without a class and ListenerSets without a Gateway: no controller speaks of them, and what ours has said would stand for ever,
 * an address that is published in DNS included. Nothing but our own sentence tells who has said it. Where there is a class, its
 * controller speaks.
 */
function orphans({ objects, served }: Snapshot): readonly StatusUpdate[] {
  if (!served.has('GatewayClass') || !served.has('Gateway')) return [];
  const isOrphaned = (gateway: Gateway | undefined): boolean =>
    gateway === undefined || !objects.GatewayClass.has(gateway.spec.gatewayClassName);
  return [
    ...[...objects.Gateway.values()]
      .filter((gateway) => said(gateway, GATEWAY_PROGRAMMED) && isOrphaned(gateway))
      .map((gateway) => updateOf('Gateway', gateway, unspokenGateway(gateway))),
    ...[...objects.ListenerSet.values()]
      .filter((set) => said(set, SET_PROGRAMMED) && isOrphaned(objects.Gateway.get(parentGateway(set) ?? '')))
      .map((set) => updateOf('ListenerSet', set, unspokenSet(set))),
  ].sort(inOrder);
}

const said = ({ status }: Gateway | ListenerSet, sentence: string): boolean =>
  status?.conditions?.some(
    ({ type, status: value, message }) => type === ConditionType.Programmed && value === 'True' && message === sentence,
  ) ?? false;

/** As the API server fills in the status of a new Gateway or ListenerSet. */
const unspoken = (object: KubeObject): readonly Condition[] =>
  conditionsOf(
    object,
    [ConditionType.Accepted, ConditionType.Programmed].map((type) => isUnknown(type, Reason.Pending, 'Waiting for controller')),
  );

const OWN_TYPES = [
  ConditionType.Accepted,
  ConditionType.Programmed,
  ConditionType.ResolvedRefs,
  ConditionType.InsecureFrontendValidationMode,
] as const;

const unspokenGateway = (gateway: Gateway): DesiredStatus => ({
  form: 'gateway',
  conditions: unspoken(gateway),
  ownTypes: OWN_TYPES,
  addresses: [],
  listeners: [],
  ...(gateway.status?.attachedListenerSets === undefined ? {} : { attachedListenerSets: 0 }),
});

const unspokenSet = (set: ListenerSet): DesiredStatus => ({
  form: 'listeners',
  conditions: unspoken(set),
  ownTypes: [ConditionType.Accepted, ConditionType.Programmed],
  listeners: [],
});
