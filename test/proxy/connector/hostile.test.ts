// Peers that do not keep to the protocol: an edge that sends nonsense to the connector, and a connector that sends nonsense to the edge.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import http2, { type ClientHttp2Session, type ServerHttp2Stream } from 'node:http2';
import net, { type AddressInfo } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import tls from 'node:tls';
import type { Connector, ConnectorState } from '#proxy/connector/connector.ts';
import { createNativeConnector } from '#proxy/connector/native/native-connector.ts';
import {
  encodeAbort,
  encodeBootstrapReturn,
  encodeConnectionResponse,
  encodeExceptionReturn,
  encodeRegister,
} from '#proxy/connector/rpc.ts';
import { UPGRADE_HEADER } from '#proxy/connector/wire.ts';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import { serveControl } from '#test/cloudflare/edge/control.ts';
import { deferred } from './suites/shared.ts';
import { connected, FAST, NATIVE, originDocument, recordingLog, startOrigin, startTunnel, visit } from './suites/tunnel.ts';

const token = Buffer.from(JSON.stringify({ a: 'account', t: randomUUID(), s: 'c2VjcmV0' })).toString('base64');
const words = (...halves: readonly number[]): Buffer => Buffer.from(Uint32Array.from(halves).buffer);

interface Rogue {
  readonly address: string;
  readonly ca: string;
}

/** An edge of a few lines that does to each connection what the test wants. */
async function startRogueEdge(t: TestContext, behave: (socket: tls.TLSSocket) => void): Promise<Rogue> {
  const ca = await createCertificateAuthority();
  const server = tls.createServer(await ca.issue('h2.cftunnel.com'), behave);
  const sockets = new Set<tls.TLSSocket>();
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, ca: ca.pem };
}

function asClient(socket: tls.TLSSocket): ClientHttp2Session {
  const session = http2.connect('https://h2.cftunnel.com', { createConnection: () => socket });
  session.on('error', () => undefined);
  return session;
}

function controlStream(session: ClientHttp2Session): http2.ClientHttp2Stream {
  const stream = session.request({ ':method': 'GET', [UPGRADE_HEADER]: 'control-stream' }, { endStream: false });
  stream.on('error', () => undefined);
  return stream;
}

async function readAll(stream: http2.ClientHttp2Stream): Promise<string> {
  stream.on('error', () => undefined);
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => stream.once('close', resolve));
  return Buffer.concat(chunks).toString();
}

