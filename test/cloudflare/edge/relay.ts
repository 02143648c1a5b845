// Carries one visitor's request through the tunnel: chooses a connection, adds what Cloudflare adds, relays both ways.
import { randomBytes } from 'node:crypto';
import http2, { type ClientHttp2Stream } from 'node:http2';
import { breakOff, endedCleanly } from '#proxy/connector/h2.ts';
import { MAX_HEADER_VALUE } from '#proxy/connector/wire.ts';
import type { Faults } from './faults.ts';
import { tunnelRequestHead, visitorResponse, visitorTrailers, type EdgeMarks } from './heads.ts';
import type { Link } from './link.ts';
import type { Registry } from './registry.ts';
import type { EdgeAuthority } from './types.ts';
import type { Visitor } from './visitor.ts';

export interface RelayContext {
  readonly registry: Registry;
  readonly faults: Faults;
  readonly authority: EdgeAuthority;
  readonly requireDns: boolean;
  readonly colo: string;
  readonly country: string;
}

/** What the edge decides before the tunnel is involved. */
export type Decision =
  | { readonly kind: 'tunnel'; readonly tunnelId: string; readonly delayMs: number }
  | { readonly kind: 'page'; readonly status: number; readonly code: number }
  | { readonly kind: 'cut' };

/** Cloudflare's numbers for its own error pages. */
const UNKNOWN_HOST = { kind: 'page', status: 409, code: 1001 } as const;
const NO_CONNECTOR = { kind: 'page', status: 530, code: 1033 } as const;
const BAD_GATEWAY = 502;

/** `tunnelId` is the owner of the address that the visitor has connected to. */
export function decide(context: RelayContext, tunnelId: string, authority: string): Decision {
  const hostname = authority.replace(/:\d*$/, '').toLowerCase();
  const recorded = context.authority.resolve?.(hostname);
  if (recorded === undefined && context.requireDns) return UNKNOWN_HOST;
  const target = recorded ?? tunnelId;
  const fault = context.faults.request(target, hostname);
  if (fault?.mode === 'drop') return { kind: 'cut' };
  if (fault?.mode === 'status') return { kind: 'page', status: fault.status, code: fault.status };
  if (fault?.mode === 'refuse' || context.authority.tunnel(target) === undefined) return NO_CONNECTOR;
  return { kind: 'tunnel', tunnelId: target, delayMs: fault?.mode === 'slow' ? fault.delayMs : 0 };
}

export function newMarks(context: RelayContext): EdgeMarks {
  return { ray: `${randomBytes(8).toString('hex')}-${context.colo}`, country: context.country };
}

export function relay(visitor: Visitor, tunnelId: string, context: RelayContext): void {
  visitor.body.on('error', () => undefined);
  visitor.sink.on('error', () => undefined);
  const marks = newMarks(context);
  const decision = decide(context, tunnelId, visitor.head.authority);
  if (decision.kind === 'cut') return visitor.abort();
  if (decision.kind === 'page') return errorPage(visitor, decision.status, decision.code, marks);
  if (isTooLarge(visitor.head.headers)) return errorPage(visitor, 431, 431, marks);
  const exchange = new Exchange(visitor, decision.tunnelId, context, marks);
  if (decision.delayMs === 0) return exchange.attempt();
  const timer = setTimeout(() => exchange.attempt(), decision.delayMs);
  visitor.onGone(() => clearTimeout(timer));
}

/** Cloudflare allows 128 KB for all headers together; a single one of half of that would already end the connector's whole connection. */
function isTooLarge(headers: readonly string[]): boolean {
  return headers.some((value) => value.length > MAX_HEADER_VALUE);
}

function errorPage(visitor: Visitor, status: number, code: number, { ray }: EdgeMarks): void {
  const body = Buffer.from(`error code: ${code}`);
  const headers = [
    'Content-Type',
    'text/plain; charset=UTF-8',
    'Content-Length',
    String(body.length),
    'Cache-Control',
    'private, no-store',
  ];
  if (!visitor.respond(status, [...headers, 'Server', 'cloudflare', 'CF-RAY', ray], false)) return visitor.abort();
  if (visitor.head.method !== 'HEAD') visitor.sink.write(body);
  visitor.end([]);
}

