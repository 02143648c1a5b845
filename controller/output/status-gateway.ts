// Status of a Gateway, its listeners and its ListenerSets.
import { permissiveHostname } from '../api/cause-listener.ts';
import { insecureValidation } from '../api/cause-tls.ts';
import { ConditionType, isFalse, isTrue, joinMessages, Reason, type Finding } from '../api/condition.ts';
import type { Gateway, ListenerStatus } from '../api/gateway.ts';
import type { Facts, StatusUpdate } from '../api/plan.ts';
import { isInsecure } from '../graph/frontend-tls.ts';
import type { GatewayNode, ListenerNode, ListenerSetNode, RouteNode } from '../graph/types.ts';
import { gatewayProgrammed } from './programmed.ts';
import type { Address } from './entry-service.ts';
import { listenersOf } from './listeners.ts';
import { SET_PROGRAMMED } from './sentences.ts';
import { conditionsOf, updateOf } from './status-update.ts';

/** Listener id → routes that it has accepted. */
export type RouteCounts = ReadonlyMap<string, number>;

/** A route counts once for each listener, however many of its parentRefs select it, and only where it is accepted. */
export function countRoutes(routes: readonly RouteNode[]): RouteCounts {
  const counts = new Map<string, number>();
  for (const { parents, unservable } of routes) {
    if (unservable !== null) continue;
    const seen = parents.length > 1 || (parents[0]?.listeners.length ?? 0) > 1 ? new Set<string>() : null;
    for (const { listeners } of parents) {
      for (const { id } of listeners) {
        if (seen?.has(id)) continue;
        seen?.add(id);
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }
    }
  }
  return counts;
}

export interface GatewaySurroundings {
  readonly stored: Gateway | undefined;
  readonly addresses: readonly Address[];
  /** CRDs without ListenerSets would drop their number, and it would be missing for ever. */
  readonly countsSets: boolean;
}

/** The Gateway's own status first, then those of its sets. */
export function renderGatewayStatuses(
  node: GatewayNode,
  counts: RouteCounts,
  facts: Facts,
  { stored, addresses, countsSets }: GatewaySurroundings,
): readonly StatusUpdate[] {
  const programmed = gatewayProgrammed(node, facts, { stored, addresses });
  const findings = [
    gatewayAccepted(node),
    programmed,
    node.references === null
      ? isTrue(ConditionType.ResolvedRefs, Reason.ResolvedRefs, 'references of the Gateway itself are resolved')
      : isFalse(ConditionType.ResolvedRefs, node.references),
    ...(isInsecure(node.object)
      ? [isTrue(ConditionType.InsecureFrontendValidationMode, Reason.ConfigurationChanged, insecureValidation())]
      : []),
  ];
  const sets = node.sets.map((set) => renderSet(set, node, programmed, counts));
  const own = updateOf('Gateway', node.object, {
    form: 'gateway',
    conditions: conditionsOf(node.object, findings),
    ownTypes: [ConditionType.Accepted, ConditionType.Programmed, ConditionType.ResolvedRefs, ConditionType.InsecureFrontendValidationMode],
    addresses,
    listeners: node.listeners.map((listener) => renderListener(listener, node.object, programmed, counts)),
    ...(countsSets ? { attachedListenerSets: sets.filter(({ attached }) => attached).length } : {}),
  });
  return [own, ...sets.map(({ update }) => update)];
}

const isAccepted = ({ conflict, refused }: ListenerNode): boolean => conflict === null && refused === null;

const listProblems = (listeners: readonly ListenerNode[]): string =>
  joinMessages(
    listeners.map(({ spec, conflict, refused, unusable }) => `listener ${spec.name}: ${(conflict ?? refused ?? unusable)?.message}`),
  );

/** With one listener that can be used the Gateway is accepted, and the reason says that others cannot. */
function gatewayAccepted(node: GatewayNode): Finding {
  if (node.problem !== null) return isFalse(ConditionType.Accepted, node.problem);
  const bad = node.listeners.filter((listener) => !isAccepted(listener));
  if (bad.length === 0) return isTrue(ConditionType.Accepted, Reason.Accepted, 'the Gateway is served by this controller');
  const message = listProblems(bad);
  return listenersOf(node).some(isAccepted)
    ? isTrue(ConditionType.Accepted, Reason.ListenersNotValid, message)
    : isFalse(ConditionType.Accepted, { reason: Reason.ListenersNotValid, message });
}

