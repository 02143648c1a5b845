// The edge double: addresses of tunnels, hostnames, certificates, failures on demand, and what it tells of its connectors.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import tls from 'node:tls';
import { randomUUID } from 'node:crypto';
import { createNativeConnector } from '#proxy/connector/native/native-connector.ts';
import { startEdge, type EdgeTunnel, type RegisteredConnection } from '#test/cloudflare/edge/edge.ts';
import { openSession } from '#test/proxy/connector/suites/shared.ts';
import {
  connected,
  connectorOptions,
  FAST,
  NATIVE,
  openVisit,
  originDocument,
  startOrigin,
  startTunnel,
  visit,
  type TestTunnel,
} from '#test/proxy/connector/suites/tunnel.ts';

async function running(t: TestContext): Promise<TestTunnel> {
  const origin = await startOrigin(t, (_, response) => void response.end('ok'));
  const tunnel = await startTunnel(t, { connectorPorts: [0, 0] }, originDocument(origin));
  await NATIVE.start(tunnel, t);
  return tunnel;
}

describe('edge: addresses', () => {
  test('each tunnel has an address of its own, the same each time', async (t) => {
    const tunnel: EdgeTunnel = { accountTag: 'a', secret: '', configSrc: 'cloudflare', document: { version: 0, config: null } };
    const edges = [await startEdge({ authority: { tunnel: () => tunnel } }), await startEdge({ authority: { tunnel: () => tunnel } })];
    t.after(() => Promise.all(edges.map((edge) => edge.close())));
    const ids = Array.from({ length: 10 }, () => randomUUID());
    const [first = [], second = []] = await Promise.all(edges.map((edge) => Promise.all(ids.map((id) => edge.openTunnel(id)))));
    assert.equal(new Set(first.map(({ ip }) => ip)).size, ids.length);
    assert.deepEqual(
      first.map(({ ip }) => ip),
      second.map(({ ip }) => ip),
    );
    for (const { ip } of first) assert.match(ip, /^127\.77\.\d+\.\d+$/);
    const [edge] = edges;
    const [id = ''] = ids;
    assert.deepEqual(await edge?.openTunnel(id), first[0]);
    assert.deepEqual(edge?.address(id), first[0]);
    await edge?.closeTunnel(id);
    assert.equal(edge?.address(id), undefined);
  });

  test('the same ports for all tunnels, on their own addresses', async (t) => {
    const tunnel: EdgeTunnel = { accountTag: 'a', secret: '', configSrc: 'cloudflare', document: { version: 0, config: null } };
    const [http = 0, https = 0] = await freePorts(2);
    const edge = await startEdge({ authority: { tunnel: () => tunnel }, visitorPorts: { http, https }, connectorPorts: [0] });
    t.after(() => edge.close());
    const addresses = await Promise.all([randomUUID(), randomUUID()].map((id) => edge.openTunnel(id)));
    for (const address of addresses) assert.deepEqual([address.httpPort, address.httpsPort], [http, https]);
    assert.notEqual(addresses[0]?.ip, addresses[1]?.ip);
  });
});

