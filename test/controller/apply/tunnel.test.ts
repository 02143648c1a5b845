// Tunnel documents come to their plan and stay there, with as few calls as that takes.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { TunnelFact } from '#controller/api/plan.ts';
import { end, names, origin, own, Rig, type RigOptions } from '#test/controller/apply/tunnel-rig.ts';

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

async function restart(options: RigOptions): Promise<void> {
  await rig.close();
  rig = await Rig.start(options);
}

const foreign = { hostname: 'x.example.com', service: 'http://192.0.2.1:3000', originRequest: { noTLSVerify: true } };

describe('synchronising', () => {
  test('a full look at the start, then one write, then nothing as long as nothing changes', async () => {
    const tunnel = rig.addTunnel();
    const fact = await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    assert.deepEqual(rig.calls, ['GET tunnel', 'GET configuration', 'PUT configuration']);
    assert.deepEqual(rig.ingress(tunnel), [own('a.example.com'), end]);
    const expected: TunnelFact = {
      state: 'Synced',
      accountId: rig.accountId,
      version: 1,
      reason: 'Synced',
      message: "Version 1 of the tunnel's configuration has the 1 planned rule(s).",
      foreignRules: [],
    };
    assert.deepEqual(fact, expected);
    assert.deepEqual(rig.applier.facts().get(tunnel.id), expected);
    assert.deepEqual(
      rig.facts.map(({ fact }) => fact?.state),
      ['Pending', 'Synced'],
    );
    for (let n = 1; n <= 3; n += 1) {
      rig.applier.apply([rig.plan(tunnel)]);
      assert.equal(rig.skipped, n);
    }
    assert.equal(rig.calls.length, 3);
  });

  test('a document that is right already is not written', async () => {
    const tunnel = rig.addTunnel({ config: { ingress: [{ ...own('a.example.com'), id: '1' }, end] } });
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    assert.deepEqual(rig.calls, ['GET tunnel', 'GET configuration']);
    assert.deepEqual([rig.skipped, rig.api.document(tunnel.id).version], [1, 1]);
  });

  test('a changed plan is read, merged and written; other keys of the document stay', async () => {
    const tunnel = rig.addTunnel();
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    const rest = { 'warp-routing': { enabled: true }, originRequest: { connectTimeout: 9 }, future: { x: 1 } };
    rig.api.writeConfig(tunnel.id, { ...rest, ingress: [own('a.example.com'), end] });
    const rules = [own('a.example.com'), own('b.example.com'), own('*.example.com')];
    const fact = await rig.apply(tunnel, 'Synced', rig.plan(tunnel, { rules }));
    assert.equal(fact.version, 3);
    assert.deepEqual(rig.api.document(tunnel.id).config, { ...rest, ingress: [...rules, end] });
    assert.deepEqual(rig.calls.slice(3), ['GET configuration', 'PUT configuration']);
  });

  test('the last of several plans wins, and one operation is in flight at a time', async () => {
    const tunnel = rig.addTunnel();
    rig.applier.apply([rig.plan(tunnel)]);
    for (let n = 2; n <= 20; n += 1) rig.applier.apply([rig.plan(tunnel, { rules: names(n) })]);
    await rig.next(tunnel, 'Synced');
    assert.deepEqual(rig.ingress(tunnel), [...names(20), end]);
    assert.deepEqual(rig.calls, ['GET tunnel', 'GET configuration', 'PUT configuration']);
  });

  test('a plan that is overtaken before its write is not written', async () => {
    const tunnel = rig.addTunnel();
    rig.api.before({ path: /configurations$/ }, () => rig.applier.apply([rig.plan(tunnel, { rules: names(2) })]));
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    assert.deepEqual(rig.calls, ['GET tunnel', 'GET configuration', 'GET configuration', 'PUT configuration']);
    assert.deepEqual(rig.ingress(tunnel), [...names(2), end]);
  });

  test('the document is looked at again after about ten minutes, and put right', async () => {
    const tunnel = rig.addTunnel();
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    assert.deepEqual(rig.timers.waits, [660_000]);
    rig.jitter = 0;
    rig.api.writeConfig(tunnel.id, { ingress: [end] });
    assert.equal((await rig.tick(tunnel, 'Synced')).version, 3);
    assert.deepEqual(rig.ingress(tunnel), [own('a.example.com'), end]);
    assert.deepEqual(rig.calls.slice(3), ['GET tunnel', 'GET configuration', 'PUT configuration']);
    assert.deepEqual(rig.timers.waits, [540_000]);
  });

  test('a tunnel that is no longer planned is left as it is, and may come back', async () => {
    const tunnel = rig.addTunnel();
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    rig.applier.apply([]);
    assert.equal(rig.facts.at(-1)?.fact, null);
    assert.deepEqual(rig.timers.waits, []);
    assert.deepEqual(rig.ingress(tunnel), [own('a.example.com'), end]);
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    assert.equal(rig.api.document(tunnel.id).version, 1);
  });

  test('a tunnel may come back while a call of its last turn is open', async () => {
    const tunnel = rig.addTunnel();
    rig.api.fail({ match: { method: 'PUT' }, answer: 'timeout' });
    rig.applier.apply([rig.plan(tunnel)]);
    await rig.requested(3);
    rig.applier.apply([]);
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    assert.deepEqual(rig.calls.slice(2), ['PUT configuration', 'GET tunnel', 'GET configuration', 'PUT configuration']);
    assert.ok(!rig.facts.some(({ fact }) => fact?.state === 'Failed'));
  });

  test('folded plans say so', async () => {
    const tunnel = rig.addTunnel();
    const fact = await rig.apply(tunnel, 'Synced', rig.plan(tunnel, { rules: [], last: { service: origin }, folded: true }));
    assert.match(fact.message, /too many hostnames.*last rule/);
  });
});

