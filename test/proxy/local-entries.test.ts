// The own entry of a running proxy: ports follow the configurations that are pushed, and one that cannot be had stops nobody.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { startProxy } from '#proxy/app.ts';
import { configStateSchema, type ConfigItem, type ConfigState, type LocalEntryConfig } from '#proxy/config/schema.ts';
import { serializeConfig } from '#proxy/config/serialize.ts';
import { readSettings } from '#proxy/settings.ts';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import { rawClient, tlsClient } from '#test/wire/own-entry.ts';
import { OK, Peer, rawBackend, type RawBackend } from '#test/wire/raw.ts';
import { recordingLog } from './connector/suites/tunnel.ts';

/** A port that is taken until `release`. */
async function takenPort(t: TestContext): Promise<{ readonly port: number; release(): Promise<void> }> {
  const server = net.createServer().listen(0, '::');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { port, release: () => new Promise((resolve) => server.close(() => resolve())) };
}

async function freePort(t: TestContext): Promise<number> {
  const { port, release } = await takenPort(t);
  await release();
  return port;
}

interface Running {
  push(items: readonly ConfigItem[]): Promise<ConfigState>;
  state(): Promise<string>;
  readonly log: ReturnType<typeof recordingLog>;
  stop(): Promise<void>;
}

async function start(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<Running> {
  const common = { PROXY_INSECURE_CONFIG_API: 'true', PROXY_CONFIG_ADDR: '127.0.0.1:0', PROXY_GRACE_PERIOD: '2s' };
  const settings = readSettings({ ...common, PROXY_STATE_DIR: '/proc/none', ...env });
  assert.ok(!('errors' in settings));
  const log = recordingLog();
  const proxy = await startProxy(settings, log);
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopped ??= proxy.drain());
  t.after(stop);
  const url = `http://127.0.0.1:${proxy.configPort}/config`;
  let sequence = 0;
  return {
    log,
    stop,
    state: async () => (await fetch(url)).text(),
    push: async (items) => {
      sequence += 1;
      const { lines } = serializeConfig(items, { epoch: 1, sequence }, () => createHash('sha256'));
      const body = [...lines].map((line) => `${line}\n`).join('');
      const answer = await fetch(url, { method: 'PUT', headers: { 'content-type': 'application/x-ndjson' }, body });
      assert.equal(answer.status, 200);
      return configStateSchema.parse(await answer.json());
    },
  };
}

function local(port: number, rest: Partial<LocalEntryConfig> = {}): LocalEntryConfig {
  const listeners = [{ id: `Gateway/infra/a/${port}`, protocol: rest.protocol ?? 'HTTP', port: 80 } as const];
  return { kind: 'localEntry', id: `local/infra/a/${port}`, port, listenerPort: 80, protocol: 'HTTP', listeners, ...rest };
}

