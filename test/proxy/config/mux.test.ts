// One port, TLS keyed from the token beside plain HTTP.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { test, type TestContext } from 'node:test';
import tls from 'node:tls';
import { text } from 'node:stream/consumers';
import { listenMux } from '#proxy/config/mux.ts';
import { pskClientOptions } from '#proxy/config/psk.ts';

const listeners = {
  plain: (_request: http.IncomingMessage, response: http.ServerResponse) => void response.end('plain'),
  secure: (request: http.IncomingMessage, response: http.ServerResponse) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => (bytes += chunk.length)).on('end', () => response.end(`secure ${bytes}`));
  },
};

async function put(port: number, token: string | null, body: Buffer): Promise<string> {
  const common = { host: '127.0.0.1', port, method: 'PUT', agent: false } as const;
  const request = token === null ? http.request(common) : https.request({ ...common, ...pskClientOptions(token) });
  request.end(body);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return text(response);
}

test('the first byte decides: plain HTTP and TLS on one port', async (t) => {
  const server = await listenMux({ host: '127.0.0.1', port: 0 }, listeners, 'token');
  t.after(() => server.close(0));
  assert.equal(await put(server.port, null, Buffer.alloc(0)), 'plain');
  assert.equal(await put(server.port, 'token', Buffer.alloc(16 << 20)), `secure ${16 << 20}`);
});

test('a wrong token fails the handshake, and the server goes on', async (t) => {
  const server = await listenMux({ host: '127.0.0.1', port: 0 }, listeners, 'token');
  t.after(() => server.close(0));
  await assert.rejects(put(server.port, 'other', Buffer.alloc(0)));
  assert.equal(await put(server.port, 'token', Buffer.alloc(1)), 'secure 1');
});

test('without a token there is no TLS at all', async (t) => {
  const server = await listenMux({ host: '127.0.0.1', port: 0 }, listeners, null);
  t.after(() => server.close(0));
  await assert.rejects(put(server.port, 'token', Buffer.alloc(0)));
});

test('garbage, early ends and half handshakes end their own connection only', async (t) => {
  const server = await listenMux({ host: '127.0.0.1', port: 0 }, listeners, 'token');
  t.after(() => server.close(0));
  for (const bytes of ['\x16', '\x16\x03\x01\x00\xff\x01', '\x00\x00\x00', 'GET / HTTP/1.1\r\n', '']) {
    const socket = net.connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.end(bytes, 'latin1');
    await left(socket);
  }
  assert.equal(await put(server.port, 'token', Buffer.alloc(2)), 'secure 2');
});

test('whoever gets nowhere is let go: silent, in the handshake, in the head or in the body of a request', async (t) => {
  // An honest client has to get through them as well, on a machine that is busy.
  const limits = { silent: 200, handshake: 2000, head: 2000, request: 2500, idle: 10_000, check: 10, headBytes: 16_384 };
  const server = await listenMux({ host: '127.0.0.1', port: 0 }, listeners, 'token', limits);
  t.after(() => server.close(0));
  const plain = (): net.Socket => net.connect(server.port, '127.0.0.1');
  const secure = (): net.Socket => tls.connect({ host: '127.0.0.1', port: server.port, ...pskClientOptions('token') });
  const head = 'PUT /config HTTP/1.1\r\nHost: a\r\n';
  await Promise.all([
    drip(t, plain(), '', ''),
    drip(t, plain(), '\x16\x03\x01\x01\x00', '\x01'),
    drip(t, plain(), head, 'X: y\r\n'),
    drip(t, secure(), head, 'X: y\r\n'),
    drip(t, secure(), '', ''),
    drip(t, secure(), `${head}Content-Length: 1000000\r\n\r\n`, 'x'),
  ]);
  assert.equal(await put(server.port, 'token', Buffer.alloc(3)), 'secure 3');
});

test('a server that is closed ends idle connections at once', async () => {
  const server = await listenMux({ host: '127.0.0.1', port: 0 }, listeners, 'token');
  const socket = net.connect(server.port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(socket, 'data');
  await Promise.all([server.close(600_000), left(socket)]);
});

/** Says `first`, then `more` again and again; resolves when the other side has had enough. */
async function drip(t: TestContext, socket: net.Socket, first: string, more: string): Promise<void> {
  const timer = setInterval(() => socket.write(more, 'latin1'), 5);
  t.after(() => clearInterval(timer));
  socket.write(first, 'latin1');
  await left(socket);
  clearInterval(timer);
}

/** Resolves when the connection is gone, whether it was ended or reset: `once` would take a reset for a failure. */
function left(socket: net.Socket): Promise<void> {
  socket.on('error', () => {}).resume();
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
