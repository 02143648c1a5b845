// Pushing configurations: the controller's links against the proxy's config API, over its real port.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PlanePusher } from '#controller/apply/proxy.ts';
import type { PlaneFact, PlanePlan } from '#controller/api/plan.ts';
import { startConfigApi } from '#proxy/config/api.ts';
import { LastGood } from '#proxy/config/last-good.ts';
import { ConfigReceiver } from '#proxy/config/receiver.ts';
import type { Accepted } from '#proxy/config/receiver.ts';
import type { ConfigItem, ConfigState } from '#proxy/config/schema.ts';
import { serializeConfig } from '#proxy/config/serialize.ts';
import { eventually } from '#test/kube/eventually.ts';

const TOKEN = 'shared-token';

interface Proxy {
  readonly url: string;
  readonly port: number;
  readonly receiver: ConfigReceiver;
  readonly applied: Accepted[];
  /** Makes applying fail. */
  broken: boolean;
  close(): Promise<void>;
}

/** The config API of a proxy whose data plane only notes what it is given. */
async function proxy(t: TestContext, token: string | null = TOKEN, port = 0): Promise<Proxy> {
  const applied: Accepted[] = [];
  const receiver = new ConfigReceiver(async (accepted) => {
    if (self.broken) throw new Error('no memory');
    applied.push(accepted);
    await Promise.resolve();
  });
  const state = (): ConfigState => {
    const { epoch = 0, sequence = 0, digest = '' } = receiver.header ?? {};
    return { epoch, sequence, digest, routes: 0, rules: 0, backends: 0, tunnels: 0, ready: true };
  };
  const api = await startConfigApi({
    address: { host: '127.0.0.1', port },
    token,
    receive: (body) => receiver.receive(body),
    state,
    notReady: () => null,
    metrics: null,
  });
  let closed = false;
  const close = async (): Promise<void> => {
    if (!closed) await api.close(0);
    closed = true;
  };
  t.after(close);
  const self: Proxy = { url: `http://127.0.0.1:${api.port}/config`, port: api.port, receiver, applied, broken: false, close };
  return self;
}

interface Pusher {
  readonly pusher: PlanePusher;
  readonly higher: number[];
  /** Resolves when the fact is as wanted; looked at after each change. */
  readonly when: (holds: (fact: PlaneFact) => boolean) => Promise<PlaneFact>;
}

function pusher(t: TestContext, token: string | null = TOKEN, pollMs = 50): Pusher {
  const waiting = new Set<() => void>();
  const higher: number[] = [];
  const subject = new PlanePusher({
    token,
    pollMs,
    onFact: () => waiting.forEach((check) => check()),
    onHigherEpoch: (epoch) => higher.push(epoch),
  });
  t.after(() => subject.stop());
  const when = (holds: (fact: PlaneFact) => boolean): Promise<PlaneFact> =>
    new Promise((resolve) => {
      const check = (): void => {
        const fact = subject.fact();
        if (!holds(fact)) return;
        waiting.delete(check);
        resolve(fact);
      };
      waiting.add(check);
      check();
    });
  return { pusher: subject, higher, when };
}

const backend = (id: string, endpoints = 1): ConfigItem => ({
  kind: 'backend',
  id,
  name: id,
  protocol: 'http1',
  endpoints: Array.from({ length: endpoints }, (_, i) => `10.0.${i >> 8}.${i & 255}:80`),
});
const plan = (...items: ConfigItem[]): PlanePlan => ({ id: 'shared', items });
const acknowledged = (fact: PlaneFact): boolean => fact.state === 'Acknowledged';

test('every proxy gets the configuration; the same one is not sent twice', async (t) => {
  const [a, b] = [await proxy(t), await proxy(t)];
  const { pusher: subject, when } = pusher(t);
  subject.follow([a.url, b.url]);
  subject.apply(plan(backend('x')), { epoch: 1, sequence: 1 });
  const fact = await when(acknowledged);
  assert.match(fact.message, /2 of 2 proxies/);
  subject.apply(plan(backend('x')), { epoch: 1, sequence: 2 });
  await subject.round(1000);
  assert.deepEqual([a.applied.length, b.applied.length], [1, 1]);
  subject.apply(plan(backend('y')), { epoch: 1, sequence: 3 });
  await subject.round(5000);
  assert.deepEqual(
    [a, b].map(({ applied }) => applied.at(-1)?.config.backends[0]?.id),
    ['y', 'y'],
  );
});

