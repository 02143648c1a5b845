// Bodies in motion: nothing is held back, nothing is lost, nothing is taken for an end that is none.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { DataPlane } from '#proxy/data-plane.ts';
import { startPlane, type RunningPlane } from './plane.ts';
import { Peer, eventually, get, rawBackend, type RawBackend } from './raw.ts';

/** A plane in front of a backend that the test speaks for itself. */
async function pair(t: TestContext, options = {}): Promise<RunningPlane & { readonly backend: RawBackend }> {
  const backend = await rawBackend();
  t.after(() => backend.close());
  return { ...(await startPlane(t, [{ endpoints: [backend.address] }], { options })), backend };
}

const CHUNKED_HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const UPLOAD = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

test('events arrive one by one, in order, as they are sent', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send(get());
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
  await peer.until('text/event-stream');
  for (const event of ['one', 'two', 'six']) {
    at.send(`9\r\ndata: ${event}\r\n`);
    await peer.until(`data: ${event}`);
  }
  at.send('0\r\n\r\n');
  await peer.until(/one[^]*two[^]*six[^]*0\r\n\r\n$/);
});

test('both directions stream at the same time', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send(UPLOAD);
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send(CHUNKED_HEAD);
  await peer.until('\r\n\r\n');
  for (const word of ['ping', 'pong', 'pang']) {
    peer.send(`4\r\n${word}\r\n`);
    await at.until(word);
    at.send(`4\r\n${word}\r\n`);
    await peer.until(word);
  }
  peer.send('0\r\n\r\n');
  await at.until(/0\r\n\r\n$/);
  at.send('0\r\nX-Done: yes\r\n\r\n');
  await peer.until(/0\r\nX-Done: yes\r\n\r\n$/);
});

test('trailers of a response pass, those that frame, route or identify do not', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send(get('/', 'TE: trailers\r\n'));
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  assert.match(at.text, /\r\nTE: trailers\r\nConnection: TE\r\n/);
  at.send(
    'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\nContent-Type: x/y\r\n\r\n',
  );
  await peer.until(/0\r\nX-Sum: 1\r\n\r\n$/);
  assert.match(peer.text, /\r\nTrailer: X-Sum\r\n/);
});

test('a client of HTTP/1.0 gets neither chunks nor trailers, and sees the end', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send('GET / HTTP/1.0\r\nHost: a\r\n\r\n');
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send('HTTP/1.1 200 OK\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n');
  assert.equal(await peer.gone(), 'ended');
  assert.match(peer.text, /\r\n\r\nabc$/);
  assert.doesNotMatch(peer.text, /Transfer-Encoding|X-T/i);
});

test('to a client of HTTP/1.0 a broken response is a broken connection', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send('GET / HTTP/1.0\r\nHost: a\r\n\r\n');
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send(`${CHUNKED_HEAD}3\r\nabc\r\n`);
  await peer.until('abc');
  at.reset();
  assert.equal(await peer.gone(), 'reset');
});

test('a response that ends with its connection ends cleanly', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send(get());
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send('HTTP/1.1 200 OK\r\n\r\nuntil the end');
  at.socket.end();
  await peer.until(/until the end\r\n0\r\n\r\n$/);
});

for (const [name, request, response, expected] of [
  [
    'HEAD',
    'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n',
    /200 OK\r\nContent-Length: 1000\r\n[^]*\r\n\r\n$/,
  ],
  [
    'HEAD of a chunked resource',
    'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    /200 OK\r\n[^]*\r\n\r\n$/,
  ],
  [
    '204',
    get(),
    'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n',
    /204 No Content\r\n(?![^]*Transfer-Encoding)[^]*\r\n\r\n$/,
  ],
  [
    '304',
    get(),
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nETag: "x"\r\n\r\n',
    /304 Not Modified\r\n[^]*ETag: "x"\r\n[^]*\r\n\r\n$/,
  ],
] as const) {
  test(`${name} has no body, and the connections go on`, async (t) => {
    const { client, backend } = await pair(t);
    const peer = await client();
    for (let round = 1; round <= 2; round++) {
      peer.text = '';
      peer.send(request);
      const at = await backend.peer(0);
      await eventually(() => at.text.split('\r\n\r\n').length === round + 1, 'the request has arrived');
      at.send(response);
      await peer.until(expected);
    }
    assert.equal(backend.peers.length, 1);
  });
}

