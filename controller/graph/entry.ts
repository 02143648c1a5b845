// By which entries a listener is reached: the tunnel of its Gateway, which others may share, and the Gateway's own ports on the proxies.
import type { Key } from '../api/ref.ts';
import type { GatewayNode, ListenerNode } from './types.ts';

/** Ids of entries in the pushed configuration; those of the proxies' own also name the target port that they keep. */
export const tunnelEntryId = (tunnelId: string): string => `tunnel/${tunnelId}`;
export const localEntryId = (gateway: Key, listenerPort: number): string => `local/${gateway}/${listenerPort}`;

export interface ListenerEntry {
  readonly id: string;
  /** Null for the Gateway's own entry. */
  readonly tunnelId: string | null;
  /** Within it a hostname has one owner: Gateways of one tunnel cannot be told apart, on its own entry every Gateway stands alone. */
  readonly scope: string;
}

/** Without a certificate there is no handshake: at the edge of a tunnel Cloudflare brings one, at the proxies nobody does. */
export const isServedLocally = ({ unusable, spec, certificates }: ListenerNode): boolean =>
  unusable === null && (spec.protocol === 'HTTP' || certificates.length > 0);

/** The edge asks nobody for a certificate, so that those who must show one cannot come through it. */
export const isServedByTunnel = ({ unusable, clientValidation }: ListenerNode): boolean =>
  unusable === null && clientValidation?.mode !== 'AllowValidOnly';

export function entriesOf({ key, tunnelId, local }: GatewayNode, listener: ListenerNode): readonly ListenerEntry[] {
  const entries: ListenerEntry[] = [];
  if (tunnelId !== null && isServedByTunnel(listener)) entries.push({ id: tunnelEntryId(tunnelId), tunnelId, scope: tunnelId });
  if (local !== null && isServedLocally(listener))
    entries.push({ id: localEntryId(key, listener.spec.port), tunnelId: null, scope: `local/${key}` });
  return entries;
}
