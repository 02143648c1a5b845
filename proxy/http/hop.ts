// Which fields of a request belong to one connection or to the proxy itself, and what Connection may name. Pure.
import { NameTable, listElements } from '#proxy/upstream/fields.ts';

/** What the proxy does with a field of a request; 0: it passes. Plain numbers, one per field of the innermost loop. */
export const PASS = 0;
/** For this connection only, or written anew by the proxy. */
export const DROP = 1;
export const CONNECTION = 2;
export const TRANSFER_ENCODING = 3;
export const CONTENT_LENGTH = 4;
export const HOST = 5;
export const TE = 6;
export const UPGRADE = 7;
const TRAILER = 8;
export const CONNECTING_IP = 9;
export const VISITOR = 10;
export const FORWARDED_PROTO = 11;

const NAMES = new NameTable([
  ['connection', CONNECTION],
  ['keep-alive', DROP],
  ['proxy-connection', DROP],
  ['proxy-authorization', DROP],
  ['proxy-authenticate', DROP],
  ['transfer-encoding', TRANSFER_ENCODING],
  ['content-length', CONTENT_LENGTH],
  ['host', HOST],
  ['te', TE],
  ['trailer', TRAILER],
  ['upgrade', UPGRADE],
  ['http2-settings', DROP],
  // Answered by the proxy itself: the backend is never asked to hold a request back.
  ['expect', DROP],
  // The visitor's identity is ours to state: what the client says of itself is dropped.
  ['x-forwarded-for', DROP],
  ['x-forwarded-host', DROP],
  ['x-forwarded-port', DROP],
  ['x-forwarded-proto', FORWARDED_PROTO],
  ['x-real-ip', DROP],
  ['forwarded', DROP],
  ['x-original-host', DROP],
  ['cf-connecting-ip', CONNECTING_IP],
  ['cf-visitor', VISITOR],
  // Between the edge and the connector.
  ['cf-warp-tag-id', DROP],
]);
const INTERNAL_PREFIX = 'cf-cloudflared-';

/**
 * The code of a request's field. A name that is one of these when `_` is read as `-`, as CGI and WSGI do, is dropped: a backend could not
 * tell it from the real one.
 */
export function requestField(name: string): number {
  if (NAMES.excludes(name)) return name.length > 15 && isInternal(name) ? DROP : PASS;
  const code = NAMES.find(name);
  if (code !== PASS) return code;
  if (name.includes('_') && NAMES.find(name.replaceAll('_', '-')) !== PASS) return DROP;
  return name.length > 15 && isInternal(name) ? DROP : PASS;
}

function isInternal(name: string): boolean {
  return (name.charCodeAt(0) | 32) === 99 && name.slice(0, 15).toLowerCase().replaceAll('_', '-') === INTERNAL_PREFIX;
}

/** `CF-*` and `True-Client-IP`, also as CGI and WSGI read them. */
export function isEdgeField(name: string): boolean {
  return /^(?:cf[-_]|true[-_]client[-_]ip$)/i.test(name);
}

const PROTECTED: ReadonlySet<string> = new Set(['host', 'authorization', 'cookie', 'content-length', 'transfer-encoding', 'content-type']);
const PROTECTED_PREFIXES = ['cf-', 'x-forwarded-', 'x-real-', 'content-'];
const OPTIONS: ReadonlySet<string> = new Set(['close', 'keep-alive', 'upgrade', 'te', 'http2-settings']);

/**
 * Names that a Connection value takes out of the request (RFC 9110 section 7.6.1), lower case; null when there are none. A client may not
 * use it to remove what the edge or the proxy states about it, or what decides the meaning of the request.
 */
export function nominatedFields(connection: string): ReadonlySet<string> | null {
  const names = listElements(connection).filter((name) => !OPTIONS.has(name) && !PROTECTED.has(name));
  const removable = names.filter((name) => !PROTECTED_PREFIXES.some((prefix) => name.startsWith(prefix)));
  return removable.length === 0 ? null : new Set(removable);
}

/** RFC 9110 section 6.5.1: a recipient must be able to ignore a trailer section, so nothing in it may matter before the end. */
const FORBIDDEN_TRAILERS: ReadonlySet<string> = new Set([
  'authorization',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'location',
  'max-forwards',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'www-authenticate',
]);

/** The trailers of a message that may be passed on; flat name, value pairs. */
export function forwardableTrailers(trailers: readonly string[]): readonly string[] {
  if (trailers.length === 0) return trailers;
  const kept: string[] = [];
  for (let i = 0; i + 1 < trailers.length; i += 2) {
    const name = trailers[i]!;
    if (!FORBIDDEN_TRAILERS.has(name.toLowerCase()) && requestField(name) === PASS) kept.push(name, trailers[i + 1]!);
  }
  return kept;
}
