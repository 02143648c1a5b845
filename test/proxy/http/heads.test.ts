// The pure parts of a request's way in: names, authorities, paths, framing, the head that the backend gets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { headerEdits } from '#proxy/filter/edits.ts';
import { parseAbsoluteTarget, parseAuthority } from '#proxy/http/authority.ts';
import { isGrpc, isRepeatable, requestBodyLength } from '#proxy/http/framing.ts';
import * as hop from '#proxy/http/hop.ts';
import { judgePath, prefixDepth, withoutDots } from '#proxy/http/path-guard.ts';
import { RequestHead } from '#proxy/http/request-head.ts';
import { grpcMessage } from '#proxy/http/reply.ts';
import { editResponse } from '#proxy/http/response-head.ts';

test('names are found in any case, look-alikes with underscores are dropped, others pass', () => {
  assert.equal(hop.requestField('Transfer-Encoding'), hop.TRANSFER_ENCODING);
  assert.equal(hop.requestField('tRANSFER-eNCODING'), hop.TRANSFER_ENCODING);
  for (const name of [
    'X_Forwarded-For',
    'x_real_ip',
    'CF_VISITOR',
    'Transfer_Encoding',
    'Cf-Cloudflared-Anything',
    'CF_CLOUDFLARED_X',
    'expect',
  ])
    assert.equal(hop.requestField(name), hop.DROP, name);
  for (const name of [
    'Cookie',
    'X-Forwarded',
    'cf-ray',
    'cf-access-jwt-assertion',
    'content-disposition',
    'x_custom',
    '',
    'cf-connecting-ipv6',
  ])
    assert.equal(hop.requestField(name), hop.PASS, name);
});

test('no name is mistaken for another', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z][a-z-]{0,20}$/), (name) => {
      const code = hop.requestField(name);
      assert.equal(hop.requestField(name.toUpperCase()), code);
    }),
  );
});

test('Connection takes out only what a client may take out', () => {
  assert.equal(hop.nominatedFields('keep-alive, Upgrade'), null);
  assert.deepEqual(hop.nominatedFields('close, X-A , x-b,,'), new Set(['x-a', 'x-b']));
  assert.equal(hop.nominatedFields('Host, Authorization, CF-Ray, X-Forwarded-For, Content-Length, X-Real-IP, Cookie'), null);
});

test('trailers that frame, route or identify are dropped', () => {
  assert.deepEqual(
    hop.forwardableTrailers(['grpc-status', '0', 'Content-Length', '1', 'X-Forwarded-For', 'x', 'X-Sum', '2', 'Host', 'h']),
    ['grpc-status', '0', 'X-Sum', '2'],
  );
});

test('authorities', () => {
  assert.deepEqual(parseAuthority('app.example.com'), { host: 'app.example.com', port: 0 });
  assert.deepEqual(parseAuthority('APP.example.com.:8443'), { host: 'app.example.com', port: 8443 });
  assert.deepEqual(parseAuthority('[2001:DB8::1]:80'), { host: '[2001:db8::1]', port: 80 });
  for (const text of [
    '',
    '.',
    ':80',
    'a b',
    'u@a',
    'a/b',
    'a:b',
    'a:99999',
    'a:80:80',
    '[::1',
    'a%2eb',
    'a,b',
    'ä',
    'a?b',
    'a#b',
    '[::1%eth0]',
  ])
    assert.equal(parseAuthority(text), null, text);
});

test('targets in absolute form', () => {
  assert.deepEqual(parseAbsoluteTarget('http://a:80/x?y'), { authority: 'a:80', pathAndQuery: '/x?y' });
  assert.deepEqual(parseAbsoluteTarget('HTTPS://a?y'), { authority: 'a', pathAndQuery: '/?y' });
  for (const target of ['ftp://a/', 'http://', 'http:///x', 'http://u@a/', 'a:80', 'http://a/#f'])
    assert.equal(parseAbsoluteTarget(target), null, target);
});

test('paths: plain, with something like a dot segment, or malformed', () => {
  for (const path of ['/', '/a/b', '/a..b', '/...', '/a%20b', '/.well-known/x', '/a/..b', '/%2f', '/a;b'])
    assert.equal(judgePath(path), 'plain', path);
  for (const path of ['/.', '/..', '/a/../b', '/a/./b', '/%2e%2e', '/.%2E/', '/a%2f..%2fb', '/a\\..\\b', '/a/..;x/b', '/a%5c.'])
    assert.equal(judgePath(path), 'dots', path);
  for (const path of ['/%00', '/a%0d%0ab', '/%0A']) assert.equal(judgePath(path), 'malformed', path);
});

