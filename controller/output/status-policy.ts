// Status of a BackendTLSPolicy: one entry for each of our Gateways that it concerns.
import { policyCloses } from '../api/cause-tls.ts';
import { ConditionType, isFalse, isTrue, joinMessages, Reason, type Finding } from '../api/condition.ts';
import { GATEWAY_GROUP } from '../api/gateway.ts';
import type { DesiredStatus, StatusUpdate } from '../api/plan.ts';
import type { BackendTLSPolicy } from '../api/policy.ts';
import { compareText, type Key } from '../api/ref.ts';
import { lastFor } from '../graph/memo.ts';
import type { AncestorNode, PolicyNode } from '../graph/types.ts';
import { conditionsOf, updateOf } from './status-update.ts';

const desired = (
  controllerName: string,
  ancestors: Extract<DesiredStatus, { form: 'ancestors' }>['ancestors'],
): Extract<DesiredStatus, { form: 'ancestors' }> => ({
  form: 'ancestors',
  controllerName,
  ownTypes: [ConditionType.Accepted, ConditionType.ResolvedRefs],
  ancestors,
});

export const renderPolicyStatus = lastFor((node: PolicyNode, controllerName: string): StatusUpdate => {
  const ancestors = node.ancestors.map((ancestor) => ({
    ancestorRef: { group: GATEWAY_GROUP, kind: 'Gateway', namespace: ancestor.namespace, name: ancestor.name },
    controllerName,
    conditions: conditionsOf(node.object, describe(node, ancestor)),
  }));
  return updateOf('BackendTLSPolicy', node.object, desired(controllerName, ancestors));
});

function describe(node: PolicyNode, { refused, partial }: AncestorNode): readonly Finding[] {
  const problem = refused ?? node.refused;
  return [
    problem === null
      ? isTrue(ConditionType.Accepted, Reason.Accepted, joinMessages([policyCloses(), ...(partial === null ? [] : [partial.message])]))
      : isFalse(ConditionType.Accepted, problem),
    node.references === null
      ? isTrue(ConditionType.ResolvedRefs, Reason.ResolvedRefs, 'all references are resolved')
      : isFalse(ConditionType.ResolvedRefs, node.references),
  ];
}

/** Policies that no longer concern a Gateway of ours lose the entries that we wrote. */
export const renderPolicyFarewells = (
  nodes: readonly PolicyNode[],
  stored: ReadonlyMap<Key, BackendTLSPolicy>,
  controllerName: string,
): readonly StatusUpdate[] => {
  const concerned = new Set(nodes.map(({ key }) => key));
  return [...stored]
    .filter(([key, { status }]) => !concerned.has(key) && status?.ancestors?.some((entry) => entry.controllerName === controllerName))
    .sort(([a], [b]) => compareText(a, b))
    .map(([, policy]) => updateOf('BackendTLSPolicy', policy, desired(controllerName, [])));
};