describe('a rogue edge', () => {
  const response = (answer: number, cause: string): Buffer =>
    encodeConnectionResponse(answer, { kind: 'error', cause, shouldRetry: true, retryAfterMs: 0 });
  const floods = Buffer.concat(Array.from({ length: 5000 }, () => encodeBootstrapReturn(99)));
  const bytes: readonly (readonly [string, Buffer])[] = [
    ['text', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'.repeat(100))],
    ['four billion segments', words(0xffff_ffff, 0, 0, 0)],
    ['a message of 32 GiB', words(0, 0xffff_ffff)],
    ['a root pointer to nowhere', words(0, 1, 0x7fff_fffc, 0x0001_0001)],
    ['a return whose struct contains itself', words(0, 3, 0, 0x0001_0001, 3, 0, (-2 << 2) >>> 0, 0x0001_0002)],
    ['a return that is an exception', encodeExceptionReturn(1, 'no such thing')],
    ['a bootstrap that fails', encodeExceptionReturn(0, 'no such thing')],
    ['an answer to the registration without content', encodeBootstrapReturn(1)],
    ['an abort', encodeAbort('go away')],
    ['thousands of answers to other questions, then a refusal', Buffer.concat([floods, response(1, 'enough')])],
  ];
  for (const [name, data] of bytes) {
    test(`control stream: ${name}`, async (t) => {
      const edge = await startRogueEdge(t, (socket) => void controlStream(asClient(socket)).write(data));
      const state = await firstError(t, edge);
      assert.match(state.error?.code ?? '', /^(Protocol|Refused)$/);
      assert.equal(state.phase, 'starting');
    });
  }

  const behaviours: readonly (readonly [string, (socket: tls.TLSSocket) => void, RegExp])[] = [
    ['no HTTP/2', (socket) => void socket.write('SSH-2.0-OpenSSH\r\n'.repeat(10)), /Protocol|Unreachable|Lost/],
    ['closes at once', (socket) => void socket.destroy(), /Unreachable|Lost/],
    ['ends the control stream at once', (socket) => void controlStream(asClient(socket)).end(), /Protocol/],
    ['never opens a control stream', (socket) => void asClient(socket), /Unreachable/],
    ['never answers', (socket) => void controlStream(asClient(socket)), /Protocol|Unreachable/],
    [
      'sends requests and documents before it has registered anything',
      (socket) => {
        const session = asClient(socket);
        for (const kind of ['update-configuration', 'websocket', 'unheard-of', 'control-stream', 'control-stream']) {
          const stream = session.request({ ':method': 'POST', [UPGRADE_HEADER]: kind }, { endStream: false });
          stream.on('error', () => undefined);
          stream.end(Buffer.alloc(100_000, '{"version":1,"config":'));
        }
      },
      /Protocol|Unreachable/,
    ],
  ];
  for (const [name, behave, code] of behaviours) {
    test(name, async (t) => {
      const state = await firstError(t, await startRogueEdge(t, behave));
      assert.match(state.error?.code ?? '', code);
    });
  }

  test('an edge that stops answering is left', async (t) => {
    let isSilent = false;
    const edge = await startRogueEdge(t, (socket) => {
      const details = { kind: 'details', connectionId: Buffer.alloc(16, 1), location: 'TST', remotelyManaged: true } as const;
      controlStream(asClient(socket)).write(encodeConnectionResponse(1, details));
    });
    // What the network does when it loses a connection without a word: nothing arrives any more.
    const network = net.createServer((near) => {
      const far = net.connect(Number(edge.address.split(':')[1]), '127.0.0.1');
      near.on('data', (data) => isSilent || far.write(data));
      far.on('data', (data) => isSilent || near.write(data));
      near.on('close', () => far.destroy());
      for (const socket of [near, far]) socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => network.listen(0, '127.0.0.1', resolve));
    t.after(() => void network.close());
    const connector = start(t, { ...edge, address: `127.0.0.1:${(network.address() as AddressInfo).port}` }, { pingMs: 30 });
    const seen = deferred<ConnectorState>();
    connector.onState((state) => {
      isSilent ||= state.phase === 'connected';
      if (state.error !== null) seen.resolve(state);
    });
    const state = await seen.promise;
    assert.deepEqual([state.phase, state.error?.message], ['reconnecting', 'the edge stopped answering']);
  });

  test('a request body that is cancelled without an error is not taken for a whole one', async (t) => {
    const half = deferred<IncomingMessage>();
    const origin = await startOrigin(t, (request) => {
      request.on('error', () => undefined);
      request.once('data', () => half.resolve(request));
    });
    const edge = await startRogueEdge(t, (socket) => {
      const stream = asClient(socket).request({ ':method': 'POST', ':authority': 'x' }, { endStream: false });
      stream.write('half');
      // Resets the stream with NO_ERROR.
      void half.promise.then(() => stream.destroy());
    });
    start(t, edge, { timeoutMs: 5000 }, origin.port);
    const request = await half.promise;
    await new Promise((resolve) => request.once('close', resolve));
    assert.equal(request.complete, false);
  });

  /** Tells the connector to drain once it is registered; `unregistered` is called when its farewell has been answered. */
  function farewell(
    session: ClientHttp2Session,
    connector: () => Connector | null,
    registered: () => void,
    unregistered: () => void,
  ): void {
    serveControl(controlStream(session), {
      register: () => ({ kind: 'details', connectionId: Buffer.alloc(16, 1), location: 'TST', remotelyManaged: true }),
      registered: () => {
        registered();
        void connector()?.drain();
      },
      unregistered,
      refused: () => undefined,
      localDocument: () => undefined,
      ended: () => undefined,
      broken: () => undefined,
    });
  }

  test('an edge that goes on sending after the farewell is served until it is done', async (t) => {
    let finish = (): void => undefined;
    const origin = await startOrigin(t, (request, response) => {
      if (request.url === '/slow') finish = () => void response.end('slow');
      else response.end('late');
    });
    const answers = deferred<string[]>();
    let connector: Connector | null = null;
    const edge = await startRogueEdge(t, (socket) => {
      const session = asClient(socket);
      const get = (path: string): Promise<string> => readAll(session.request({ ':path': path, ':authority': 'x' }));
      let slow = Promise.resolve('');
      farewell(
        session,
        () => connector,
        () => {
          slow = get('/slow');
        },
        () => {
          void get('/late').then(async (late) => {
            finish();
            answers.resolve([late, await slow]);
          });
        },
      );
    });
    connector = start(t, edge, { timeoutMs: 5000 }, origin.port);
    assert.deepEqual(await answers.promise, ['late', 'slow']);
  });

  test('a request that was on its way during the farewell is served although nothing else is in flight', async (t) => {
    const origin = await startOrigin(t, (request, response) => {
      request.resume();
      request.on('end', () => void response.end('late'));
    });
    const answer = deferred<string>();
    let connector: Connector | null = null;
    const edge = await startRogueEdge(t, (socket) => {
      const session = asClient(socket);
      // Nobody may repeat it: its body is on its way too.
      const post = (): void => {
        const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': 'x' }, { endStream: false });
        answer.resolve(readAll(stream));
        stream.end('body');
      };
      // By then the connector has read the answer to its farewell.
      const later = (): void => void setTimeout(post, 5);
      farewell(
        session,
        () => connector,
        () => undefined,
        later,
      );
    });
    connector = start(t, edge, { timeoutMs: 5000 }, origin.port);
    assert.equal(await answer.promise, 'late');
  });

  function start(t: TestContext, edge: Rogue, tuning: object, originPort?: number): Connector {
    const options = { token, protocol: 'http2', edge: [edge.address], edgeCa: edge.ca, gracePeriodMs: 5000, log: recordingLog() } as const;
    const connector = createNativeConnector(originPort === undefined ? options : { ...options, originPort }, {
      ...FAST,
      timeoutMs: 100,
      backoff: { firstMs: 60_000, mostMs: 60_000 },
      ...tuning,
    });
    t.after(() => connector.stop());
    connector.start();
    return connector;
  }

  async function firstError(t: TestContext, edge: Rogue): Promise<ConnectorState> {
    const connector = start(t, edge, {});
    const seen = deferred<ConnectorState>();
    connector.onState((state) => state.error !== null && seen.resolve(state));
    return seen.promise;
  }
});

describe('a rogue connector', () => {
  test('nonsense on its control stream ends its connection and nobody else`s', async (t) => {
    const origin = await startOrigin(t, (_, answer) => void answer.end('ok'));
    const tunnel = await startTunnel(t, { connectorPorts: [0] }, originDocument(origin));
    await NATIVE.start(tunnel, t);
    const junk: readonly Buffer[] = [
      Buffer.from('nonsense'.repeat(1000)),
      words(0xffff_ffff, 1),
      words(0, 0xffff_ffff),
      words(0, 1, 0x7fff_fffc, 0x0001_0001),
      encodeAbort('bye'),
      encodeRegister({ question: 1, bootstrapQuestion: 0 }, { ...EMPTY, tunnelId: Buffer.alloc(3) }),
      encodeRegister({ question: 1, bootstrapQuestion: 0 }, { ...EMPTY, account: 'x'.repeat(50_000) }),
    ];
    for (const data of junk) await connectRogue(tunnel.edge.addresses[0] ?? '', tunnel.edge.ca.pem, (stream) => void stream.write(data));
    await connected(tunnel);
    assert.equal((await visit(tunnel)).text, 'ok');
  });

  test('connectivity checks and silent connections do no harm', async (t) => {
    const tunnel = await startTunnel(t, { connectorPorts: [0] });
    const port = Number(tunnel.edge.addresses[0]?.split(':')[1]);
    for (const servername of ['probe.cftunnel.com', 'h2.cftunnel.com']) {
      const socket = tls.connect({ host: '127.0.0.1', port, servername, ca: tunnel.edge.ca.pem });
      await once(socket, 'secureConnect');
      socket.destroy();
    }
    await NATIVE.start(tunnel, t);
  });
});

const EMPTY = {
  connectionIndex: 0,
  account: '',
  secret: new Uint8Array(),
  tunnelId: Buffer.alloc(16),
  clientId: Buffer.alloc(16),
  features: [],
  version: '',
  arch: '',
  previousAttempts: 0,
  replaceExisting: false,
};

/** Connects like a connector, does something on the control stream, and waits until the edge closes the connection. */
async function connectRogue(address: string, ca: string, behave: (stream: ServerHttp2Stream) => void): Promise<void> {
  const [host = '', port = ''] = address.split(':');
  const socket = tls.connect({ host, port: Number(port), servername: 'h2.cftunnel.com', ca });
  const closed = once(socket, 'close');
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  const session = http2.performServerHandshake(socket);
  session.on('error', () => undefined);
  session.on('stream', (stream) => {
    stream.on('error', () => undefined);
    stream.respond({ ':status': 200 });
    behave(stream);
  });
  await closed;
}
