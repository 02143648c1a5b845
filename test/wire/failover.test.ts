// Endpoints that refuse, hang or are gone: where a request goes instead, and what a client is told when there is nowhere to go.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPlane } from './plane.ts';
import { OK, answering, eventually, get, rawBackend } from './raw.ts';

/** An address that refuses every connection. */
async function refusing(): Promise<string> {
  const backend = await rawBackend();
  await backend.close();
  return backend.address;
}

async function statusOf(
  client: () => Promise<{ send(text: string): void; until(what: RegExp): Promise<string> }>,
  request: string,
): Promise<number> {
  const peer = await client();
  peer.send(request);
  return Number((await peer.until(/^HTTP\/1\.1 \d{3} [^]*\r\n\r\n/)).slice(9, 12));
}

test('a refused connection moves on to the next endpoint, with any method and the whole body', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { client, plane, warnings } = await startPlane(t, [{ endpoints: [backend.address, await refusing()] }]);
  for (let i = 0; i < 3; i++) {
    assert.equal(await statusOf(client, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc'), 200);
  }
  assert.equal(backend.peers[0]!.text.match(/abc/g)?.length, 3);
  assert.equal(plane.stats().upstream.ejected, 1);
  assert.deepEqual(warnings, ['endpoint left out after failed connections']);
});

test('when all endpoints refuse, the fallback gets the request', async (t) => {
  const fallback = await rawBackend(answering(OK));
  t.after(() => fallback.close());
  const { client } = await startPlane(t, [{ endpoints: [await refusing(), await refusing()], fallback: fallback.address }]);
  assert.equal(await statusOf(client, get()), 200);
  // Ejected endpoints are still tried before it when nothing else is left.
  assert.equal(await statusOf(client, get()), 200);
});

test('when nobody takes the connection: 502', async (t) => {
  const { client } = await startPlane(t, [{ endpoints: [await refusing(), await refusing()], fallback: await refusing() }]);
  assert.equal(await statusOf(client, get()), 502);
});

test('a sole endpoint is used although it was left out', async (t) => {
  const address = await refusing();
  const { client, plane } = await startPlane(t, [{ endpoints: [address] }]);
  for (let i = 0; i < 3; i++) assert.equal(await statusOf(client, get()), 502);
  assert.equal(plane.stats().upstream.ejected, 1);
});

test('an endpoint that does not answer the connection in time: 504', async (t) => {
  // TEST-NET-1: the packets go nowhere; where they are refused at once, the answer is 502.
  const { client } = await startPlane(t, [{ endpoints: ['192.0.2.1:80'] }], { options: { connectTimeout: 30 } });
  assert.ok([504, 502].includes(await statusOf(client, get())));
});

test('a malformed endpoint address is a failed endpoint, not a crash', async (t) => {
  const { client } = await startPlane(t, [{ endpoints: ['nonsense', '127.0.0.1:99999', ':80'] }]);
  assert.equal(await statusOf(client, get()), 502);
});

test('no ready endpoint: 503', async (t) => {
  const { client } = await startPlane(t, [{ endpoints: [] }]);
  assert.equal(await statusOf(client, get()), 503);
});

test('requests go to the endpoint with the fewest in flight', async (t) => {
  const [one, two] = await Promise.all([rawBackend(), rawBackend()]);
  t.after(() => Promise.all([one.close(), two.close()]));
  const { client } = await startPlane(t, [{ endpoints: [one.address, two.address] }]);
  for (let i = 0; i < 4; i++) {
    const peer = await client();
    peer.send(get());
    await eventually(() => one.peers.length + two.peers.length === i + 1, 'the request has arrived');
  }
  assert.deepEqual([one.peers.length, two.peers.length], [2, 2]);
});

test('backendRequestTimeout: 504 when no head comes in time, and the connection is given up', async (t) => {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address], rule: { timeouts: { backendRequest: 30 } } }]);
  assert.equal(await statusOf(client, get()), 504);
  await backend.peers[0]!.gone();
});

test('requestTimeout: 504 before the head, a visible break after it', async (t) => {
  const backend = await rawBackend((peer) => {
    peer.socket.on('data', () => {
      if (peer.text.includes('/late')) peer.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    });
  });
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address], rule: { timeouts: { request: 60 } } }]);
  assert.equal(await statusOf(client, get('/never')), 504);
  const peer = await client();
  peer.send(get('/late'));
  await peer.until('abc');
  await peer.gone();
  assert.ok(!peer.text.endsWith('0\r\n\r\n'), 'a response that was cut must not look complete');
});

test('a slow body is not cut by backendRequestTimeout', async (t) => {
  const backend = await rawBackend((peer) => {
    peer.socket.once('data', () => {
      peer.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no');
      setTimeout(() => peer.send('k'), 60);
    });
  });
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address], rule: { timeouts: { backendRequest: 30 } } }]);
  const peer = await client();
  peer.send(get());
  await peer.until(/\r\n\r\nok$/);
});

test('an exchange in which nothing moves is ended: 504 before the head', async (t) => {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const { client, plane } = await startPlane(t, [{ endpoints: [backend.address] }], { options: { stallTimeout: 1 } });
  assert.equal(await statusOf(client, get()), 504);
  assert.equal(plane.stats().exchanges, 0);
});

for (const [name, answer] of [
  ['no HTTP at all', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
  ['both framings', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok'],
  ['a folded field', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok'],
  ['bare line feeds', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok\r\n\r\n'],
  ['an unasked switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
  ['a name with a blank', 'HTTP/1.1 200 OK\r\nX y: z\r\nContent-Length: 2\r\n\r\nok'],
  ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(140_000)}`],
] as const) {
  test(`a backend that answers with ${name}: 502, and its connection is not kept`, async (t) => {
    const backend = await rawBackend((peer) => peer.socket.once('data', () => peer.send(answer)));
    t.after(() => backend.close());
    const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
    assert.equal(await statusOf(client, get()), 502);
    await backend.peers[0]!.gone();
  });
}
