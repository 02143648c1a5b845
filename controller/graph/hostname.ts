// Hostnames as listeners and routes write them: exact, `*.suffix`, or empty for every host. No Kubernetes words here.
//
// All functions expect what `normalise` returns.
import { compareText } from '../api/ref.ts';

/** Names compare without regard to case (RFC 4343). */
export const normalise = (hostname: string | undefined): string => (hostname ?? '').toLowerCase();

const isWildcard = (hostname: string): boolean => hostname.startsWith('*.');

/**
 * Whether everything that `inner` stands for is covered by the wildcard `outer`. A wildcard stands for one label or more, never for its
 * own suffix: `*.example.com` covers `a.b.example.com` and `*.a.example.com`, not `example.com`.
 */
const nests = (outer: string, inner: string): boolean =>
  isWildcard(outer) && inner.length > outer.length - 1 && inner.endsWith(outer.slice(1));

/** The hosts that both stand for, or null when there are none. Two patterns either nest or are disjoint, so this is always one of them. */
export function intersect(a: string, b: string): string | null {
  if (a === '' || a === b) return b;
  if (b === '') return a;
  if (nests(a, b)) return b;
  if (nests(b, a)) return a;
  return null;
}

/** Whether everything that `inner` stands for is covered by `outer`, which may be the same or every host. */
export const covers = (outer: string, inner: string): boolean => intersect(outer, inner) === inner;

/** Exact names first, then wildcards with the longest suffix first, then by text: the first pattern that fits a host is the most specific. */
export function compareSpecificity(a: string, b: string): number {
  const wildA = isWildcard(a);
  const wildB = isWildcard(b);
  if (wildA !== wildB) return wildA ? 1 : -1;
  if (wildA && a.length !== b.length) return b.length - a.length;
  return compareText(a, b);
}

/** Wildcards that cover a hostname, the closest first, itself left out: `*.b.c` and `*.c` for `a.b.c`. */
export function hostnamesAbove(hostname: string): readonly string[] {
  const above: string[] = [];
  const start = isWildcard(hostname) ? 2 : 0;
  for (let dot = hostname.indexOf('.', start); dot !== -1; dot = hostname.indexOf('.', dot + 1)) above.push(`*${hostname.slice(dot)}`);
  return above;
}

/** Whether `hostname` is `domain` or lies below it; a wildcard is judged by its suffix. An empty domain owns nothing. */
export function isWithin(hostname: string, domain: string): boolean {
  if (domain === '') return false;
  const bare = isWildcard(hostname) ? hostname.slice(2) : hostname;
  return bare === domain || bare.endsWith(`.${domain}`);
}

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const LONGEST = 253;

/**
 * Whether visitors can ask for it: a name that DNS can carry (RFC 1123 section 2.1), or a wildcard above one. The schemas of the Gateway API let
 * longer labels and addresses through, and a tunnel's document with one rule that its API does not take is refused as a whole.
 */
export function canBeVisited(hostname: string): boolean {
  const labels = (isWildcard(hostname) ? hostname.slice(2) : hostname).split('.');
  const isAddress = /^[0-9]+$/.test(labels.at(-1) ?? '');
  return hostname.length <= LONGEST && !isAddress && labels.every((label) => LABEL.test(label));
}
