// HTTP/2 at the proxy's own entry: streams are exchanges like any other, and no client can hold or break more than its own.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2, { type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { answerOf, behindOwnEntry, get, h2Client, rawClient, startOwnEntry } from './own-entry.ts';
import { OK, answering, eventually } from './raw.ts';

test('the head of a request as HTTP/1.1 says it', async (t) => {
  const { port, backend } = await behindOwnEntry(t, answering(OK));
  const session = await h2Client(t, port);
  const answer = await get(session, {
    ':path': '/a?b',
    ':authority': 'app.example.com:81',
    cookie: ['a=1', 'b=2'],
    te: 'trailers',
    'x-in': ['1', '2'],
  });
  assert.deepEqual([answer.status, answer.body], [200, 'ok']);
  const head = backend.peers[0]!.text.split('\r\n');
  assert.deepEqual(head.slice(0, 2), ['GET /a?b HTTP/1.1', 'Host: app.example.com:81']);
  for (const line of ['cookie: a=1; b=2', 'x-in: 1', 'x-in: 2', 'TE: trailers', 'X-Forwarded-Proto: http'])
    assert.ok(head.includes(line), line);
  assert.ok(!head.some((line) => line.startsWith(':')));
});

test('both bodies stream at the same time, with trailers both ways', async (t) => {
  const { port, backend } = await behindOwnEntry(t);
  const session = await h2Client(t, port);
  const stream = session.request({ ':path': '/', ':method': 'POST', ':authority': 'a' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }));
  stream.setEncoding('latin1');
  stream.write('ping');
  const peer = await backend.peer(0);
  await peer.until(/Transfer-Encoding: chunked\r\n[^]*ping\r\n$/);
  peer.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: grpc-status\r\nKeep-Alive: 5\r\n\r\n4\r\npong\r\n');
  const [headers] = (await once(stream, 'response')) as [Record<string, string>];
  assert.deepEqual([headers[':status'], headers['trailer'], headers['transfer-encoding']], [200, 'grpc-status', undefined]);
  assert.equal(((await once(stream, 'data')) as [string])[0], 'pong');
  stream.end('more');
  await peer.until(/more\r\n0\r\nx-sum: 1\r\n\r\n$/);
  peer.send('0\r\ngrpc-status: 0\r\n\r\n');
  stream.resume();
  const [trailers] = (await once(stream, 'trailers')) as [Record<string, string>];
  assert.equal(trailers['grpc-status'], '0');
  await once(stream, 'close');
});

test('gRPC end to end over HTTP/2, and a status of our own in the form without messages', async (t) => {
  const server = http2.createServer();
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.pipe(stream);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const endpoints = [`127.0.0.1:${(server.address() as AddressInfo).port}`];
  const { port } = await startOwnEntry(t, { listeners: [{ hostname: 'grpc.test', endpoints, backendProtocol: 'h2c' }] });
  const session = await h2Client(t, port);
  const call = (authority: string) =>
    session.request({ ':path': '/p.S/M', ':method': 'POST', ':authority': authority, 'content-type': 'application/grpc', te: 'trailers' });
  const echo = call('grpc.test');
  echo.end('message');
  const answer = await answerOf(echo);
  assert.deepEqual([answer.status, answer.body, answer.trailers['grpc-status']], [200, 'message', '0']);
  const unknown = call('other.test');
  unknown.end();
  const refused = await answerOf(unknown);
  assert.deepEqual([refused.status, refused.headers['grpc-status'], refused.body], [200, '12', '']);
  t.after(() => session.destroy());
});

