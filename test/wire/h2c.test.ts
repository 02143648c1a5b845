// HTTP/2 with prior knowledge behind HTTP/1.1: streams, trailers, limits, and connections that are being closed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  constants,
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type IncomingHttpHeaders,
  type Settings,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { startPlane, type RunningPlane } from './plane.ts';
import { eventually, get, rawBackend } from './raw.ts';

type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

interface Running extends RunningPlane {
  readonly server: Http2Server;
  readonly sessions: readonly ServerHttp2Session[];
}

async function behind(t: TestContext, onStream: OnStream, settings: Settings = {}, options = {}): Promise<Running> {
  const server = createServer({ settings });
  const sessions: ServerHttp2Session[] = [];
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => {});
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => {});
    onStream(stream, headers);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { ...(await startPlane(t, [{ endpoints: [address], protocol: 'h2c' }], { options })), server, sessions };
}

const UPLOAD = 'POST / HTTP/1.1\r\nHost: app.example.com\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n';

test('request and response, with fields that HTTP/2 does not know left out', async (t) => {
  let seen: IncomingHttpHeaders = {};
  const { client } = await behind(t, (stream, headers) => {
    seen = headers;
    stream.respond({ ':status': 200, 'content-length': 2, 'x-out': 'o', 'set-cookie': ['a=1', 'b=2'] });
    stream.end('ok');
  });
  const peer = await client();
  peer.send(get('/a?b', 'Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nX-In: i\r\nCF-Connecting-IP: 203.0.113.7\r\n'));
  await peer.until(/ok$/);
  assert.match(peer.text, /^HTTP\/1\.1 200 OK\r\ncontent-length: 2\r\nx-out: o\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n/);
  const {
    ':path': path,
    ':authority': authority,
    ':method': method,
    ':scheme': scheme,
    'x-in': xIn,
    'x-real-ip': realIp,
    te,
    'x-hop': hop,
  } = seen;
  assert.deepEqual(
    { path, authority, method, scheme, xIn, realIp, te, hop },
    {
      path: '/a?b',
      authority: 'app.example.com',
      method: 'GET',
      scheme: 'http',
      xIn: 'i',
      realIp: '203.0.113.7',
      te: undefined,
      hop: undefined,
    },
  );
});

test('both directions stream at the same time, and trailers pass both ways', async (t) => {
  let requestTrailers: IncomingHttpHeaders = {};
  const { client } = await behind(t, (stream, headers) => {
    assert.equal(headers['te'], 'trailers');
    stream.on('trailers', (trailers) => (requestTrailers = trailers));
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.on('data', (chunk: Buffer) => stream.write(chunk));
    stream.on('end', () => stream.end());
  });
  const peer = await client();
  peer.send(UPLOAD);
  await peer.until('\r\n\r\n');
  for (const word of ['ping', 'pong']) {
    peer.send(`4\r\n${word}\r\n`);
    await peer.until(word);
  }
  peer.send('0\r\nX-Sum: 8\r\n\r\n');
  await peer.until(/0\r\ngrpc-status: 0\r\n\r\n$/);
  assert.equal(requestTrailers['x-sum'], '8');
});

test('an answer that is only trailers has its status in the head and in the trailers', async (t) => {
  const { client } = await behind(t, (stream) =>
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '5' }, { endStream: true }),
  );
  const peer = await client();
  peer.send(`${UPLOAD}0\r\n\r\n`);
  await peer.until(/\r\ngrpc-status: 5\r\n[^]*\r\n\r\n0\r\ngrpc-status: 5\r\n\r\n$/);
});

test('HEAD, 204 and interim answers', async (t) => {
  const { client } = await behind(t, (stream, headers) => {
    if (headers[':method'] === 'HEAD') stream.respond({ ':status': 200, 'content-length': 1000 }, { endStream: true });
    else {
      stream.additionalHeaders({ ':status': 103, link: '</a.css>' });
      stream.respond({ ':status': 204 }, { endStream: true });
    }
  });
  const peer = await client();
  peer.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
  await peer.until(/content-length: 1000\r\n[^]*\r\n\r\n$/);
  peer.text = '';
  peer.send(get());
  await peer.until(/^HTTP\/1\.1 103 Early Hints\r\nlink: <\/a\.css>\r\n\r\nHTTP\/1\.1 204 No Content\r\n[^]*\r\n\r\n$/);
});

test('the backend’s limit on streams is kept by further connections', async (t) => {
  const open: ServerHttp2Stream[] = [];
  const { client, sessions } = await behind(t, (stream) => void open.push(stream), { maxConcurrentStreams: 2 });
  const first = await client();
  first.send(get());
  await eventually(() => open.length === 1, 'the first request has arrived');
  const peers = [first];
  for (let i = 2; i <= 5; i++) {
    const peer = await client();
    peers.push(peer);
    peer.send(get());
    await eventually(() => open.length === i, 'the request has arrived');
  }
  assert.equal(sessions.length, 3);
  for (const stream of open) {
    stream.respond({ ':status': 200, 'content-length': 2 });
    stream.end('ok');
  }
  await Promise.all(peers.map((peer) => peer.until(/ok$/)));
});

test('a stream that the backend refuses to look at is sent again, even a POST', async (t) => {
  let streams = 0;
  const { client } = await behind(t, (stream) => {
    streams += 1;
    if (streams === 1) stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else {
      stream.respond({ ':status': 200, 'content-length': 2 });
      stream.end('ok');
    }
  });
  const peer = await client();
  peer.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n');
  await eventually(() => streams === 2, 'the second try has arrived');
  peer.send('abc');
  await peer.until(/ok$/);
});