describe('rules of others', () => {
  test('Exclusive: told in fact, notice and log before they are removed', async () => {
    const told = Promise.withResolvers<void>();
    const heard = Promise.withResolvers<void>();
    await restart({
      onNotice: () => {
        told.resolve();
        return heard.promise;
      },
    });
    const tunnel = rig.addTunnel({ config: { ingress: [foreign, end] } });
    const synced = rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    await told.promise;
    // A few round trips to the same server: a write that did not wait would have come through by now.
    for (let n = 0; n < 3; n += 1) await (await fetch(rig.api.url)).arrayBuffer();
    assert.equal(rig.api.document(tunnel.id).version, 1, 'the rules were removed before the notice had ended');
    const early = rig.applier.facts().get(tunnel.id) as TunnelFact;
    heard.resolve();
    const fact = await synced;
    assert.deepEqual([early.state, early.reason, early.foreignRules], ['Pending', 'ForeignRulesRemoved', ['x.example.com']]);
    assert.match(early.message, /x\.example\.com.*configPolicy is Exclusive.*Merge/);
    assert.deepEqual(rig.notices[0]?.hostnames, ['x.example.com']);
    assert.deepEqual(rig.notices[0]?.configs, [{ kind: 'GatewayClassConfig', namespace: '', name: 'main' }]);
    const logged = rig.logs.find(({ message }) => message.startsWith('removing ingress rules'));
    assert.deepEqual(logged?.fields, { tunnel: tunnel.id, version: 1, rules: [foreign], count: 1 });
    assert.deepEqual(fact.foreignRules, []);
    assert.match(fact.message, /Rules of others were removed: x\.example\.com/);
    assert.deepEqual(rig.ingress(tunnel), [own('a.example.com'), end]);
  });

  test('a notice that cannot be delivered does not stop the write', async () => {
    await restart({ onNotice: () => Promise.reject(new Error('no')) });
    const tunnel = rig.addTunnel({ config: { ingress: [foreign, end] } });
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    assert.deepEqual(rig.ingress(tunnel), [own('a.example.com'), end]);
  });

  test('however many and long the names are, a notice fits into an Event', async () => {
    const long = (n: number) => `${`${n}`.padStart(60, 'x')}.${'y'.repeat(60)}.${'z'.repeat(60)}.example.com`;
    const tunnel = rig.addTunnel({
      config: { ingress: [...Array.from({ length: 300 }, (_, n) => ({ ...foreign, hostname: long(n) })), end] },
    });
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    assert.ok((rig.notices[0]?.message.length ?? 9999) <= 1024);
    assert.match(rig.notices[0]?.message ?? '', /Removing 300 ingress rule.* and 298 more/);
  });

  test('Merge: kept, and at most 20 of them told', async () => {
    const many = Array.from({ length: 25 }, (_, n) => ({ ...foreign, hostname: `x${n}.example.com` }));
    const tunnel = rig.addTunnel({ config: { ingress: [...many, end] } });
    const fact = await rig.apply(tunnel, 'Synced', rig.plan(tunnel, { policy: 'Merge' }));
    assert.deepEqual(rig.ingress(tunnel), [own('a.example.com'), ...many, end]);
    assert.equal(fact.foreignRules.length, 20);
    assert.match(fact.message, /Rules of others are kept: x0\.example\.com, .* and 5 more/);
    assert.deepEqual(rig.notices, []);
  });

  test('Observe: nothing is written; what does not reach the proxy is told', async () => {
    const tunnel = rig.addTunnel({ config: { ingress: [foreign, end] } });
    const fact = await rig.apply(tunnel, 'NotRouted', rig.plan(tunnel, { policy: 'Observe' }));
    assert.deepEqual([fact.state, fact.version, fact.foreignRules], ['Failed', 1, ['x.example.com']]);
    assert.match(fact.message, /does not lead a\.example\.com to the proxy.*Observe.*http:\/\/127\.0\.0\.1:8080/);
    rig.api.writeConfig(tunnel.id, { ingress: [foreign, { service: 'http://localhost:8080' }] });
    assert.equal((await rig.tick(tunnel, 'Observed')).state, 'Synced');
    assert.ok(!rig.calls.includes('PUT configuration'));
  });
});

