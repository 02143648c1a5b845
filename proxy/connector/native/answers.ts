// The answers that the connector gives itself, and the end of streams whose request body nobody wants any more.
import http2, { type ServerHttp2Stream } from 'node:http2';
import { META_CONNECTOR, META_ORIGIN, RESPONSE_HEADERS, RESPONSE_META } from '../wire.ts';

/** What the edge shows as 502: the connector speaks for itself, not for an origin. */
export function failRequest(stream: ServerHttp2Stream): void {
  if (stream.destroyed || stream.closed) return;
  if (stream.headersSent) return stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
  stream.respond({ ':status': 502, [RESPONSE_META]: META_CONNECTOR }, { endStream: true });
  discardBody(stream);
}

/** A body that nobody reads must not hold the stream open. */
export function discardBody(stream: ServerHttp2Stream): void {
  if (stream.endAfterHeaders || stream.readableEnded || stream.closed) return;
  if (stream.writableFinished) stream.close(http2.constants.NGHTTP2_NO_ERROR);
  else stream.once('finish', () => stream.close(http2.constants.NGHTTP2_NO_ERROR));
}

/** The answer of an `http_status` rule. */
export function respondStatus(stream: ServerHttp2Stream, status: number): void {
  stream.respond({ ':status': status, [RESPONSE_HEADERS]: '', [RESPONSE_META]: META_ORIGIN }, { endStream: true });
  discardBody(stream);
}
