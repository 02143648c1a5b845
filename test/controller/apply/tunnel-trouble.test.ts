// What goes wrong with a tunnel is told in words that help at three in the morning, retried with patience, and kept from the others.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { end, names, own, Rig } from '#test/controller/apply/tunnel-rig.ts';

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

describe('credentials and identity', () => {
  test('a missing permission is named; new credentials are tried at once', async () => {
    const tunnel = rig.addTunnel();
    const reader = rig.addToken('reader', ['Cloudflare Tunnel: Read']);
    const fact = await rig.apply(tunnel, 'PermissionDenied', rig.plan(tunnel, { apiToken: reader.value }));
    assert.equal(fact.state, 'Failed');
    assert.match(
      fact.message,
      /write the configuration of tunnel .*HTTP 403, code 10000: Authentication error.*"Account → Cloudflare Tunnel: Edit"/,
    );
    // New rules alone do not hurry.
    const calls = rig.calls.length;
    rig.applier.apply([rig.plan(tunnel, { apiToken: reader.value, rules: [own('b.example.com')] })]);
    assert.equal(rig.timers.waits.length, 1);
    assert.equal(rig.calls.length, calls);
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
  });

  test('a connector token that is not the tunnel’s: nothing is written with it, no other tunnel notices, and the right one is tried at once', async () => {
    const [red, blue] = [rig.addTunnel({ name: 'red' }), rig.addTunnel({ name: 'blue' })];
    const forged = Buffer.from(JSON.stringify({ a: rig.accountId, t: red.id, s: 'guessed' })).toString('base64');
    const other = rig.plan(blue, { connectorToken: rig.api.connectorToken(blue.id) });
    const fact = await rig.apply(red, 'ConnectorTokenInvalid', rig.plan(red, { connectorToken: forged }), other);
    assert.match(fact.message, /Copy the token of the tunnel into the Secret again/);
    await rig.until('the other tunnel', () => rig.applier.facts().get(blue.id)?.state === 'Synced');
    assert.equal(rig.ingress(red), undefined);
    await rig.apply(red, 'Synced', rig.plan(red, { connectorToken: rig.api.connectorToken(red.id) }), other);
  });

  test('a refused token: waits grow to five minutes, with jitter, and the fact is told once', async () => {
    const tunnel = rig.addTunnel();
    rig.api.revokeToken(rig.token);
    const fact = await rig.apply(tunnel, 'ApiTokenInvalid', rig.plan(tunnel));
    assert.match(fact.message, /HTTP 401, code 9109: Invalid access token.*credentials Secret/);
    const waits: number[] = [];
    for (let n = 0; n < 8; n += 1) {
      waits.push(rig.timers.waits[0] ?? 0);
      await rig.retry();
    }
    assert.deepEqual(waits, [5000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    assert.equal(rig.facts.filter(({ fact }) => fact?.state === 'Failed').length, 1);
    rig.jitter = 0.25;
    await rig.retry();
    assert.deepEqual(rig.timers.waits, [75_000]);
  });

  test('the only account that a token sees is found, once for all tunnels, and again after a refusal', async () => {
    const [one, two] = [rig.addTunnel(), rig.addTunnel()];
    const both = Promise.all([rig.next(one, 'Synced'), rig.next(two, 'Synced')]);
    rig.applier.apply([rig.plan(one, { accountId: null }), rig.plan(two, { accountId: null })]);
    const [fact] = await both;
    assert.equal(fact.accountId, rig.accountId);
    const lookUps = () => rig.calls.filter((call) => call === 'GET accounts').length;
    assert.equal(lookUps(), 1);
    await rig.apply(one, 'Synced', rig.plan(one, { accountId: null, rules: [] }), rig.plan(two, { accountId: null }));
    assert.equal(lookUps(), 1);
    rig.api.fail({ answer: 403, code: 10000, message: 'Authentication error' });
    const again = [rig.plan(one, { accountId: null }), rig.plan(two, { accountId: null })];
    await rig.apply(one, 'PermissionDenied', ...again);
    await rig.tick(one, 'Synced');
    assert.equal(lookUps(), 2);
  });

  test('no account, or more than one: the field to set is named', async () => {
    const tunnel = rig.addTunnel();
    const blind = rig.addToken('blind', undefined, []);
    const none = await rig.apply(tunnel, 'AccountNotFound', rig.plan(tunnel, { accountId: null, apiToken: blind.value }));
    assert.match(none.message, /sees no account.*spec\.accountId/);
    for (let n = 0; n < 60; n += 1) rig.api.addAccount({ name: `Other ${n}` });
    const many = await rig.apply(tunnel, 'AccountAmbiguous', rig.plan(tunnel, { accountId: null }));
    assert.match(many.message, new RegExp(`sees 61 accounts: ${rig.accountId} \\(Example\\), .*, ….*spec\\.accountId`));
    assert.equal(many.accountId, null);
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
  });

  test('a tunnel that does not exist, was deleted, or is locally managed is never written', async () => {
    const tunnel = rig.addTunnel();
    const missing = await rig.apply(tunnel, 'TunnelNotFound', rig.plan(tunnel, { accountId: rig.api.addAccount({ name: 'Other' }).id }));
    assert.match(missing.message, /code 1003.*spec\.tunnelID and spec\.accountId/);
    rig.api.deleteTunnel(tunnel.id);
    const deleted = await rig.apply(tunnel, 'TunnelDeleted', rig.plan(tunnel));
    assert.match(deleted.message, /has been deleted.*spec\.tunnelID/);
    const local = rig.addTunnel({ configSrc: 'local' });
    const refused = await rig.apply(local, 'TunnelLocallyManaged', rig.plan(local));
    assert.match(refused.message, /locally managed.*Migrate/);
    assert.deepEqual(new Set(rig.calls), new Set(['GET tunnel']));
  });

  test('a tunnel that is deleted later is noticed by the next look', async () => {
    const tunnel = rig.addTunnel();
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    rig.api.deleteTunnel(tunnel.id);
    const fact = await rig.tick(tunnel, 'TunnelDeleted');
    assert.deepEqual([fact.state, fact.version], ['Failed', 1]);
  });
});

describe('Cloudflare’s own trouble', () => {
  test('an outage: retried up to every half minute, until it ends', async () => {
    const tunnel = rig.addTunnel();
    rig.api.fail({ answer: 503, code: 503, message: 'maintenance', times: 7 });
    const fact = await rig.apply(tunnel, 'CloudflareFailed', rig.plan(tunnel));
    assert.match(fact.message, /HTTP 503, code 503: maintenance.*keeps its rules/);
    const waits: number[] = [];
    for (let n = 1; n <= 6; n += 1) {
      waits.push(rig.timers.waits[0] ?? 0);
      await rig.retry();
    }
    assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 30_000]);
    await rig.tick(tunnel, 'Synced');
  });

  test('429: the time is told, nothing is asked before it, new rules or not', async () => {
    const tunnel = rig.addTunnel();
    rig.api.fail({ answer: 429, code: 971, message: 'slow down', retryAfter: 120 });
    const fact = await rig.apply(tunnel, 'RateLimited', rig.plan(tunnel));
    assert.match(fact.message, /HTTP 429, code 971: slow down.*Rate limited until 2026-11-29T03:02:00Z/);
    assert.deepEqual(rig.timers.waits, [121_000]);
    rig.applier.apply([rig.plan(tunnel, { rules: [own('b.example.com')] })]);
    rig.timers.advance(119_000);
    assert.equal(rig.calls.length, 1);
    await rig.tick(tunnel, 'Synced');
    assert.deepEqual(rig.ingress(tunnel), [own('b.example.com'), end]);
  });

  test('a page of something else, an error under status 200, a hang, a broken connection', async () => {
    await rig.close();
    rig = await Rig.start({ timeoutMs: 200 });
    const tunnel = rig.addTunnel();
    rig.applier.apply([rig.plan(tunnel)]);
    await rig.next(tunnel, 'Synced');
    const troubles = [
      ['html', 'UnexpectedAnswer'],
      ['success-false-200', 'UnexpectedAnswer'],
      ['timeout', 'CloudflareTimeout'],
      ['reset', 'CloudflareUnreachable'],
      ['truncated', 'CloudflareUnreachable'],
    ] as const;
    for (const [answer, reason] of troubles) {
      rig.api.fail({ answer });
      const fact = await rig.tick(tunnel, reason);
      assert.deepEqual([fact.state, fact.version], ['Failed', 1]);
      await rig.tick(tunnel, 'Synced');
    }
    assert.equal(rig.calls.filter((call) => call === 'PUT configuration').length, 1);
  });

  test('a write whose answer is lost is looked up, not repeated', async () => {
    const tunnel = rig.addTunnel();
    const rules = [own('a.example.com')];
    // The document is stored as if the write had arrived, and then the connection breaks.
    rig.api.before({ method: 'PUT' }, () => void rig.api.writeConfig(tunnel.id, { ingress: [...rules, end] }));
    rig.api.fail({ match: { method: 'PUT' }, answer: 'reset' });
    await rig.apply(tunnel, 'CloudflareUnreachable', rig.plan(tunnel, { rules }));
    await rig.tick(tunnel, 'Synced');
    assert.equal(rig.api.document(tunnel.id).version, 1);
  });

  test('a document that is refused: the API’s words, and new rules are tried at once', async () => {
    const tunnel = rig.addTunnel();
    const fact = await rig.apply(tunnel, 'ConfigurationRejected', rig.plan(tunnel, { rules: [own('a.*.example.com')] }));
    assert.match(fact.message, /code 1056: Bad Configuration: Validation failed: .*wildcard.*keeps its previous rules/);
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
  });

  test('a document that Cloudflare stores otherwise than it was sent is not sent again and again', async () => {
    const tunnel = rig.addTunnel();
    const stored = [{ hostname: 'a.example.com', service: own('').service, originRequest: { connectTimeout: 5 } }, end];
    // Changed in place before the answer to the write goes out, under the version that is expected.
    rig.api.authority.onConfigChange((_id, { config }) => Object.assign(config ?? {}, { ingress: stored }));
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    assert.ok(rig.logs.some(({ message }) => message.includes('stored other ingress rules')));
    await rig.retry();
    assert.equal(rig.calls.filter((call) => call === 'PUT configuration').length, 1);
  });
});

