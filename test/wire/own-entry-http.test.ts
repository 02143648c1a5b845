// Clear text at the proxy's own entry: both versions of HTTP on one port, who a visitor is, and where redirects lead.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FilterConfig } from '#proxy/config/schema.ts';
import { get, h2Client, rawClient, startOwnEntry } from './own-entry.ts';
import { OK, answering, rawBackend } from './raw.ts';

test('HTTP/1.1 and HTTP/2 with prior knowledge on one port, however slowly they begin', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { port } = await startOwnEntry(t, { listeners: [{ endpoints: [backend.address] }] });
  const h1 = await rawClient(t, port);
  for (const byte of 'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n') h1.send(byte);
  await h1.until(/^HTTP\/1\.1 200 OK[^]*ok$/);
  h1.send('GET /again HTTP/1.1\r\nHost: a\r\n\r\n');
  await h1.until(/ok[^]*ok$/);
  const h2 = await h2Client(t, port);
  const answers = await Promise.all([get(h2), get(h2, { ':path': '/two?q=1' })]);
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body]),
    [
      [200, 'ok'],
      [200, 'ok'],
    ],
  );
  assert.match(backend.peers.map(({ text }) => text).join(''), /GET \/two\?q=1 HTTP\/1\.1\r\nHost: app\.example\.com\r\n/);
});

test('the port in Host is ignored, reaches the backend as it came, and hosts of other listeners are not found', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { port } = await startOwnEntry(t, { listenerPort: 8080, listeners: [{ hostname: 'foo.com', endpoints: [backend.address] }] });
  const peer = await rawClient(t, port);
  for (const host of ['foo.com:1234', 'foo.com:8090', 'foo.com']) peer.send(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await peer.until(/ok[^]*ok[^]*ok$/);
  const seen = backend.peers.flatMap(({ text }) => text.match(/^Host: .*$/gm) ?? []).map((line) => line.trim());
  assert.deepEqual(seen.sort(), ['Host: foo.com', 'Host: foo.com:1234', 'Host: foo.com:8090']);
  peer.send('GET / HTTP/1.1\r\nHost: bar.com:8080\r\n\r\n');
  await peer.until(/HTTP\/1\.1 404/);
});

/** Header lines of a visitor → what the backend is told. */
const FORGED =
  'CF-Connecting-IP: 6.6.6.6\r\nCF-Visitor: {"scheme":"https"}\r\nCF-Ray: 1\r\ncf_ipcountry: XX\r\nTrue-Client-IP: 6.6.6.6\r\n' +
  'X-Real-IP: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Port: 6666\r\n';
const IDENTITIES: readonly (readonly [string, number, string, readonly string[]])[] = [
  [
    'nothing that a visitor says is believed',
    0,
    'X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\n',
    ['X-Real-IP: 127.0.0.1', 'X-Forwarded-For: 127.0.0.1', 'X-Forwarded-Proto: http', 'X-Forwarded-Host: a', 'X-Forwarded-Port: 8080'],
  ],
  [
    'behind one proxy',
    1,
    'X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\n',
    ['X-Real-IP: 203.0.113.7', 'X-Forwarded-For: 203.0.113.7, 127.0.0.1', 'X-Forwarded-Proto: https', 'X-Forwarded-Port: 443'],
  ],
  [
    'behind two proxies',
    2,
    'X-Forwarded-For: 6.6.6.6, 2001:db8::7, 10.0.0.1\r\n',
    ['X-Real-IP: 2001:db8::7', 'X-Forwarded-For: 2001:db8::7, 10.0.0.1, 127.0.0.1', 'X-Forwarded-Proto: http', 'X-Forwarded-Port: 8080'],
  ],
  ['past one of two proxies', 2, 'X-Forwarded-For: 6.6.6.6\r\n', ['X-Real-IP: 127.0.0.1', 'X-Forwarded-For: 127.0.0.1']],
  ['a chain of no addresses', 1, 'X-Forwarded-For: <script>\r\n', ['X-Real-IP: 127.0.0.1', 'X-Forwarded-For: 127.0.0.1']],
];

