// Messages of HTTP/2 that are cut off, frame by frame: neither side may take them for whole.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { startPlane } from './plane.ts';
import { eventually, get } from './raw.ts';

const UPLOAD = 'POST / HTTP/1.1\r\nHost: app.example.com\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n';

/** An HTTP/2 frame; Node's own server ends a stream cleanly before it resets it, so a broken one must be written by hand. */
function frame(type: number, flags: number, stream: number, payload: readonly number[]): Buffer {
  const head = Buffer.from([0, payload.length >> 8, payload.length & 0xff, type, flags, 0, 0, 0, stream]);
  return Buffer.concat([head, Buffer.from(payload)]);
}

const [DATA, HEADERS, RST_STREAM] = [0, 1, 3];
const SETTINGS = frame(4, 0, 0, []);
const END_STREAM = 1;
const INDEXED_STATUS_200 = 0x88;
const END_HEADERS = 4;

/** Frames of a client, after its preface. */
function frames(bytes: Buffer): { readonly type: number; readonly flags: number; readonly stream: number }[] {
  const found = [];
  for (let at = 24; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    found.push({ type: bytes.readUInt8(at + 3), flags: bytes.readUInt8(at + 4), stream: bytes.readUInt32BE(at + 5) });
  }
  return found;
}

for (const [kind, upload] of [
  ['chunked', `${UPLOAD}3\r\nabc\r\n`],
  ['sized', 'POST / HTTP/1.1\r\nHost: app.example.com\r\nContent-Length: 10\r\n\r\nabc'],
] as const)
  test(`an upload (${kind}) that is cut off never looks whole to the backend`, async (t) => {
    let received = Buffer.alloc(0);
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.write(SETTINGS));
      socket.on('data', (chunk: Buffer) => (received = Buffer.concat([received, chunk])));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => server.close());
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { client } = await startPlane(t, [{ endpoints: [address], protocol: 'h2c' }], {});
    const peer = await client();
    peer.send(upload);
    const ofStream = () => frames(received).filter(({ stream }) => stream === 1);
    await eventually(() => ofStream().some(({ type }) => type === DATA), 'the first bytes have arrived');
    peer.reset();
    await eventually(() => ofStream().some(({ type }) => type === RST_STREAM), 'the stream is reset');
    assert.deepEqual(
      ofStream().filter(({ type, flags }) => type <= HEADERS && (flags & END_STREAM) !== 0),
      [],
    );
  });

for (const code of [constants.NGHTTP2_CANCEL, constants.NGHTTP2_INTERNAL_ERROR, constants.NGHTTP2_ENHANCE_YOUR_CALM]) {
  test(`a response that the backend resets with code ${code} is never passed on as whole`, async (t) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.write(SETTINGS);
        socket.write(frame(HEADERS, END_HEADERS, 1, [INDEXED_STATUS_200]));
        socket.write(frame(DATA, 0, 1, [...Buffer.from('abc')]));
        socket.write(frame(RST_STREAM, 0, 1, [0, 0, 0, code]));
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => server.close());
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { client } = await startPlane(t, [{ endpoints: [address], protocol: 'h2c' }], {});
    const peer = await client();
    peer.send(get());
    assert.equal(await peer.gone(), 'reset');
  });
}
