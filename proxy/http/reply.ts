// Every answer that the proxy makes itself: status, text, and what a gRPC client is told instead.
import { STATUS_CODES } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
  readonly grpc: number;
  /** Seconds after which another try makes sense; 0: not said. */
  readonly retryAfter: number;
}

const DEADLINE_EXCEEDED = 4;
const RESOURCE_EXHAUSTED = 8;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;
const UNAVAILABLE = 14;

function answer(status: number, grpc: number, text: string, retryAfter = 0): Answer {
  return Object.freeze({ status, grpc, text, retryAfter });
}

export const BAD_HOST = answer(400, INTERNAL, 'the request needs exactly one valid Host');
export const BAD_TARGET = answer(400, INTERNAL, 'malformed request target');
export const AMBIGUOUS_PATH = answer(400, INTERNAL, 'the path leads to different places before and after dot segments are removed');
export const BAD_FRAMING = answer(400, INTERNAL, 'ambiguous or unsupported message framing');
export const BAD_VERSION = answer(400, INTERNAL, 'unsupported HTTP version');
export const BODY_ON_UPGRADE = answer(400, INTERNAL, 'an upgrade request cannot have a body');
export const NO_CONNECT = answer(405, UNIMPLEMENTED, 'CONNECT is not supported');
export const TLS_ONLY = answer(400, INTERNAL, 'this port speaks HTTPS only');
export const TOO_MANY_FIELDS = answer(431, RESOURCE_EXHAUSTED, 'too many header fields');
export const NO_ROUTE = answer(404, UNIMPLEMENTED, 'no route matches this request');
export const MISDIRECTED = answer(421, UNAVAILABLE, 'the TLS connection was made for another listener than this host belongs to');
export const NO_CONFIGURATION = answer(503, UNAVAILABLE, 'no configuration has been received yet', 1);
export const RULE_FAILS_CLOSED = answer(500, INTERNAL, 'the route that matches is not valid');
export const INVALID_BACKEND = answer(500, UNAVAILABLE, 'the route has no valid backend');
const UNSUPPORTED_BACKEND = answer(502, UNAVAILABLE, 'the backend cannot be reached as the route asks');
export const NO_ENDPOINT = answer(503, UNAVAILABLE, 'the backend has no ready endpoint');
export const OVERLOADED = answer(503, UNAVAILABLE, 'the backend has no free connection', 1);
export const BAD_GATEWAY = answer(502, UNAVAILABLE, 'the backend did not answer');
export const GATEWAY_TIMEOUT = answer(504, DEADLINE_EXCEEDED, 'the backend did not answer in time');

/** The answer of a share of traffic that has a status instead of a backend. */
export function shareAnswer(status: number): Answer {
  if (status === 503) return NO_ENDPOINT;
  return status === 502 ? UNSUPPORTED_BACKEND : INVALID_BACKEND;
}

/** Percent-encoding of grpc-message: printable ASCII but `%`. Our texts are ASCII. */
export function grpcMessage(text: string): string {
  return text.replaceAll(/[^\x20-\x24\x26-\x7e]/g, (char) =>
    Array.from(new TextEncoder().encode(char), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}

/** Fields and body of an answer; flat name, value pairs. */
export function plainFields({ text, retryAfter }: Answer): string[] {
  const fields = [
    'Content-Type',
    'text/plain; charset=utf-8',
    'Content-Length',
    String(text.length + 1),
    'X-Content-Type-Options',
    'nosniff',
  ];
  if (retryAfter > 0) fields.push('Retry-After', String(retryAfter));
  return fields;
}

/** A gRPC client reads HTTP errors badly; it gets HTTP 200 and a status of its own. */
export function grpcStatusFields({ grpc, text }: Answer): string[] {
  return ['grpc-status', String(grpc), 'grpc-message', grpcMessage(text)];
}

/** A whole response as text, for a connection that has left the server's hands: always the last one on it. */
export function rawReply({ status, text, retryAfter }: Answer): string {
  const retry = retryAfter > 0 ? `Retry-After: ${retryAfter}\r\n` : '';
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
    `Content-Length: ${text.length + 1}\r\n${retry}Connection: close\r\n\r\n${text}\n`
  );
}