test('a proxy that is down holds back nobody, and gets the configuration when it comes', async (t) => {
  const gone = await proxy(t);
  await gone.close();
  const alive = await proxy(t);
  const { pusher: subject, when } = pusher(t);
  subject.follow([gone.url, alive.url]);
  subject.apply(plan(backend('x')), { epoch: 1, sequence: 1 });
  await subject.round(60_000);
  const fact = await when(acknowledged);
  assert.match(fact.message, /1 of 2 proxies/);
  const back = await proxy(t, TOKEN, gone.port);
  await when((now) => acknowledged(now) && /2 of 2/.test(now.message));
  assert.equal(back.applied.length, 1);
});

test('a restarted proxy that lost everything is noticed and served again', async (t) => {
  const first = await proxy(t);
  const { pusher: subject, when } = pusher(t);
  subject.follow([first.url]);
  subject.apply(plan(backend('x')), { epoch: 1, sequence: 1 });
  await when(acknowledged);
  await first.close();
  const second = await proxy(t, TOKEN, first.port);
  await when(() => second.applied.length === 1);
  assert.equal(second.receiver.header?.digest, first.receiver.header?.digest);
});

test('an older configuration is refused with 409 and the pair in force; an equal one is taken', async (t) => {
  const subject = await proxy(t);
  const body = (epoch: number, sequence: number, id: string): Iterable<Buffer> =>
    [...serializeConfig([backend(id)], { epoch, sequence }, () => createHash('sha256')).lines].map((line) => Buffer.from(`${line}\n`));
  assert.equal(await subject.receiver.receive(body(2, 5, 'x')), null);
  assert.equal((await subject.receiver.receive(body(2, 4, 'y')))?.status, 409);
  assert.equal((await subject.receiver.receive(body(1, 99, 'y')))?.status, 409);
  assert.equal((await subject.receiver.receive(body(2, 5, 'y')))?.status, 409, 'same order, other content');
  assert.equal(await subject.receiver.receive(body(2, 5, 'x')), null, 'the sender may not have heard the answer');
  assert.equal(await subject.receiver.receive(body(3, 1, 'z')), null);
  assert.deepEqual(subject.receiver.header?.epoch, 3);
});

test('a proxy that follows a higher epoch makes the controller raise its own', async (t) => {
  const subject = await proxy(t);
  const newer = pusher(t);
  newer.pusher.follow([subject.url]);
  newer.pusher.apply(plan(backend('new')), { epoch: 7, sequence: 1 });
  await newer.when(acknowledged);
  const older = pusher(t);
  older.pusher.follow([subject.url]);
  older.pusher.apply(plan(backend('old')), { epoch: 3, sequence: 500 });
  await older.when((fact) => fact.state === 'Behind');
  assert.equal(older.higher[0], 7);
  older.pusher.apply(plan(backend('old')), { epoch: 8, sequence: 501 });
  await older.when(acknowledged);
  assert.equal(subject.applied.at(-1)?.config.backends[0]?.id, 'old');
});

test('another token is told as such, and nothing of the configuration leaves', async (t) => {
  const subject = await proxy(t, 'other-token');
  const { pusher: wrong, when } = pusher(t);
  wrong.follow([subject.url]);
  wrong.apply(plan(backend('x')), { epoch: 1, sequence: 1 });
  const fact = await when(({ message }) => message.includes('handshake'));
  assert.match(fact.message, /PROXY_AUTH_TOKEN/);
  assert.equal(subject.applied.length, 0);
});

test('without TLS nothing is told and nothing is taken', async (t) => {
  const subject = await proxy(t);
  for (const method of ['GET', 'PUT']) {
    const response = await fetch(subject.url, { method, headers: { authorization: `Bearer ${TOKEN}` } });
    assert.equal(response.status, 426);
    assert.deepEqual(Object.keys((await response.json()) as object), ['code', 'message']);
  }
  assert.equal((await fetch(new URL('/healthz', subject.url))).status, 200);
});

test('an open config API takes plain HTTP from a controller without token', async (t) => {
  const subject = await proxy(t, null);
  const { pusher: open, when } = pusher(t, null);
  open.follow([subject.url]);
  open.apply(plan(backend('x')), { epoch: 1, sequence: 1 });
  await when(acknowledged);
  assert.equal(subject.applied.length, 1);
});

