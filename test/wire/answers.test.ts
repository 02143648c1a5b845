// What the proxy answers itself, and what it does to heads on their way: statuses, redirects, rewrites, edits, gRPC.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccessLog } from '#proxy/observe/access-log.ts';
import { Metrics } from '#proxy/observe/metrics.ts';
import { startPlane, type RunningPlane } from './plane.ts';
import { OK, answering, get, rawBackend } from './raw.ts';

async function ask({ client }: RunningPlane, request: string): Promise<string> {
  const peer = await client();
  peer.send(request);
  await peer.until(/^HTTP\/1\.1 \d{3} [^]*\r\n\r\n/);
  const length = Number(/content-length: (\d+)/i.exec(peer.text)?.[1] ?? 0);
  const chunked = /transfer-encoding: chunked/i.test(peer.text);
  const whole = (): boolean =>
    chunked ? /\r\n0\r\n[^]*\r\n\r\n$/.test(peer.text) : peer.text.length >= peer.text.indexOf('\r\n\r\n') + 4 + length;
  if (!request.startsWith('HEAD')) await peer.until(whole);
  return peer.text;
}

const HTTPS = 'CF-Visitor: {"scheme":"https"}\r\n';
const GRPC =
  'POST /pkg.Service/Method HTTP/1.1\r\nHost: a\r\nContent-Type: application/grpc+proto\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';

test('before the first configuration: 503', async (t) => {
  const plane = await startPlane(t, []);
  assert.match(await ask(plane, get()), /^HTTP\/1\.1 503 Service Unavailable\r\n[^]*Retry-After: 1\r\n/);
});

test('unknown host and unmatched path: 404', async (t) => {
  const plane = await startPlane(t, [{ hostname: 'app.example.com', prefix: '/app', endpoints: [] }]);
  assert.match(await ask(plane, get('/other')), /^HTTP\/1\.1 404 Not Found\r\n/);
  assert.match(await ask(plane, 'GET /app HTTP/1.1\r\nHost: b.example.com\r\n\r\n'), /^HTTP\/1\.1 404 /);
});

test('no valid backend, a rule that fails closed, a share with a status', async (t) => {
  const plane = await startPlane(t, [
    { prefix: '/none' },
    { prefix: '/closed', rule: { error: { status: 500, reason: 'unsupported filter' } } },
    { prefix: '/zero', rule: { backends: [{ status: 500, weight: 0 }] } },
    { prefix: '/gone', rule: { backends: [{ status: 503, weight: 1 }] } },
    { prefix: '/tls', rule: { backends: [{ status: 502, weight: 1 }] } },
  ]);
  for (const [path, status] of [
    ['/none', 500],
    ['/closed', 500],
    ['/zero', 500],
    ['/gone', 503],
    ['/tls', 502],
  ] as const) {
    assert.equal((await ask(plane, get(path))).slice(9, 12), String(status), path);
  }
});

test('a HEAD gets the head of an answer only', async (t) => {
  const plane = await startPlane(t, [{ prefix: '/elsewhere' }]);
  const { client } = plane;
  const peer = await client();
  for (let i = 0; i < 2; i++) {
    peer.text = '';
    peer.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
    await peer.until(/^HTTP\/1\.1 404 [^]*Content-Length: \d+\r\n[^]*\r\n\r\n$/);
  }
});

test('gRPC clients get a gRPC status, in the head and as trailers', async (t) => {
  const plane = await startPlane(t, [
    { prefix: '/pkg.Service/Other' },
    { hostname: 'b', rule: { backends: [] } },
    { hostname: 'c', endpoints: [] },
    { hostname: 'd', rule: { error: { status: 500, reason: 'x' } } },
    { hostname: 'e', endpoints: ['127.0.0.1:1'] },
  ]);
  for (const [host, status] of [
    ['a', 12],
    ['b', 14],
    ['c', 14],
    ['d', 13],
    ['e', 14],
  ] as const) {
    const text = await ask(plane, GRPC.replace('Host: a', `Host: ${host}`));
    assert.match(text, /^HTTP\/1\.1 200 OK\r\nContent-Type: application\/grpc\r\n/, host);
    assert.match(
      text,
      new RegExp(`\r\ngrpc-status: ${status}\r\ngrpc-message: [ -~]+\r\n[^]*\r\n\r\n0\r\ngrpc-status: ${status}\r\n`),
      host,
    );
  }
});

test('a gRPC time limit is DEADLINE_EXCEEDED', async (t) => {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const plane = await startPlane(t, [{ endpoints: [backend.address], rule: { timeouts: { request: 20 } } }]);
  assert.match(await ask(plane, GRPC), /\r\ngrpc-status: 4\r\n/);
});

test('redirects: scheme, host, port, path and query', async (t) => {
  const plane = await startPlane(t, [
    { prefix: '/secure', rule: { filters: [{ type: 'RequestRedirect', scheme: 'https', statusCode: 301 }] } },
    {
      prefix: '/old',
      rule: {
        filters: [
          { type: 'RequestRedirect', hostname: 'new.example.com', path: { type: 'ReplacePrefixMatch', value: '/new' }, statusCode: 308 },
        ],
      },
    },
  ]);
  assert.match(
    await ask(plane, get('/secure/x?y=z')),
    /^HTTP\/1\.1 301 [^]*\r\nLocation: https:\/\/app\.example\.com\/secure\/x\?y=z\r\nContent-Length: 0\r\n/,
  );
  assert.match(
    await ask(plane, get('/old/x%2Fy/', HTTPS)),
    /^HTTP\/1\.1 308 [^]*\r\nLocation: https:\/\/new\.example\.com\/new\/x%2Fy\/\r\n/,
  );
});