describe('other writers', () => {
  const dashboard = { ingress: [own('a.example.com'), foreign, end] };

  test('a write between our read and our write is noticed by the version, told, and merged again', async () => {
    const tunnel = rig.addTunnel();
    rig.api.before({ method: 'PUT' }, () => void rig.api.writeConfig(tunnel.id, dashboard));
    const fact = await rig.apply(tunnel, 'Synced', rig.plan(tunnel));
    assert.deepEqual(rig.calls, ['GET tunnel', 'GET configuration', 'PUT configuration', 'GET configuration']);
    assert.equal(fact.version, 2);
    assert.deepEqual(
      rig.notices.map(({ reason }) => reason),
      ['ConcurrentWrite'],
    );
    assert.match(rig.notices[0]?.message ?? '', /read \(version 0\).*write \(version 2\)/);
    assert.deepEqual(rig.ingress(tunnel), [own('a.example.com'), end]);
  });

  test('a writer that overtakes us is merged with, not erased, under Merge', async () => {
    const tunnel = rig.addTunnel();
    rig.api.before({ method: 'PUT' }, () => void rig.api.writeConfig(tunnel.id, { ingress: [end] }));
    // Comes back after our write: what is read again has its rule, and ours is put beside it.
    let reads = 0;
    rig.api.before(
      { method: 'GET', path: /configurations$/ },
      () => void ((reads += 1) === 2 && rig.api.writeConfig(tunnel.id, { ingress: [foreign, end] })),
      2,
    );
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel, { policy: 'Merge' }));
    assert.deepEqual(rig.ingress(tunnel), [own('a.example.com'), foreign, end]);
  });

  test('two writers that never agree: bounded, told, and tried again later', async () => {
    const tunnel = rig.addTunnel();
    const stopWrites = rig.api.before({ method: 'PUT' }, () => void rig.api.writeConfig(tunnel.id, dashboard), 1000);
    const stopReads = rig.api.before(
      { method: 'GET', path: /configurations$/ },
      () => void rig.api.writeConfig(tunnel.id, dashboard),
      1000,
    );
    const fact = await rig.apply(tunnel, 'ConcurrentWriters', rig.plan(tunnel));
    assert.equal(rig.calls.filter((call) => call === 'PUT configuration').length, 3);
    assert.match(fact.message, /one owner/);
    stopWrites();
    stopReads();
    assert.equal((await rig.tick(tunnel, 'Synced')).state, 'Synced');
  });
});

describe('losing many hostnames', () => {
  test('more than half and more than ten needs a second look, and waits if that disagrees', async () => {
    const asked: unknown[] = [];
    let answer = false;
    await restart({
      confirmShrink: (shrink) => {
        asked.push(shrink);
        return Promise.resolve(answer);
      },
    });
    const tunnel = rig.addTunnel();
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel, { rules: names(30) }));
    const fact = await rig.apply(tunnel, 'RemovalNotConfirmed', rig.plan(tunnel, { rules: names(5) }));
    assert.deepEqual(asked, [{ id: tunnel.id, tunnelId: tunnel.id, lost: 25, owned: 30 }]);
    assert.match(fact.message, /25 of 30 hostnames/);
    assert.deepEqual(rig.ingress(tunnel), [...names(30), end]);
    answer = true;
    await rig.tick(tunnel, 'Synced');
    assert.deepEqual(rig.ingress(tunnel), [...names(5), end]);
    assert.equal(asked.length, 2);
  });

  test('fewer do not need it, and a look that fails is a no', async () => {
    await restart({ confirmShrink: () => Promise.reject(new Error('the API server is away')) });
    const tunnel = rig.addTunnel();
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel, { rules: names(30) }));
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel, { rules: names(15) }));
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel, { rules: names(5) }));
    await rig.apply(tunnel, 'Synced', rig.plan(tunnel, { rules: names(20) }));
    await rig.apply(tunnel, 'RemovalNotConfirmed', rig.plan(tunnel, { rules: [] }));
    assert.deepEqual(rig.ingress(tunnel), [...names(20), end]);
  });
});
