// The proxy as a whole, between an edge and a backend: the order of its steps when configurations come and go.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { startProxy } from '#proxy/app.ts';
import type { ConfigItem } from '#proxy/config/schema.ts';
import { serializeConfig } from '#proxy/config/serialize.ts';
import { readSettings } from '#proxy/settings.ts';
import { eventually } from '#test/kube/eventually.ts';
import {
  connected,
  openVisit,
  originDocument,
  readReply,
  recordingLog,
  startOrigin,
  startTunnel,
  visit,
  type TestTunnel,
} from './connector/suites/tunnel.ts';

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A proxy with an open config API; the function pushes a configuration, each later than the one before. */
async function start(t: TestContext, env: Readonly<Record<string, string>>): Promise<(items: readonly ConfigItem[]) => Promise<void>> {
  const common = { PROXY_INSECURE_CONFIG_API: 'true', PROXY_CONFIG_ADDR: '127.0.0.1:0', PROXY_GRACE_PERIOD: '5s' };
  const settings = readSettings({ ...common, ...env });
  assert.ok(!('errors' in settings));
  const proxy = await startProxy(settings, recordingLog());
  t.after(() => proxy.drain());
  let sequence = 0;
  return async (items) => {
    sequence += 1;
    const { lines } = serializeConfig(items, { epoch: 1, sequence }, () => createHash('sha256'));
    const answer = await fetch(`http://127.0.0.1:${proxy.configPort}/config`, {
      method: 'PUT',
      headers: { 'content-type': 'application/x-ndjson' },
      body: [...lines].map((line) => `${line}\n`).join(''),
    });
    assert.equal(answer.status, 200, await answer.text());
  };
}

/** `https://app.example.com` by one tunnel to one endpoint. */
const configuration = (tunnelId: string, entryPort: number, backendPort: number): readonly ConfigItem[] => [
  { kind: 'tunnel', id: tunnelId, entry: 'entry', protocol: 'http2' },
  { kind: 'entry', id: 'entry', port: entryPort, listeners: [{ id: 'https', protocol: 'HTTPS', port: 443 }] },
  { kind: 'backend', id: 'backend', name: 'app', protocol: 'http1', endpoints: [`127.0.0.1:${backendPort}`] },
  {
    kind: 'route',
    id: 'route',
    type: 'HTTP',
    namespace: 'default',
    name: 'app',
    created: '2026-01-01T00:00:00Z',
    attachments: [{ entry: 'entry', listener: 'https', hostnames: ['app.example.com'] }],
    rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], backends: [{ backend: 'backend', weight: 1 }] }],
  },
];

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

interface Running {
  readonly entryPort: number;
  readonly tunnel: TestTunnel;
  readonly push: (items: readonly ConfigItem[]) => Promise<void>;
  readonly wanted: readonly ConfigItem[];
  /** Lets the request that is in flight end; resolves with its answer. */
  readonly answer: () => Promise<string>;
}

interface Serving {
  readonly entryPort: number;
  readonly tunnel: TestTunnel;
  readonly push: (items: readonly ConfigItem[]) => Promise<void>;
  readonly backendPort: number;
  /** The answer to `/held`, once it was asked for. */
  readonly held: Promise<http.ServerResponse>;
}

/** A proxy that is connected to a tunnel and serves. */
async function startServing(t: TestContext): Promise<Serving> {
  const folder = mkdtempSync(path.join(tmpdir(), 'cftunnel-proxy-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const held = Promise.withResolvers<http.ServerResponse>();
  const origin = await startOrigin(t, ({ url }, response) => (url === '/held' ? held.resolve(response) : void response.end('at once')));
  const entryPort = await freePort();
  const tunnel = await startTunnel(t, { connectorPorts: [0] }, originDocument({ port: entryPort }));
  writeFileSync(path.join(folder, 'ca.pem'), tunnel.edge.ca.pem);
  const push = await start(t, {
    TUNNEL_TOKEN: tunnel.token,
    PROXY_CONNECTOR: 'native',
    PROXY_EDGE: tunnel.edge.addresses.join(),
    PROXY_EDGE_CA: path.join(folder, 'ca.pem'),
    PROXY_STATE_DIR: folder,
  });
  await push(configuration(tunnel.id, entryPort, origin.port));
  await connected(tunnel);
  return { entryPort, tunnel, push, backendPort: origin.port, held: held.promise };
}

/** A proxy that serves, with one request in flight, then a configuration without its tunnel: the connector is leaving and cannot yet. */
async function startLeaving(t: TestContext): Promise<Running> {
  const { entryPort, tunnel, push, backendPort, held } = await startServing(t);
  const wanted = configuration(tunnel.id, entryPort, backendPort);

  const request = openVisit(tunnel, { secure: true, path: '/held' });
  request.end();
  const replied = once(request, 'response') as Promise<[http.IncomingMessage]>;
  const response = await held;
  await push([]);
  await tunnel.edge.when(() => tunnel.edge.connections(tunnel.id).every(({ isDraining }) => isDraining));
  const answer = async (): Promise<string> => {
    response.end('whole');
    const [reply] = await replied;
    return (await readReply(reply)).text;
  };
  return { entryPort, tunnel, push, wanted, answer };
}

test('an entry that is no longer wanted stays open until the connector that brings requests to it has left', async (t) => {
  const { entryPort, tunnel, answer } = await startLeaving(t);
  assert.ok(await accepts(entryPort), 'closed while the connector may still bring requests');
  assert.equal(await answer(), 'whole');
  await tunnel.edge.when(() => tunnel.edge.connections(tunnel.id).length === 0);
  let open = true;
  await eventually('the entry is closed', () => {
    void accepts(entryPort).then((is) => (open = is));
    return !open;
  });
});

test('an entry that is wanted again before that stays open', async (t) => {
  const { tunnel, push, wanted, answer } = await startLeaving(t);
  const [{ connectorId } = { connectorId: '' }] = tunnel.edge.connections(tunnel.id);
  await push(wanted);
  assert.equal(await answer(), 'whole');
  const others = () => tunnel.edge.connections(tunnel.id).filter((connection) => connection.connectorId !== connectorId);
  await tunnel.edge.when(() => others().length === 1 && tunnel.edge.connections(tunnel.id).length === 1);
  await connected(tunnel);
  for (let count = 0; count < 10; count += 1) assert.equal((await visit(tunnel, { secure: true })).text, 'at once');
});

test('a tunnel that there is no token for ends no connection as long as it is the only one that is wanted', async (t) => {
  const { entryPort, tunnel, push, backendPort } = await startServing(t);
  const connectors = () => tunnel.edge.connections(tunnel.id).map(({ connectorId, isDraining }) => ({ connectorId, isDraining }));
  const before = connectors();
  await push(configuration('6ba7b811-9dad-41d1-80b4-00c04fd430c8', entryPort, backendPort));
  assert.equal((await visit(tunnel, { secure: true })).text, 'at once');
  assert.deepEqual(connectors(), before);
  await push([]);
  await tunnel.edge.when(() => tunnel.edge.connections(tunnel.id).length === 0);
});
