// Proxies that were given no token: the configuration brings one with each tunnel, and whose is broken does not decide for the others.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startProxy } from '#proxy/app.ts';
import type { ConfigItem } from '#proxy/config/schema.ts';
import { serializeConfig } from '#proxy/config/serialize.ts';
import { readSettings } from '#proxy/settings.ts';
import { freeStablePort } from '#test/cluster/free-port.ts';
import { until } from '#test/cluster/until.ts';
import { connected, originDocument, recordingLog, startOrigin, startTunnel, visit } from './connector/suites/tunnel.ts';

const OTHER = '22222222-2222-3333-4444-555555555555';
const forged = Buffer.from(JSON.stringify({ a: 'f'.repeat(32), t: OTHER, s: Buffer.alloc(32).toString('base64') })).toString('base64');

const entryOf = (id: string, port: number): ConfigItem => ({
  kind: 'entry',
  id: `tunnel/${id}`,
  port,
  listeners: [{ id: `${id}/https`, protocol: 'HTTPS', port: 443 }],
});

test('a tunnel with a token of its own serves, beside one whose token is refused', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'cftunnel-proxy-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const origin = await startOrigin(t, (_request, response) => void response.end('served'));
  const [port, otherPort] = [await freeStablePort('127.0.0.1'), await freeStablePort('127.0.0.1')];
  const tunnel = await startTunnel(t, { connectorPorts: [0] }, originDocument({ port }));
  writeFileSync(path.join(folder, 'ca.pem'), tunnel.edge.ca.pem);
  const settings = readSettings({
    PROXY_INSECURE_CONFIG_API: 'true',
    PROXY_CONFIG_ADDR: '127.0.0.1:0',
    PROXY_GRACE_PERIOD: '1s',
    PROXY_CONNECTOR: 'native',
    PROXY_EDGE: tunnel.edge.addresses.join(),
    PROXY_EDGE_CA: path.join(folder, 'ca.pem'),
    PROXY_STATE_DIR: folder,
  });
  assert.ok(!('errors' in settings));
  const proxy = await startProxy(settings, recordingLog());
  t.after(() => proxy.drain());
  const isReady = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${proxy.configPort}/readyz`)).ok;

  const items: readonly ConfigItem[] = [
    { kind: 'tunnel', id: OTHER, entry: `tunnel/${OTHER}`, protocol: 'http2', token: forged },
    { kind: 'tunnel', id: tunnel.id, entry: `tunnel/${tunnel.id}`, protocol: 'http2', token: tunnel.token },
    entryOf(OTHER, otherPort),
    entryOf(tunnel.id, port),
    { kind: 'backend', id: 'backend', name: 'app', protocol: 'http1', endpoints: [`127.0.0.1:${origin.port}`] },
    {
      kind: 'route',
      id: 'route',
      type: 'HTTP',
      namespace: 'default',
      name: 'app',
      created: '2026-01-01T00:00:00Z',
      attachments: [{ entry: `tunnel/${tunnel.id}`, listener: `${tunnel.id}/https`, hostnames: ['app.example.com'] }],
      rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], backends: [{ backend: 'backend', weight: 1 }] }],
    },
  ];
  const { lines } = serializeConfig(items, { epoch: 1, sequence: 1 }, () => createHash('sha256'));
  const answer = await fetch(`http://127.0.0.1:${proxy.configPort}/config`, {
    method: 'PUT',
    headers: { 'content-type': 'application/x-ndjson' },
    body: [...lines].map((line) => `${line}\n`).join(''),
  });
  assert.equal(answer.status, 200, await answer.text());
  await connected(tunnel);
  await until('it is ready', AbortSignal.timeout(10_000), isReady);
  assert.equal((await visit(tunnel)).text, 'served');
});
