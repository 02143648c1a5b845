// What the access log says of an exchange. Pure.
import type { AccessEntry } from '#proxy/observe/access-log.ts';
import { trustedChain } from './forwarded.ts';
import type { Arrival, IncomingHead } from './routing.ts';

type Outcome = Pick<AccessEntry, 'method' | 'status' | 'bytesWritten' | 'durationMs' | 'route' | 'endpoint'>;

export function accessEntry({ rawHeaders, url = '' }: IncomingHead, { peer, front }: Arrival, outcome: Outcome): AccessEntry {
  const query = url.indexOf('?');
  const isTunnel = (front.entry?.local ?? null) === null;
  return {
    ...outcome,
    host: field(rawHeaders, 'host'),
    path: query === -1 ? url : url.slice(0, query),
    query: query === -1 ? '' : url.slice(query + 1),
    userAgent: field(rawHeaders, 'user-agent'),
    client: isTunnel ? field(rawHeaders, 'cf-connecting-ip') || peer : (trustedChain(rawHeaders, peer, front.trustedHops)[0] ?? peer),
  };
}

function field(raw: readonly string[], name: string): string {
  for (let i = 0; i < raw.length; i += 2) if (raw[i]!.length === name.length && raw[i]!.toLowerCase() === name) return raw[i + 1]!;
  return '';
}
