// The native connector's life: registration, loss, refusals, draining, options that cannot work, and an edge that misbehaves.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, test, type TestContext } from 'node:test';
import type { Connector, ConnectorOptions, ConnectorState } from '#proxy/connector/connector.ts';
import { createNativeConnector, type NativeTuning } from '#proxy/connector/native/native-connector.ts';
import { deferred } from './suites/shared.ts';
import {
  connected,
  connectorOptions,
  FAST,
  openVisit,
  originDocument,
  readReply,
  recordingLog,
  startOrigin,
  startTunnel,
  visit,
  type TestTunnel,
} from './suites/tunnel.ts';

function create(
  t: TestContext,
  tunnel: TestTunnel,
  options: Partial<ConnectorOptions> = {},
  tuning: Partial<NativeTuning> = {},
): Connector {
  const connector = createNativeConnector(connectorOptions(tunnel, options), { ...FAST, ...tuning });
  t.after(() => connector.stop());
  connector.start();
  return connector;
}

async function reach(connector: Connector, condition: (state: ConnectorState) => boolean): Promise<ConnectorState> {
  if (condition(connector.state)) return connector.state;
  const found = deferred<ConnectorState>();
  const unsubscribe = connector.onState((state) => condition(state) && found.resolve(state));
  const state = await found.promise;
  unsubscribe();
  return state;
}