test('early hints pass, other interim answers do not, and none ends the exchange', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send(get());
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  const hint = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n';
  at.send(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${hint}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`);
  await peer.until(/ok$/);
  assert.match(peer.text, /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>; rel=preload\r\n\r\nHTTP\/1\.1 200 OK/);
});

test('interim answers without end are not waited for', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send(get());
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send('HTTP/1.1 102 Processing\r\n\r\n'.repeat(100));
  await peer.until('HTTP/1.1 502');
});

test('100 is sent when the backend is reached, and the body follows', async (t) => {
  const { client, backend } = await pair(t);
  const peer = await client();
  peer.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n');
  await peer.until('HTTP/1.1 100 Continue\r\n\r\n');
  peer.send('abc');
  const at = await backend.peer(0);
  await at.until(/\r\n\r\nabc$/);
  assert.doesNotMatch(at.text, /Expect/i);
  at.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  await peer.until(/ok$/);
});

test('a request that is refused is not asked for its body', async (t) => {
  const { client, configure } = await pair(t);
  configure({ prefix: '/elsewhere', endpoints: [] });
  const peer = await client();
  peer.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n');
  await peer.gone();
  assert.match(peer.text, /^HTTP\/1\.1 404 [^]*Connection: close\r\n/);
});

test('an upload is thrown away up to a limit when it has been answered early', async (t) => {
  const { client, backend, plane } = await pair(t, { lingerBytes: 1 << 20, lingerTime: 60_000 });
  const peer = await client();
  peer.send(UPLOAD);
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno');
  await peer.until(/401[^]*no$/);
  await at.gone();
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536), Buffer.from('\r\n')]);
  const pump = (): void => {
    while (peer.state === 'open' && peer.socket.write(chunk));
  };
  peer.socket.on('drain', pump);
  pump();
  await peer.gone();
  await eventually(() => plane.stats().connections === 0, 'the connection is closed');
});

test('an upload that stops after an early answer does not keep its connection for ever', async (t) => {
  const { client, backend } = await pair(t, { lingerTime: 1 });
  const peer = await client();
  peer.send(`${UPLOAD}3\r\nabc\r\n`);
  const at = await backend.peer(0);
  await at.until('abc');
  at.send('HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno');
  await peer.until(/no$/);
  await peer.gone();
});

test('memory stays flat when the client is slow', async (t) => {
  const total = 64 << 20;
  const { client, plane, backend } = await pair(t);
  const peer = await client();
  peer.socket.pause();
  peer.send(get());
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
  const written = pumpInto(at, total);
  await patience(plane);
  const before = at.socket.bytesWritten;
  // What has left the backend now is in the buffers of two sockets and of the kernel: megabytes, not the whole.
  assert.ok(before < total / 4, `${before} bytes were taken from the backend`);
  const counting = new Peer(peer.socket, false);
  peer.socket.removeAllListeners('data');
  peer.socket.on('data', (chunk: Buffer) => void (counting.bytes += chunk.length));
  peer.socket.resume();
  await eventually(() => counting.bytes >= total, 'everything has arrived');
  await written;
  await eventually(() => plane.stats().exchanges === 0, 'the exchange is over');
});

test('memory stays flat when the backend is slow', async (t) => {
  const total = 64 << 20;
  const backend = await rawBackend((peer) => void peer.socket.pause(), false);
  t.after(() => backend.close());
  const { client, plane } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const peer = await client();
  peer.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${total}\r\n\r\n`);
  const written = pumpInto(peer, total);
  const at = await backend.peer(0);
  await patience(plane);
  assert.ok(peer.socket.bytesWritten < total / 4, `${peer.socket.bytesWritten} bytes were taken from the client`);
  at.socket.resume();
  await eventually(() => at.bytes > total, 'everything has arrived');
  await written;
  at.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  await peer.until(/ok$/);
});

/** Long enough for a proxy that does not hold back to take everything. */
async function patience(plane: DataPlane): Promise<void> {
  const { tick } = plane;
  await eventually(() => plane.tick > tick + 15, 'time has passed');
}

/** Writes `total` bytes as fast as the other side takes them. */
async function pumpInto({ socket }: Peer, total: number): Promise<void> {
  const chunk = Buffer.alloc(1 << 20, 'x');
  for (let sent = 0; sent < total; sent += chunk.length) {
    if (!socket.write(chunk)) await new Promise((resolve) => socket.once('drain', resolve));
  }
}
