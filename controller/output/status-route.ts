// Status of a route: one entry for each of its parents that is ours.
import { pushFailed } from '../api/cause-route.ts';
import { ConditionType, isFalse, isTrue, Reason, type Finding } from '../api/condition.ts';
import type { RouteParentStatus } from '../api/gateway.ts';
import type { Facts, StatusUpdate } from '../api/plan.ts';
import { lastFor } from '../graph/memo.ts';
import type { ParentNode, RouteNode } from '../graph/types.ts';
import { SHARED_PLANE } from './proxy-config.ts';
import { conditionsOf, updateOf } from './status-update.ts';

export function renderRouteStatus(node: RouteNode, controllerName: string, facts: Facts): StatusUpdate {
  const plane = facts.planes.get(SHARED_PLANE);
  const failure = plane?.state === 'Rejected' || plane?.state === 'Unreachable' ? plane.message : null;
  return render(node, controllerName, failure);
}

const render = lastFor((node: RouteNode, controllerName: string, failure: string | null): StatusUpdate => {
  const parents = node.parents.map((parent): RouteParentStatus => {
    return { parentRef: parent.ref, controllerName, conditions: conditionsOf(node.object, describe(node, parent, failure)) };
  });
  return updateOf(node.object.kind, node.object, { form: 'parents', controllerName, parents });
});

function describe(node: RouteNode, parent: ParentNode, failure: string | null): readonly Finding[] {
  const refused = parent.refused ?? node.unservable;
  const references =
    node.references === null
      ? isTrue(ConditionType.ResolvedRefs, Reason.ResolvedRefs, 'all references are resolved')
      : isFalse(ConditionType.ResolvedRefs, node.references);
  // Told also of routes that are not accepted: their owners see everything that is wrong at once.
  if (refused !== null) return [isFalse(ConditionType.Accepted, refused), references];
  const { partial } = node;
  const { shadowed } = parent;
  const { tunnelShared } = parent.gateway;
  return [
    isTrue(
      ConditionType.Accepted,
      Reason.Accepted,
      `accepted by ${parent.listeners.length === 1 ? 'one listener' : `${parent.listeners.length} listeners`}`,
    ),
    references,
    ...(partial === null ? [] : [isTrue(ConditionType.PartiallyInvalid, partial.reason, partial.message)]),
    ...(shadowed === null ? [] : [isTrue(ConditionType.RouteShadowed, shadowed.reason, shadowed.message)]),
    ...(tunnelShared === null ? [] : [isTrue(ConditionType.TunnelShared, tunnelShared.reason, tunnelShared.message)]),
    ...(failure === null ? [] : [isFalse(ConditionType.ProxyConfigPushed, pushFailed(failure))]),
  ];
}
