// Status of a GatewayConfig: is it usable, and does its tunnel at Cloudflare have what it should?
import { ConditionType, isFalse, isTrue, Reason } from '../api/condition.ts';
import type { GatewayConfig } from '../api/own.ts';
import type { Facts, StatusUpdate } from '../api/plan.ts';
import type { GatewayConfigNode, TunnelNode } from '../graph/types.ts';
import { tunnelOf, tunnelSynced } from './status-config.ts';
import { conditionsOf, updateOf } from './status-update.ts';

/** `stored` is the object with the status that it has now. */
export function renderGatewayConfigStatus(
  { object, problem, secrets }: GatewayConfigNode,
  tunnels: readonly TunnelNode[],
  facts: Facts,
  stored: GatewayConfig | undefined,
): StatusUpdate {
  const tunnel = tunnelOf(object, tunnels);
  const findings = [
    problem === null
      ? isTrue(ConditionType.Valid, Reason.Valid, 'all fields can be used')
      : isFalse(ConditionType.Valid, { ...problem, reason: Reason.Invalid }),
    secrets === null
      ? isTrue(ConditionType.SecretsResolved, Reason.SecretsFound, 'the Secrets that it names were found')
      : isFalse(ConditionType.SecretsResolved, { ...secrets, reason: Reason.SecretsMissing }),
    ...(tunnel === undefined ? [] : [tunnelSynced(tunnel, facts, stored)]),
  ];
  const ownTypes = [ConditionType.Valid, ConditionType.SecretsResolved, ConditionType.TunnelSynced];
  return updateOf('GatewayConfig', object, { form: 'conditions', conditions: conditionsOf(object, findings), ownTypes });
}
