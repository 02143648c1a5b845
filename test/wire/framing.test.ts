// What node:http and the proxy accept, refuse and pass on, payload by payload: a request must mean the same to both sides.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPlane, type RunningPlane } from './plane.ts';
import { OK, answering, rawBackend, type RawBackend } from './raw.ts';

const HOST = 'Host: a.example.com\r\n';
const CHUNKED = `${HOST}Transfer-Encoding: chunked\r\n`;

/** Payload → the status that the client must get; those with 200 must reach the backend, the others must not. */
const CORPUS: readonly (readonly [string, string, number])[] = [
  ['a plain GET', `GET / HTTP/1.1\r\n${HOST}\r\n`, 200],
  ['length and chunked', `POST / HTTP/1.1\r\n${HOST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  ['chunked and length', `POST / HTTP/1.1\r\n${CHUNKED}Content-Length: 3\r\n\r\n0\r\n\r\n`, 400],
  ['two equal lengths', `POST / HTTP/1.1\r\n${HOST}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`, 400],
  ['two lengths', `POST / HTTP/1.1\r\n${HOST}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`, 400],
  ['a list of lengths', `POST / HTTP/1.1\r\n${HOST}Content-Length: 3, 3\r\n\r\nabc`, 400],
  ['a signed length', `POST / HTTP/1.1\r\n${HOST}Content-Length: +3\r\n\r\nabc`, 400],
  ['a hexadecimal length', `POST / HTTP/1.1\r\n${HOST}Content-Length: 0x3\r\n\r\nabc`, 400],
  ['an empty length', `POST / HTTP/1.1\r\n${HOST}Content-Length: \r\n\r\n`, 400],
  ['a length beyond 2^64', `POST / HTTP/1.1\r\n${HOST}Content-Length: 18446744073709551616\r\n\r\n`, 400],
  ['a length beyond what is counted exactly', `POST / HTTP/1.1\r\n${HOST}Content-Length: 9007199254740993\r\n\r\n`, 400],
  ['an unknown coding', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 400],
  ['identity', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: identity\r\n\r\n`, 400],
  ['chunked, identity', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`, 400],
  ['gzip, chunked', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`, 400],
  ['chunked twice', `POST / HTTP/1.1\r\n${CHUNKED}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`, 400],
  ['chunked and identity', `POST / HTTP/1.1\r\n${CHUNKED}Transfer-Encoding: identity\r\n\r\n0\r\n\r\n`, 400],
  ['vertical tab before chunked', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`, 400],
  ['tab before chunked', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding:\tchunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`, 200],
  ['CHUNKED', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: CHUNKED\r\n\r\n3\r\nabc\r\n0\r\n\r\n`, 200],
  ['blank before the colon of a length', `POST / HTTP/1.1\r\n${HOST}Content-Length : 3\r\n\r\nabc`, 400],
  ['blank before the colon of a coding', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`, 400],
  ['blank before the first field', `GET / HTTP/1.1\r\n X: y\r\n${HOST}\r\n`, 400],
  ['folded field', `GET / HTTP/1.1\r\n${HOST}X: a\r\n b\r\n\r\n`, 400],
  ['bare LF', `GET / HTTP/1.1\nHost: a\n\n`, 400],
  ['bare LF behind one field', `GET / HTTP/1.1\r\n${HOST}X: y\nZ: 1\r\n\r\n`, 400],
  ['bare CR in a value', `GET / HTTP/1.1\r\n${HOST}X: a\rb\r\n\r\n`, 400],
  ['CR CR LF', `GET / HTTP/1.1\r\n${HOST}X: a\r\r\n\r\n`, 400],
  ['NUL in a value', `GET / HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`, 400],
  ['a control in a value', `GET / HTTP/1.1\r\n${HOST}X: a\x01b\r\n\r\n`, 400],
  ['DEL in a value', `GET / HTTP/1.1\r\n${HOST}X: a\x7fb\r\n\r\n`, 400],
  ['obs-text in a value', `GET / HTTP/1.1\r\n${HOST}X: a\xffb\r\n\r\n`, 200],
  ['an empty name', `GET / HTTP/1.1\r\n${HOST}: y\r\n\r\n`, 400],
  ['no colon', `GET / HTTP/1.1\r\n${HOST}Xy\r\n\r\n`, 400],
  ['a brace in a name', `GET / HTTP/1.1\r\n${HOST}X{y: 1\r\n\r\n`, 400],
  ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['two Hosts', `GET / HTTP/1.1\r\n${HOST}Host: b\r\n\r\n`, 400],
  ['two equal Hosts', `GET / HTTP/1.1\r\n${HOST}${HOST}\r\n`, 400],
  ['an empty Host', 'GET / HTTP/1.1\r\nHost: \r\n\r\n', 400],
  ['a blank in Host', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n', 400],
  ['user info in Host', 'GET / HTTP/1.1\r\nHost: u@b\r\n\r\n', 400],
  ['a path in Host', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', 400],
  ['a list in Host', 'GET / HTTP/1.1\r\nHost: a, b\r\n\r\n', 400],
  ['a port out of range in Host', 'GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n', 400],
  ['a port in Host', 'GET / HTTP/1.1\r\nHost: a:8443\r\n\r\n', 200],
  ['IPv6 in Host', 'GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n', 200],
  ['absolute form with user info', `GET http://u@other/ HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['absolute form of another scheme', `GET ftp://other/ HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['authority form', `GET other:80 HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['no slash', `GET foo HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['OPTIONS *', `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, 404],
  ['a blank in the target', `GET /a b HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['tabs in the request line', `GET\t/\tHTTP/1.1\r\n${HOST}\r\n`, 400],
  ['a fragment', `GET /a#b HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['obs-text in the target', `GET /\xff HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['a control in the target', `GET /\x01 HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['an encoded NUL in the path', `GET /a%00.png HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['an encoded line break in the path', `GET /a%0d%0aX:1 HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['a lower-case method', `get / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['an unknown method', `FOO / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['HTTP/0.9', 'GET /\r\n\r\n', 400],
  ['HTTP/1.0', `GET / HTTP/1.0\r\n${HOST}\r\n`, 200],
  ['HTTP/1.0 without Host', 'GET / HTTP/1.0\r\n\r\n', 400],
  ['HTTP/1.0 and chunked', `POST / HTTP/1.0\r\n${CHUNKED}\r\n3\r\nabc\r\n0\r\n\r\n`, 400],
  ['HTTP/1.2', `GET / HTTP/1.2\r\n${HOST}\r\n`, 400],
  ['HTTP/2.0', `GET / HTTP/2.0\r\n${HOST}\r\n`, 400],
  ['http/1.1', `GET / http/1.1\r\n${HOST}\r\n`, 400],
  ['the HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['a GET with a body', `GET / HTTP/1.1\r\n${HOST}Content-Length: 3\r\n\r\nabc`, 200],
  ['a chunk extension', `POST / HTTP/1.1\r\n${CHUNKED}\r\n3;a=b\r\nabc\r\n0\r\n\r\n`, 200],
  ['bare LF in a chunk extension', `POST / HTTP/1.1\r\n${CHUNKED}\r\n3;a\nabc\r\n0\r\n\r\n`, 400],
  ['bare CR in a chunk extension', `POST / HTTP/1.1\r\n${CHUNKED}\r\n3;a\rb\r\nabc\r\n0\r\n\r\n`, 400],
  ['a chunk size that ends with LF', `POST / HTTP/1.1\r\n${CHUNKED}\r\n3\nabc\r\n0\r\n\r\n`, 400],
  ['a chunk size 0x3', `POST / HTTP/1.1\r\n${CHUNKED}\r\n0x3\r\nabc\r\n0\r\n\r\n`, 400],
  ['a blank before the chunk size', `POST / HTTP/1.1\r\n${CHUNKED}\r\n 3\r\nabc\r\n0\r\n\r\n`, 400],
  ['a blank behind the chunk size', `POST / HTTP/1.1\r\n${CHUNKED}\r\n3 \r\nabc\r\n0\r\n\r\n`, 400],
  ['a chunk size beyond 2^64', `POST / HTTP/1.1\r\n${CHUNKED}\r\n10000000000000003\r\nabc\r\n0\r\n\r\n`, 400],
  ['a chunk without CRLF', `POST / HTTP/1.1\r\n${CHUNKED}\r\n3\r\nabcX0\r\n\r\n`, 400],
  ['a chunk that ends with LF', `POST / HTTP/1.1\r\n${CHUNKED}\r\n3\r\nabc\n0\r\n\r\n`, 400],
  ['a length among the trailers', `POST / HTTP/1.1\r\n${CHUNKED}\r\n3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n`, 400],
  ['trailers', `POST / HTTP/1.1\r\n${CHUNKED}\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n`, 200],
  ['a leading empty line', `\r\nGET / HTTP/1.1\r\n${HOST}\r\n`, 200],
  [
    'an upgrade to h2c',
    `GET / HTTP/1.1\r\n${HOST}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n`,
    200,
  ],
  ['CONNECT', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', 405],
  ['an unknown expectation', `POST / HTTP/1.1\r\n${HOST}Expect: foo\r\nContent-Length: 3\r\n\r\nabc`, 417],
  ['an upgrade with a length', `GET / HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc`, 400],
  ['an upgrade with chunks', `GET / HTTP/1.1\r\n${CHUNKED}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n3\r\nabc\r\n0\r\n\r\n`, 400],
];

async function running(t: Parameters<typeof startPlane>[0]): Promise<RunningPlane & { readonly backend: RawBackend }> {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  return { ...(await startPlane(t, [{ endpoints: [backend.address] }])), backend };
}

test('each payload is refused, or reaches the backend as one request', async (t) => {
  const { client, backend } = await running(t);
  for (const [name, payload, status] of CORPUS) {
    const before = backend.peers.map((peer) => peer.text).join('');
    const peer = await client();
    peer.send(payload);
    await peer.until(/^HTTP\/1\.1 (?!100)\d{3} [^]*\r\n\r\n/);
    assert.equal(peer.text.slice(0, 12), `HTTP/1.1 ${status}`, name);
    assert.equal(peer.text.match(/HTTP\/1\.1 \d/g)?.length, 1, `${name}: more than one answer`);
    const seen = backend.peers
      .map((one) => one.text)
      .join('')
      .slice(before.length);
    const requests = seen.match(/ HTTP\/1\.1\r\n/g)?.length ?? 0;
    // A body that turns out malformed later may have a head that went ahead; it must not look like a complete request.
    if (status === 200) assert.equal(requests, 1, `${name}: backend saw ${JSON.stringify(seen)}`);
    else assert.ok(requests === 0 || !seen.endsWith('0\r\n\r\n'), `${name}: backend saw ${JSON.stringify(seen)}`);
    peer.close();
  }
});

test('requests behind one with Connection: close are not read', async (t) => {
  const { client, backend } = await running(t);
  const peer = await client();
  peer.send(`GET /1 HTTP/1.1\r\n${HOST}Connection: close\r\n\r\nGET /2 HTTP/1.1\r\n${HOST}\r\n`);
  await peer.gone();
  assert.ok(!backend.peers.some(({ text }) => text.includes('/2')));
});

test('pipelined requests are answered in order', async (t) => {
  const backend = await rawBackend((peer) => {
    peer.socket.on('data', () => {
      const path = /GET (\S+)[^]*\r\n\r\n$/.exec(peer.text)?.[1] ?? '';
      // The first one is slow.
      const answer = (): void => peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`);
      if (path === '/1') setImmediate(() => setImmediate(answer));
      else answer();
    });
  });
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const peer = await client();
  peer.send(`GET /1 HTTP/1.1\r\n${HOST}\r\nGET /2 HTTP/1.1\r\n${HOST}\r\nGET /3 HTTP/1.1\r\n${HOST}\r\n`);
  await peer.until(/\/3$/);
  assert.deepEqual(peer.text.match(/\/\d$|\/\d(?=HTTP)/g), ['/1', '/2', '/3']);
});

test('a target in absolute form decides the host, and that host is forwarded', async (t) => {
  const { client, backend, configure } = await running(t);
  configure({ hostname: 'other.example.com', endpoints: [backend.address] });
  const peer = await client();
  peer.send(`GET http://other.example.com/x?y HTTP/1.1\r\n${HOST}\r\n`);
  await peer.until(/ok$/);
  assert.match(backend.peers[0]!.text, /^GET \/x\?y HTTP\/1\.1\r\nHost: other\.example\.com\r\n/);
  assert.doesNotMatch(backend.peers[0]!.text, /a\.example\.com/);
});

test('the body is framed anew: chunks stay chunks, lengths stay lengths, trailers pass unless they matter before the end', async (t) => {
  const { client, backend } = await running(t);
  const peer = await client();
  peer.send(
    `POST /1 HTTP/1.1\r\n${CHUNKED}Trailer: X-Sum\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\nAuthorization: no\r\nX-Real-IP: 6.6.6.6\r\n\r\n`,
  );
  await backend.peer(0);
  await backend.peers[0]!.until(/0\r\nX-Sum: 5\r\n\r\n$/);
  await peer.until(/ok$/);
  const [head = '', body = ''] = backend.peers[0]!.text.split(/\r\n\r\n([^]*)/);
  assert.match(head, /\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum$/);
  assert.doesNotMatch(head, /Content-Length/);
  assert.match(body, /^3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n$|^5\r\nabcde\r\n0\r\nX-Sum: 5\r\n\r\n$/);
});

test('a malformed chunk in the middle of a body aborts the request at the backend', async (t) => {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  const peer = await client();
  peer.send(`POST / HTTP/1.1\r\n${CHUNKED}\r\n3\r\nabc\r\n`);
  const at = await backend.peer(0);
  await at.until('abc\r\n');
  peer.send('zz\r\n');
  await peer.until('HTTP/1.1 400');
  await at.gone();
  assert.ok(!at.text.includes('0\r\n\r\n'));
});

test('dot segments do not lead from one rule to another', async (t) => {
  const { client, backend, configure } = await running(t);
  configure(
    { matches: [{ path: { type: 'RegularExpression', value: '^/a/' } }], endpoints: [backend.address] },
    { matches: [{ path: { type: 'Exact', value: '/b' } }], endpoints: [backend.address] },
    { matches: [{ path: { type: 'RegularExpression', value: '^/c' } }], endpoints: [backend.address] },
  );
  for (const [path, status] of [
    ['/a/../b', 400],
    ['/a/../c', 400],
    ['/a/x/../y', 200],
  ] as const) {
    const peer = await client();
    peer.send(`GET ${path} HTTP/1.1\r\n${HOST}\r\n`);
    await peer.until(/^HTTP\/1\.1 \d{3} [^]*\r\n\r\n/);
    assert.equal(peer.text.slice(9, 12), String(status), path);
  }
});

test('dot segments do not lead out of a matched prefix', async (t) => {
  const { client, backend, configure } = await running(t);
  configure({ prefix: '/public', endpoints: [backend.address] }, { prefix: '/admin', rule: { backends: [] } });
  const verdicts: readonly (readonly [string, number])[] = [
    ['/public/x/../y', 200],
    ['/public/./y', 200],
    ['/public/a..b/...', 200],
    ['/public/../admin', 400],
    ['/public/%2e%2e/admin', 400],
    ['/public/.%2E/admin', 400],
    ['/public/..%2fadmin', 400],
    ['/public/..\\admin', 400],
    ['/public/%2e%2e%5cadmin', 400],
    ['/public/..;x=y/admin', 400],
    ['/public/x/../../public/y', 400],
    ['/public/..', 400],
    ['/../public', 404],
  ];
  for (const [path, status] of verdicts) {
    const peer = await client();
    peer.send(`GET ${path} HTTP/1.1\r\n${HOST}\r\n`);
    await peer.until(/^HTTP\/1\.1 \d{3} [^]*\r\n\r\n/);
    assert.equal(peer.text.slice(9, 12), String(status), path);
    if (status === 200)
      assert.ok(
        backend.peers.some(({ text }) => text.includes(`GET ${path} HTTP/1.1`)),
        `${path} is forwarded as it came`,
      );
    peer.close();
  }
});
