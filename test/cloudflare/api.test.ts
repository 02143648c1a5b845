// The API double behaves as the real API does, seen through an unmodified client.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type Cloudflare from 'cloudflare';
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'cloudflare/error';
import { startCloudflareApi, type CloudflareApiDouble, type CloudflareApiOptions, type TokenSeed } from '#test/cloudflare/api/server.ts';
import * as testing from '#test/cloudflare/api/testing.ts';

const { all, refused } = testing;

let api: CloudflareApiDouble;
let accountId: string;

const options = (over: CloudflareApiOptions = {}): CloudflareApiOptions => ({ ruleLimit: 5, ...over });

before(async () => {
  api = await startCloudflareApi(options());
});
beforeEach(async () => {
  await api.close();
  api = await startCloudflareApi(options());
  accountId = api.addAccount({ name: 'Example' }).id;
});
after(() => api.close());

const client = (seed: Partial<TokenSeed> = {}): Cloudflare => testing.clientFor(api, seed);
const clientWith = (apiToken: string): Cloudflare => testing.clientWith(api, apiToken);

describe('accounts, zones and tokens', () => {
  test('lists are paginated, and a page past the end is empty', async () => {
    for (let n = 1; n < 25; n += 1) api.addAccount({ name: `Account ${n}` });
    const cloudflare = client();
    assert.equal((await all(cloudflare.accounts.list({ per_page: 10 }))).length, 25);
    const second = await cloudflare.accounts.list({ per_page: 10, page: 3 });
    assert.equal(second.result.length, 5);
    assert.deepEqual((second as unknown as { result_info: object }).result_info, {
      page: 3,
      per_page: 10,
      count: 5,
      total_count: 25,
      total_pages: 3,
    });
  });

  test('a token sees only its accounts and zones', async () => {
    const other = api.addAccount({ name: 'Other' }).id;
    api.addZone(accountId, 'example.com');
    api.addZone(other, 'example.org');
    const cloudflare = client({ accounts: [other] });
    assert.deepEqual(
      (await all(cloudflare.accounts.list())).map(({ name }) => name),
      ['Other'],
    );
    assert.deepEqual(
      (await all(cloudflare.zones.list())).map(({ name }) => name),
      ['example.org'],
    );
    const everything = client({ name: 'all' });
    assert.equal((await all(everything.zones.list({ name: 'example.com' }))).length, 1);
    assert.equal((await all(everything.zones.list({ account: { id: other } }))).length, 1);
  });

  test('user and account tokens are verified at different places', async () => {
    const user = client();
    assert.equal((await user.user.tokens.verify()).status, 'active');
    await refused(user.accounts.tokens.verify({ account_id: accountId }), 401, 1000);
    const owned = client({ name: 'owned', kind: 'account' });
    assert.equal((await owned.accounts.tokens.verify({ account_id: accountId })).status, 'active');
    await refused(owned.user.tokens.verify(), 401, 1000);
  });

  test('missing, malformed, unknown and revoked tokens, and missing permissions, are told apart', async () => {
    const missing = await fetch(`${api.url}/accounts`);
    assert.equal(missing.status, 400);
    assert.equal(((await missing.json()) as { errors: { code: number }[] }).errors[0]?.code, 9106);
    await refused(clientWith('nope').accounts.list(), 400, 6003);
    await refused(clientWith('unknown-unknown-unknown-unknown').accounts.list(), 401, 9109);
    await refused(clientWith('unknown-unknown-unknown-unknown').user.tokens.verify(), 401, 1000);
    const token = api.addToken({ name: 'short-lived' });
    api.revokeToken(token);
    await refused(clientWith(token.value).accounts.list(), 401, 9109);
    const reader = client({ permissions: ['Cloudflare Tunnel: Read'] });
    const tunnel = api.addTunnel(accountId, { name: 'home' });
    const { cloudflared } = reader.zeroTrust.tunnels;
    assert.equal((await cloudflared.get(tunnel.id, { account_id: accountId })).name, 'home');
    await refused(cloudflared.configurations.update(tunnel.id, { account_id: accountId, config: {} }), 403, 10000);
    await refused(cloudflared.token.get(tunnel.id, { account_id: accountId }), 403, 10000);
    await refused(cloudflared.get(tunnel.id, { account_id: 'f'.repeat(32) }), 403, 10000);
  });
});