describe('edge: visitors', () => {
  test('no connector: 530 with error 1033, over all protocols', async (t) => {
    const tunnel = await startTunnel(t, { connectorPorts: [0] });
    for (const secure of [false, true]) {
      const reply = await visit(tunnel, { secure });
      assert.deepEqual([reply.status, reply.text], [530, 'error code: 1033']);
    }
    const head = await visit(tunnel, { method: 'HEAD' });
    assert.deepEqual([head.status, head.text], [530, '']);
    const session = openSession(tunnel);
    const stream = session.request({ ':authority': 'app.example.com' });
    const [headers] = await once(stream, 'response');
    assert.equal(headers[':status'], 530);
    session.destroy();
    const upgrade = openVisit(tunnel, { headers: { connection: 'Upgrade', upgrade: 'websocket' } }).end();
    const [response] = (await once(upgrade, 'response')) as [http.IncomingMessage];
    assert.equal(response.statusCode, 530);
    upgrade.destroy();
  });

  test('a deleted tunnel, and names by DNS record', async (t) => {
    const [one, two] = [randomUUID(), randomUUID()];
    const records = new Map([
      ['one.example.com', one],
      ['gone.example.com', randomUUID()],
    ]);
    const secret = Buffer.alloc(32, 1).toString('base64');
    const origin = await startOrigin(t, (_, response) => void response.end('one'));
    const known: EdgeTunnel = {
      accountTag: 'a',
      secret,
      configSrc: 'cloudflare',
      document: { version: 1, config: originDocument(origin) },
    };
    const authority = {
      tunnel: (id: string) => (id === one || id === two ? known : undefined),
      resolve: (name: string) => records.get(name),
    };
    const edge = await startEdge({ authority, requireDns: true, connectorPorts: [0] });
    t.after(() => edge.close());
    await Promise.all([edge.openTunnel(one), edge.openTunnel(two)]);
    const at = (id: string): TestTunnel => ({ id, edge, record: known, configure: () => Promise.resolve(), token: tokenOf(one, secret) });
    const connector = createNativeConnector(connectorOptions(at(one)), FAST);
    t.after(() => connector.stop());
    connector.start();
    await connected(at(one));
    // The record decides, not the address that the visitor has used.
    assert.equal((await visit(at(one), { host: 'one.example.com' })).text, 'one');
    assert.equal((await visit(at(two), { host: 'ONE.example.com:8080' })).text, 'one');
    const unknown = await visit(at(one), { host: 'unknown.example.com' });
    assert.deepEqual([unknown.status, unknown.text], [409, 'error code: 1001']);
    const gone = await visit(at(one), { host: 'gone.example.com' });
    assert.deepEqual([gone.status, gone.text], [530, 'error code: 1033']);
  });

  test('a certificate for whatever name, HTTP/2 and HTTP/1.1 as the visitor likes', async (t) => {
    const tunnel = await startTunnel(t, { connectorPorts: [0] });
    const address = tunnel.edge.address(tunnel.id);
    assert.ok(address);
    for (const [servername, offered, chosen] of [
      ['a.example.com', ['h2', 'http/1.1'], 'h2'],
      ['b.c.d.example.com', ['http/1.1'], 'http/1.1'],
      ['e.example.com', undefined, false],
    ] as const) {
      const options: tls.ConnectionOptions = { host: address.ip, port: address.httpsPort, servername, ca: tunnel.edge.ca.pem };
      if (offered !== undefined) options.ALPNProtocols = [...offered];
      const socket: tls.TLSSocket = tls.connect(options);
      await once(socket, 'secureConnect');
      assert.equal(socket.alpnProtocol, chosen);
      assert.equal(socket.getPeerCertificate().subject.CN, servername);
      socket.destroy();
    }
  });

  test('clients that speak no HTTP or no TLS do no harm', async (t) => {
    const tunnel = await running(t);
    const address = tunnel.edge.address(tunnel.id);
    assert.ok(address);
    for (const port of [address.httpPort, address.httpsPort]) {
      const socket = net.connect(port, address.ip);
      socket.on('error', () => undefined);
      socket.end('nonsense\r\n\r\n');
      socket.resume();
      await new Promise((resolve) => socket.once('close', resolve));
    }
    assert.equal((await visit(tunnel, { secure: true })).text, 'ok');
  });

  test('encodings are normalised, so that connectors never add one of their own', async (t) => {
    let seen = '';
    const origin = await startOrigin(t, (request, response) => {
      seen = String(request.headers['accept-encoding']);
      response.end();
    });
    const tunnel = await startTunnel(t, { connectorPorts: [0] }, originDocument(origin));
    await NATIVE.start(tunnel, t);
    for (const [sent, expected] of [
      ['gzip, deflate, br, zstd', 'gzip, br'],
      ['br;q=1.0, gzip;q=0', 'br'],
      ['deflate', 'identity'],
    ] as const) {
      await visit(tunnel, { headers: { 'accept-encoding': sent } });
      assert.equal(seen, expected);
    }
    await visit(tunnel);
    assert.equal(seen, 'identity');
  });
});