describe('native connector: registration', () => {
  test('four connections by default, fewer with fewer addresses, all by one process', async (t) => {
    for (const [ports, expected] of [
      [[0, 0, 0, 0, 0, 0], 4],
      [[0, 0], 2],
    ] as const) {
      const tunnel = await startTunnel(t, { connectorPorts: ports });
      create(t, tunnel);
      const { edge, id } = tunnel;
      await edge.when(() => edge.connections(id).filter(({ appliedVersion }) => appliedVersion === 0).length === expected);
      const connections = edge.connections(id);
      assert.deepEqual(
        connections.map(({ index }) => index).sort((a, b) => a - b),
        Array.from({ length: expected }, (_, i) => i),
      );
      assert.equal(new Set(connections.map(({ connectorId }) => connectorId)).size, 1);
      assert.match(connections[0]?.version ?? '', /^cftunnel-native\//);
      assert.deepEqual(connections[0]?.features, ['serialized_headers', 'allow_remote_config']);
    }
  });

  test('states on the way', async (t) => {
    const tunnel = await startTunnel(t, { connectorPorts: [0] }, { ingress: [] });
    const connector = createNativeConnector(connectorOptions(tunnel), FAST);
    t.after(() => connector.stop());
    const seen: string[] = [];
    connector.onState(({ phase, connections, configVersion }) => seen.push(`${phase} ${connections} ${configVersion}`));
    assert.deepEqual(connector.state, { phase: 'starting', connections: 0, configVersion: -1, error: null });
    connector.start();
    connector.start();
    await connected(tunnel);
    await connector.drain();
    assert.deepEqual(seen, ['connected 1 -1', 'connected 1 1', 'draining 0 1', 'stopped 0 1']);
  });

  test('a tunnel that is managed locally runs with the origin port, and says so', async (t) => {
    const origin = await startOrigin(t, (_, response) => void response.end('local'));
    const tunnel = await startTunnel(t, { connectorPorts: [0] });
    tunnel.record = { ...tunnel.record, configSrc: 'local' };
    create(t, tunnel, { originPort: origin.port });
    await tunnel.edge.when(() => typeof tunnel.edge.connections(tunnel.id)[0]?.localDocument === 'string');
    const [connection] = tunnel.edge.connections(tunnel.id);
    assert.deepEqual(JSON.parse(connection?.localDocument ?? ''), originDocument(origin));
    assert.equal((await visit(tunnel)).text, 'local');
  });

  test('the origin port serves only until the first document', async (t) => {
    const origin = await startOrigin(t);
    const tunnel = await startTunnel(t, { connectorPorts: [0] }, { ingress: [{ service: 'http_status:418' }] });
    create(t, tunnel, { originPort: origin.port });
    await connected(tunnel);
    assert.equal((await visit(tunnel)).status, 418);
  });

  const impossible: readonly (readonly [string, Partial<ConnectorOptions>, string])[] = [
    ['a token that cannot be read', { token: 'c2VjcmV0LXRva2Vu' }, 'InvalidToken'],
    ['QUIC', { protocol: 'quic' }, 'Unsupported'],
    ['an edge address without port', { edge: ['localhost'] }, 'Unsupported'],
    ['an edge address with a port out of range', { edge: ['localhost:99999'] }, 'Unsupported'],
  ];
  for (const [name, options, code] of impossible) {
    test(`${name}: failed`, async (t) => {
      const log = recordingLog();
      const connector = createNativeConnector({ ...connectorOptions(await startTunnel(t)), ...options, log }, FAST);
      connector.start();
      assert.deepEqual([connector.state.phase, connector.state.error?.code], ['failed', code]);
      assert.equal(log.lines.length, 1);
      assert.ok(!JSON.stringify(log.lines).includes(options.token ?? 'no token'));
      await connector.drain();
      assert.equal(connector.state.phase, 'stopped');
    });
  }
});

describe('native connector: loss and refusal', () => {
  test('lost connections come back, and the document stays in force', async (t) => {
    const origin = await startOrigin(t, (_, response) => void response.end('ok'));
    const tunnel = await startTunnel(t, {}, originDocument(origin));
    const connector = create(t, tunnel);
    await connected(tunnel);
    const before = new Set(tunnel.edge.connections(tunnel.id).map(({ id }) => id));
    tunnel.edge.dropConnections();
    const lost = await reach(connector, ({ phase }) => phase === 'reconnecting');
    assert.deepEqual([lost.connections, lost.configVersion, lost.error?.code], [0, 1, 'Lost']);
    await connected(tunnel);
    assert.ok(tunnel.edge.connections(tunnel.id).every(({ id }) => !before.has(id)));
    assert.equal((await visit(tunnel)).text, 'ok');
    const back = await reach(connector, ({ connections }) => connections === 4);
    assert.deepEqual([back.phase, back.error], ['connected', null]);
  });

  test('one lost connection leaves the others alone', async (t) => {
    const origin = await startOrigin(t, (_, response) => void response.end('ok'));
    const tunnel = await startTunnel(t, { connectorPorts: [0, 0] }, originDocument(origin));
    const connector = create(t, tunnel, {}, { backoff: { firstMs: 60_000, mostMs: 60_000 } });
    await connected(tunnel);
    const undo = tunnel.edge.refuseRegistrations('not now');
    const twin = create(t, tunnel);
    await reach(twin, ({ error }) => error?.code === 'Refused');
    undo();
    assert.equal(connector.state.connections, 2);
    assert.equal((await visit(tunnel)).text, 'ok');
  });

  test('an edge that is away at first', async (t) => {
    const tunnel = await startTunnel(t);
    tunnel.edge.pause();
    const connector = create(t, tunnel);
    const state = await reach(connector, ({ error }) => error !== null);
    assert.deepEqual([state.phase, state.error?.code], ['starting', 'Unreachable']);
    tunnel.edge.resume();
    await connected(tunnel);
  });

  test('an edge that is not the one it claims to be', async (t) => {
    const [tunnel, other] = [await startTunnel(t, { connectorPorts: [0] }), await startTunnel(t, { connectorPorts: [0] })];
    const connector = create(t, tunnel, { edgeCa: other.edge.ca.pem });
    const state = await reach(connector, ({ error }) => error !== null);
    assert.equal(state.error?.code, 'Unreachable');
    assert.match(state.error?.message ?? '', /certificate/);
  });

  test('an unknown secret is tried again, and served once it is known', async (t) => {
    const tunnel = await startTunnel(t, { connectorPorts: [0] });
    const { record } = tunnel;
    tunnel.record = { ...record, secret: Buffer.alloc(32).toString('base64') };
    const log = recordingLog();
    const connector = create(t, tunnel, { log });
    const state = await reach(connector, ({ error }) => error !== null);
    assert.deepEqual([state.phase, state.error?.code], ['starting', 'Unauthorized']);
    tunnel.record = record;
    await connected(tunnel);
    assert.ok(!JSON.stringify(log.lines).includes(record.secret) && !JSON.stringify(log.lines).includes(tunnel.token));
  });

  test('a refusal for good ends the connector, one for now does not', async (t) => {
    const tunnel = await startTunnel(t, { connectorPorts: [0] });
    const undo = tunnel.edge.refuseRegistrations('busy', { retry: true, count: 2 });
    await connected(tunnel, 1).catch(() => undefined);
    const patient = create(t, tunnel);
    await connected(tunnel);
    undo();
    assert.equal(patient.state.error, null);
    await patient.stop();
    tunnel.edge.refuseRegistrations('blocked account', { retry: false });
    const refused = create(t, tunnel);
    const state = await reach(refused, ({ phase }) => phase === 'failed');
    assert.deepEqual([state.error?.code, state.error?.message], ['Refused', 'the edge refuses the registration: blocked account']);
  });

  test('an edge that asks for a wait of decades is not asked again at once', async (t) => {
    const tunnel = await startTunnel(t);
    tunnel.edge.refuseRegistrations('come back later', { retry: true, retryAfterMs: 1e12 });
    const log = recordingLog();
    const connector = create(t, tunnel, { log }, { connections: 1, backoff: { firstMs: 1, mostMs: 1 } });
    await reach(connector, ({ error }) => error?.code === 'Refused');
    const waits = log.lines.flatMap(({ fields }) => ('retryInMs' in fields ? [fields.retryInMs] : []));
    assert.deepEqual(waits, [3_600_000]);
  });

  test('a duplicate goes to another address', async (t) => {
    const tunnel = await startTunnel(t, { connectorPorts: [0, 0] });
    tunnel.edge.refuseRegistrations('EDUPCONN', { count: 1 });
    const log = recordingLog();
    const connector = create(t, tunnel, { log }, { connections: 1, backoff: { firstMs: 60_000, mostMs: 60_000 } });
    await reach(connector, ({ connections }) => connections === 1);
    const edges = log.lines.flatMap(({ fields }) => ('edge' in fields ? [fields.edge] : []));
    assert.deepEqual(edges, tunnel.edge.addresses);
  });
});

describe('native connector: draining', () => {
  test('what is in flight finishes, nothing new comes, then it ends', async (t) => {
    let finish = (): void => undefined;
    const origin = await startOrigin(t, (_, response) => {
      response.write('begun ');
      finish = () => void response.end('and finished');
    });
    const tunnel = await startTunnel(t, { connectorPorts: [0, 0] }, originDocument(origin));
    const connector = create(t, tunnel);
    await connected(tunnel);
    const [response] = (await once(openVisit(tunnel).end(), 'response')) as [IncomingMessage];
    const drained = connector.drain();
    assert.equal(connector.state.phase, 'draining');
    await tunnel.edge.when(() => tunnel.edge.connections(tunnel.id).every(({ isDraining }) => isDraining));
    const refused = await visit(tunnel);
    assert.deepEqual([refused.status, refused.text], [530, 'error code: 1033']);
    finish();
    assert.equal((await readReply(response)).text, 'begun and finished');
    await drained;
    assert.equal(connector.state.phase, 'stopped');
    await tunnel.edge.when(() => tunnel.edge.connections(tunnel.id).length === 0);
  });

  test('another connector takes over without one failed request', async (t) => {
    const origin = await startOrigin(t, (_, response) => void response.end('ok'));
    const tunnel = await startTunnel(t, {}, originDocument(origin));
    const first = create(t, tunnel);
    await connected(tunnel);
    const over = new AbortController();
    const statuses: number[] = [];
    const visitors = Array.from({ length: 4 }, async () => {
      while (!over.signal.aborted) statuses.push((await visit(tunnel)).status);
    });
    const second = create(t, tunnel);
    await reach(second, ({ connections }) => connections === 4);
    await tunnel.edge.when(() => tunnel.edge.connections(tunnel.id).every(({ appliedVersion }) => appliedVersion === 1));
    await first.drain();
    over.abort();
    await Promise.all(visitors);
    assert.ok(statuses.length > 0);
    assert.deepEqual([...new Set(statuses)], [200]);
  });

  test('the grace period is a limit', async (t) => {
    const origin = await startOrigin(t, (_, response) => void response.write('never ends'));
    const tunnel = await startTunnel(t, { connectorPorts: [0] }, originDocument(origin));
    const connector = create(t, tunnel, { gracePeriodMs: 50 });
    await connected(tunnel);
    const [response] = (await once(openVisit(tunnel).end(), 'response')) as [IncomingMessage];
    const broken = assert.rejects(response.toArray());
    await connector.drain();
    await broken;
    assert.equal(connector.state.phase, 'stopped');
  });

  test('stop ends at once, whatever it is doing', async (t) => {
    const origin = await startOrigin(t, (_, response) => void response.write('never ends'));
    const tunnel = await startTunnel(t, {}, originDocument(origin));
    const connector = create(t, tunnel);
    await connected(tunnel);
    const [response] = (await once(openVisit(tunnel).end(), 'response')) as [IncomingMessage];
    const broken = assert.rejects(response.toArray());
    await connector.stop();
    await broken;
    await tunnel.edge.when(() => tunnel.edge.connections(tunnel.id).length === 0);
    const idle = createNativeConnector(connectorOptions(tunnel), FAST);
    await idle.stop();
    idle.start();
    assert.equal(idle.state.phase, 'stopped');
    const waiting = create(t, tunnel, { edge: ['127.0.0.1:1'] }, { backoff: { firstMs: 60_000, mostMs: 60_000 } });
    await reach(waiting, ({ error }) => error !== null);
    await waiting.drain();
    assert.equal(waiting.state.phase, 'stopped');
  });
});