function renderListener(
  listener: ListenerNode,
  object: Parameters<typeof conditionsOf>[0],
  programmed: Finding,
  counts: RouteCounts,
): ListenerStatus {
  const { conflict, references, permissive } = listener;
  const refused = conflict ?? listener.refused;
  const findings = [
    refused === null ? isTrue(ConditionType.Accepted, Reason.Accepted, 'the listener is valid') : isFalse(ConditionType.Accepted, refused),
    listenerProgrammed(listener, programmed),
    references === null
      ? isTrue(ConditionType.ResolvedRefs, Reason.ResolvedRefs, 'all references are resolved')
      : isFalse(ConditionType.ResolvedRefs, references),
    conflict === null
      ? isFalse(ConditionType.Conflicted, { reason: Reason.NoConflicts, message: 'no other listener is in the way' })
      : isTrue(ConditionType.Conflicted, conflict.reason, conflict.message),
    ...(permissive ? [isTrue(ConditionType.PermissiveHostname, Reason.UnpinnedHostnameAllowsAllNamespaces, permissiveHostname())] : []),
  ];
  return {
    name: listener.spec.name,
    supportedKinds: listener.supportedKinds.map(({ group, kind }) => ({ group, kind })),
    attachedRoutes: counts.get(listener.id) ?? 0,
    conditions: conditionsOf(object, findings),
  };
}

/** Reasons that a listener shows on Programmed as well; for all others it says Invalid. */
const SHARED_REASONS: readonly string[] = [Reason.HostnameConflict, Reason.ProtocolConflict, Reason.NotAllowed];

function listenerProgrammed({ unusable }: ListenerNode, gateway: Finding): Finding {
  if (unusable !== null) {
    return isFalse(ConditionType.Programmed, {
      reason: SHARED_REASONS.includes(unusable.reason) ? unusable.reason : Reason.Invalid,
      message: unusable.message,
    });
  }
  if (gateway.status === 'True') return isTrue(ConditionType.Programmed, Reason.Programmed, 'the proxies serve the listener');
  const reason = gateway.reason === Reason.Invalid ? Reason.Invalid : Reason.Pending;
  return isFalse(ConditionType.Programmed, { reason, message: `the Gateway is not programmed: ${gateway.message}` });
}

interface RenderedSet {
  readonly update: StatusUpdate;
  readonly attached: boolean;
}

function renderSet(set: ListenerSetNode, gateway: GatewayNode, programmed: Finding, counts: RouteCounts): RenderedSet {
  const accepted = setAccepted(set, gateway);
  const conditions = conditionsOf(set.object, [accepted, setProgrammed(accepted, programmed)]);
  const update = updateOf('ListenerSet', set.object, {
    form: 'listeners',
    conditions,
    ownTypes: [ConditionType.Accepted, ConditionType.Programmed],
    listeners: set.listeners.map((listener) => renderListener(listener, set.object, programmed, counts)),
  });
  return { update, attached: accepted.status === 'True' };
}

function setAccepted({ refused, listeners }: ListenerSetNode, gateway: GatewayNode): Finding {
  if (refused !== null) return isFalse(ConditionType.Accepted, refused);
  if (gateway.problem !== null) {
    return isFalse(ConditionType.Accepted, {
      reason: Reason.ParentNotAccepted,
      message: `Gateway ${gateway.key} is not accepted: ${gateway.problem.message}`,
    });
  }
  const bad = listeners.filter(({ unusable }) => unusable !== null);
  if (bad.length === 0 && listeners.length > 0) {
    return isTrue(ConditionType.Accepted, Reason.Accepted, `the set is part of Gateway ${gateway.key}`);
  }
  const message = listeners.length === 0 ? 'spec.listeners is empty: add a listener' : listProblems(bad);
  return bad.length < listeners.length
    ? isTrue(ConditionType.Accepted, Reason.ListenersNotValid, message)
    : isFalse(ConditionType.Accepted, { reason: Reason.ListenersNotValid, message });
}

function setProgrammed(accepted: Finding, gateway: Finding): Finding {
  if (accepted.status !== 'True') return isFalse(ConditionType.Programmed, accepted);
  if (gateway.status === 'True') return isTrue(ConditionType.Programmed, Reason.Programmed, SET_PROGRAMMED);
  return isFalse(ConditionType.Programmed, {
    reason: Reason.ParentNotProgrammed,
    message: `the Gateway is not programmed: ${gateway.message}`,
  });
}