test('dot segments are removed as a backend would, and climbing is seen', () => {
  assert.equal(withoutDots('/a/b/../c/./d', 0), '/a/c/d');
  assert.equal(withoutDots('/a/b/..', 0), '/a/');
  assert.equal(withoutDots('/a/%2e%2e%2fb', 0), '/b');
  assert.equal(withoutDots('/..', 0), null);
  assert.equal(withoutDots('/app/../app/x', 1), null);
  assert.equal(withoutDots('/app/x/../y', 1), '/app/y');
  assert.equal(prefixDepth('/a/b'), 2);
  assert.equal(prefixDepth(''), 0);
});

test('a path without dots is never deeper than what the platform’s own URL parser makes of it', () => {
  const segment = fc.constantFrom('a', 'b', '.', '..', '%2e', '%2E%2e', '');
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 8 }), (segments) => {
      const path = `/${segments.join('/')}`;
      const clean = withoutDots(path, 0);
      if (clean !== null && !path.includes('//')) assert.equal(clean, new URL(`http://x${path}`).pathname);
    }),
  );
});

test('framing of request bodies', () => {
  assert.equal(requestBodyLength(null, null, 1), 0);
  assert.equal(requestBodyLength('12', null, 1), 12);
  assert.equal(requestBodyLength(null, 'Chunked', 1), -1);
  for (const [length, coding, minor] of [
    ['1', 'chunked', 1],
    ['', null, 1],
    ['1,1', null, 1],
    ['repeated', null, 1],
    [null, 'gzip', 1],
    [null, 'chunked', 0],
  ] as const) {
    assert.equal(requestBodyLength(length, coding, minor), null);
  }
  assert.ok(isRepeatable('GET', 0) && isRepeatable('DELETE', 0));
  assert.ok(!isRepeatable('POST', 0) && !isRepeatable('PUT', 5) && !isRepeatable('GET', -1));
});

test('gRPC by content type, gRPC-Web not', () => {
  for (const type of ['application/grpc', 'application/grpc+proto', 'APPLICATION/GRPC; x=y'])
    assert.ok(isGrpc(['Content-Type', type]), type);
  for (const type of ['application/grpc-web', 'application/grpc-web+proto', 'application/grpcish', 'text/plain'])
    assert.ok(!isGrpc(['content-type', type]), type);
  assert.equal(grpcMessage('50 % – ok'), '50 %25 %E2%80%93 ok');
});

const VISITOR = { address: '203.0.113.7', forwardedFor: '203.0.113.7', scheme: 'https', host: 'a', port: 443 } as const;

test('the head for HTTP/1.1 and the list for HTTP/2 say the same', () => {
  const head = new RequestHead();
  const raw = [
    'Host',
    'a',
    'X-One',
    '1',
    'Connection',
    'X-Hop',
    'X-Hop',
    '1',
    'X-Gone',
    '1',
    'TE',
    'trailers',
    'Transfer-Encoding',
    'chunked',
    'Cookie',
    'c',
  ];
  const edits = headerEdits([{ set: [{ name: 'X-New', value: 'n' }], remove: ['x-gone', 'x-forwarded-port'] }]);
  const to = { method: 'POST', target: '/p?q', host: 'b', bodyLength: -1, edits };
  assert.ok(head.read(raw));
  assert.equal(
    head.text(to, VISITOR),
    'POST /p?q HTTP/1.1\r\nHost: b\r\nX-One: 1\r\nCookie: c\r\nX-Real-IP: 203.0.113.7\r\nX-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: a\r\n' +
      'Transfer-Encoding: chunked\r\nTE: trailers\r\nConnection: TE\r\nX-New: n\r\n\r\n',
  );
  const list = head.list(to, VISITOR);
  assert.equal(
    list.join(' '),
    ':method POST :path /p?q :scheme http :authority b x-one 1 cookie c x-real-ip 203.0.113.7 x-forwarded-for 203.0.113.7 ' +
      'x-forwarded-proto https x-forwarded-host a te trailers x-new n',
  );
});

test('nothing of one request is left in the next', () => {
  const head = new RequestHead();
  const to = { method: 'GET', target: '/', host: 'a', bodyLength: 0, edits: null };
  assert.ok(head.read(['Host', 'a']));
  const plain = head.text(to, VISITOR);
  assert.ok(
    head.read([
      'Host',
      'z',
      'Connection',
      'x-hop',
      'TE',
      'trailers',
      'Trailer',
      't',
      'Content-Length',
      '0',
      'Upgrade',
      'websocket',
      'CF-Connecting-IP',
      'x',
    ]),
  );
  head.upgradeText(to, VISITOR);
  assert.ok(head.read(['Host', 'a']));
  assert.equal(head.text(to, VISITOR), plain);
});

test('response edits never take away what frames or switches', () => {
  const edits = headerEdits([{ remove: ['X-A', 'Sec-WebSocket-Accept'], add: [{ name: 'X-B', value: 'b' }] }]);
  assert.deepEqual(editResponse(['x-a', '1', 'X-C', '2', 'Sec-WebSocket-Accept', 's'], edits), [
    'X-C',
    '2',
    'Sec-WebSocket-Accept',
    's',
    'X-B',
    'b',
  ]);
});
