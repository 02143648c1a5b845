// What Cloudflare adds to a visitor's request and takes from an origin's response. Pure.
import { decodeHeaders, RESPONSE_HEADERS, RESPONSE_META, UPGRADE_HEADER, UPGRADE_WEBSOCKET } from '#proxy/connector/wire.ts';

/** The head of a visitor's request. */
export interface VisitorHead {
  readonly method: string;
  /** Path and query, verbatim. */
  readonly target: string;
  readonly authority: string;
  readonly scheme: 'http' | 'https';
  /** The visitor's IP address. */
  readonly address: string;
  /** Flat name, value pairs as they came, without pseudo-headers. */
  readonly headers: readonly string[];
}

/** Valid for one connection only (RFC 9110 section 7.6.1); HTTP/2 forbids them. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade', 'http2-settings']);
/** The edge's own: what a visitor sends under these names is dropped. */
const OWN = new Set([
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-ray',
  'cf-visitor',
  'cf-ipcountry',
  'cf-warp-tag-id',
  'cf-ew-via',
  'cf-worker',
  'true-client-ip',
  'x-forwarded-proto',
]);
/** Merged with what the edge adds. */
const MERGED = new Set(['x-forwarded-for', 'cdn-loop', 'accept-encoding', 'host', 'te']);

export interface EdgeMarks {
  readonly ray: string;
  readonly country: string;
}

/** The flat header list of the tunnel request, pseudo-headers first. */
export function tunnelRequestHead(head: VisitorHead, marks: EdgeMarks, isWebSocket: boolean): string[] {
  const merged = new Map<string, string[]>();
  const named = connectionTokens(head.headers);
  const list = [':method', head.method, ':path', head.target, ':scheme', 'https', ':authority', head.authority];
  for (let i = 0; i + 1 < head.headers.length; i += 2) {
    const name = (head.headers[i] as string).toLowerCase();
    const value = head.headers[i + 1] as string;
    if (MERGED.has(name)) merged.set(name, [...(merged.get(name) ?? []), value]);
    else if (!HOP_BY_HOP.has(name) && !OWN.has(name) && !named.has(name) && !name.startsWith('cf-cloudflared-')) list.push(name, value);
  }
  const forwarded = [...(merged.get('x-forwarded-for') ?? []), head.address].join(', ');
  const loop = [...(merged.get('cdn-loop') ?? []), 'cloudflare; loops=1'].join(', ');
  list.push('cf-connecting-ip', head.address, 'cf-ray', marks.ray, 'cf-ipcountry', marks.country);
  list.push('cf-visitor', JSON.stringify({ scheme: head.scheme }), 'x-forwarded-for', forwarded, 'x-forwarded-proto', head.scheme);
  list.push('cdn-loop', loop, 'accept-encoding', normalisedEncodings(merged.get('accept-encoding') ?? []));
  // HTTP/2 allows no other value (RFC 9113 section 8.2.2); gRPC needs this one.
  if (merged.get('te')?.some((value) => /\btrailers\b/i.test(value)) === true) list.push('te', 'trailers');
  if (isWebSocket) list.push(UPGRADE_HEADER, UPGRADE_WEBSOCKET);
  return list;
}

/** Those of Cloudflare's encodings that the visitor takes: the edge double never recodes a body. Never empty. */
function normalisedEncodings(values: readonly string[]): string {
  const offered = values.join(',').toLowerCase().split(',');
  const accepts = (coding: string): boolean =>
    offered.some((offer) => {
      const [name, ...parameters] = offer.split(';').map((part) => part.trim());
      return name === coding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    });
  return ['gzip', 'br'].filter(accepts).join(', ') || 'identity';
}

/** A visitor's response, decoded from the tunnel's. */
export interface VisitorResponse {
  readonly status: number;
  /** Flat name, value pairs. */
  readonly headers: string[];
  /** Made by the connector because it could not reach the origin. */
  readonly isConnectorFailure: boolean;
  readonly hasLength: boolean;
}

/** Null when the connector sent something that cannot be a response. */
export function visitorResponse(raw: readonly string[], ray: string): VisitorResponse | null {
  let status = 0;
  let blob = '';
  let meta = '';
  let length: string | null = null;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const value = raw[i + 1] as string;
    if (raw[i] === ':status') status = Number(value);
    else if (raw[i] === RESPONSE_HEADERS) blob = value;
    else if (raw[i] === RESPONSE_META) meta = value;
    else if (raw[i] === 'content-length') length = value;
  }
  const pairs = decodeHeaders(blob);
  if (pairs === null || !Number.isInteger(status) || status < 200 || status > 599) return null;
  const named = connectionTokens(pairs);
  const headers: string[] = [];
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const name = (pairs[i] as string).toLowerCase();
    if (name === 'content-length') length ??= pairs[i + 1] as string;
    else if (!HOP_BY_HOP.has(name) && !named.has(name) && name !== 'server' && name !== 'cf-ray')
      headers.push(pairs[i] as string, pairs[i + 1] as string);
  }
  if (length !== null) headers.push('Content-Length', length);
  headers.push('Server', 'cloudflare', 'CF-RAY', ray);
  return { status, headers, isConnectorFailure: meta.includes('"cloudflared"'), hasLength: length !== null };
}

/** Header names that Connection lists: they end here too, whatever they are. `close` and `keep-alive` are no names. */
function connectionTokens(headers: readonly string[]): ReadonlySet<string> {
  const tokens = new Set<string>();
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if ((headers[i] as string).toLowerCase() !== 'connection') continue;
    for (const token of (headers[i + 1] as string).split(',')) tokens.add(token.trim().toLowerCase());
  }
  return tokens;
}

/** Trailers as flat pairs without pseudo-headers. */
export function visitorTrailers(raw: readonly string[]): string[] {
  const trailers: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (!(raw[i] as string).startsWith(':')) trailers.push(raw[i] as string, raw[i + 1] as string);
  }
  return trailers;
}
