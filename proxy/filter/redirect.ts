// RequestRedirect: the Location that a visitor is sent to.
import type { RedirectPlan } from '#proxy/table/types.ts';
import { editPath, rooted } from './path-edit.ts';

/** The visitor's URL, as far as it is known. */
export interface VisitedUrl {
  readonly scheme: 'http' | 'https';
  /** Without port; IPv6 with or without brackets. */
  readonly host: string;
  /** The port that the visitor used, as written in Host; 0 when it was left out. */
  readonly port: number;
  /** As it arrived, without query. */
  readonly path: string;
  /** Without `?`; '' when absent. */
  readonly query: string;
}

const DEFAULT_PORT = { http: 80, https: 443 };

/**
 * An absolute URL. What the filter does not name stays the visitor's: scheme, host, path, and always the query. A named port is used; without
 * one, a named scheme brings its well-known port, otherwise the visitor's port stays. Well-known ports are not written out.
 * `prefix` is that of the arm that matched.
 */
export function redirectLocation(plan: RedirectPlan, request: VisitedUrl, prefix: string | null): string {
  const scheme = plan.scheme ?? request.scheme;
  const port = plan.port > 0 ? plan.port : plan.scheme === null ? request.port : 0;
  const path = plan.path === null ? rooted(request.path) : editPath(plan.path, request.path, prefix);
  return url(scheme, plan.hostname ?? request.host, port, path, request.query);
}

/** Whether following the redirect would bring the visitor back to the same URL. */
export function leadsBack(location: string, { scheme, host, port, path, query }: VisitedUrl): boolean {
  return location === url(scheme, host, port, rooted(path), query);
}

function url(scheme: 'http' | 'https', host: string, port: number, path: string, query: string): string {
  const authority = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  const suffix = port === 0 || port === DEFAULT_PORT[scheme] ? '' : `:${port}`;
  return `${scheme}://${authority}${suffix}${path}${query === '' ? '' : `?${query}`}`;
}
