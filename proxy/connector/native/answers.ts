// The answers that the connector gives itself.
import type { ServerHttp2Stream } from 'node:http2';
import { breakOff, stopUpload } from '../h2.ts';
import { META_CONNECTOR, META_ORIGIN, RESPONSE_HEADERS, RESPONSE_META } from '../wire.ts';

/** What the edge shows as 502: the connector speaks for itself, not for an origin. */
export function failRequest(stream: ServerHttp2Stream): void {
  if (stream.destroyed || stream.closed) return;
  if (stream.headersSent) return breakOff(stream);
  stream.once('finish', () => stopUpload(stream));
  stream.respond({ ':status': 502, [RESPONSE_META]: META_CONNECTOR }, { endStream: true });
}

/** The answer of an `http_status` rule. */
export function respondStatus(stream: ServerHttp2Stream, status: number): void {
  stream.once('finish', () => stopUpload(stream));
  stream.respond({ ':status': status, [RESPONSE_HEADERS]: '', [RESPONSE_META]: META_ORIGIN }, { endStream: true });
}
