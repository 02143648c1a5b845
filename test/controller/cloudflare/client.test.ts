// Our client against the double over sockets: values, typed errors, and no token anywhere.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { CloudflareApi, CloudflareError, CloudflareErrorKind, Result } from '#controller/cloudflare/api.ts';
import { createCloudflareClient, type CloudflareClientOptions } from '#controller/cloudflare/client.ts';
import { RateLimiter } from '#controller/cloudflare/rate.ts';
import { startCloudflareApi, type CloudflareApiDouble, type TokenSeed } from '#test/cloudflare/api/server.ts';
import type { Trouble } from '#test/cloudflare/api/faults.ts';

let api: CloudflareApiDouble;
let accountId: string;
let tunnelId: string;
const secrets: string[] = [];

before(async () => {
  api = await startCloudflareApi();
  accountId = api.addAccount({ name: 'Example' }).id;
});
beforeEach(() => {
  tunnelId = api.addTunnel(accountId, { name: 'home' }).id;
});
after(() => api.close());

const limiter = (): RateLimiter => new RateLimiter({ now: () => performance.now() });

function clientFor(seed: Partial<TokenSeed> = {}, over: Partial<CloudflareClientOptions> = {}): CloudflareApi {
  const { value } = api.addToken({ name: 'controller', ...seed });
  secrets.push(value);
  return createCloudflareClient({ apiToken: value, baseURL: api.url, limiter: limiter(), ...over });
}

