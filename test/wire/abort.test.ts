// One side goes away: the other is told, nothing leaks, nobody mistakes it for a proper end.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Metrics } from '#proxy/observe/metrics.ts';
import { startPlane, type RunningPlane } from './plane.ts';
import { eventually, get, rawBackend, type Peer, type RawBackend } from './raw.ts';

async function pair(t: TestContext): Promise<RunningPlane & { readonly backend: RawBackend; readonly metrics: Metrics }> {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const metrics = new Metrics();
  return { ...(await startPlane(t, [{ endpoints: [backend.address] }], { metrics })), backend, metrics };
}

async function nothingLeft({ plane, metrics }: Awaited<ReturnType<typeof pair>>): Promise<void> {
  await eventually(() => plane.stats().exchanges === 0, 'no exchange is open');
  assert.equal(metrics.inFlight, 0);
}

const PHASES: readonly (readonly [string, (client: Peer, backend: Peer) => Promise<void>])[] = [
  ['before the answer', async () => {}],
  [
    'while it uploads',
    async (client, backend) => {
      client.send('3\r\nabc\r\n');
      await backend.until('abc');
    },
  ],
  [
    'in the middle of the answer',
    async (client, backend) => {
      backend.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc');
      await client.until('abc');
    },
  ],
];

for (const [when, reach] of PHASES) {
  for (const how of ['close', 'reset'] as const) {
    test(`a client that goes away (${how}) ${when} takes the backend's exchange with it`, async (t) => {
      const all = await pair(t);
      const client = await all.client();
      client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
      const backend = await all.backend.peer(0);
      await backend.until('\r\n\r\n');
      await reach(client, backend);
      client[how]();
      await backend.gone();
      await nothingLeft(all);
      assert.ok(all.metrics.exposition().includes('requests_total{hostname="",status_class="aborted"} 1'));
    });
  }
}

test('a client that goes away while the connection is made', async (t) => {
  const all = await pair(t);
  const client = await all.client();
  client.send(get());
  client.reset();
  await nothingLeft(all);
});

for (const [name, sent] of [
  ['a body of known length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc'],
  ['a chunked body', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'],
  ['a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc'],
] as const) {
  for (const how of ['end', 'reset'] as const) {
    test(`a backend that breaks off ${name} (${how}) breaks the client's connection`, async (t) => {
      const all = await pair(t);
      const client = await all.client();
      client.send(get());
      const backend = await all.backend.peer(0);
      await backend.until('\r\n\r\n');
      backend.send(sent);
      await client.until('abc');
      if (how === 'end') backend.socket.end();
      else backend.reset();
      assert.equal(await client.gone(), 'reset');
      assert.ok(client.text.includes('abc') && !client.text.endsWith('0\r\n\r\n'));
      await nothingLeft(all);
    });
  }
}

test('a backend that breaks a body that ends with the connection', async (t) => {
  const all = await pair(t);
  const client = await all.client();
  client.send(get());
  const backend = await all.backend.peer(0);
  await backend.until('\r\n\r\n');
  backend.send('HTTP/1.1 200 OK\r\n\r\nabc');
  await client.until('abc');
  backend.reset();
  assert.equal(await client.gone(), 'reset');
});

test('a chunk size that is none breaks off too', async (t) => {
  const all = await pair(t);
  const client = await all.client();
  client.send(get());
  const backend = await all.backend.peer(0);
  await backend.until('\r\n\r\n');
  backend.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n');
  assert.equal(await client.gone(), 'reset');
  await backend.gone();
});

test('an abort of one pipelined exchange ends the others', async (t) => {
  const all = await pair(t);
  const client = await all.client();
  client.send(get('/1') + get('/2') + get('/3'));
  await all.backend.peer(2);
  client.reset();
  for (const index of [0, 1, 2]) await (await all.backend.peer(index)).gone();
  await nothingLeft(all);
});

test('connections that come and go in the middle of everything do not bring the process down', async (t) => {
  const all = await pair(t);
  const requests = [
    'GET',
    'GET / HTTP/1.1\r\nHost: a\r\n',
    get(),
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc`,
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nxx',
  ];
  for (let round = 0; round < 40; round++) {
    const client = await all.client();
    client.send(requests[round % requests.length]!);
    if (round % 2 === 0) client.reset();
    else client.socket.end(() => client.reset());
  }
  await eventually(() => all.plane.stats().connections === 0, 'all connections are gone');
  await nothingLeft(all);
});
