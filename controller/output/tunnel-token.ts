// Connector tokens, for those who talk to Cloudflare about tunnels.
import { decodeToken, type TunnelToken } from '../graph/token.ts';

export { isSameConnector } from '../graph/token.ts';

/** Which tunnel a connector token is for; null when it is none. */
export function connectorOf(token: string): TunnelToken | null {
  const decoded = decodeToken(token);
  return 'problem' in decoded ? null : decoded;
}
