// From a request as it came to what is done with it: refused, answered here, or sent to a backend.
import { leadsBack, redirectLocation } from '#proxy/filter/redirect.ts';
import { rewritePath } from '#proxy/filter/rewrite.ts';
import type { Arm, BackendChoice, EntryTable, HeaderEdits, LocalEntry, RedirectPlan, RequestKey } from '#proxy/table/types.ts';
import { pickChoice } from '#proxy/upstream/balance.ts';
import { parseAbsoluteTarget, parseAuthority } from './authority.ts';
import { isAddress, trustedChain, visitorScheme } from './forwarded.ts';
import { requestBodyLength } from './framing.ts';
import { judgePath, prefixDepth, withoutDots, type PathVerdict } from './path-guard.ts';
import * as reply from './reply.ts';
import type { RequestHead, Visitor } from './request-head.ts';

/** The part of a request that node:http hands over. */
export interface IncomingHead {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly rawHeaders: readonly string[];
  readonly httpVersionMajor: number;
  readonly httpVersionMinor: number;
}

/** A request that may be matched. */
export interface ReadRequest {
  readonly visitor: Visitor;
  readonly bodyLength: number;
  readonly path: PathVerdict;
}

/** Where a request came in. */
export interface Arrival {
  /** Address of whoever is connected. */
  readonly peer: string;
  readonly serverName: string | null;
  readonly front: { readonly entry: EntryTable | null; readonly trustedHops: number };
}

/** Checks everything that node:http lets through and fills `key`; an answer when the request is refused. */
export function readRequest(incoming: IncomingHead, arrival: Arrival, head: RequestHead, key: RequestKey): ReadRequest | reply.Answer {
  if (incoming.httpVersionMajor !== 1 || incoming.httpVersionMinor > 1) return reply.BAD_VERSION;
  if (!head.read(incoming.rawHeaders)) return reply.TOO_MANY_FIELDS;
  const bodyLength = requestBodyLength(head.contentLength, head.transferEncoding, incoming.httpVersionMinor);
  if (bodyLength === null) return reply.BAD_FRAMING;
  if (head.hostCount !== 1) return reply.BAD_HOST;
  let target = incoming.url ?? '';
  let { host } = head;
  if (target.charCodeAt(0) !== 47) {
    if (target === '*') return reply.NO_ROUTE;
    // Absolute form: its authority counts, whatever Host says (RFC 9112 section 3.2.2), and it is the one that is forwarded.
    const absolute = parseAbsoluteTarget(target);
    if (absolute?.authority == null) return reply.BAD_TARGET;
    host = absolute.authority;
    target = absolute.pathAndQuery;
  }
  const authority = parseAuthority(host);
  if (authority === null) return reply.BAD_HOST;
  const query = target.indexOf('?');
  key.path = query === -1 ? target : target.slice(0, query);
  key.query = query === -1 ? '' : target.slice(query + 1);
  const path = judgePath(key.path);
  if (path === 'malformed' || target.includes('#')) return reply.BAD_TARGET;
  key.host = authority.host;
  key.hostPort = authority.port;
  key.method = incoming.method ?? '';
  key.rawHeaders = incoming.rawHeaders;
  const local = arrival.front.entry?.local ?? null;
  const visitor = local === null ? tunnelVisitor(head, key, arrival.peer, host) : localVisitor(local, head, key, arrival, host);
  return { visitor, bodyLength, path };
}

/** Through a tunnel the edge says who visits, and how. */
function tunnelVisitor(head: RequestHead, key: RequestKey, peer: string, host: string): Visitor {
  key.scheme = visitorScheme(head.visitor, head.forwardedProto);
  const address = visitorAddress(head, peer);
  return { address, forwardedFor: address, scheme: key.scheme, host, port: visitorPort(key) };
}

/**
 * At the proxy's own entry the socket says it. Behind trusted proxies the visitor's scheme is what the last of them states, and then their
 * port is the one in Host: the listener's is the proxy's business.
 */
