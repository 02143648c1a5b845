// WebSockets: the handshake, the tunnel, its ends, and upgrades that are refused.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import WebSocket, { WebSocketServer } from 'ws';
import { Metrics } from '#proxy/observe/metrics.ts';
import { startPlane, type RuleDraft, type RunningPlane } from './plane.ts';
import { OK, answering, eventually, get, rawBackend, type RawBackend } from './raw.ts';

const UPGRADE =
  'GET /chat HTTP/1.1\r\nHost: app.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
const SWITCH =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n';

async function pair(
  t: TestContext,
  rule: Partial<RuleDraft> = {},
  options = {},
): Promise<RunningPlane & { readonly backend: RawBackend; readonly metrics: Metrics }> {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const metrics = new Metrics();
  return { ...(await startPlane(t, [{ endpoints: [backend.address], ...rule }], { options, metrics })), backend, metrics };
}

/** A tunnel that stands. */
async function joined(t: TestContext, rule: Partial<RuleDraft> = {}, options = {}) {
  const all = await pair(t, rule, options);
  const client = await all.client();
  client.send(UPGRADE);
  const backend = await all.backend.peer(0);
  await backend.until('\r\n\r\n');
  backend.send(SWITCH);
  await client.until(/^HTTP\/1\.1 101 [^]*\r\n\r\n/);
  return { ...all, clientPeer: client, backendPeer: backend };
}

test('text, binary, subprotocol, extensions, ping, pong and close codes pass, whatever the backend’s protocol is said to be', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'second', perMessageDeflate: true });
  await once(server, 'listening');
  t.after(() => void server.close());
  server.on('connection', (socket) => {
    socket.on('message', (data, binary) => socket.send(data, { binary }));
    socket.on('close', (code, reason) => server.emit('closed', code, reason.toString()));
  });
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { port, plane } = await startPlane(t, [{ endpoints: [address], protocol: 'h2c' }]);
  const socket = new WebSocket(`ws://127.0.0.1:${port}/chat`, ['first', 'second'], { perMessageDeflate: true });
  await once(socket, 'open');
  assert.equal(socket.protocol, 'second');
  assert.match(socket.extensions, /permessage-deflate/);
  socket.send('hello '.repeat(1000));
  const [text] = await once(socket, 'message');
  assert.equal(String(text), 'hello '.repeat(1000));
  const blob = Buffer.alloc(1 << 20, 7);
  socket.send(blob);
  const [echo] = await once(socket, 'message');
  assert.ok(blob.equals(echo as Buffer));
  socket.ping('x');
  await once(socket, 'pong');
  assert.equal(plane.stats().tunnels, 1);
  const closed = once(server, 'closed');
  socket.close(4321, 'bye');
  assert.deepEqual(await closed, [4321, 'bye']);
  await eventually(() => plane.stats().tunnels === 0, 'the tunnel is closed');
});

test('the handshake is forwarded whole, with the visitor’s identity', async (t) => {
  const { backendPeer } = await joined(t);
  assert.match(
    backendPeer.text,
    /^GET \/chat HTTP\/1\.1\r\nHost: app\.example\.com\r\nSec-WebSocket-Key: [^]*X-Real-IP: 127\.0\.0\.1\r\n[^]*Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n$/,
  );
});

test('first bytes that come with the handshake are not lost, on either side', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send(`${UPGRADE}from the client`);
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  peer.send(', early');
  at.send(`${SWITCH}from the backend`);
  await peer.until(/\r\n\r\nfrom the backend$/);
  await at.until(/\r\n\r\nfrom the client, early$/);
});

test('an end in one direction leaves the other open', async (t) => {
  const { clientPeer, backendPeer, plane } = await joined(t);
  clientPeer.socket.end('last words');
  assert.equal(await backendPeer.gone(), 'ended');
  assert.match(backendPeer.text, /last words$/);
  backendPeer.send('and still');
  await eventually(() => clientPeer.text.endsWith('and still'), 'the other direction works');
  backendPeer.socket.end();
  await eventually(() => plane.stats().tunnels === 0, 'both ends are closed');
});

for (const who of ['clientPeer', 'backendPeer'] as const) {
  test(`a reset by the ${who === 'clientPeer' ? 'client' : 'backend'} closes the other side`, async (t) => {
    const all = await joined(t);
    all[who].reset();
    await all[who === 'clientPeer' ? 'backendPeer' : 'clientPeer'].gone();
    await eventually(() => all.plane.stats().tunnels === 0, 'the tunnel is closed');
    assert.deepEqual([all.metrics.tunnels, all.metrics.inFlight], [0, 0]);
    assert.ok(all.metrics.exposition().includes('requests_total{hostname="",status_class="1xx"} 1'));
  });
}