test('refused for ever: 502', async (t) => {
  const { client } = await behind(t, (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
  const peer = await client();
  peer.send(get());
  await peer.until('HTTP/1.1 502');
});

test('a connection that is being closed finishes its streams; new ones go to another', async (t) => {
  const open: ServerHttp2Stream[] = [];
  const { client, sessions } = await behind(t, (stream) => void open.push(stream));
  const [first, second] = await Promise.all([client(), client()]);
  first.send(get());
  await eventually(() => open.length === 1, 'the first request has arrived');
  sessions[0]!.close();
  await eventually(() => sessions[0]!.closed, 'the connection is being closed');
  // A ping behind the GOAWAY: when it comes back, the other side has seen both.
  second.send(get());
  await eventually(() => open.length === 2, 'the second request has arrived');
  for (const stream of open) {
    stream.respond({ ':status': 200, 'content-length': 2 });
    stream.end('ok');
  }
  await Promise.all([first.until(/ok$/), second.until(/ok$/)]);
});

test('a stream that breaks in the middle breaks the client’s connection', async (t) => {
  const { client } = await behind(t, (stream) => {
    stream.respond({ ':status': 200 });
    stream.write('abc', () => stream.destroy(new Error('broken')));
  });
  const peer = await client();
  peer.send(get());
  assert.equal(await peer.gone(), 'reset');
});

test('a connection that breaks: 502 before the head, and the next request gets a new one', async (t) => {
  let streams = 0;
  const { client } = await behind(t, (stream) => {
    streams += 1;
    if (streams === 1) stream.session?.destroy();
    else {
      stream.respond({ ':status': 200, 'content-length': 2 });
      stream.end('ok');
    }
  });
  const [first, second] = await Promise.all([client(), client()]);
  first.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx');
  await first.until('HTTP/1.1 502');
  second.send(get());
  await second.until(/ok$/);
});

test('a client that goes away cancels its stream, not its neighbours', async (t) => {
  const open: ServerHttp2Stream[] = [];
  const { client, plane } = await behind(t, (stream) => void open.push(stream));
  const [first, second] = await Promise.all([client(), client()]);
  first.send(get('/1'));
  await eventually(() => open.length === 1, 'the first request has arrived');
  second.send(get('/2'));
  await eventually(() => open.length === 2, 'the second request has arrived');
  first.reset();
  await eventually(() => open[0]!.closed, 'the stream is cancelled');
  assert.equal(open[0]!.rstCode, constants.NGHTTP2_CANCEL);
  open[1]!.respond({ ':status': 200, 'content-length': 2 });
  open[1]!.end('ok');
  await second.until(/ok$/);
  await eventually(() => plane.stats().exchanges === 0, 'no exchange is open');
});

test('an early answer ends the upload', async (t) => {
  const { client, plane } = await behind(t, (stream) => {
    stream.respond({ ':status': 413, 'content-length': 2 });
    stream.end('no');
  });
  const peer = await client();
  peer.send(`${UPLOAD}3\r\nabc\r\n`);
  await peer.until(/413[^]*no$/);
  peer.send('0\r\n\r\n');
  await eventually(() => plane.stats().exchanges === 0, 'the exchange is over');
});

test('large bodies are held back by the slower side', async (t) => {
  const total = 32 << 20;
  const chunk = Buffer.alloc(1 << 20);
  let written = 0;
  const { client } = await behind(t, (stream) => {
    stream.respond({ ':status': 200, 'content-length': total });
    const pump = (): void => {
      while (written < total) {
        written += chunk.length;
        if (!stream.write(chunk)) return;
      }
      stream.end();
    };
    stream.on('drain', pump);
    pump();
  });
  const peer = await client();
  peer.socket.pause();
  peer.send(get());
  await eventually(() => written > 0, 'the answer has begun');
  const before = written;
  assert.ok(before < total);
  peer.socket.resume();
  await eventually(() => peer.bytes > total, 'everything has arrived');
});

test('a backend that does not speak HTTP/2: 502', async (t) => {
  const backend = await rawBackend((peer) =>
    peer.socket.once('data', () => peer.send('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')),
  );
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address], protocol: 'h2c' }]);
  const peer = await client();
  peer.send(get());
  await peer.until('HTTP/1.1 502');
});

test('a refused connection: the next endpoint, else 502', async (t) => {
  const { client, configure, server } = await behind(t, (stream) => {
    stream.respond({ ':status': 200, 'content-length': 2 });
    stream.end('ok');
  });
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  configure({ endpoints: [address, '127.0.0.1:1'], protocol: 'h2c' });
  const first = await client();
  first.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx');
  await first.until(/ok$/);
  configure({ endpoints: ['127.0.0.1:1'], protocol: 'h2c' });
  const second = await client();
  second.send(get());
  await second.until('HTTP/1.1 502');
});

test('a silent connection is probed and given up', async (t) => {
  // Takes the bytes, answers nothing: as a pod that has vanished would.
  const backend = await rawBackend((peer) => peer.send(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])), false);
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address], protocol: 'h2c' }], { options: { pingInterval: 40 } });
  const peer = await client();
  peer.send(get());
  await peer.until('HTTP/1.1 502');
});
