// When a Gateway counts as programmed: its addresses are published, its rules are at Cloudflare, and the proxies have acknowledged them.
import { ConditionType, isFalse, isTrue, Reason, TunnelReason, type Finding } from '../api/condition.ts';
import type { Gateway } from '../api/gateway.ts';
import type { Facts } from '../api/plan.ts';
import type { GatewayNode } from '../graph/types.ts';
import { endpointsProblem, hasService, serviceKey, type Address } from './entry-service.ts';
import { listenersOf } from './listeners.ts';
import { SHARED_PLANE } from './proxy-config.ts';
import { GATEWAY_PROGRAMMED } from './sentences.ts';

const no = (reason: Reason, message: string): Finding => isFalse(ConditionType.Programmed, { reason, message });

const yes = (): Finding => isTrue(ConditionType.Programmed, Reason.Programmed, GATEWAY_PROGRAMMED);

/**
 * Once true it stays so through restarts, rollouts, slow proxies and outages of Cloudflare's API: none of them stops traffic. Losing the
 * address or the last listener, a configuration that a proxy refuses, and proxies that nobody reaches do.
 */
export function gatewayProgrammed(
  node: GatewayNode,
  facts: Facts,
  { stored, addresses }: { readonly stored: Gateway | undefined; readonly addresses: readonly Address[] },
): Finding {
  const impossible = unprogrammable(node, facts) ?? unaddressed(node, facts, addresses);
  if (impossible !== null) return impossible;
  const plane = facts.planes.get(SHARED_PLANE);
  if (plane?.state === 'Rejected') return no(Reason.Invalid, `a proxy refuses the configuration: ${plane.message}`);
  if (plane?.state === 'Unreachable') return no(Reason.Pending, `no proxy answers: ${plane.message}`);
  const tunnel = facts.tunnels.get(node.tunnelId ?? '');
  if (tunnel?.state === 'Failed' && tunnel.reason === TunnelReason.ConnectorTokenInvalid) return no(Reason.Invalid, tunnel.message);
  if (stored?.status?.conditions?.some(({ type, status }) => type === ConditionType.Programmed && status === 'True')) return yes();

  if (node.tunnelId !== null && tunnel?.state !== 'Synced')
    return no(Reason.Pending, `tunnel ${node.tunnelId}: ${tunnel?.message || 'its rules have not been compared yet'}`);
  if (plane?.state !== 'Acknowledged' || plane.proxies === 0) {
    return no(Reason.Pending, plane?.message || 'no proxy has acknowledged the configuration yet');
  }
  const unreached = endpointsProblem(node, facts.objects);
  return unreached === null ? yes() : no(Reason.Pending, unreached);
}

/** What the Gateway itself lacks. */
function unprogrammable(node: GatewayNode, { provisions }: Facts): Finding | null {
  if (node.problem !== null) return no(Reason.Invalid, `the Gateway is not accepted: ${node.problem.message}`);
  if (node.addressProblem !== null) return no(Reason.AddressNotUsable, node.addressProblem.message);
  const unassigned = node.unassigned?.reason === Reason.Pending ? (provisions.get(node.key) ?? node.unassigned) : node.unassigned;
  if (unassigned !== null) return no(unassigned.reason, unassigned.message);
  if (node.tunnelId === null && node.local === null)
    return no(Reason.AddressNotAssigned, 'the Gateway has no tunnel whose name could be its address');
  const listeners = listenersOf(node);
  if (listeners.some(({ unusable }) => unusable === null)) return null;
  const [first] = listeners;
  return no(
    Reason.Invalid,
    first === undefined
      ? 'spec.listeners is empty: add a listener'
      : `no listener can be used; ${first.spec.name}: ${first.unusable?.message}`,
  );
}

/** What its addresses lack. */
function unaddressed(node: GatewayNode, { objects }: Facts, addresses: readonly Address[]): Finding | null {
  const { local } = node;
  if (local?.published === true && hasService(node) && addresses.length === node.addresses.length) {
    const service = `Service ${serviceKey(node)}`;
    const fact = objects.get(service);
    const problem = fact === undefined || fact.state === 'Applied' ? 'it has no address yet' : fact.message;
    const isRefused = local.requestedIp !== null && fact?.state === 'Refused';
    return no(isRefused ? Reason.AddressNotUsable : Reason.AddressNotAssigned, `${service}: ${problem}`);
  }
  return addresses.length > 0 ? null : no(Reason.AddressNotAssigned, 'no entry of the Gateway has an address');
}