test('HEAD, 204, 304 and early hints', async (t) => {
  const { port, backend } = await behindOwnEntry(t);
  const session = await h2Client(t, port);
  const head = get(session, { ':method': 'HEAD' });
  const peer = await backend.peer(0);
  await peer.until(/\r\n\r\n$/);
  peer.send('HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n');
  assert.deepEqual([(await head).status, (await head).headers['content-length'], (await head).body], [200, '12', '']);
  for (const status of [204, 304]) {
    const next = get(session);
    await eventually(
      () => peer.text.endsWith('GET / HTTP/1.1\r\n') || peer.text.split('\r\n\r\n').length > (status === 204 ? 2 : 3),
      'the request',
    );
    peer.send(`HTTP/1.1 ${status} X\r\nETag: "1"\r\n\r\n`);
    assert.deepEqual([(await next).status, (await next).headers['etag']], [status, '"1"']);
  }
  const hinted = session.request({ ':path': '/', ':authority': 'a' });
  const hints = once(hinted, 'headers');
  await eventually(() => peer.text.split('\r\n\r\n').length > 4, 'the request');
  peer.send('HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  assert.equal((await answerOf(hinted)).body, 'ok');
  assert.equal(((await hints) as [Record<string, string>])[0]['link'], '</a.css>');
});

test('a client that cancels ends the exchange at the backend, and not its other streams', async (t) => {
  const { port, backend, metrics, plane } = await behindOwnEntry(t);
  const session = await h2Client(t, port);
  const upload = session.request({ ':path': '/', ':method': 'POST', ':authority': 'a' });
  upload.on('error', () => {});
  upload.write('half');
  const peer = await backend.peer(0);
  await peer.until(/half\r\n$/);
  const other = get(session);
  const second = await backend.peer(1);
  await second.until(/\r\n\r\n$/);
  // Not `close`, with which Node ends a stream in an orderly way first.
  upload.destroy(new Error('cancelled'));
  await peer.gone();
  assert.doesNotMatch(peer.text, /\r\n0\r\n\r\n$/, 'what was cut off must not pass for a whole request');
  second.send(OK);
  assert.equal((await other).body, 'ok');
  await eventually(() => plane.stats().exchanges === 0 && metrics.inFlight === 0, 'nothing is left');
});

test('a backend that breaks off breaks the stream off', async (t) => {
  const { port, backend } = await behindOwnEntry(t);
  const session = await h2Client(t, port);
  for (const [index, head] of ['Content-Length: 10', 'Transfer-Encoding: chunked'].entries()) {
    const answer = get(session);
    const peer = await backend.peer(index);
    await peer.until(/\r\n\r\n$/);
    peer.send(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${index === 0 ? 'half' : '4\r\nhalf\r\n'}`);
    peer.reset();
    await assert.rejects(answer);
  }
});

test('an answer before the end of an upload is delivered, and the rest is not asked for', async (t) => {
  const { port, backend } = await behindOwnEntry(t);
  const session = await h2Client(t, port);
  const upload = session.request({ ':path': '/', ':method': 'POST', ':authority': 'a' });
  upload.on('error', () => {});
  upload.write(Buffer.alloc(1 << 20));
  const peer = await backend.peer(0);
  await peer.until(/\r\n\r\n/);
  peer.send('HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig');
  const answer = await answerOf(upload);
  assert.deepEqual([answer.status, answer.body], [413, 'big']);
  assert.equal(upload.writableFinished, false);
});

test('100-continue is answered when the body may come', async (t) => {
  const { port, backend } = await behindOwnEntry(t, answering(OK));
  const session = await h2Client(t, port);
  const upload = session.request({ ':path': '/', ':method': 'POST', ':authority': 'a', expect: '100-continue', 'content-length': 4 });
  await once(upload, 'continue');
  upload.end('body');
  assert.equal((await answerOf(upload)).body, 'ok');
  assert.doesNotMatch(backend.peers[0]!.text, /expect/i);
});

test('a slow reader holds back its own backend only', async (t) => {
  const { port, backend } = await behindOwnEntry(t);
  const session = await h2Client(t, port);
  const slow = session.request({ ':path': '/', ':authority': 'a' });
  const peer = await backend.peer(0);
  await peer.until(/\r\n\r\n$/);
  const size = 32 << 20;
  peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
  peer.send(Buffer.alloc(size));
  await once(slow, 'response');
  // Long enough for all of it to arrive, if it were taken.
  for (let turn = 1; turn <= 100; turn++) {
    const quick = get(session);
    const second = await backend.peer(1);
    await second.until(() => second.text.split('\r\n\r\n').length > turn);
    second.send(OK);
    assert.equal((await quick).body, 'ok');
  }
  assert.ok(peer.socket.writableLength > size / 4, 'most of it still waits in the backend');
  let received = 0;
  slow.on('data', (chunk: Buffer) => (received += chunk.length));
  await once(slow, 'end');
  assert.equal(received, size);
});

test('requests that HTTP/1.1 could not carry are refused', async (t) => {
  const { port, backend } = await behindOwnEntry(t, answering(OK));
  const session = await h2Client(t, port);
  assert.equal((await get(session, { host: 'other.example.com' })).status, 400);
  for (const headers of [{ ':authority': 'user@a' }, { ':path': '/%0d%0aX:1' }, { ':path': '/a#b' }]) {
    // Either the library below us has found it malformed, or we have.
    const status = await get(session, headers).then(
      (answer) => answer.status,
      () => 400,
    );
    assert.equal(status, 400, JSON.stringify(headers));
  }
  const connect = session.request({ ':method': 'CONNECT', ':authority': 'a:1' });
  connect.end();
  assert.equal((await answerOf(connect)).status, 405);
  assert.equal(backend.peers.length, 0);
});

test('an entry that goes away finishes what is under way and takes nothing more', async (t) => {
  const { port, backend, close } = await behindOwnEntry(t);
  const session = await h2Client(t, port);
  const goaway = once(session, 'goaway');
  const first = get(session);
  const peer = await backend.peer(0);
  await peer.until(/\r\n\r\n$/);
  const h1 = await rawClient(t, port);
  h1.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const second = await backend.peer(1);
  await second.until(/\r\n\r\n$/);
  const closed = close();
  await goaway;
  await assert.rejects(rawClient(t, port), /ECONNREFUSED/);
  peer.send(OK);
  second.send(OK);
  assert.equal((await first).body, 'ok');
  assert.match(await h1.until(/ok$/), /Connection: close/i);
  h1.close();
  await closed;
});
