// The client of the API server: timeouts, errors, connections and credentials, against real sockets.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { KubeClient } from '#controller/kube/client.ts';
import { describeError, KubeError, parseRetryAfter } from '#controller/kube/errors.ts';
import { FaultServer, refuse } from './fault-server.ts';

async function start(t: TestContext, user?: Record<string, unknown>) {
  const server = await FaultServer.start();
  const client = new KubeClient({ kubeConfig: server.kubeConfig(user) });
  t.after(async () => {
    client.close();
    await server.stop();
  });
  return { server, client };
}

const get = { method: 'GET', path: '/api/v1/namespaces' } as const;

suite('requests', () => {
  test('name us, and keep the connection', async (t) => {
    const { server, client } = await start(t);
    const ports = new Set<number | undefined>();
    server.intercept = (_seen, response) => (ports.add(response.socket?.remotePort), false);
    for (let index = 0; index < 5; index++) await client.json(get);
    assert.equal(ports.size, 1);
    assert.equal(server.seen[0]?.headers['user-agent'], 'cloudflare-tunnel-gateway-controller');
  });

  test('a refusal is a typed error with what the server said', async (t) => {
    const { server, client } = await start(t);
    server.intercept = (_seen, response) => refuse(response, 429, 'TooManyRequests', { 'retry-after': '7' });
    const error = await client.json(get).catch((error: unknown) => error);
    assert.ok(error instanceof KubeError);
    assert.deepEqual([error.status, error.reason, error.retryAfterMs], [429, 'TooManyRequests', 7000]);
    assert.equal(describeError(error), 'HTTP 429: refused: TooManyRequests');
  });

  test('silence ends in an error, before and inside the answer', async (t) => {
    const { server, client } = await start(t);
    server.intercept = () => true;
    await assert.rejects(client.json({ ...get, idleMs: 40 }), /no byte from the API server for 40 ms/);
    server.intercept = (_seen, response) => (response.writeHead(200).write('{'), true);
    await assert.rejects(client.json({ ...get, idleMs: 40 }), /no byte from the API server for 40 ms/);
  });

  test('an answer that is too long is refused while it comes', async (t) => {
    const { server, client } = await start(t);
    server.intercept = (_seen, response) => (response.writeHead(200).end(Buffer.alloc(3 << 20, 32)), true);
    await assert.rejects(client.json({ ...get, maxBytes: 1 << 20 }), /longer than 1048576 bytes/);
  });

  test('an answer cut in the middle is an error', async (t) => {
    const { server, client } = await start(t);
    server.intercept = (_seen, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"kind":', () => response.socket?.destroy());
      return true;
    };
    await assert.rejects(client.json(get));
  });

  test('the text of a malformed answer never shows: it may be a Secret', async (t) => {
    const { server, client } = await start(t);
    server.intercept = (_seen, response) => (response.writeHead(200).end('hunter2'), true);
    await assert.rejects(client.json(get), (error: Error) => error.message === 'not valid JSON' && !error.stack?.includes('hunter2'));
  });

  test('a kept connection that the server closes just then is replaced', async (t) => {
    const { server, client } = await start(t);
    await client.json(get);
    let cut = 0;
    server.intercept = (_seen, response) => cut++ === 0 && (response.socket?.destroy(), true);
    await client.json(get);
    assert.equal(cut, 2);
  });

  test('an aborted request fails', async (t) => {
    const { server, client } = await start(t);
    server.intercept = () => true;
    await assert.rejects(client.json({ ...get, signal: AbortSignal.timeout(20) }));
    await assert.rejects(client.json({ ...get, signal: AbortSignal.abort() }));
  });
});

suite('credentials', () => {
  test('a token file is read again on 401, whatever was cached', async (t) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'credentials-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const tokenFile = path.join(folder, 'token');
    writeFileSync(tokenFile, 'old');
    const { server, client } = await start(t, { authProvider: { name: 'tokenFile', config: { tokenFile } } });
    await client.json(get);
    writeFileSync(tokenFile, 'new');
    server.intercept = (seen, response) => seen.headers.authorization !== 'Bearer new' && refuse(response, 401, 'Unauthorized');
    await client.json(get);
    assert.deepEqual(
      server.seen.map((seen) => seen.headers.authorization),
      ['Bearer old', 'Bearer old', 'Bearer new'],
    );
    await client.json(get);
    assert.equal(server.seen.length, 4);
  });

  test('many refusals at once renew once', async (t) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'credentials-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const counter = path.join(folder, 'runs');
    const script = `require('fs').appendFileSync(${JSON.stringify(counter)}, 'x'); console.log(JSON.stringify({ status: { token: 't' } }))`;
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', script] };
    const { server, client } = await start(t, { exec });
    await client.json(get);
    let left = 5;
    server.intercept = (_seen, response) => left-- > 0 && refuse(response, 401, 'Unauthorized');
    await Promise.all(Array.from({ length: 5 }, () => client.json(get)));
    // The plugin's answer is cached once it is there; requests that start together may each run it.
    assert.ok(readFileSync(counter, 'utf8').length <= 6);
    const runs = readFileSync(counter, 'utf8').length;
    await client.json(get);
    assert.equal(readFileSync(counter, 'utf8').length, runs);
  });

  test('a plugin that fails is an error in words, without its output', async (t) => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', 'console.log("hunter2")'] };
    const { client } = await start(t, { exec });
    await assert.rejects(client.json(get), (error: Error) => {
      assert.match(error.message, /cannot obtain the credentials of the kubeconfig user/);
      assert.ok(!`${error.message} ${error.stack} ${String(error.cause)}`.includes('hunter2'));
      return true;
    });
  });

  test('a kubeconfig without context says what to set', async (t) => {
    const server = await FaultServer.start();
    t.after(() => server.stop());
    const kubeConfig = server.kubeConfig();
    kubeConfig.setCurrentContext('nothing');
    assert.throws(() => new KubeClient({ kubeConfig }), /set current-context/);
  });
});

test('Retry-After in seconds and as a date', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  assert.equal(parseRetryAfter('3', now), 3000);
  assert.equal(parseRetryAfter('Thu, 01 Jan 2026 00:00:05 GMT', now), 5000);
  assert.equal(parseRetryAfter('Wed, 31 Dec 2025 23:59:59 GMT', now), 0);
  for (const text of [undefined, '', 'soon', '-1x', '9'.repeat(400)]) assert.equal(parseRetryAfter(text, now), null);
});
