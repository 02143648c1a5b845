// Carries a WebSocket: an HTTP/1.1 upgrade towards the origin, a 200 with raw bytes both ways on the tunnel.
import http2, { type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { breakOff } from '../h2.ts';
import { failRequest } from './answers.ts';
import { openOriginRequest, relayResponse, type Origin } from './exchange.ts';
import { tunnelResponseHead, type TunnelRequest } from './heads.ts';

export function upgrade(stream: ServerHttp2Stream, request: TunnelRequest, origin: Origin): void {
  const outgoing = openOriginRequest(stream, request, origin, false);
  if (outgoing === null) return;
  const abandon = (): void => void outgoing.destroy();
  stream.once('close', abandon);
  outgoing.on('upgrade', (response, socket: Socket, head: Buffer) => {
    const fields = tunnelResponseHead(101, response.rawHeaders, request.method)?.fields;
    if (fields === undefined || stream.closed) {
      socket.destroy();
      return failRequest(stream);
    }
    stream.off('close', abandon);
    stream.respond(fields);
    if (head.length > 0) socket.unshift(head);
    join(stream, socket);
  });
  // The origin refuses: its answer is an ordinary response.
  outgoing.on('response', (response) => relayResponse(stream, request, origin, response));
  outgoing.on('error', (error) => {
    if (stream.closed) return;
    origin.onFailure(error);
    failRequest(stream);
  });
  outgoing.end();
}

/** No half-close: when one side has ended, what it sent is delivered and both are closed. */
function join(stream: ServerHttp2Stream, socket: Socket): void {
  socket.setTimeout(0);
  socket.on('error', () => breakOff(stream));
  socket.on('end', () => {
    stream.end();
    stream.once('finish', () => stream.close(http2.constants.NGHTTP2_NO_ERROR));
  });
  stream.on('end', () => socket.destroySoon());
  socket.once('close', () => stream.end());
  stream.once('close', () => socket.destroySoon());
  socket.pipe(stream);
  stream.pipe(socket);
}