describe('edge: failures on demand', () => {
  test('status, refuse, drop and slow, by name and count, until taken back', async (t) => {
    const tunnel = await running(t);
    const { edge } = tunnel;
    const undo = edge.fail({ mode: 'status', status: 524, hostname: 'slow.example.com' });
    assert.equal((await visit(tunnel, { host: 'slow.example.com' })).status, 524);
    assert.equal((await visit(tunnel)).status, 200);
    undo();
    assert.equal((await visit(tunnel, { host: 'slow.example.com' })).status, 200);
    edge.fail({ mode: 'refuse', count: 1 });
    assert.equal((await visit(tunnel)).status, 530);
    edge.fail({ mode: 'drop', count: 2, tunnelId: tunnel.id });
    for (const secure of [false, true]) await assert.rejects(visit(tunnel, { secure }));
    edge.fail({ mode: 'drop', tunnelId: randomUUID() });
    edge.fail({ mode: 'slow', delayMs: 1, count: 1 });
    assert.equal((await visit(tunnel)).status, 200);
  });

  test('an outage and its end', async (t) => {
    const tunnel = await running(t);
    tunnel.edge.pause();
    assert.equal((await visit(tunnel)).status, 530);
    tunnel.edge.resume();
    await connected(tunnel);
    assert.equal((await visit(tunnel)).status, 200);
  });

  test('connections of one connector are cut, those of another stay', async (t) => {
    const tunnel = await running(t);
    const [first] = tunnel.edge.connections(tunnel.id);
    const other = createNativeConnector(connectorOptions(tunnel), FAST);
    t.after(() => other.stop());
    other.start();
    await tunnel.edge.when(() => tunnel.edge.connections(tunnel.id).length === 4);
    tunnel.edge.dropConnections(tunnel.id, first?.connectorId);
    assert.equal(tunnel.edge.connections(tunnel.id).filter(({ connectorId }) => connectorId === first?.connectorId).length, 0);
    assert.equal(tunnel.edge.connections(tunnel.id).length, 2);
  });
});

describe('edge: what it tells', () => {
  test('the owner of the tunnels hears of connections, and its document changes are pushed', async (t) => {
    const secret = Buffer.alloc(32, 1).toString('base64');
    const id = randomUUID();
    let record: EdgeTunnel = { accountTag: 'a', secret, configSrc: 'cloudflare', document: { version: 0, config: null } };
    let notify = (_id: string): void => undefined;
    const live = new Map<string, RegisteredConnection>();
    const edge = await startEdge({
      connectorPorts: [0, 0],
      authority: {
        tunnel: (asked) => (asked === id ? record : undefined),
        onConfigChange(listener) {
          notify = listener;
          return () => undefined;
        },
        connected(tunnelId, connection) {
          assert.equal(tunnelId, id);
          live.set(connection.id, connection);
          return () => live.delete(connection.id);
        },
      },
    });
    t.after(() => edge.close());
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const options = {
      token: tokenOf(id, secret),
      protocol: 'http2',
      edge: edge.addresses,
      edgeCa: edge.ca.pem,
      gracePeriodMs: 1000,
      log,
    } as const;
    const connector = createNativeConnector(options, FAST);
    t.after(() => connector.stop());
    connector.start();
    await edge.when(() => edge.connections(id).filter(({ appliedVersion }) => appliedVersion === 0).length === 2);
    assert.deepEqual(
      [...live.keys()].sort(),
      edge
        .connections(id)
        .map((connection) => connection.id)
        .sort(),
    );
    assert.equal([...live.values()][0]?.colo, 'TST');
    record = { ...record, document: { version: 7, config: { ingress: [{ service: 'http_status:418' }] } } };
    notify(id);
    await edge.when(() => edge.connections(id).every(({ appliedVersion }) => appliedVersion === 7));
    await connector.drain();
    await edge.when(() => live.size === 0);
  });

  test('waiting for what never comes ends with an error', async (t) => {
    const tunnel = await startTunnel(t, { connectorPorts: [0] });
    await assert.rejects(
      tunnel.edge.when(() => false, 1),
      /did not get there/,
    );
  });
});

function tokenOf(id: string, secret: string): string {
  return Buffer.from(JSON.stringify({ a: 'a', t: id, s: secret })).toString('base64');
}

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = net.createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.77.255.250', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as net.AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