describe('many tunnels', () => {
  test('one that hangs does not delay another', async () => {
    const [slow, quick] = [rig.addTunnel(), rig.addTunnel()];
    rig.api.fail({ match: { path: new RegExp(slow.id) }, answer: 'timeout' });
    await rig.apply(quick, 'Synced', rig.plan(slow), rig.plan(quick));
    assert.equal(rig.applier.facts().get(slow.id)?.state, 'Pending');
    await rig.apply(quick, 'Synced', rig.plan(slow), rig.plan(quick, { rules: [] }));
  });

  test('one that fails does not stop another, nor does its wait', async () => {
    const [bad, good] = [rig.addTunnel({ configSrc: 'local' }), rig.addTunnel()];
    const failed = rig.next(bad, 'TunnelLocallyManaged');
    await rig.apply(good, 'Synced', rig.plan(bad), rig.plan(good));
    await failed;
    await rig.apply(good, 'Synced', rig.plan(bad), rig.plan(good, { rules: [] }));
    assert.deepEqual(rig.ingress(good), [end]);
  });

  test('a token that is told to wait does not hold back another token', async () => {
    const [busy, free] = [rig.addTunnel(), rig.addTunnel()];
    rig.api.fail({ match: { token: 'controller' }, answer: 429, retryAfter: 300 });
    await rig.apply(busy, 'RateLimited', rig.plan(busy));
    await rig.apply(free, 'Synced', rig.plan(busy), rig.plan(free, { apiToken: rig.addToken('other').value }));
  });
});