function value<T>(result: Result<T>): T {
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

/** Asserts the kind of failure, and that no secret is in it. */
function failure(result: Result<unknown>, kind: CloudflareErrorKind, text: RegExp): CloudflareError {
  assert.ok(!result.ok, 'the call succeeded');
  assert.equal(result.error.kind, kind, result.error.message);
  assert.match(result.error.message, text);
  for (const secret of secrets) assert.ok(!JSON.stringify(result).includes(secret), 'a secret is in the error');
  return result.error;
}

describe('values', () => {
  test('a tunnel, its token, and its document before and after a write', async () => {
    const client = clientFor();
    assert.deepEqual(value(await client.tunnel(accountId, tunnelId)), {
      id: tunnelId,
      name: 'home',
      configSource: 'cloudflare',
      deleted: false,
      metadata: {},
      connections: 0,
    });
    assert.equal(value(await client.tunnelToken(accountId, tunnelId)), api.connectorToken(tunnelId));
    assert.deepEqual(value(await client.tunnelDocument(accountId, tunnelId)), { version: 0, config: null, configSource: 'cloudflare' });
    const config = { ingress: [{ service: 'http_status:404' }], 'warp-routing': { enabled: true }, originRequest: { connectTimeout: 3 } };
    assert.equal(value(await client.putTunnelDocument(accountId, tunnelId, config)).version, 1);
    assert.deepEqual(value(await client.tunnelDocument(accountId, tunnelId)).config, config);
    api.deleteTunnel(tunnelId);
    assert.equal(value(await client.tunnel(accountId, tunnelId)).deleted, true);
  });

  test('accounts of all pages, without a call past the last one', async () => {
    const many = await startCloudflareApi();
    try {
      for (let n = 0; n < 120; n += 1) many.addAccount({ name: `Account ${n}` });
      const client = createCloudflareClient({ apiToken: many.addToken({ name: 'x' }).value, baseURL: many.url, limiter: limiter() });
      assert.equal(value(await client.accounts()).length, 120);
      assert.deepEqual(
        many.requests.map(({ query }) => query),
        ['page=1&per_page=50', 'page=2&per_page=50', 'page=3&per_page=50'],
      );
    } finally {
      await many.close();
    }
  });

  test('white space around the token is not part of it', async () => {
    const { value: apiToken } = api.addToken({ name: 'from a file' });
    value(await createCloudflareClient({ apiToken: ` ${apiToken}\n`, baseURL: api.url, limiter: limiter() }).tunnel(accountId, tunnelId));
  });
});

describe('errors', () => {
  test('a missing permission is named, with the API’s own code and text', async () => {
    const client = clientFor({ permissions: ['Cloudflare Tunnel: Read'] });
    const error = failure(await client.putTunnelDocument(accountId, tunnelId, {}), 'Forbidden', /"Account → Cloudflare Tunnel: Edit"/);
    assert.deepEqual([error.status, error.code], [403, 10000]);
    assert.match(error.message, /HTTP 403, code 10000: Authentication error/);
  });

  test('a token that is unknown, malformed, impossible or empty', async () => {
    for (const apiToken of ['unknown-unknown-unknown-unknown', 'short', 'two lines\nof text', '"quoted"', 'ключ', '']) {
      if (apiToken !== '') secrets.push(apiToken);
      const client = createCloudflareClient({ apiToken, baseURL: api.url, limiter: limiter() });
      failure(await client.accounts(), 'Unauthorized', /token/);
    }
    api.fail({ answer: 403, code: 9109, message: 'Invalid access token' });
    failure(await clientFor().accounts(), 'Unauthorized', /9109/);
    secrets.length = 0;
  });

  test('a tunnel that does not exist, and a document that is refused', async () => {
    const client = clientFor();
    failure(await client.tunnel(accountId, crypto.randomUUID()), 'NotFound', /code 1003/);
    const wrong = await client.putTunnelDocument(accountId, tunnelId, { ingress: [{ hostname: 'a.b', service: 'http://h' }] });
    assert.equal(failure(wrong, 'Invalid', /Bad Configuration: Validation failed/).code, 1056);
  });

  test('answers that are not the API’s, or say that they are errors although their status does not', async () => {
    const expected: readonly (readonly [Trouble, CloudflareErrorKind, RegExp])[] = [
      ['html', 'Malformed', /does not come from Cloudflare's API \(HTTP 200, text\/html\).*captive portals/],
      ['success-false-200', 'Malformed', /code 1001: Injected failure/],
      [301, 'Malformed', /HTTP 301/],
      [409, 'Conflict', /HTTP 409/],
      [422, 'Invalid', /HTTP 422/],
      [500, 'Server', /Cloudflare failed to read tunnel/],
      [503, 'Server', /HTTP 503/],
      ['reset', 'Network', /ECONNRESET|socket/],
      ['truncated', 'Network', /closed|terminated/],
      ['timeout', 'Timeout', /within 0\.1 s/],
    ];
    for (const [answer, kind, text] of expected) {
      const client = clientFor({}, answer === 'timeout' ? { timeoutMs: 100 } : {});
      const calls = api.requests.length;
      api.fail({ answer });
      failure(await client.tunnel(accountId, tunnelId), kind, text);
      assert.equal(api.requests.length, calls + 1, `${answer} was tried again`);
    }
  });

  test('a shape that is not documented, an answer that quotes the token, an endless body, a redirect', async () => {
    let answer = '';
    const server = createServer((request, response) => {
      if (request.url?.startsWith('/redirect') === true) response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
      else if (request.url?.startsWith('/endless') === true) {
        response.writeHead(200, { 'content-type': 'application/json' });
        const chunk = Buffer.alloc(1024 * 1024, ' ');
        const more = () => response.write(chunk);
        response.on('drain', more);
        more();
      } else response.writeHead(answer.includes('"success":true') ? 200 : 500, { 'content-type': 'application/json' }).end(answer);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const apiToken = 'a-token-that-must-not-be-quoted';
    secrets.push(apiToken);
    const at = (path: string): CloudflareApi => createCloudflareClient({ apiToken, baseURL: `${base}${path}`, limiter: limiter() });
    try {
      answer = '{"success":true,"result":{"id":"x","name":"y","config_src":"elsewhere"}}';
      failure(await at('').tunnel('a', 't'), 'Malformed', /result\.config_src/);
      answer = '{"success":true,"result":{"version":"1"}}';
      failure(await at('').tunnelDocument('a', 't'), 'Malformed', /result\.version/);
      answer = '{"success":true,"result":null}';
      failure(await at('').accounts(), 'Malformed', /result is not as documented/);
      answer = JSON.stringify({ success: false, errors: [{ code: 7, message: `${apiToken} ${'long '.repeat(1000)}` }] });
      assert.ok(failure(await at('').accounts(), 'Server', /\[redacted\]/).message.length < 600);
      failure(await at('/redirect').accounts(), 'Malformed', /HTTP 302/);
      failure(await at('/endless').accounts(), 'Network', /larger than/);
    } finally {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  });

  test('nobody listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    failure(await clientFor({}, { baseURL: `http://127.0.0.1:${port}` }).accounts(), 'Network', /could not be reached.*ECONNREFUSED/);
  });

  test('a call that is called off', async () => {
    const stop = new AbortController();
    api.before({}, () => stop.abort());
    api.fail({ answer: 'timeout' });
    failure(await clientFor().tunnel(accountId, tunnelId, stop.signal), 'Network', /stopped/);
  });
});

describe('rate limit', () => {
  test('429 holds off every client of that token, and no other', async () => {
    let now = 0;
    const shared = new RateLimiter({ now: () => now });
    const { value: apiToken } = api.addToken({ name: 'busy' });
    const one = createCloudflareClient({ apiToken, baseURL: api.url, limiter: shared });
    const two = createCloudflareClient({ apiToken, baseURL: api.url, limiter: shared });
    api.fail({ match: { token: 'busy' }, answer: 429, code: 971, message: 'slow down', retryAfter: 120 });
    assert.equal(failure(await one.tunnel(accountId, tunnelId), 'RateLimited', /971: slow down/).retryAfterMs, 120_000);
    const calls = api.requests.length;
    now = 20_000;
    assert.equal(failure(await two.tunnel(accountId, tunnelId), 'RateLimited', /used up/).retryAfterMs, 100_000);
    assert.equal(api.requests.length, calls);
    value(await clientFor({ name: 'other' }, { limiter: shared }).tunnel(accountId, tunnelId));
    now = 120_000;
    value(await two.tunnel(accountId, tunnelId));
  });

  test('without Retry-After, and with a date', async () => {
    api.fail({ answer: 429 });
    assert.equal(failure(await clientFor().tunnel(accountId, tunnelId), 'RateLimited', /429/).retryAfterMs, 30_000);
    const server = createServer((_request, response) => {
      response.writeHead(429, { 'retry-after': 'Sun, 29 Nov 2026 10:00:05 GMT' }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = clientFor({}, { baseURL: `http://127.0.0.1:${port}`, now: () => Date.UTC(2026, 10, 29, 10, 0, 0) });
    assert.equal(failure(await client.tunnel(accountId, tunnelId), 'RateLimited', /429/).retryAfterMs, 5000);
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
});

test('nothing of the environment gets into a call', async () => {
  const environment = {
    CLOUDFLARE_API_TOKEN: api.addToken({ name: 'of the environment' }).value,
    CLOUDFLARE_API_KEY: 'key',
    CLOUDFLARE_EMAIL: 'x@example.com',
    CLOUDFLARE_BASE_URL: 'http://127.0.0.1:1',
    CLOUDFLARE_CUSTOM_HEADERS: 'Authorization: Bearer stolen-stolen-stolen-stolen',
    CLOUDFLARE_LOG: 'debug',
  };
  Object.assign(process.env, environment);
  try {
    value(await clientFor({ name: 'configured' }).tunnel(accountId, tunnelId));
    assert.equal(api.requests.at(-1)?.token, 'configured');
    failure(await createCloudflareClient({ apiToken: '', baseURL: api.url, limiter: limiter() }).accounts(), 'Unauthorized', /empty/);
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name];
  }
});

test('every call is counted with its status or the kind of its failure', async () => {
  const counted: string[] = [];
  const observer = {
    call: (method: string, resource: string, status: string, seconds: number) => {
      assert.ok(seconds >= 0);
      counted.push(`${method} ${resource} ${status}`);
    },
  };
  const client = clientFor({}, { observer, timeoutMs: 2000 });
  await client.accounts();
  await client.tunnel(accountId, crypto.randomUUID());
  await client.putTunnelDocument(accountId, tunnelId, { ingress: [] });
  api.fail({ answer: 'reset' });
  await client.tunnelToken(accountId, tunnelId);
  assert.deepEqual(counted, ['GET accounts 200', 'GET tunnel 404', 'PUT tunnel-configuration 200', 'GET tunnel-token Network']);
});