describe('tunnels', () => {
  test('create, find, list with filters, delete', async () => {
    const { cloudflared } = client().zeroTrust.tunnels;
    const account_id = accountId;
    const made = await cloudflared.create({ account_id, name: 'one', config_src: 'cloudflare' });
    assert.equal((await cloudflared.create({ account_id, name: 'two' })).config_src, 'local');
    await refused(cloudflared.create({ account_id, name: 'one' }), 409, 1013);
    const id = made.id ?? '';
    assert.equal((await cloudflared.get(id, { account_id })).status, 'inactive');
    await cloudflared.delete(id, { account_id });
    assert.ok((await cloudflared.get(id, { account_id })).deleted_at);
    await refused(cloudflared.configurations.get(id, { account_id }), 404, 1003);
    const listed = async (filter: object) => (await all(cloudflared.list({ account_id, ...filter }))).map(({ name }) => name);
    assert.deepEqual(await listed({}), ['one', 'two']);
    assert.deepEqual(await listed({ is_deleted: false }), ['two']);
    assert.deepEqual(await listed({ uuid: id }), ['one']);
    assert.deepEqual(await listed({ name: 'two' }), ['two']);
    assert.deepEqual(await listed({ include_prefix: 't' }), ['two']);
  });

  test('the connector token names account, tunnel and secret', async () => {
    const tunnel = api.addTunnel(accountId, { name: 'home' });
    const token = await client().zeroTrust.tunnels.cloudflared.token.get(tunnel.id, { account_id: accountId });
    assert.deepEqual(JSON.parse(Buffer.from(token, 'base64').toString()), { a: accountId, t: tunnel.id, s: tunnel.secret });
    assert.equal(token, api.connectorToken(tunnel.id));
    assert.equal(api.authority.tunnel(tunnel.id)?.secret, tunnel.secret);
  });

  test('a tunnel with connections cannot be deleted', async () => {
    const { cloudflared } = client().zeroTrust.tunnels;
    const { id } = api.addTunnel(accountId, { name: 'home' });
    const ends = api.authority.connected(id, {
      id: crypto.randomUUID(),
      clientId: crypto.randomUUID(),
      clientVersion: '2026.8.2',
      colo: 'ams01',
      originIp: '192.0.2.1',
      openedAt: new Date(0).toISOString(),
    });
    assert.equal((await all(cloudflared.connections.get(id, { account_id: accountId })))[0]?.conns?.length, 1);
    assert.equal((await cloudflared.get(id, { account_id: accountId })).status, 'degraded');
    await refused(cloudflared.delete(id, { account_id: accountId }), 400, 1022);
    ends();
    await cloudflared.delete(id, { account_id: accountId });
    assert.equal(api.authority.tunnel(id), undefined);
  });
});

