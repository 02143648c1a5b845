// Configurations and listeners come and go under traffic: nothing is lost, nothing is cut that need not be.
import assert from 'node:assert/strict';
import { Agent, createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { startPlane, tableOf } from './plane.ts';
import { OK, Peer, answering, eventually, get, rawBackend } from './raw.ts';

/** A real HTTP server that says its name. */
async function named(t: TestContext, name: string): Promise<string> {
  const server = createServer((_req, res) => res.end(name));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function fetchText(port: number, agent: Agent): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ port, host: '127.0.0.1', agent, headers: { host: 'app.example.com' } }, (res: IncomingMessage) => {
      let text = '';
      res.on('data', (chunk: Buffer) => (text += chunk.toString()));
      res.on('end', () => resolve({ status: res.statusCode ?? 0, text }));
      res.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

test('fifty swaps under load lose no request, and each answer comes from a configured backend', async (t) => {
  const addresses = await Promise.all(['a', 'b', 'c'].map((name) => named(t, name)));
  const { plane, port } = await startPlane(t, [{ endpoints: [addresses[0]!] }]);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.after(() => agent.destroy());
  const load = { swaps: 0 };
  const answers = new Set<string>();
  const client = async (): Promise<void> => {
    while (load.swaps < 50) {
      const { status, text } = await fetchText(port, agent);
      assert.equal(status, 200);
      answers.add(text);
    }
  };
  const clients = Array.from({ length: 8 }, client);
  for (; load.swaps < 50; load.swaps++) {
    plane.setTable(tableOf(port, [{ endpoints: [addresses[load.swaps % 3]!] }]));
    await fetchText(port, agent);
  }
  await Promise.all(clients);
  assert.deepEqual([...answers].sort(), ['a', 'b', 'c']);
  await eventually(() => plane.stats().upstream.endpoints === 1, 'only the endpoint of the last table is kept');
});

test('connections to endpoints that stay are kept across a swap; idle ones to others close, busy ones finish', async (t) => {
  const [stays, goes] = await Promise.all([rawBackend(answering(OK)), rawBackend()]);
  t.after(() => Promise.all([stays.close(), goes.close()]));
  const { client, configure, plane } = await startPlane(t, [
    { prefix: '/stays', endpoints: [stays.address] },
    { prefix: '/goes', endpoints: [goes.address] },
  ]);
  const first = await client();
  first.send(get('/stays'));
  await first.until(/ok$/);
  const idle = await client();
  idle.send(get('/goes/idle'));
  const idleBackend = await goes.peer(0);
  await idleBackend.until('/idle');
  const busy = await client();
  busy.send(get('/goes/busy'));
  const busyBackend = await goes.peer(1);
  await busyBackend.until('/busy');
  idleBackend.send(OK);
  await idle.until(/ok$/);

  configure({ prefix: '/stays', endpoints: [stays.address] });
  await idleBackend.gone();
  assert.equal(busyBackend.state, 'open');
  busyBackend.send(OK);
  await busy.until(/ok$/);
  await busyBackend.gone();
  first.text = '';
  first.send(get('/stays/2'));
  await first.until(/ok$/);
  assert.equal(stays.peers.length, 1);
  busy.text = '';
  busy.send(get('/goes'));
  await busy.until('HTTP/1.1 404');
  await eventually(() => plane.stats().upstream.connections === 1, 'nothing is left of the endpoint that went');
});

test('requests belong to the entry whose port they came to', async (t) => {
  const [one, two] = await Promise.all([named(t, 'one'), named(t, 'two')]);
  const { plane, port } = await startPlane(t, []);
  const other = await plane.listen(0);
  const first = tableOf(port, [{ endpoints: [one] }]);
  const second = tableOf(other.port, [{ endpoints: [two] }]);
  plane.setTable({
    ...first,
    entries: new Map([...first.entries, ...second.entries]),
    backends: new Map([...first.backends, ...[...second.backends].map(([id, backend]) => [`${id}'`, backend] as const)]),
  });
  const agent = new Agent();
  assert.deepEqual(await Promise.all([fetchText(port, agent), fetchText(other.port, agent)]), [
    { status: 200, text: 'one' },
    { status: 200, text: 'two' },
  ]);
  plane.setTable(first);
  assert.equal((await fetchText(other.port, agent)).status, 503);
});

test('a listener that is closed finishes what it has begun', async (t) => {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const { plane, port, client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const [busy, idle] = await Promise.all([client(), client()]);
  busy.send(get());
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  const closed = plane.unlisten(port);
  await idle.gone();
  await assert.rejects(Peer.connect(port));
  at.send(OK);
  await busy.until(/Connection: close\r\n[^]*ok$/);
  await closed;
  assert.equal(plane.stats().listeners, 0);
});

test('draining waits for exchanges, then closes', async (t) => {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const { plane, client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const [busy, idle] = await Promise.all([client(), client()]);
  busy.send(get('/1'));
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  const drained = plane.drain(10_000);
  // A request that was already on its way when draining began is still served.
  idle.send(get('/2'));
  const late = await backend.peer(1);
  await late.until('/2');
  late.send(OK);
  await idle.until(/Connection: close\r\n[^]*ok$/);
  at.send(OK);
  await busy.until(/Connection: close\r\n[^]*ok$/);
  await drained;
  assert.deepEqual(plane.stats(), {
    listeners: 0,
    connections: 0,
    exchanges: 0,
    tunnels: 0,
    upstream: { endpoints: 1, connections: 0, ejected: 0 },
  });
});

test('draining does not wait longer than the grace', async (t) => {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const { plane, client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const busy = await client();
  busy.send(get());
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  await plane.drain(20);
  await Promise.all([busy.gone(), at.gone()]);
});

test('a large answer that is still on its way out is not cut by draining', async (t) => {
  const size = 8 << 20;
  const backend = await rawBackend((peer) => {
    peer.socket.once('data', () =>
      peer.send(Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`), Buffer.alloc(size, 'x')])),
    );
  });
  t.after(() => backend.close());
  const { plane, client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const peer = await client();
  peer.socket.pause();
  peer.send(get());
  await backend.peer(0);
  await eventually(() => plane.stats().exchanges === 1, 'the answer has begun');
  const drained = plane.drain(10_000);
  peer.socket.resume();
  await peer.gone();
  assert.ok(peer.bytes > size);
  await drained;
});

test('closing idle connections leaves busy ones alone', async (t) => {
  const backend = await rawBackend((peer) => {
    peer.socket.on('data', () => {
      if (!peer.text.includes('/busy')) peer.send(OK);
    });
  });
  t.after(() => backend.close());
  const { plane, client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const [busy, idle] = await Promise.all([client(), client()]);
  idle.send(get('/idle'));
  await idle.until(/ok$/);
  const idleBackend = await backend.peer(0);
  busy.send('POST /busy HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx');
  await eventually(() => backend.peers.some(({ text }) => text.endsWith('x')), 'the request has arrived');
  plane.closeIdle();
  await idle.gone();
  assert.equal(busy.state, 'open');
  const busyBackend = backend.peers.find(({ text }) => text.includes('/busy'))!;
  assert.equal(busyBackend.state, 'open');
  if (busyBackend !== idleBackend) await idleBackend.gone();
  busyBackend.send(OK);
  await busy.until(/ok$/);
});
