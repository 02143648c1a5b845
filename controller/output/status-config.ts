// Status of a GatewayClassConfig: is it usable, and does the tunnel at Cloudflare have what it should?
import { ConditionType, isFalse, isTrue, isUnknown, Reason, type Finding } from '../api/condition.ts';
import type { Condition, KubeObject } from '../api/core.ts';
import type { GatewayClassConfig } from '../api/own.ts';
import type { Facts, StatusUpdate } from '../api/plan.ts';
import { formatRef } from '../api/ref.ts';
import type { ConfigNode, TunnelNode } from '../graph/types.ts';
import { conditionsOf, updateOf } from './status-update.ts';

interface WithConditions extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** `stored` is the object with the status that it has now. */
export function renderConfigStatus(
  node: ConfigNode,
  tunnels: readonly TunnelNode[],
  facts: Facts,
  stored: GatewayClassConfig | undefined,
): StatusUpdate {
  const { object, problem, secrets } = node;
  const tunnel = tunnelOf(object, tunnels);
  const findings = [
    problem === null
      ? isTrue(ConditionType.Valid, Reason.Valid, 'all fields can be used')
      : isFalse(ConditionType.Valid, { ...problem, reason: Reason.Invalid }),
    secrets === null
      ? isTrue(
          ConditionType.SecretsResolved,
          Reason.SecretsFound,
          node.entry === 'Local' ? 'entry Local needs no Cloudflare API token' : 'the Cloudflare API token was found',
        )
      : isFalse(ConditionType.SecretsResolved, secrets),
    ...(tunnel === undefined ? [] : [tunnelSynced(tunnel, facts, stored)]),
  ];
  const ownTypes = [ConditionType.Valid, ConditionType.SecretsResolved, ConditionType.TunnelSynced];
  return updateOf('GatewayClassConfig', object, { form: 'conditions', conditions: conditionsOf(object, findings), ownTypes });
}

/** The tunnel that a GatewayClassConfig or a GatewayConfig is about. */
export const tunnelOf = ({ kind, metadata }: KubeObject, tunnels: readonly TunnelNode[]): TunnelNode | undefined =>
  tunnels.find(({ configs }) =>
    configs.some((ref) => ref.kind === kind && ref.name === metadata.name && ref.namespace === (metadata.namespace ?? '')),
  );

export function tunnelSynced({ id, apiToken, configs }: TunnelNode, facts: Facts, stored: WithConditions | undefined): Finding {
  if (apiToken === null) {
    return isFalse(ConditionType.TunnelSynced, {
      reason: Reason.Invalid,
      message: `the ingress rules of tunnel ${id} are left as they are until ${configs.map(formatRef).join(', ')} is valid`,
    });
  }
  const fact = facts.tunnels.get(id);
  if (fact === undefined || fact.state === 'Pending') {
    // What was found before a restart holds until the tunnel has been looked at again, unless its owner has changed something since.
    const { generation } = stored?.metadata ?? {};
    const before = stored?.status?.conditions?.find(({ type }) => type === ConditionType.TunnelSynced);
    if (before !== undefined && before.observedGeneration === generation) return before;
    return isUnknown(
      ConditionType.TunnelSynced,
      Reason.Pending,
      fact?.message || `the ingress rules of tunnel ${id} have not been compared yet`,
    );
  }
  if (fact.state === 'Synced') return isTrue(ConditionType.TunnelSynced, fact.reason, fact.message);
  const foreign = fact.foreignRules.length === 0 ? '' : ` Rules that are not from this controller: ${fact.foreignRules.join(', ')}.`;
  return isFalse(ConditionType.TunnelSynced, { reason: fact.reason, message: `${fact.message}${foreign}` });
}