describe('configurations', () => {
  const rule = (over: object = {}) => ({ hostname: 'a.example.com', service: 'http://127.0.0.1:8080', ...over });
  const end = { service: 'http_status:404' };

  test('versions count up, listeners hear of each, other writers count too', async () => {
    const { id } = api.addTunnel(accountId, { name: 'home' });
    const { configurations } = client().zeroTrust.tunnels.cloudflared;
    const heard: number[] = [];
    const ends = api.authority.onConfigChange((tunnel, document) => {
      assert.equal(tunnel, id);
      heard.push(document.version);
    });
    const fresh = await configurations.get(id, { account_id: accountId });
    assert.deepEqual([fresh.version, fresh.config, fresh.source], [0, null, 'cloudflare']);
    const put = await configurations.update(id, { account_id: accountId, config: { ingress: [rule(), end as never] } });
    assert.equal(put.version, 1);
    api.writeConfig(id, { ingress: [end], 'warp-routing': { enabled: true } });
    const read = await configurations.get(id, { account_id: accountId });
    assert.deepEqual([read.version, read.config], [2, { ingress: [end], 'warp-routing': { enabled: true } }]);
    ends();
    api.writeConfig(id, { ingress: [end] });
    assert.deepEqual(heard, [1, 2]);
  });

  test('a document is refused for the reasons that cloudflared refuses it, and the old one stays', async () => {
    const { id } = api.addTunnel(accountId, { name: 'home', config: { ingress: [end] } });
    const { configurations } = client().zeroTrust.tunnels.cloudflared;
    const wrong: readonly (readonly [string, readonly object[], RegExp])[] = [
      ['last rule with a hostname', [rule()], /last ingress rule must match all/],
      ['last rule with a path', [{ path: '/x', ...end }], /last ingress rule must match all/],
      ['catch-all before the end', [end, end], /Rule #1 matches every hostname/],
      ['catch-all by *', [{ hostname: '*', ...end }, end], /Rule #1 matches every hostname/],
      ['wildcard inside', [rule({ hostname: 'a.*.example.com' }), end], /wildcard/],
      ['two wildcards', [rule({ hostname: '*.*.example.com' }), end], /wildcard/],
      ['wildcard without dot', [rule({ hostname: '*example.com' }), end], /wildcard/],
      ['port in the hostname', [rule({ hostname: 'a.example.com:443' }), end], /port/],
      ['no service', [{ hostname: 'a.example.com' }, end], /service is required/],
      ['service without scheme', [rule({ service: '127.0.0.1:8080' }), end], /scheme/],
      ['service with a path', [rule({ service: 'http://127.0.0.1:8080/x' }), end], /different path/],
      ['impossible port', [rule({ service: 'http://127.0.0.1:80800' }), end], /invalid address/],
      ['status out of range', [{ service: 'http_status:99' }], /HTTP status/],
      ['path that is no expression', [rule({ path: '(' }), end], /regular expression/],
      ['look-ahead', [rule({ path: '(?=x)' }), end], /RE2/],
      ['seconds with a fraction', [rule({ originRequest: { connectTimeout: 1.5 } }), end], /whole number/],
      ['too many rules', [rule(), rule(), rule(), rule(), rule(), end], /at most 5 ingress rules/],
    ];
    for (const [what, ingress, why] of wrong) {
      const message = await refused(configurations.update(id, { account_id: accountId, config: { ingress: ingress as never } }), 400, 1056);
      assert.match(message, /^Bad Configuration: Validation failed: /, what);
      assert.match(message, why, what);
    }
    assert.deepEqual(api.document(id), { version: 1, config: { ingress: [end] } });
    const right = ['https://h', 'ws://h:1', 'http://[::1]:8080', 'unix:/x', 'hello_world', 'ssh://h:22', 'bastion'];
    for (const service of right) api.writeConfig(id, { ingress: [rule({ service, hostname: '*.example.com', path: '^/x' }), end] });
    api.writeConfig(id, { ingress: [] });
  });
});

describe('trouble', () => {
  test('the rate limit answers 429 with Retry-After until the window ends, for one token only', async () => {
    await api.close();
    let now = 0;
    api = await startCloudflareApi({ rateLimit: { limit: 2, windowMs: 60_000 }, now: () => now });
    api.addAccount({ name: 'Example' });
    const one = client();
    const { response } = await one.accounts.list().withResponse();
    assert.equal(response.headers.get('ratelimit'), '"default";r=1;t=60');
    assert.equal(response.headers.get('ratelimit-policy'), '"default";q=2;w=60');
    await one.accounts.list();
    now = 20_000;
    await assert.rejects(one.accounts.list(), (error) => error instanceof APIError && error.headers?.get('retry-after') === '40');
    await client({ name: 'other' }).accounts.list();
    now = 60_000;
    await one.accounts.list();
  });

  test('chosen requests fail as told, so many times, and the log has no token', async () => {
    const token = api.addToken({ name: 'mine' });
    const cloudflare = clientWith(token.value);
    api.fail({ match: { method: 'GET', path: /^\/zones/ }, answer: 503, code: 7, message: 'maintenance', retryAfter: 9 });
    await cloudflare.accounts.list();
    assert.equal(await refused(cloudflare.zones.list(), 503, 7), 'maintenance');
    await cloudflare.zones.list();
    api.fail({ match: { token: 'someone else' }, answer: 500 });
    api.fail({ answer: 'reset' });
    await assert.rejects(cloudflare.zones.list(), APIConnectionError);
    api.fail({ answer: 'timeout' });
    await assert.rejects(clientWith(token.value).zones.list({}, { timeout: 50 }), APIConnectionTimeoutError);
    const stop = api.delay({}, 1);
    await cloudflare.zones.list();
    stop();
    const logged = JSON.stringify(api.requests);
    assert.ok(!logged.includes(token.value));
    assert.deepEqual(api.requests[1], { method: 'GET', path: '/zones', query: '', token: 'mine', status: 503, trouble: 503 });
  });

  test('an unknown route and a broken body get an envelope', async () => {
    const headers = { authorization: `Bearer ${api.addToken({ name: 'x' }).value}`, 'content-type': 'application/json' };
    const route = await fetch(`${api.url}/nothing/here`, { headers });
    assert.equal(route.status, 404);
    const body = await fetch(`${api.url}/accounts/${accountId}/cfd_tunnel`, { method: 'POST', headers, body: '{' });
    assert.equal(body.status, 400);
    assert.equal(((await body.json()) as { success: boolean }).success, false);
  });
});