test('stop ends a call in flight and all timers, and says nothing afterwards', async () => {
  const [hanging, synced] = [rig.addTunnel(), rig.addTunnel()];
  rig.api.fail({ match: { path: new RegExp(hanging.id) }, answer: 'timeout' });
  await rig.apply(synced, 'Synced', rig.plan(hanging), rig.plan(synced));
  const said = rig.facts.length;
  await rig.applier.stop();
  rig.applier.apply([rig.plan(synced, { rules: [] })]);
  assert.equal(rig.facts.length, said);
  assert.deepEqual(rig.timers.waits, []);
});

test('stop ends the look-up of an account', async () => {
  const tunnel = rig.addTunnel();
  rig.api.fail({ match: { path: /^\/accounts$/ }, answer: 'timeout' });
  rig.applier.apply([rig.plan(tunnel, { accountId: null })]);
  await rig.requested(1);
  await rig.applier.stop();
});

test('stop does not wait for an application that never answers', async () => {
  await rig.close();
  const asked = Promise.withResolvers<void>();
  rig = await Rig.start({
    confirmShrink: () => {
      asked.resolve();
      return Promise.withResolvers<boolean>().promise;
    },
  });
  const tunnel = rig.addTunnel();
  await rig.apply(tunnel, 'Synced', rig.plan(tunnel, { rules: names(30) }));
  rig.applier.apply([rig.plan(tunnel, { rules: [] })]);
  await asked.promise;
  await rig.applier.stop();
  assert.deepEqual(rig.ingress(tunnel), [...names(30), end]);
});
