// Carries one request from the tunnel to an HTTP/1.1 origin and its response back, both bodies streaming at the same time.
import http from 'node:http';
import type { ServerHttp2Stream, ServerStreamResponseOptions } from 'node:http2';
import type { Socket } from 'node:net';
import { breakOff, endedCleanly, sendHead, stopUpload } from '../h2.ts';
import { failRequest } from './answers.ts';
import { originHead, tunnelResponseHead, tunnelTrailers, type TunnelRequest } from './heads.ts';
import type { HttpService } from './origins.ts';

export interface Origin {
  readonly service: HttpService;
  readonly agent: http.Agent;
  readonly onFailure: (error: Error) => void;
}

/** Response headers of an origin in bytes; what HTTP/2 can carry of them is checked after encoding. */
const MAX_ORIGIN_HEADER_BYTES = 256 * 1024;
const MAX_TRIES = 4;
/** Methods that may be sent again when a reused connection turns out to be dead (RFC 9110 section 9.2.2). */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

export function exchange(stream: ServerHttp2Stream, request: TunnelRequest, origin: Origin, tries = 1): void {
  const withBody = !stream.endAfterHeaders;
  const outgoing = openOriginRequest(stream, request, origin, withBody);
  if (outgoing === null) return;
  let response: http.IncomingMessage | null = null;
  outgoing.on('response', (incoming) => {
    response = incoming;
    relayResponse(stream, request, origin, incoming);
  });
  outgoing.on('error', (error) => {
    if (response !== null) return;
    const canRepeat = outgoing.reusedSocket && !withBody && REPEATABLE.has(request.method) && tries < MAX_TRIES;
    if (canRepeat && !stream.closed) return exchange(stream, request, origin, tries + 1);
    if (!stream.closed) origin.onFailure(error);
    failRequest(stream);
  });
  // The visitor is gone, or the exchange is over while the request body is not: either way the origin's socket has no further use.
  stream.once('close', () => {
    if (response?.complete !== true || !outgoing.writableFinished) outgoing.destroy();
  });
  if (!withBody) return void outgoing.end();
  // A stream in both directions may send its first body bytes only after it has seen the response.
  sendHead(outgoing);
  stream.pipe(outgoing, { end: false });
  stream.once('end', () => {
    if (endedCleanly(stream)) outgoing.end();
    else outgoing.destroy();
  });
}

/** Starts the request, or answers with 502 when its head cannot be expressed in HTTP/1.1. */
export function openOriginRequest(
  stream: ServerHttp2Stream,
  request: TunnelRequest,
  { service, agent, onFailure }: Origin,
  withBody: boolean,
): http.ClientRequest | null {
  try {
    const outgoing = http.request({
      agent,
      host: service.host,
      port: service.port,
      method: request.method,
      path: request.target,
      headers: originHead(request, withBody, service.settings.hostHeader),
      maxHeaderSize: MAX_ORIGIN_HEADER_BYTES,
    });
    outgoing.once('socket', (socket) => limitConnect(outgoing, socket, service.settings.connectTimeoutMs));
    return outgoing;
  } catch (error) {
    onFailure(error instanceof Error ? error : new Error(String(error)));
    failRequest(stream);
    return null;
  }
}

function limitConnect(outgoing: http.ClientRequest, socket: Socket, limitMs: number): void {
  if (!socket.connecting || limitMs === 0) return;
  const timer = setTimeout(() => outgoing.destroy(new Error('the origin did not accept the connection in time')), limitMs);
  const clear = (): void => clearTimeout(timer);
  socket.once('connect', clear);
  socket.once('close', clear);
}

/** Sends the origin's response, whatever its status, down the tunnel. */
export function relayResponse(stream: ServerHttp2Stream, request: TunnelRequest, origin: Origin, response: http.IncomingMessage): void {
  if (stream.closed || stream.destroyed) return void response.destroy();
  const head = tunnelResponseHead(response.statusCode ?? 502, response.rawHeaders, request.method);
  if (head === null || !respond(stream, head.fields, { endStream: head.isBodiless, waitForTrailers: head.mayHaveTrailers })) {
    origin.onFailure(new Error('the response headers of the origin cannot be carried through the tunnel'));
    response.destroy();
    return failRequest(stream);
  }
  if (head.mayHaveTrailers) stream.once('wantTrailers', () => sendTrailers(stream, response));
  else stream.once('finish', () => stopUpload(stream));
  if (head.isBodiless) response.resume();
  else response.pipe(stream);
  // A body that breaks off must look broken at the other end too: a clean end would pass for a complete answer.
  response.once('error', () => breakOff(stream));
}

function respond(stream: ServerHttp2Stream, fields: string[], options: ServerStreamResponseOptions): boolean {
  try {
    stream.respond(fields, options);
    return true;
  } catch {
    return false;
  }
}

function sendTrailers(stream: ServerHttp2Stream, response: http.IncomingMessage): void {
  try {
    stream.sendTrailers(tunnelTrailers(response.rawTrailers));
    stopUpload(stream);
  } catch {
    breakOff(stream);
  }
}
