// Who the visitor is: what the edge says is passed on, what the client says of itself is not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPlane } from './plane.ts';
import { OK, answering, rawBackend } from './raw.ts';

/** Header lines sent → lines that the backend must get, and patterns that it must not get. */
const TABLE: readonly (readonly [string, string, readonly string[], readonly RegExp[]])[] = [
  [
    'through the edge',
    'CF-Connecting-IP: 203.0.113.7\r\nCF-Visitor: {"scheme":"https"}\r\nX-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\nCF-Ray: 1-FRA\r\n',
    [
      'X-Real-IP: 203.0.113.7',
      'X-Forwarded-For: 203.0.113.7',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: a.example.com:8443',
      'X-Forwarded-Port: 8443',
      'CF-Connecting-IP: 203.0.113.7',
      'CF-Ray: 1-FRA',
    ],
    [],
  ],
  ['IPv6', 'CF-Connecting-IP: 2001:db8::7\r\n', ['X-Real-IP: 2001:db8::7', 'X-Forwarded-For: 2001:db8::7'], []],
  [
    'a forged chain',
    'CF-Connecting-IP: 203.0.113.7\r\nX-Forwarded-For: 6.6.6.6, 203.0.113.7\r\nX-Real-IP: 6.6.6.6\r\n',
    ['X-Forwarded-For: 203.0.113.7'],
    [/6\.6\.6\.6/],
  ],
  ['two addresses', 'CF-Connecting-IP: 6.6.6.6\r\nCF-Connecting-IP: 203.0.113.7\r\n', ['X-Real-IP: 127.0.0.1'], [/6\.6\.6\.6|203\.0/]],
  ['a list of addresses', 'CF-Connecting-IP: 6.6.6.6, 7.7.7.7\r\n', ['X-Real-IP: 127.0.0.1'], [/6\.6\.6\.6/]],
  ['no address', 'CF-Connecting-IP: <script>\r\n', ['X-Real-IP: 127.0.0.1'], [/script/]],
  ['an address with a zone', 'CF-Connecting-IP: fe80::1%eth0\r\n', ['X-Real-IP: 127.0.0.1'], [/fe80/]],
  ['nothing said', '', ['X-Real-IP: 127.0.0.1', 'X-Forwarded-Proto: http'], []],
  ['a scheme that is none', 'X-Forwarded-Proto: javascript\r\n', ['X-Forwarded-Proto: http'], [/javascript/]],
  ['two schemes', 'X-Forwarded-Proto: https\r\nX-Forwarded-Proto: http\r\n', ['X-Forwarded-Proto: http'], [/https/]],
  ['only X-Forwarded-Proto', 'X-Forwarded-Proto: https\r\n', ['X-Forwarded-Proto: https'], []],
  [
    'CF-Visitor against X-Forwarded-Proto',
    'CF-Visitor: {"scheme":"http"}\r\nX-Forwarded-Proto: https\r\n',
    ['X-Forwarded-Proto: http'],
    [/Proto: https/],
  ],
  [
    'forged host and port',
    'X-Forwarded-Host: evil\r\nX-Forwarded-Port: 1\r\nX-Original-Host: evil\r\nForwarded: for=evil\r\n',
    ['X-Forwarded-Host: a.example.com:8443'],
    [/evil/],
  ],
  [
    'underscores',
    'X_Forwarded_For: 6.6.6.6\r\nX_Real_IP: 6.6.6.6\r\nCF_Connecting_IP: 6.6.6.6\r\nX_Original_Host: evil\r\nContent_Length: 6666\r\n',
    [],
    [/6\.6\.6\.6|evil|6666/],
  ],
  ['other underscores pass', 'X_Custom: yes\r\n', ['X_Custom: yes'], []],
  [
    'what edge and connector say to each other',
    'CF-Warp-Tag-Id: tag\r\nCf-Cloudflared-Request-Headers: meta\r\ncf-cloudflared-x: meta\r\n',
    [],
    [/tag|meta/],
  ],
  ['Connection takes out what it names', 'Connection: close, X-Hop\r\nX-Hop: 1\r\nX-Stay: 2\r\n', ['X-Stay: 2'], [/X-Hop|Connection/]],
  [
    'Connection cannot take out what matters',
    'Connection: CF-Connecting-IP, Authorization, X-Forwarded-For, Cookie, Host, CF-Access-Jwt-Assertion\r\nCF-Connecting-IP: 203.0.113.7\r\nAuthorization: x\r\nCookie: y\r\nCF-Access-Jwt-Assertion: z\r\n',
    ['CF-Connecting-IP: 203.0.113.7', 'X-Forwarded-For: 203.0.113.7', 'Authorization: x', 'Cookie: y', 'CF-Access-Jwt-Assertion: z'],
    [],
  ],
  [
    'hop-by-hop fields',
    'Keep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: x\r\nTE: gzip\r\nHTTP2-Settings: AAMA\r\nUpgrade: h2c\r\n',
    [],
    [/Keep-Alive|Proxy-|TE:|HTTP2|Upgrade/i],
  ],
];

test('what a backend is told about the visitor', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { client } = await startPlane(t, [{ endpoints: [backend.address] }]);
  for (const [name, sent, expected, forbidden] of TABLE) {
    const before = backend.peers[0]?.text.length ?? 0;
    const peer = await client();
    peer.send(`GET / HTTP/1.1\r\nHost: a.example.com:8443\r\n${sent}\r\n`);
    await peer.until(/ok$/);
    const seen = backend.peers[0]!.text.slice(before).split('\r\n');
    for (const line of expected) assert.equal(seen.filter((one) => one === line).length, 1, `${name}: ${line} in ${JSON.stringify(seen)}`);
    for (const pattern of forbidden) assert.ok(!seen.some((line) => pattern.test(line)), `${name}: ${pattern} in ${JSON.stringify(seen)}`);
    for (const owned of ['X-Real-IP', 'X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Forwarded-Port']) {
      assert.equal(seen.filter((line) => line.toLowerCase().startsWith(`${owned.toLowerCase()}:`)).length, 1, `${name}: ${owned} once`);
    }
  }
});

test('no header steers routing', async (t) => {
  const [open, closed] = await Promise.all([rawBackend(answering(OK)), rawBackend(answering(OK))]);
  t.after(() => Promise.all([open.close(), closed.close()]));
  const { client } = await startPlane(t, [
    { hostname: 'open.example.com', endpoints: [open.address] },
    { hostname: 'closed.example.com', endpoints: [closed.address] },
  ]);
  const peer = await client();
  peer.send(
    'GET / HTTP/1.1\r\nHost: open.example.com\r\nX-Original-Host: closed.example.com\r\nX-Forwarded-Host: closed.example.com\r\nForwarded: host=closed.example.com\r\n\r\n',
  );
  await peer.until(/ok$/);
  assert.deepEqual([open.peers.length, closed.peers.length], [1, 0]);
});

test('a route may replace what we state about the visitor', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const modifier = { set: [{ name: 'X-Forwarded-Proto', value: 'https' }], remove: ['X-Real-IP'] };
  const { client } = await startPlane(t, [
    { endpoints: [backend.address], rule: { filters: [{ type: 'RequestHeaderModifier', modifier }] } },
  ]);
  const peer = await client();
  peer.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await peer.until(/ok$/);
  assert.equal(backend.peers[0]!.text.match(/X-Forwarded-Proto: .*/g)?.join(), 'X-Forwarded-Proto: https');
  assert.doesNotMatch(backend.peers[0]!.text, /X-Real-IP/);
});
