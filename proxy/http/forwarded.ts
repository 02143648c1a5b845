// Who the visitor is and how they came: stated by the edge, or by proxies that are trusted, believed only as far as it is well-formed. Pure.
import { isIP } from 'node:net';

/** A literal address of either family, without zone. */
export function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%');
}

const HTTPS_VISITOR = '{"scheme":"https"}';

/**
 * The scheme that the visitor used: `CF-Visitor` first, else `X-Forwarded-Proto`, each only if there is exactly one and it says http or
 * https; `http` otherwise. '' stands for absent, null for repeated.
 */
export function visitorScheme(visitor: string | null, forwardedProto: string | null): 'http' | 'https' {
  if (visitor === HTTPS_VISITOR) return 'https';
  const stated = (visitor !== null && /^\{\s*"scheme"\s*:\s*"(https?)"\s*\}$/.exec(visitor)?.[1]) || forwardedProto;
  return stated === 'https' ? 'https' : 'http';
}

/**
 * The visitor's address in front, then the proxies between: what the last `hops` trusted proxies have written of `X-Forwarded-For`, and who
 * is connected. Everything left of that the visitor may have invented. Whoever came past a proxy, or whose chain is not of addresses, is
 * known by the connection alone.
 */
export function trustedChain(raw: readonly string[], peer: string, hops: number): readonly string[] {
  if (hops === 0) return [peer];
  const stated: string[] = [];
  for (let i = 0; i < raw.length; i += 2) if (raw[i]!.toLowerCase() === 'x-forwarded-for') stated.push(...raw[i + 1]!.split(','));
  const trusted = stated.slice(-hops).map((address) => address.trim());
  return trusted.length === hops && trusted.every(isAddress) ? [...trusted, peer] : [peer];
}