/** Everything at every listener of these entries goes to one backend. */
function routed(entries: readonly LocalEntryConfig[], backend: RawBackend): readonly ConfigItem[] {
  const attachments = entries.flatMap(({ id, listeners }) =>
    listeners.map((listener) => ({ entry: id, listener: listener.id, hostnames: [] })),
  );
  const rules = [{ matches: [{}], backends: [{ backend: 'backend', weight: 1 }] }];
  return [
    ...entries,
    { kind: 'backend', id: 'backend', name: 'app', protocol: 'http1', endpoints: [backend.address] },
    { kind: 'route', id: 'route', type: 'HTTP', namespace: 'a', name: 'a', created: '2026-01-01T00:00:00Z', attachments, rules },
  ];
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

async function backendOf(t: TestContext, onPeer?: (peer: Peer) => void): Promise<RawBackend> {
  const backend = await rawBackend(onPeer);
  t.after(() => backend.close());
  return backend;
}

test('an entry opens with the configuration that names it, and closes with the next, after what is under way', async (t) => {
  const [backend, port, other] = [await backendOf(t), await freePort(t), await freePort(t)];
  const proxy = await start(t);
  assert.deepEqual((await proxy.push(routed([local(port)], backend))).ready, true, 'no tunnel, no token');
  const [client, idle] = [await rawClient(t, port), await rawClient(t, port, '::1')];
  client.send(GET);
  const peer = await backend.peer(0);
  await peer.until(/\r\n\r\n$/);
  assert.equal((await proxy.push(routed([local(other)], backend))).problems, undefined);
  await idle.gone();
  await assert.rejects(rawClient(t, port), /ECONNREFUSED/);
  peer.send(OK);
  await client.until(/ok$/);
  await client.gone();
  await rawClient(t, other);
});

test('a port that is taken is told, keeps nobody else from being served, and is tried again with the next configuration', async (t) => {
  const [backend, taken, port] = [await backendOf(t), await takenPort(t), await freePort(t)];
  const proxy = await start(t);
  const state = await proxy.push(routed([local(taken.port), local(port)], backend));
  assert.match(state.problems?.join() ?? '', new RegExp(`^local/infra/a/${taken.port}: port ${taken.port} cannot be opened: .*EADDRINUSE`));
  await rawClient(t, port);
  await taken.release();
  assert.equal((await proxy.push(routed([local(taken.port), local(port)], backend))).problems, undefined);
  await rawClient(t, taken.port);
});

test('PROXY_ENTRY_ADDRESS limits where it listens', async (t) => {
  const [backend, port] = [await backendOf(t), await freePort(t)];
  const proxy = await start(t, { PROXY_ENTRY_ADDRESS: '127.0.0.1' });
  await proxy.push(routed([local(port)], backend));
  await rawClient(t, port);
  await assert.rejects(rawClient(t, port, '::1'), /ECONNREFUSED/);
});

test('PROXY_TRUSTED_HOPS says whose X-Forwarded-For is believed', async (t) => {
  const [backend, port] = [await backendOf(t), await freePort(t)];
  const proxy = await start(t, { PROXY_TRUSTED_HOPS: '1' });
  await proxy.push(routed([local(port)], backend));
  const client = await rawClient(t, port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.7\r\n\r\n');
  await (await backend.peer(0)).until(/X-Real-IP: 203\.0\.113\.7\r\n/);
});

test('the key of a certificate is neither logged nor told, and survives a restart on disk only', async (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'proxy-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const [backend, port, authority] = [await backendOf(t), await freePort(t), await createCertificateAuthority()];
  const pair = await authority.issue('a.test');
  const broken = { cert: pair.cert, key: `-----BEGIN PRIVATE KEY-----\nvery-secret\n-----END PRIVATE KEY-----` };
  const listener = (name: string) => ({ id: name, protocol: 'HTTPS' as const, port: 443, hostname: name, certificates: [name] });
  const entry = local(port, { protocol: 'HTTPS', listenerPort: 443, listeners: [listener('a.test'), listener('broken.test')] });
  const items: readonly ConfigItem[] = [
    ...routed([entry], backend),
    { kind: 'certificate', id: 'a.test', ...pair },
    { kind: 'certificate', id: 'broken.test', ...broken },
  ];
  const options = (servername: string) => ({ servername, ca: authority.pem, checkServerIdentity: () => undefined });
  const first = await start(t, { PROXY_STATE_DIR: dir });
  await first.push(items);
  await assert.rejects(tlsClient(t, port, options('broken.test')));
  const secret = pair.key.split('\n')[1] ?? '';
  assert.ok(secret.length > 20);
  const told = `${await first.state()}${JSON.stringify(first.log)}`;
  assert.ok(!told.includes(secret) && !told.includes('very-secret'));
  await first.stop();
  await start(t, { PROXY_STATE_DIR: dir });
  const visit = new Peer(await tlsClient(t, port, options('a.test')));
  visit.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  (await backend.peer(0)).send(OK);
  await visit.until(/ok$/);
});

test('a proxy that ends serves what is under way at its own entry, and takes visitors for a little while', async (t) => {
  const [backend, port] = [await backendOf(t), await freePort(t)];
  const proxy = await start(t);
  await proxy.push(routed([local(port)], backend));
  const client = await rawClient(t, port);
  client.send(GET);
  const peer = await backend.peer(0);
  await peer.until(/\r\n\r\n$/);
  const stopped = proxy.stop();
  const late = await rawClient(t, port);
  late.send(GET);
  (await backend.peer(1)).send(OK);
  assert.match(await late.until(/ok$/), /^HTTP\/1\.1 200/, 'a visitor who has not heard of it yet');
  peer.send(OK);
  await client.until(/ok$/);
  await stopped;
});
