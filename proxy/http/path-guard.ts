// Dot segments: a path must not mean one route to us and another to the backend. Pure.
//
// Paths are matched and forwarded as they came. Backends remove dot segments (RFC 3986 section 5.2.4), some also after decoding `%2e`, `%2f`
// and `\`, or after cutting `;parameters`. So a path with anything that may be read as a dot segment is read in the most generous way; it
// passes only if that reading leads to the same match and never climbs out of the matched prefix. Otherwise: 400.

/** `/`, `\` and their encodings. */
const SEPARATOR = /\/|\\|%2f|%5c/gi;
const DOT_SEGMENT = /(?:^|\/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:$|[/\\;]|%2f|%5c)/i;
/** NUL, CR and LF, encoded: no resource is named so, and software that decodes them early is misled. */
const ENCODED_CONTROL = /%0[0ad]/i;

/** What a path may contain to be taken as it is. */
export type PathVerdict = 'plain' | 'dots' | 'malformed';

export function judgePath(path: string): PathVerdict {
  const escapes = path.includes('%');
  if (escapes && ENCODED_CONTROL.test(path)) return 'malformed';
  if (!escapes && !path.includes('/.') && !path.includes('\\')) return 'plain';
  return DOT_SEGMENT.test(path) ? 'dots' : 'plain';
}

/**
 * The path as the most generous backend reads it, without dot segments; null when it climbs above `depth` segments at any point.
 * `depth` is the number of segments that belong to the matched prefix.
 */
export function withoutDots(path: string, depth: number): string | null {
  const kept: string[] = [];
  const segments = path.slice(1).split(SEPARATOR);
  const last = segments.length - 1;
  for (const [index, segment] of segments.entries()) {
    const name = (segment.split(';', 1)[0] ?? '').replaceAll(/%2e/gi, '.');
    if (name === '..') {
      if (kept.length <= depth) return null;
      kept.pop();
    } else if (name !== '.') {
      kept.push(segment);
      continue;
    }
    // A dot segment at the end names a directory.
    if (index === last) kept.push('');
  }
  return `/${kept.join('/')}`;
}

/** Segments of a prefix without trailing slash: 0 for ''. */
export function prefixDepth(prefix: string | null): number {
  if (prefix === null) return 0;
  let depth = 0;
  for (let at = prefix.indexOf('/'); at !== -1; at = prefix.indexOf('/', at + 1)) depth += 1;
  return depth;
}