function localVisitor(local: LocalEntry, head: RequestHead, key: RequestKey, arrival: Arrival, host: string): Visitor {
  const { peer, serverName, front } = arrival;
  const { forwardedProto } = head;
  const stated = front.trustedHops > 0 && (forwardedProto === 'http' || forwardedProto === 'https') ? forwardedProto : null;
  key.scheme = stated ?? (serverName === null ? 'http' : 'https');
  if (stated === null) key.hostPort = local.listenerPort;
  head.dropEdgeFields();
  const chain = trustedChain(key.rawHeaders, peer, front.trustedHops);
  return { address: chain[0]!, forwardedFor: chain.join(', '), scheme: key.scheme, host, port: visitorPort(key) };
}

/** The connection was made for another listener than the request's (RFC 9110 section 15.5.20). */
export function isMisdirected(entry: LocalEntry, serverName: string | null, host: string): boolean {
  if (serverName === null) return entry.protocol === 'HTTPS';
  return entry.protocol === 'HTTP' || entry.listenerOf(serverName) !== entry.listenerOf(host);
}

/** `CF-Connecting-IP` if the edge can have written it: exactly one, and an address. Otherwise whoever is connected. */
function visitorAddress(head: RequestHead, peer: string): string {
  const { connectingIp } = head;
  if (connectingIp !== null && connectingIp !== '' && isAddress(connectingIp)) return connectingIp;
  head.distrustConnectingIp();
  return peer;
}

function visitorPort({ hostPort, scheme }: RequestKey): number {
  if (hostPort > 0) return hostPort;
  return scheme === 'https' ? 443 : 80;
}

/** The winning match; null when there is none, an answer when the path could mean another one to the backend. */
export function matchRequest(entry: EntryTable, key: RequestKey, path: PathVerdict): Arm | reply.Answer | null {
  const arm = entry.match(key);
  if (arm === null || path === 'plain') return arm;
  const raw = key.path;
  const clean = withoutDots(raw, prefixDepth(arm.prefix));
  if (clean === null) return reply.AMBIGUOUS_PATH;
  key.path = clean;
  const other = entry.match(key);
  key.path = raw;
  return other !== null && other.rule === arm.rule && other.prefix === arm.prefix ? arm : reply.AMBIGUOUS_PATH;
}

/** What a matched request leads to. */
export type Outcome =
  | { readonly kind: 'answer'; readonly answer: reply.Answer; readonly edits: HeaderEdits | null }
  | { readonly kind: 'redirect'; readonly status: number; readonly location: string; readonly edits: HeaderEdits | null }
  | { readonly kind: 'forward'; readonly choice: BackendChoice; readonly target: string; readonly host: string };

/** `drawn`: a random number in [0, 1) that decides between the backends. `host` as the visitor sent it. */
export function decide(arm: Arm, key: RequestKey, host: string, drawn: number): Outcome {
  const { rule } = arm;
  if (rule.error !== 0) return { kind: 'answer', answer: reply.RULE_FAILS_CLOSED, edits: null };
  const redirected = rule.redirect === null ? null : redirect(rule.redirect, arm, key, rule.responseEdits);
  if (redirected !== null) return redirected;
  const choice = pickChoice(rule, drawn);
  if (choice === null) {
    const skipped = rule.redirect !== null && rule.choices.length === 0;
    return { kind: 'answer', answer: skipped ? reply.NO_ROUTE : reply.INVALID_BACKEND, edits: rule.responseEdits };
  }
  const ownRedirect = choice.redirect === null ? null : redirect(choice.redirect, arm, key, choice.responseEdits);
  if (ownRedirect !== null) return ownRedirect;
  if (choice.backend === null) return { kind: 'answer', answer: reply.shareAnswer(choice.status), edits: choice.responseEdits };
  const path = choice.rewrite === null ? key.path : rewritePath(choice.rewrite, key.path, arm.prefix);
  return {
    kind: 'forward',
    choice,
    target: key.query === '' ? path : `${path}?${key.query}`,
    host: choice.rewrite?.hostname ?? host,
  };
}

/** Null when it must be skipped: a redirect that names a scheme and leads to where the visitor already is would never end. */
function redirect(plan: RedirectPlan, arm: Arm, key: RequestKey, edits: HeaderEdits | null): Outcome | null {
  const visited = { scheme: key.scheme, host: key.host, port: key.hostPort, path: key.path, query: key.query };
  const location = redirectLocation(plan, visited, arm.prefix);
  if (plan.scheme !== null && leadsBack(location, visited)) return null;
  return { kind: 'redirect', status: plan.statusCode, location, edits };
}
