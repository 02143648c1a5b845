// Status of a GatewayClass: is it served, do the installed CRDs fit, and what can it do?
import { ConditionType, isFalse, isTrue, Reason } from '../api/condition.ts';
import type { StatusUpdate } from '../api/plan.ts';
import type { ClassNode } from '../graph/types.ts';
import { featuresOf } from './features.ts';
import { conditionsOf, updateOf } from './status-update.ts';

export function renderClassStatus(
  { object, config, problem, installation: { api, finding } }: ClassNode,
  tunnelProtocol: 'http2' | 'quic',
): StatusUpdate {
  const accepted =
    problem === null
      ? isTrue(ConditionType.Accepted, Reason.Accepted, 'the class is served by this controller')
      : isFalse(ConditionType.Accepted, problem);
  // Features have meaning in relation to a bundle: without a known one nothing is claimed. They do not depend on whether the class is
  // accepted right now, so that a Secret that comes late does not take them away from those who look in the meantime.
  const features =
    api === null ? null : featuresOf({ api, entry: config?.entry ?? 'Tunnel', makesServices: config?.local != null, tunnelProtocol });
  return updateOf('GatewayClass', object, {
    form: 'class',
    conditions: conditionsOf(object, finding === null ? [accepted] : [accepted, finding]),
    ownTypes: [ConditionType.Accepted, ConditionType.SupportedVersion],
    supportedFeatures: features?.map((name) => ({ name })) ?? null,
  });
}
