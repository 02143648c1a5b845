// Turns the head of a tunnel request into that of an HTTP/1.1 request, and an origin's response head into the tunnel's. Pure.
import {
  encodeHeaders,
  isControlHeader,
  MAX_HEADER_VALUE,
  META_ORIGIN,
  RESPONSE_HEADERS,
  RESPONSE_META,
  TCP_SOURCE_HEADER,
  UPGRADE_HEADER,
  UPGRADE_WEBSOCKET,
} from '../wire.ts';

/** A request as the edge sent it. */
export interface TunnelRequest {
  readonly method: string;
  readonly authority: string;
  /** Path and query, verbatim. */
  readonly target: string;
  readonly isWebSocket: boolean;
  readonly isTcp: boolean;
  /** Flat name, value pairs without pseudo-headers, the tunnel's own headers, Host and Cookie. */
  readonly headers: string[];
  /** All cookie fields in one, as HTTP/1.1 wants it (RFC 9113 section 8.2.3), or null. */
  readonly cookie: string | null;
  readonly contentLength: string | null;
}

interface Scan {
  method: string;
  authority: string;
  target: string;
  isWebSocket: boolean;
  isTcp: boolean;
  host: string;
  cookie: string | null;
  contentLength: string | null;
}

/** Reads the flat header list of an HTTP/2 request. */
export function readTunnelRequest(raw: readonly string[]): TunnelRequest {
  const scan: Scan = {
    method: 'GET',
    authority: '',
    target: '/',
    isWebSocket: false,
    isTcp: false,
    host: '',
    cookie: null,
    contentLength: null,
  };
  const headers: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    if (!takeSpecial(scan, name, value)) headers.push(name, value);
  }
  const { host, ...request } = scan;
  return { ...request, authority: scan.authority === '' ? host : scan.authority, headers };
}

/** True when the header has a place of its own and is not copied. */
function takeSpecial(scan: Scan, name: string, value: string): boolean {
  switch (name) {
    case ':method':
      scan.method = value;
      return true;
    case ':authority':
      scan.authority = value;
      return true;
    case ':path':
      scan.target = value;
      return true;
    case 'host':
      scan.host = value;
      return true;
    case 'cookie':
      scan.cookie = scan.cookie === null ? value : `${scan.cookie}; ${value}`;
      return true;
    case 'content-length':
      scan.contentLength = value;
      return true;
    case UPGRADE_HEADER:
      scan.isWebSocket = value === UPGRADE_WEBSOCKET;
      return true;
    case TCP_SOURCE_HEADER:
      scan.isTcp = true;
      return true;
    // The tunnel answers it itself; an origin that waits for the body before it answers would wait for ever.
    case 'expect':
      return true;
    default:
      return name.startsWith(':');
  }
}

/** `withBody` is false when the tunnel request ended with its head. */
export function originHead(request: TunnelRequest, withBody: boolean, hostHeader: string | null): readonly string[] {
  const head = ['Host', hostHeader ?? request.authority, ...request.headers];
  if (hostHeader !== null) head.push('X-Forwarded-Host', request.authority);
  if (request.cookie !== null) head.push('Cookie', request.cookie);
  if (request.isWebSocket) return [...withoutWebSocketVersion(head), 'Connection', 'Upgrade', 'Upgrade', 'websocket', ...WEBSOCKET_VERSION];
  head.push('Connection', 'keep-alive');
  if (request.contentLength !== null) head.push('Content-Length', request.contentLength);
  else if (withBody) head.push('Transfer-Encoding', 'chunked');
  else if (request.method === 'POST' || request.method === 'PUT' || request.method === 'PATCH') head.push('Content-Length', '0');
  return head;
}

const WEBSOCKET_VERSION = ['Sec-WebSocket-Version', '13'] as const;

function withoutWebSocketVersion(head: readonly string[]): readonly string[] {
  return head.filter((_, i) => head[i - (i % 2)] !== 'sec-websocket-version');
}

export interface TunnelResponseHead {
  /** Flat list for `respond`. */
  readonly fields: string[];
  /** True when no body can follow. */
  readonly isBodiless: boolean;
  /** True when the body is chunked, and so may be followed by trailers. */
  readonly mayHaveTrailers: boolean;
}

/** Null when the headers do not fit into what HTTP/2 in Node can carry. */
export function tunnelResponseHead(status: number, raw: readonly string[], method: string): TunnelResponseHead | null {
  const pairs: string[] = [];
  let contentLength: string | null = null;
  let isChunked = false;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase();
    const value = raw[i + 1] as string;
    if (name === 'content-length') contentLength = value;
    else if (name === 'transfer-encoding') isChunked = true;
    // Framing belongs to this hop; the tunnel's own headers cannot be forged by an origin.
    if (name !== 'transfer-encoding' && name !== 'trailer' && !isControlHeader(name)) pairs.push(raw[i] as string, value);
  }
  const blob = encodeHeaders(pairs);
  if (blob.length > MAX_HEADER_VALUE) return null;
  // An accepted upgrade is a success on the tunnel: HTTP/2 has no 101 (RFC 9113 section 8.6).
  const fields = [':status', status === 101 ? '200' : String(status), RESPONSE_HEADERS, blob, RESPONSE_META, META_ORIGIN];
  if (contentLength !== null && status !== 101) fields.push('content-length', contentLength);
  const isBodiless = method === 'HEAD' || status === 204 || status === 304 || (contentLength === '0' && status !== 101);
  return { fields, isBodiless, mayHaveTrailers: isChunked && !isBodiless };
}

/** Trailers as HTTP/2 wants them: lower-case names, repeats in lists. Those that name framing or the tunnel's own business are left out. */
export function tunnelTrailers(raw: readonly string[]): Record<string, string | string[]> {
  const trailers: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase();
    const value = raw[i + 1] as string;
    if (NOT_IN_TRAILERS.has(name) || isControlHeader(name) || name.startsWith(':')) continue;
    const existing = trailers[name];
    trailers[name] = existing === undefined ? value : [...(Array.isArray(existing) ? existing : [existing]), value];
  }
  return trailers;
}

const NOT_IN_TRAILERS = new Set(['connection', 'content-length', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']);
