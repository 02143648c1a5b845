// ACME challenges (RFC 8555 section 8.3) are asked for over HTTP, so that their solvers are routes of an HTTP listener. An edge that sends
// everybody to HTTPS sends the asker there too: then the answer must be found behind the HTTPS listener of that host.
import type { Route } from '../api/gateway.ts';
import { isServedByTunnel } from './entry.ts';
import { compareSpecificity, covers } from './hostname.ts';
import type { Attachment, GatewayNode, ListenerNode, ParentNode } from './types.ts';

const CHALLENGE = '/.well-known/acme-challenge/';

/** A route that answers challenges and nothing else. */
export function isSolver(route: Route): boolean {
  if (route.kind !== 'HTTPRoute') return false;
  const { rules = [] } = route.spec;
  return (
    rules.length > 0 &&
    rules.every(
      ({ matches = [] }) =>
        matches.length > 0 &&
        matches.every(({ path }) => path?.type !== 'RegularExpression' && `${path?.value ?? ''}/`.startsWith(CHALLENGE)),
    )
  );
}

/** The parents of a solver with its attachments over HTTPS: to the listener of the same Gateway that takes the host there. */
export const withChallenges = (parents: readonly ParentNode[]): readonly ParentNode[] =>
  parents.map((parent) => {
    const more = parent.attachments.flatMap((attachment) => overHttps(attachment, parent.gateway));
    return more.length === 0 ? parent : { ...parent, attachments: [...parent.attachments, ...more] };
  });

function overHttps(attachment: Attachment, gateway: GatewayNode): readonly Attachment[] {
  if (attachment.tunnelId === null || attachment.listener.spec.protocol !== 'HTTP') return [];
  return attachment.hostnames.flatMap((hostname) =>
    ownersOf(hostname, gateway).map((listener) => ({ ...attachment, listener, hostnames: [hostname] })),
  );
}

/** The HTTPS listeners of the most specific hostname, on whatever port. */
function ownersOf(hostname: string, { listeners, sets }: GatewayNode): readonly ListenerNode[] {
  const candidates = [...listeners, ...sets.flatMap((set) => set.listeners)]
    .filter((listener) => listener.spec.protocol === 'HTTPS' && isServedByTunnel(listener) && covers(listener.hostname, hostname))
    .sort((a, b) => Number(a.hostname === '') - Number(b.hostname === '') || compareSpecificity(a.hostname, b.hostname));
  return candidates.filter((listener) => listener.hostname === candidates[0]?.hostname);
}
