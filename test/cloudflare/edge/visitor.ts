// One visitor's request, the same to the relay whether it came by HTTP/1.1 or HTTP/2.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Readable, Writable } from 'node:stream';
import { breakOff, endedCleanly, sendHead, stopUpload } from '#proxy/connector/h2.ts';
import type { VisitorHead } from './heads.ts';

export interface Visitor {
  readonly head: VisitorHead;
  readonly body: Readable;
  /** False when the request ended with its head. */
  readonly hasBody: boolean;
  /** True when the body's end is one that the visitor sent: a cancelled body ends too. */
  isWhole(): boolean;
  readonly sink: Writable;
  /** `headers` is flat. `isComplete`: no body and no trailers follow. False when the response cannot be expressed. */
  respond(status: number, headers: string[], isComplete: boolean): boolean;
  /** Ends the response after the body; `trailers` is flat. */
  end(trailers: readonly string[]): void;
  /** Breaks the response off, so that the visitor sees that it is not whole. */
  abort(): void;
  /** Calls the listener when the visitor leaves before the response has ended. */
  onGone(listener: () => void): void;
}

export function http1Visitor(request: IncomingMessage, response: ServerResponse, scheme: 'http' | 'https'): Visitor {
  return {
    head: http1Head(request, scheme),
    body: request,
    hasBody: request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0,
    isWhole: () => request.complete,
    sink: response,
    respond(status, headers, isComplete) {
      try {
        response.writeHead(status, headers);
        if (isComplete) response.end();
        else sendHead(response);
        return true;
      } catch {
        return false;
      }
    },
    end(trailers) {
      const pairs: [string, string][] = [];
      for (let i = 0; i + 1 < trailers.length; i += 2) pairs.push([trailers[i] as string, trailers[i + 1] as string]);
      if (pairs.length > 0) response.addTrailers(pairs);
      response.end();
      // What is left of the body would be taken for the next request.
      request.resume();
    },
    abort: () => void request.socket.destroy(),
    onGone(listener) {
      response.once('close', () => {
        if (!response.writableFinished) listener();
      });
    },
  };
}

export function http1Head(request: IncomingMessage, scheme: 'http' | 'https'): VisitorHead {
  const target = request.url ?? '/';
  // A client that takes the edge for a proxy names the whole URL (RFC 9112 section 3.2.2); its host counts then.
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target);
  return {
    method: request.method ?? 'GET',
    target: absolute === null ? target : (absolute[2] ?? '').replace(/^(?!\/)/, '/'),
    authority: absolute?.[1] ?? request.headers.host ?? '',
    scheme,
    address: plainAddress(request.socket.remoteAddress),
    headers: request.rawHeaders,
  };
}

export function http2Visitor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: readonly string[]): Visitor {
  let pending: readonly string[] = [];
  let isEnded = false;
  return {
    head: {
      method: headers[':method'] ?? 'GET',
      target: headers[':path'] ?? '/',
      authority: headers[':authority'] ?? headers.host ?? '',
      scheme: 'https',
      address: plainAddress(stream.session?.socket.remoteAddress),
      headers: withoutPseudoHeaders(raw),
    },
    body: stream,
    hasBody: !stream.endAfterHeaders,
    isWhole: () => endedCleanly(stream),
    sink: stream,
    respond(status, fields, isComplete) {
      if (stream.closed || stream.destroyed) return false;
      try {
        stream.respond([':status', String(status), ...lowerNames(fields)], { endStream: isComplete, waitForTrailers: !isComplete });
      } catch {
        return false;
      }
      isEnded = isComplete;
      if (isComplete) stream.once('finish', () => stopUpload(stream));
      else stream.once('wantTrailers', () => sendTrailers(stream, pending));
      return true;
    },
    end(trailers) {
      pending = trailers;
      isEnded = true;
      stream.end();
    },
    abort: () => breakOff(stream),
    onGone(listener) {
      stream.once('close', () => {
        if (!isEnded || !endedCleanly(stream)) listener();
      });
    },
  };
}

function sendTrailers(stream: ServerHttp2Stream, pairs: readonly string[]): void {
  const trailers: Record<string, string[]> = {};
  for (let i = 0; i + 1 < pairs.length; i += 2) (trailers[pairs[i] as string] ??= []).push(pairs[i + 1] as string);
  try {
    stream.sendTrailers(trailers);
    stopUpload(stream);
  } catch {
    breakOff(stream);
  }
}

function withoutPseudoHeaders(raw: readonly string[]): readonly string[] {
  return raw.filter((_, i) => !(raw[i - (i % 2)] as string).startsWith(':'));
}

function lowerNames(fields: readonly string[]): string[] {
  return fields.map((field, i) => (i % 2 === 0 ? field.toLowerCase() : field));
}

function plainAddress(address: string | undefined): string {
  return (address ?? '').replace(/^::ffff:/, '');
}
