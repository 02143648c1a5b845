// Carries a visitor's WebSocket through the tunnel: an HTTP/1.1 upgrade outside, raw bytes on an HTTP/2 stream inside.
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import http2, { type ClientHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { breakOff } from '#proxy/connector/h2.ts';
import { tunnelRequestHead, visitorResponse, type EdgeMarks, type VisitorResponse } from './heads.ts';
import { decide, newMarks, type RelayContext } from './relay.ts';
import { http1Head } from './visitor.ts';

export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** First bytes after the request's head. */
  readonly head: Buffer;
  readonly scheme: 'http' | 'https';
}

export function relayUpgrade(upgrade: Upgrade, tunnelId: string, context: RelayContext): void {
  const { socket } = upgrade;
  socket.on('error', () => socket.destroy());
  const marks = newMarks(context);
  const decision = decide(context, tunnelId, upgrade.request.headers.host ?? '');
  if (decision.kind === 'cut') return void socket.destroy();
  if (decision.kind === 'page') return refuse(socket, decision.status, decision.code);
  const timer = setTimeout(() => open(upgrade, decision.tunnelId, context, marks), decision.delayMs);
  socket.once('close', () => clearTimeout(timer));
}

function open(upgrade: Upgrade, tunnelId: string, context: RelayContext, marks: EdgeMarks): void {
  const { socket, request, scheme } = upgrade;
  const link = context.registry.choose(tunnelId, new Set());
  if (link === null) return refuse(socket, 530, 1033);
  let stream: ClientHttp2Stream;
  try {
    stream = link.request(tunnelRequestHead(http1Head(request, scheme), marks, true), false);
  } catch {
    return refuse(socket, 502, 502);
  }
  let isAnswered = false;
  stream.on('error', () => undefined);
  stream.on('response', (_headers, _flags, raw) => {
    isAnswered = true;
    const response = visitorResponse(raw, marks.ray);
    if (response === null || response.isConnectorFailure) {
      breakOff(stream);
      return refuse(socket, 502, 502);
    }
    if (response.status === 200 && hasHeader(response, 'sec-websocket-accept')) accept(upgrade, stream, response);
    else decline(socket, stream, response);
  });
  stream.on('close', () => {
    if (!isAnswered) refuse(socket, 502, 502);
  });
  socket.once('close', () => breakOff(stream));
}

function accept({ socket, head }: Upgrade, stream: ClientHttp2Stream, response: VisitorResponse): void {
  const headers = withoutHeader(response.headers, 'content-length');
  socket.write(headText(101, ['Upgrade', 'websocket', 'Connection', 'Upgrade', ...headers]));
  if (head.length > 0) socket.unshift(head);
  stream.on('close', () => {
    // A stream that was reset must not look like a clean end.
    if (stream.rstCode === http2.constants.NGHTTP2_NO_ERROR) socket.end();
    else socket.destroy();
  });
  socket.pipe(stream);
  stream.pipe(socket);
}

/** The origin's own answer to the upgrade. Its end is the end of the connection, so it needs no framing of ours. */
function decline(socket: Duplex, stream: ClientHttp2Stream, response: VisitorResponse): void {
  socket.write(headText(response.status, [...response.headers, 'Connection', 'close']));
  stream.on('close', () => {
    if (stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR) socket.destroy();
  });
  stream.pipe(socket);
}

function refuse(socket: Duplex, status: number, code: number): void {
  if (socket.destroyed) return;
  const body = `error code: ${code}`;
  const headers = ['Content-Type', 'text/plain; charset=UTF-8', 'Content-Length', String(body.length), 'Server', 'cloudflare'];
  socket.end(headText(status, [...headers, 'Connection', 'close']) + body);
}

function headText(status: number, headers: readonly string[]): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  for (let i = 0; i + 1 < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${text}\r\n`;
}

function hasHeader(response: VisitorResponse, name: string): boolean {
  return response.headers.some((field, i) => i % 2 === 0 && field.toLowerCase() === name);
}

function withoutHeader(headers: readonly string[], name: string): readonly string[] {
  return headers.filter((_, i) => (headers[i - (i % 2)] as string).toLowerCase() !== name);
}
