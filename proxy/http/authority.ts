// Host and target: where a request says it is going. Pure.

export interface Authority {
  /** Lower case, without port or trailing dot. */
  readonly host: string;
  /** 0 when absent. */
  readonly port: number;
}

const PLAIN = /^[a-z0-9._-]*[a-z0-9_-]$/;
const GENERAL = /^(?:([A-Za-z0-9._-]+)|(\[[0-9A-Fa-f:.]{2,45}\]))(?::(\d{0,5}))?$/;

/** A registered name or address with an optional port (RFC 9110 section 7.2); null for anything else: user info, blanks, escapes. */
export function parseAuthority(text: string): Authority | null {
  if (PLAIN.test(text)) return { host: text, port: 0 };
  const match = GENERAL.exec(text);
  if (match === null) return null;
  const port = Number(match[3] ?? 0);
  if (port > 65_535) return null;
  const host = (match[1] ?? match[2] ?? '').toLowerCase();
  const name = host.endsWith('.') ? host.slice(0, -1) : host;
  return name === '' ? null : { host: name, port };
}

export interface Target {
  /** Authority of a target in absolute form, which replaces Host (RFC 9112 section 3.2.2); null in origin form. */
  readonly authority: string | null;
  /** Path and query as they came. */
  readonly pathAndQuery: string;
}

/** Splits a request target in absolute form. Null when it is neither http nor https or has user info. */
export function parseAbsoluteTarget(target: string): Target | null {
  const match = /^https?:\/\/([^/?#@]+)(\/[^#]*|\?[^#]*)?$/i.exec(target);
  if (match === null) return null;
  const rest = match[2] ?? '/';
  return { authority: match[1]!, pathAndQuery: rest.startsWith('?') ? `/${rest}` : rest };
}