for (const [name, trustedHops, sent, expected] of IDENTITIES) {
  test(`who the visitor is: ${name}`, async (t) => {
    const backend = await rawBackend(answering(OK));
    t.after(() => backend.close());
    const { port } = await startOwnEntry(
      t,
      { listenerPort: 8080, listeners: [{ endpoints: [backend.address] }] },
      { options: { trustedHops } },
    );
    const peer = await rawClient(t, port);
    peer.send(`GET / HTTP/1.1\r\nHost: a\r\n${FORGED}${sent}\r\n`);
    await peer.until(/ok$/);
    const seen = backend.peers[0]!.text.split('\r\n');
    for (const line of expected) assert.ok(seen.includes(line), `${line} in ${JSON.stringify(seen)}`);
    assert.doesNotMatch(seen.join('\n'), /6\.6\.6\.6|6666|evil|^cf[-_]|true-client/im);
  });
}

test('a visitor by IPv6 keeps that address', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const { port } = await startOwnEntry(t, { listeners: [{ endpoints: [backend.address] }] });
  const peer = await rawClient(t, port, '::1');
  peer.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await peer.until(/ok$/);
  assert.match(backend.peers[0]!.text, /\r\nX-Forwarded-For: ::1\r\n/);
});

type Redirect = Omit<Extract<FilterConfig, { type: 'RequestRedirect' }>, 'type' | 'statusCode'>;
const REDIRECTS: readonly (readonly [number, string, Redirect, string])[] = [
  [80, 'a.com', { hostname: 'b.com' }, 'http://b.com/x?y'],
  [80, 'a.com:1234', { hostname: 'b.com' }, 'http://b.com/x?y'],
  [8080, 'a.com', { hostname: 'b.com' }, 'http://b.com:8080/x?y'],
  [8080, 'a.com:8080', { hostname: 'b.com' }, 'http://b.com:8080/x?y'],
  [8080, 'a.com:8080', { scheme: 'https' }, 'https://a.com/x?y'],
  [8080, 'a.com:8080', { scheme: 'http' }, 'http://a.com/x?y'],
  [8080, 'a.com:8080', { port: 80 }, 'http://a.com/x?y'],
  [8080, 'a.com:8080', { port: 8443, scheme: 'https' }, 'https://a.com:8443/x?y'],
  [80, 'a.com', { port: 8083 }, 'http://a.com:8083/x?y'],
  [80, 'a.com', {}, 'http://a.com/x?y'],
];

test('a redirect without a port keeps that of the listener, one with a scheme brings its own', async (t) => {
  for (const [listenerPort, host, redirect, location] of REDIRECTS) {
    const filters: FilterConfig[] = [{ type: 'RequestRedirect', statusCode: 302, ...redirect }];
    const { port } = await startOwnEntry(t, { listenerPort, listeners: [{ rule: { filters } }] });
    const peer = await rawClient(t, port);
    peer.send(`GET /x?y HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const text = await peer.until(/\r\n\r\n/);
    assert.equal(/^location: (.*)$/im.exec(text)?.[1]?.trim(), location, `${listenerPort} ${host} ${JSON.stringify(redirect)}`);
  }
});

test('a header that is added comes as a line of its own or joined by a bare comma, both ways and over both versions', async (t) => {
  const backend = await rawBackend(answering('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Out: one\r\n\r\nok'));
  t.after(() => backend.close());
  const modifier = { add: [{ name: 'X-In', value: 'two' }] };
  const filters: FilterConfig[] = [
    { type: 'RequestHeaderModifier', modifier },
    { type: 'ResponseHeaderModifier', modifier: { add: [{ name: 'X-Out', value: 'two' }] } },
  ];
  const { port } = await startOwnEntry(t, { listeners: [{ endpoints: [backend.address], rule: { filters } }] });
  const peer = await rawClient(t, port);
  peer.send('GET / HTTP/1.1\r\nHost: a\r\nX-In: one\r\n\r\n');
  assert.deepEqual(
    (await peer.until(/ok$/)).match(/^x-out: .*$/gim)?.map((line) => line.trim()),
    ['X-Out: one', 'X-Out: two'],
  );
  const session = await h2Client(t, port);
  const stream = session.request({ ':path': '/', 'x-in': 'one' });
  const raw = await new Promise<readonly string[]>((resolve) => stream.on('response', (_fields, _flags, fields) => resolve(fields)));
  assert.deepEqual(
    raw.filter((_, i) => raw[i - 1] === 'x-out'),
    ['one', 'two'],
  );
  for (const { text } of backend.peers) assert.match(text, /x-in: one\r\n[^]*x-in: two\r\n/i);
});
