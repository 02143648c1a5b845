// How to end an HTTP/2 stream of Node early, in the two ways that mean something. Shared with the edge double.
import http2, { type Http2Stream, type ServerHttp2Stream } from 'node:http2';

/**
 * Breaks a stream off, so that the other side sees that what it got is not whole. The stream needs an `error` listener.
 * `stream.close(code)` does not do that: it ends the stream cleanly first and resets it then, and a truncated body passes for a whole one.
 */
export function breakOff(stream: Http2Stream): void {
  if (!stream.destroyed) stream.destroy(new Error('broken off'));
}

/** Streams whose rest we did not want: they end as well, and what came of them is not all. */
const stopped = new WeakSet<Http2Stream>();

/** True when a stream's `end` is one that the other side sent: a cancelled or stopped stream ends too. */
export function endedCleanly(stream: Http2Stream): boolean {
  return stream.rstCode === http2.constants.NGHTTP2_NO_ERROR && !stream.aborted && !stopped.has(stream);
}

/**
 * A response is whole although the request's body is not: tells the other side to stop sending (RFC 9113 section 8.1).
 * To be called when everything was written, trailers included. A turn later, because a reset submitted now would overtake them.
 */
export function stopUpload(stream: ServerHttp2Stream): void {
  if (stream.endAfterHeaders || stream.readableEnded || stream.closed) return;
  setImmediate(() => {
    if (stream.readableEnded || stream.closed) return;
    stopped.add(stream);
    stream.close(http2.constants.NGHTTP2_NO_ERROR);
  });
}

/**
 * Sends the head of an HTTP/1.1 message now. `flushHeaders` would send it as UTF-8, and so encode values a second time that came as
 * bytes from another message; together with binary data Node sends the head as it is.
 */
export function sendHead(message: { write(chunk: Uint8Array): boolean }): void {
  message.write(NOTHING);
}

const NOTHING = new Uint8Array(0);