test('a redirect that names a scheme and leads back is skipped; without scheme it is given', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const toHttps = { type: 'RequestRedirect', scheme: 'https', statusCode: 301 } as const;
  const plane = await startPlane(t, [
    { prefix: '/with', endpoints: [backend.address], rule: { filters: [toHttps] } },
    { prefix: '/only', rule: { filters: [toHttps] } },
    { prefix: '/loop', rule: { filters: [{ type: 'RequestRedirect', statusCode: 302 }] } },
  ]);
  assert.match(await ask(plane, get('/with')), /^HTTP\/1\.1 301 /);
  assert.match(await ask(plane, get('/with', HTTPS)), /^HTTP\/1\.1 200 /);
  assert.match(await ask(plane, get('/only', HTTPS)), /^HTTP\/1\.1 404 /);
  assert.match(await ask(plane, get('/loop', HTTPS)), /^HTTP\/1\.1 302 [^]*Location: https:\/\/app\.example\.com\/loop\r\n/);
});

test('rewrites change path and Host, and the visitor’s host stays known', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const filters = [{ type: 'URLRewrite', hostname: 'inner.local', path: { type: 'ReplacePrefixMatch', value: '/v2' } }] as const;
  const plane = await startPlane(t, [{ prefix: '/v1', endpoints: [backend.address], rule: { filters: [...filters] } }]);
  await ask(plane, get('/v1/a%2Fb?c=d'));
  assert.match(
    backend.peers[0]!.text,
    /^GET \/v2\/a%2Fb\?c=d HTTP\/1\.1\r\nHost: inner\.local\r\n[^]*\r\nX-Forwarded-Host: app\.example\.com\r\n/,
  );
});

test('header edits apply both ways, repeated fields stay repeated, bytes stay bytes', async (t) => {
  const backend = await rawBackend(
    answering('HTTP/1.1 200 Fine\r\nSet-Cookie: a=1\r\nX-Gone: 1\r\nSet-Cookie: b=2\r\nX-Raw: \xe9\xff\r\nContent-Length: 2\r\n\r\nok'),
  );
  t.after(() => backend.close());
  const plane = await startPlane(t, [
    {
      endpoints: [backend.address],
      rule: {
        filters: [
          {
            type: 'RequestHeaderModifier',
            modifier: { set: [{ name: 'X-Set', value: 's' }], add: [{ name: 'X-Add', value: 'a' }], remove: ['x-gone'] },
          },
          { type: 'ResponseHeaderModifier', modifier: { set: [{ name: 'X-Out', value: 'o' }], remove: ['X-GONE'] } },
        ],
      },
    },
  ]);
  const text = await ask(plane, get('/', 'X-Gone: 1\r\nX-Set: old\r\nX-Add: first\r\nX-Raw: \xe9\xff\r\nX-Twice: 1\r\nX-Twice: 2\r\n'));
  const seen = backend.peers[0]!.text;
  assert.match(seen, /X-Add: first\r\nX-Raw: \xe9\xff\r\nX-Twice: 1\r\nX-Twice: 2\r\n[^]*X-Set: s\r\nX-Add: a\r\n/);
  assert.doesNotMatch(seen, /X-Gone|old/);
  assert.match(text, /^HTTP\/1\.1 200 Fine\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Raw: \xe9\xff\r\n[^]*X-Out: o\r\n/);
  assert.doesNotMatch(text, /X-Gone/i);
});

test('answers of our own for a matched route carry its response edits', async (t) => {
  const modifier = { set: [{ name: 'X-Frame-Options', value: 'DENY' }] };
  const plane = await startPlane(t, [{ endpoints: [], rule: { filters: [{ type: 'ResponseHeaderModifier', modifier }] } }]);
  assert.match(await ask(plane, get()), /^HTTP\/1\.1 503 [^]*X-Frame-Options: DENY\r\n/);
});

test('each exchange is counted under the pattern that matched, and logged', async (t) => {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const metrics = new Metrics();
  const lines: string[] = [];
  const accessLog = new AccessLog({
    sink: { write: (line) => lines.push(line) },
    sampleRate: 1,
    omitQuery: false,
    random: () => 0,
    now: () => 7,
  });
  const plane = await startPlane(t, [{ hostname: '*.example.com', prefix: '/app', endpoints: [backend.address] }], { metrics, accessLog });
  await ask(
    plane,
    'POST /app?q="1" HTTP/1.1\r\nHost: app.example.com\r\nUser-Agent: test\r\nCF-Connecting-IP: 203.0.113.7\r\nContent-Length: 3\r\n\r\nabc',
  );
  await ask(plane, get('/nothing'));
  const text = metrics.exposition();
  for (const line of [
    'cftunnel_proxy_requests_total{hostname="*.example.com",status_class="2xx"} 1',
    'cftunnel_proxy_requests_total{hostname="",status_class="4xx"} 1',
    'cftunnel_proxy_request_bytes_total{hostname="*.example.com"} 3',
    'cftunnel_proxy_response_bytes_total{hostname="*.example.com"} 2',
    'cftunnel_proxy_request_duration_seconds_count{hostname="*.example.com"} 1',
    'cftunnel_proxy_requests_in_flight 0',
  ])
    assert.ok(text.includes(`${line}\n`), line);
  const [first] = lines.map((line): Record<string, unknown> => JSON.parse(line));
  const { duration_ms: duration, ...rest } = first ?? {};
  assert.equal(typeof duration, 'number');
  assert.deepEqual(rest, {
    level: 'INFO',
    time: 7,
    msg: 'access',
    method: 'POST',
    host: 'app.example.com',
    path: '/app',
    query: 'q="1"',
    status: 200,
    bytes_written: 2,
    user_agent: 'test',
    route: 'HTTPRoute/default/route-0',
    endpoint: backend.address,
    client: '203.0.113.7',
  });
});