test('a configuration that cannot be put into force is reported and tried again', async (t) => {
  const subject = await proxy(t);
  subject.broken = true;
  const { pusher: link, when } = pusher(t);
  link.follow([subject.url]);
  link.apply(plan(backend('x')), { epoch: 1, sequence: 1 });
  await when((fact) => fact.state === 'Behind' && fact.message.includes('no memory'));
  subject.broken = false;
  await when(acknowledged);
});

test('no size cliff: 64 MiB arrive whole', async (t) => {
  const subject = await proxy(t);
  const { pusher: link, when } = pusher(t);
  link.follow([subject.url]);
  const items = Array.from({ length: 64 }, (_, i) => backend(`b${i}`, 48_000));
  const bytes = items.reduce((sum, item) => sum + JSON.stringify(item).length, 0);
  assert.ok(bytes > 40 << 20, `${bytes} bytes`);
  link.apply(plan(...items), { epoch: 1, sequence: 1 });
  await when(acknowledged);
  assert.equal(subject.applied[0]?.config.backends.length, 64);
});

test('garbage bodies are refused with a reason, and the next good one is taken', async (t) => {
  const subject = await proxy(t, null);
  for (const body of ['', 'x', '{}\n', '{"kind":"config"}\n', '[1]\n', '{"kind":"config","format":99,"epoch":1,"sequence":1}\n']) {
    const response = await fetch(subject.url, { method: 'PUT', body, headers: { 'content-type': 'application/x-ndjson' } });
    assert.equal(response.status, 400, JSON.stringify(body));
    const { message } = (await response.json()) as { message: string };
    assert.ok(message.length > 5);
  }
  const { pusher: link, when } = pusher(t, null);
  link.follow([subject.url]);
  link.apply(plan(backend('x')), { epoch: 1, sequence: 1 });
  await when(acknowledged);
});

test('a body that is cut off changes nothing', async (t) => {
  const subject = await proxy(t, null);
  const request = http.request(subject.url, {
    method: 'PUT',
    headers: { 'content-type': 'application/x-ndjson', 'content-length': '100000' },
  });
  request.on('error', () => {});
  request.write('{"kind":"config","format":1,');
  await new Promise((resolve) => request.once('socket', (socket) => socket.once('connect', resolve)));
  request.destroy();
  const { pusher: link, when } = pusher(t, null);
  link.follow([subject.url]);
  link.apply(plan(backend('x')), { epoch: 1, sequence: 1 });
  await when(acknowledged);
});

test('the last good configuration survives a restart, readable by its owner only', async (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'last-good-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const store = new LastGood(dir);
  const first = await proxy(t);
  const { pusher: link, when } = pusher(t);
  link.follow([first.url]);
  link.apply(plan(backend('x', 1000)), { epoch: 4, sequence: 2 });
  await when(acknowledged);
  await store.store(first.applied[0] ?? assert.fail('nothing applied'));
  assert.equal(statSync(path.join(dir, 'last-good.ndjson')).mode & 0o777, 0o600);
  const second = await proxy(t);
  assert.equal(await second.receiver.receive(store.read()), null);
  assert.equal(second.receiver.header?.digest, first.receiver.header?.digest);
  assert.equal((await second.receiver.receive(new LastGood(path.join(dir, 'none')).read()))?.code, 'incomplete');
});

test('what is no proxy is told as such, and not asked again without a pause', async (t) => {
  for (const body of ['<!doctype html><title>Welcome</title>', '{}', 'x'.repeat(3 << 20)]) {
    const times: number[] = [];
    const server = http.createServer((request, response) => {
      times.push(performance.now());
      request.resume().on('end', () => response.end(body));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const { pusher: subject, when } = pusher(t, null);
    subject.follow([`http://127.0.0.1:${(server.address() as AddressInfo).port}/config`]);
    subject.apply(plan(backend('x')), { epoch: 1, sequence: 1 });
    const { state, message } = await when((fact) => fact.message.includes('its answer is not that of a proxy: check --proxy-endpoints'));
    assert.notEqual(state, 'Acknowledged', message);
    await eventually('a third request', () => times.length > 2);
    const [first = 0, , third = 0] = times;
    assert.ok(third - first > 100, `three requests within ${third - first} ms`);
    subject.stop();
  }
});
