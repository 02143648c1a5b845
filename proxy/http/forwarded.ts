// Who the visitor is and how they came: stated by the edge, believed only as far as it is well-formed.
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