test('a slow reader holds the sender back', async (t) => {
  const { clientPeer, backendPeer, plane } = await joined(t);
  const total = 32 << 20;
  clientPeer.socket.pause();
  const chunk = Buffer.alloc(1 << 20);
  let sent = 0;
  const pump = (): void => {
    while (sent < total) {
      sent += chunk.length;
      if (!backendPeer.socket.write(chunk)) return;
    }
  };
  backendPeer.socket.on('drain', pump);
  pump();
  const { tick } = plane;
  await eventually(() => plane.tick > tick + 15, 'a proxy that does not hold back has taken everything');
  assert.ok(backendPeer.socket.bytesWritten < total / 2);
  clientPeer.socket.resume();
  await eventually(() => clientPeer.bytes > total, 'everything has arrived');
});

test('a refusal is relayed with its body, and the connection ends', async (t) => {
  const { client, backend, plane } = await pair(t);
  const peer = await client();
  peer.send(UPGRADE);
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send('HTTP/1.1 403 Forbidden\r\nX-Why: because\r\nContent-Length: 4\r\n\r\nno!\n');
  await peer.gone();
  assert.match(peer.text, /^HTTP\/1\.1 403 Forbidden\r\nX-Why: because\r\nContent-Length: 4\r\nConnection: close\r\n\r\nno!\n$/);
  await eventually(() => plane.stats().exchanges === 0, 'the exchange is over');
});

test('a chunked refusal comes without its chunks', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send(UPGRADE);
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send('HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nno!\r\n0\r\n\r\n');
  await peer.gone();
  assert.match(peer.text, /^HTTP\/1\.1 426 Upgrade Required\r\nUpgrade: websocket\r\nConnection: close\r\n\r\nno!$/);
});

test('answers of our own to an upgrade', async (t) => {
  const { client, configure } = await pair(t);
  for (const [draft, status] of [
    [{ prefix: '/elsewhere' }, 404],
    [{ endpoints: [] }, 503],
    [{ endpoints: ['127.0.0.1:1'] }, 502],
    [{ rule: { filters: [{ type: 'RequestRedirect', scheme: 'https', statusCode: 301 }] } }, 301],
  ] satisfies [RuleDraft, number][]) {
    configure(draft);
    const peer = await client();
    peer.send(UPGRADE);
    await peer.gone();
    assert.match(peer.text, new RegExp(`^HTTP/1\\.1 ${status} [^]*Connection: close\r\n`));
  }
});

test('response edits apply to the switch, but cannot break it', async (t) => {
  const modifier = { set: [{ name: 'X-Out', value: 'o' }], remove: ['Sec-WebSocket-Accept'] };
  const { clientPeer } = await joined(t, { rule: { filters: [{ type: 'ResponseHeaderModifier', modifier }] } });
  assert.match(
    clientPeer.text,
    /^HTTP\/1\.1 101 Switching Protocols\r\nSec-WebSocket-Accept: [^]*X-Out: o\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n$/,
  );
});

test('another protocol than the one asked for is refused', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send(UPGRADE);
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
  await peer.until('HTTP/1.1 502');
  await at.gone();
});

test('a time limit of the route ends with the handshake', async (t) => {
  const { clientPeer, backendPeer, plane } = await joined(t, { rule: { timeouts: { request: 40, backendRequest: 40 } } });
  const { tick } = plane;
  await eventually(() => plane.tick > tick + 4, 'the limit has long passed');
  backendPeer.send('still here');
  await clientPeer.until(/still here$/);
});

test('a handshake that is not answered: 504', async (t) => {
  const { client } = await pair(t, { rule: { timeouts: { request: 20 } } });
  const peer = await client();
  peer.send(UPGRADE);
  await peer.until('HTTP/1.1 504');
});

test('a client that goes away before the handshake is answered', async (t) => {
  const { client, backend, plane } = await pair(t);
  const peer = await client();
  peer.send(UPGRADE);
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  peer.close();
  await at.gone();
  await eventually(() => plane.stats().exchanges === 0, 'the exchange is over');
});

test('silent tunnels are kept, unless a limit says otherwise', async (t) => {
  const { clientPeer, backendPeer } = await joined(t, {}, { upgradeStallTimeout: 1 });
  await Promise.all([clientPeer.gone(), backendPeer.gone()]);
});

test('a new configuration cuts no tunnel, draining does after the grace', async (t) => {
  const { clientPeer, backendPeer, plane, configure } = await joined(t);
  configure({ prefix: '/elsewhere' });
  backendPeer.send('still here');
  await clientPeer.until(/still here$/);
  assert.equal(plane.stats().tunnels, 1);
  await plane.drain(10);
  await Promise.all([clientPeer.gone(), backendPeer.gone()]);
});

test('any other upgrade is an ordinary request', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const peer = await client();
  peer.send(get('/', 'Connection: Upgrade\r\nUpgrade: spdy/3\r\n'));
  await peer.until(/ok$/);
  assert.doesNotMatch(backend.peers[0]!.text, /upgrade/i);
});
