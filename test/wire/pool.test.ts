// Connections to backends: what is reused, what must never be, and what happens when one breaks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPlane } from './plane.ts';
import { OK, answering, eventually, get, rawBackend, type Peer } from './raw.ts';

const POST = 'POST / HTTP/1.1\r\nHost: app.example.com\r\nContent-Length: 3\r\n\r\nabc';

/** One request on a client connection of its own; the text of the answer. */
async function ask(client: () => Promise<Peer>, request: string): Promise<string> {
  const peer = await client();
  peer.send(request);
  await peer.until(/^HTTP\/1\.1 (?!1)\d{3} [^]*\r\n\r\n/);
  const length = Number(/content-length: (\d+)/i.exec(peer.text)?.[1] ?? 0);
  await peer.until(() => peer.text.length >= peer.text.indexOf('\r\n\r\n') + 4 + length);
  return peer.text;
}

test('the connection that was used last is reused first', async (t) => {
  const backend = await rawBackend((peer) => {
    peer.socket.on('data', () => {
      if (!/GET \/hold [^]*\r\n\r\n$/.test(peer.text) || peer.text.includes('/2')) peer.send(OK);
    });
  });
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const holder = await client();
  holder.send(get('/hold'));
  const held = await backend.peer(0);
  await held.until('/hold');
  await ask(client, get('/1'));
  held.send(OK);
  await holder.until(/ok$/);
  await ask(client, get('/2'));
  assert.ok(held.text.includes('/2'));
  assert.equal(backend.peers.length, 2);
});

test('a request that may be repeated survives a connection that the backend closes as it is sent', async (t) => {
  const backend = await rawBackend((peer) => {
    let requests = 0;
    peer.socket.on('data', () => {
      requests += 1;
      // The second request on the first connection meets the end of it.
      if (requests === 2 && peer === backend.peers[0]) peer.reset();
      else peer.send(OK);
    });
  });
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  await ask(client, get('/1'));
  assert.match(await ask(client, get('/2')), /^HTTP\/1\.1 200/);
  assert.equal(backend.peers.length, 2);
});

test('a request that changes something is never sent twice', async (t) => {
  const backend = await rawBackend((peer) => {
    let requests = 0;
    peer.socket.on('data', () => {
      requests += 1;
      if (requests === 2) peer.reset();
      else peer.send(OK);
    });
  });
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  await ask(client, POST);
  assert.match(await ask(client, POST), /^HTTP\/1\.1 502/);
  assert.equal(backend.peers.length, 1);
});

test('a fresh connection that breaks is not tried again', async (t) => {
  const backend = await rawBackend((peer) => peer.socket.on('data', () => peer.reset()));
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  assert.match(await ask(client, get()), /^HTTP\/1\.1 502/);
  assert.equal(backend.peers.length, 1);
});

test('a partial answer is not followed by a second try', async (t) => {
  const backend = await rawBackend((peer) => {
    let requests = 0;
    peer.socket.on('data', () => {
      requests += 1;
      if (requests === 1) peer.send(OK);
      else {
        peer.send('HTTP/1.1 200');
        peer.socket.end();
      }
    });
  });
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  await ask(client, get('/1'));
  assert.match(await ask(client, get('/2')), /^HTTP\/1\.1 502/);
  assert.equal(backend.peers.length, 1);
});

test('bytes that nobody asked for never become an answer', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { client, plane } = await startPlane(t, [{ endpoints: [backend.address] }]);
  await ask(client, get('/1'));
  backend.peers[0]!.send('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison');
  await backend.peers[0]!.gone();
  await eventually(() => plane.stats().upstream.connections === 0, 'the poisoned connection is gone');
  assert.ok(!(await ask(client, get('/2'))).includes('poison'));
});

test('an answer with bytes behind it is the last one of its connection', async (t) => {
  const backend = await rawBackend(answering(`${OK}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison`));
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  for (const path of ['/1', '/2']) assert.match(await ask(client, get(path)), /\r\n\r\nok$/);
  assert.equal(backend.peers.length, 2);
});

for (const [name, head] of [
  ['Connection: close', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok'],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'],
  ['a timeout of one second', 'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok'],
] as const) {
  test(`a connection is not kept after ${name}`, async (t) => {
    const backend = await rawBackend(answering(head));
    t.after(() => backend.close());
    const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
    for (const path of ['/1', '/2']) assert.match(await ask(client, get(path)), /\r\n\r\nok$/);
    assert.equal(backend.peers.length, 2);
  });
}

test('a connection that has been idle for too long is not used, even if nobody has closed it yet', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }], { options: { tickTime: 60_000, idleTimeout: 1 } });
  await ask(client, get('/1'));
  const answered = performance.now();
  await eventually(() => performance.now() > answered + 5, 'the time is over');
  await ask(client, get('/2'));
  assert.equal(backend.peers.length, 2);
});

test('idle connections are closed before the backend would', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }], { options: { idleTimeout: 10 } });
  await ask(client, get());
  assert.equal(await backend.peers[0]!.gone(), 'ended');
});

test('a hint of the backend keeps a connection longer', async (t) => {
  const backend = await rawBackend(answering('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=60, max=100\r\nContent-Length: 2\r\n\r\nok'));
  t.after(() => backend.close());
  const { client, plane } = await startPlane(t, [{ endpoints: [backend.address] }], { options: { idleTimeout: 0 } });
  await ask(client, get('/1'));
  // One turn of the sweeper would have closed it.
  const { tick } = plane;
  await eventually(() => plane.tick > tick + 1, 'the sweeper has run');
  await ask(client, get('/2'));
  assert.equal(backend.peers.length, 1);
});

test('connections are capped; who waits gets one, who waits too long or too many gets 503', async (t) => {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const options = { maxConnections: 1, maxQueue: 1, queueTimeout: 50 };
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }], { options });
  const [first, second, third] = await Promise.all([client(), client(), client()]);
  first.send(get('/1'));
  const at = await backend.peer(0);
  await at.until('/1');
  second.send(get('/2'));
  third.send(get('/3'));
  const refused = await Promise.race([second, third].map(async (peer) => peer.until(/^HTTP[^]*\r\n\r\n/)));
  assert.match(refused, /^HTTP\/1\.1 503 [^]*Retry-After: 1\r\n/);
  await Promise.all([second, third].map((peer) => peer.until('HTTP/1.1 503')));
  first.send('');
  const fourth = await client();
  fourth.send(get('/4'));
  at.send(OK);
  await at.until('/4');
  at.send(OK);
  await fourth.until(/ok$/);
  assert.equal(backend.peers.length, 1);
});

test('an early answer does not leave half a request on a kept connection', async (t) => {
  const backend = await rawBackend((peer) => {
    peer.socket.once('data', () => peer.send('HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno'));
  });
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const peer = await client();
  peer.send('POST / HTTP/1.1\r\nHost: app.example.com\r\nContent-Length: 10\r\n\r\nabc');
  await peer.until(/413[^]*no$/);
  await backend.peers[0]!.gone();
  // The rest of the request is read and thrown away: the client's connection goes on.
  peer.send('defghij');
  peer.send(get('/next'));
  await backend.peer(1);
  await backend.peers[1]!.until('/next');
  assert.ok(!backend.peers[1]!.text.includes('defghij'));
});
