// Limits towards clients: sizes, counts, patience.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPlane } from './plane.ts';
import { OK, answering, eventually, get, rawBackend } from './raw.ts';

test('100 KiB of header pass in both directions, 200 KiB are refused', async (t) => {
  const value = 'a'.repeat(100 << 10);
  const backend = await rawBackend(answering(`HTTP/1.1 200 OK\r\nX-Large: ${value}\r\nContent-Length: 2\r\n\r\nok`));
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const peer = await client();
  peer.send(get('/', `X-Large: ${value}\r\n`));
  await peer.until(/ok$/);
  assert.ok(backend.peers[0]!.text.includes(value));
  assert.ok(peer.text.includes(value));
  const greedy = await client();
  greedy.send(get('/', `X-Large: ${value}${value}\r\n`));
  await greedy.until('HTTP/1.1 431 ');
  assert.equal(backend.peers.length, 1);
});

test('more than 2000 fields are refused, not dropped', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const fields = (count: number): string => Array.from({ length: count }, (_, index) => `x-${index}: y\r\n`).join('');
  const peer = await client();
  peer.send(get('/', fields(1900)));
  await peer.until(/ok$/);
  assert.ok(backend.peers[0]!.text.includes('x-1899: y'));
  const greedy = await client();
  greedy.send(get('/', fields(2500)));
  await greedy.until('HTTP/1.1 431 ');
});

test('a head that does not come to its end: 408', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }], { options: { headersTimeout: 50 } });
  const idle = await client();
  idle.send(get());
  await idle.until(/ok$/);
  const slow = await client();
  slow.send('GET / HTTP/1.1\r\nHost: a\r\n');
  await slow.until('HTTP/1.1 408 ');
  // The limit counts from the first byte of a head: a kept connection is not hurt by it.
  idle.text = '';
  idle.send(get());
  await idle.until(/ok$/);
});

test('a chunk extension without end is refused', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const peer = await client();
  peer.send(`POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;${'x'.repeat(20_000)}`);
  await peer.until(/HTTP\/1\.1 (?:413|400|200) /);
});

test('a client that takes nothing of an answer is not waited for', async (t) => {
  const size = 16 << 20;
  const backend = await rawBackend((peer) => {
    peer.socket.once('data', () =>
      peer.send(Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`), Buffer.alloc(size)])),
    );
  });
  t.after(() => backend.close());
  const { client, plane } = await startPlane(t, [{ endpoints: [backend.address] }], { options: { stallTimeout: 100 } });
  const peer = await client();
  peer.socket.pause();
  peer.send(get());
  await (await backend.peer(0)).gone();
  peer.socket.resume();
  await peer.gone();
  assert.equal(plane.stats().exchanges, 0);
});

test('nor is one that takes nothing of answers that have been given in full', async (t) => {
  const { client, plane } = await startPlane(t, [{ hostname: 'other' }], { options: { stallTimeout: 100 } });
  const peer = await client();
  peer.socket.pause();
  // Our answers fill every buffer on the way, and the exchanges are over all the same.
  peer.send(get().repeat(50_000));
  await eventually(() => plane.stats().connections === 1, 'the connection is accepted');
  await eventually(() => plane.stats().connections === 0, 'the connection is given up');
});