class Exchange {
  readonly #visitor: Visitor;
  readonly #tunnelId: string;
  readonly #context: RelayContext;
  readonly #marks: EdgeMarks;
  readonly #tried = new Set<Link>();
  #stream: ClientHttp2Stream | null = null;
  #isAnswered = false;
  #isOver = false;

  constructor(visitor: Visitor, tunnelId: string, context: RelayContext, marks: EdgeMarks) {
    this.#visitor = visitor;
    this.#tunnelId = tunnelId;
    this.#context = context;
    this.#marks = marks;
    visitor.onGone(() => this.#visitorGone());
  }

  attempt(): void {
    if (this.#isOver) return;
    const link = this.#context.registry.choose(this.#tunnelId, this.#tried);
    if (link === null) return this.#fail(NO_CONNECTOR.status, NO_CONNECTOR.code);
    this.#tried.add(link);
    const stream = this.#open(link);
    if (stream === null) return this.#fail(BAD_GATEWAY, BAD_GATEWAY);
    this.#stream = stream;
    let trailers: string[] = [];
    stream.on('response', (_headers, flags, raw) => this.#respond(stream, flags, raw));
    stream.on('trailers', (_headers, _flags, raw) => (trailers = visitorTrailers(raw)));
    stream.on('end', () => this.#ended(stream, trailers));
    stream.on('error', () => undefined);
    stream.on('close', () => this.#closed(stream));
    if (this.#visitor.hasBody) this.#sendBody(stream);
  }

  #open(link: Link): ClientHttp2Stream | null {
    try {
      return link.request(tunnelRequestHead(this.#visitor.head, this.#marks, false), !this.#visitor.hasBody);
    } catch {
      return null;
    }
  }

  #sendBody(stream: ClientHttp2Stream): void {
    const { body } = this.#visitor;
    body.pipe(stream, { end: false });
    body.once('end', () => {
      if (this.#visitor.isWhole()) stream.end();
      else breakOff(stream);
    });
  }

  #respond(stream: ClientHttp2Stream, flags: number, raw: readonly string[]): void {
    const response = visitorResponse(raw, this.#marks.ray);
    if (response === null || response.isConnectorFailure) {
      breakOff(stream);
      const status = response?.status ?? BAD_GATEWAY;
      return this.#fail(status, status);
    }
    const isComplete = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    // A gRPC answer without a message has its status in the head. Visitors read it there only if the stream ends with the head,
    // which the tunnel may not show: its end can come as an empty frame of its own.
    const isTrailersOnly = response.headers.some((field, i) => i % 2 === 0 && field.toLowerCase() === 'grpc-status');
    const begin = (ends: boolean): void => {
      this.#isAnswered = true;
      if (!this.#visitor.respond(response.status, response.headers, ends)) return this.#breakOff(stream);
      if (ends) this.#isOver = true;
      else stream.pipe(this.#visitor.sink, { end: false });
    };
    if (isComplete || !isTrailersOnly) return begin(isComplete);
    stream.once('readable', () => begin(stream.readableEnded || stream.readableLength === 0));
  }

  #ended(stream: ClientHttp2Stream, trailers: readonly string[]): void {
    if (this.#isOver || !this.#isAnswered || !endedCleanly(stream)) return;
    this.#isOver = true;
    this.#visitor.body.unpipe(stream);
    this.#visitor.end(trailers);
  }

  /** The stream ended before the response did. */
  #closed(stream: ClientHttp2Stream): void {
    if (this.#isOver || stream !== this.#stream) return;
    if (this.#isAnswered) return this.#breakOff(stream);
    // The connector has not looked at it (RFC 9113 section 8.7), and nothing of a body is lost.
    const isUntouched = stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM;
    if (isUntouched && !this.#visitor.hasBody) return this.attempt();
    this.#fail(BAD_GATEWAY, BAD_GATEWAY);
  }

  #breakOff(stream: ClientHttp2Stream): void {
    this.#isOver = true;
    breakOff(stream);
    this.#visitor.abort();
  }

  #fail(status: number, code: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#visitor.body.unpipe();
    errorPage(this.#visitor, status, code, this.#marks);
  }

  #visitorGone(): void {
    this.#isOver = true;
    if (this.#stream !== null) breakOff(this.#stream);
  }
}
