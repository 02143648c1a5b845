// What is written to a tunnel's document: ours, in order, and nothing of anyone else's that the policy keeps.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { IngressRule, TunnelPlan } from '#controller/api/plan.ts';
import { mergeTunnel, type TunnelMerge } from '#controller/output/tunnel-merge.ts';
import { covers, OWN_ORIGIN_REQUEST, readRules, sameRules } from '#controller/output/tunnel-rules.ts';

const origin = 'http://127.0.0.1:8080';
const own = (hostname: string, over: object = {}): IngressRule => ({
  hostname,
  service: origin,
  originRequest: OWN_ORIGIN_REQUEST,
  ...over,
});
const foreign = (hostname: string, over: object = {}) => ({ hostname, service: 'http://192.0.2.1:3000', ...over });
const end: IngressRule = { service: 'http_status:404' };

const plan = (over: Partial<TunnelPlan> = {}): TunnelPlan => ({
  id: 'tunnel',
  tunnelId: '11111111-2222-4333-8444-555555555555',
  accountId: 'a'.repeat(32),
  apiToken: 'token',
  policy: 'Exclusive',
  rules: [own('a.example.com')],
  last: end,
  connectorToken: null,
  configs: [{ kind: 'GatewayClassConfig', namespace: '', name: 'main' }],
  folded: false,
  ...over,
});

const merge = (ingress: readonly unknown[], over: Partial<TunnelPlan> = {}, rest: object = {}): TunnelMerge =>
  mergeTunnel({ config: { ...rest, ingress } }, plan(over));

/** `hostname→port or status` of each rule to write. */
function written(merged: TunnelMerge): readonly string[] {
  assert.ok(merged.next !== null, 'nothing is written');
  return readRules(merged.next['ingress']).map(({ hostname, service }) => `${hostname ?? '*'}→${/\d+$/.exec(service ?? '')?.[0]}`);
}

describe('equal documents are not written', () => {
  test('key order, ids of the dashboard and empty settings make no difference', () => {
    const stored = [
      {
        originRequest: { keepAliveConnections: 1024, connectTimeout: 5 },
        service: origin,
        id: '7',
        path: '',
        hostname: 'a.example.com',
      },
      { hostname: '', originRequest: {}, service: 'http_status:404', id: '8' },
    ];
    const merged = merge(stored, {}, { 'warp-routing': { enabled: false } });
    assert.equal(merged.next, null);
    assert.deepEqual(merged.foreignRules, []);
    assert.deepEqual(merged.changes, { added: [], removed: [], removedForeign: [] });
  });

  test('a merged document is equal to itself, for any stored one', () => {
    const hostname = fc.constantFrom(
      undefined,
      '',
      '*',
      '*.example.com',
      '*.a.example.com',
      'a.example.com',
      'b.example.com',
      'example.com',
    );
    const service = fc.constantFrom(origin, 'http://localhost:8080', 'http://localhost:3000', 'http_status:404', 'http_status:503');
    const stored = fc.record({ hostname, service, path: fc.constantFrom(undefined, '/x') }, { requiredKeys: ['service'] });
    const planned = fc.uniqueArray(fc.constantFrom('a.example.com', '*.a.example.com', '*.example.com', 'c.example.com'));
    const last = fc.constantFrom(end, { service: origin });
    const policy = fc.constantFrom('Exclusive' as const, 'Merge' as const);
    fc.assert(
      fc.property(fc.array(stored, { maxLength: 6 }), planned, last, policy, (ingress, names, last, policy) => {
        const wanted: Partial<TunnelPlan> = { policy, last, rules: names.map((name) => own(name)) };
        const first = merge(ingress, wanted);
        const document = (first.next ?? { ingress })['ingress'] as readonly unknown[];
        assert.equal(merge(document, wanted).next, null);
        // Every planned hostname reaches the proxy, and nothing of ours is left that is not planned.
        assert.deepEqual(merge(document, { ...wanted, policy: 'Observe' }).unrouted, []);
        assert.deepEqual(merge(document, wanted).changes.removed, []);
      }),
    );
  });
});

describe('Exclusive', () => {
  test('foreign rules are told and removed, other keys of the document stay', () => {
    const rest = { 'warp-routing': { enabled: true }, originRequest: { noTLSVerify: true }, somethingNew: [1] };
    const merged = merge([foreign('x.example.com', { path: '/p' }), foreign('x.example.com'), own('old.example.com'), end], {}, rest);
    assert.deepEqual(merged.next, { ...rest, ingress: [own('a.example.com'), end] });
    assert.deepEqual(merged.foreignRules, ['x.example.com']);
    assert.deepEqual(merged.removedForeignRules, [foreign('x.example.com', { path: '/p' }), foreign('x.example.com')]);
    assert.deepEqual(merged.changes, { added: ['a.example.com'], removed: ['old.example.com'], removedForeign: ['x.example.com'] });
  });

  test('settings made by hand on a rule of ours survive, those of a foreign rule for the same hostname do not', () => {
    const access = { required: true, teamName: 'team', audTag: ['x'] };
    const kept = merge([own('a.example.com', { originRequest: { access, connectTimeout: 30 } }), end]);
    assert.deepEqual(readRules(kept.next?.['ingress'])[0]?.raw, own('a.example.com', { originRequest: { access, ...OWN_ORIGIN_REQUEST } }));
    const taken = merge([foreign('a.example.com', { originRequest: { originServerName: 'other' } }), end]);
    assert.deepEqual(taken.next, { ingress: [own('a.example.com'), end] });
  });

  test('a foreign last rule is replaced and told, a plain 404 is nobody’s', () => {
    assert.deepEqual(merge([own('a.example.com'), { service: 'http_status:503' }]).changes.removedForeign, ['*']);
    assert.deepEqual(merge([{ service: 'http_status:404' }]).foreignRules, []);
  });

  test('a tunnel that nobody has configured yet', () => {
    for (const config of [null, {}, { ingress: null }, [], 'nonsense']) {
      assert.deepEqual(mergeTunnel({ config }, plan()).next?.['ingress'], [own('a.example.com'), end]);
    }
  });
});

describe('what is ours', () => {
  test('the plan’s port on any loopback name, or our settings on any port', () => {
    const ours = [
      own('1.example.com', { originRequest: undefined }),
      own('2.example.com', { service: 'http://localhost:8080' }),
      own('3.example.com', { service: 'http://127.0.0.1:8101' }),
    ];
    const theirs = [
      foreign('4.example.com', { service: 'http://localhost:3000' }),
      foreign('5.example.com', { service: 'https://127.0.0.1:8080' }),
      foreign('6.example.com', { service: 'http://127.0.0.1:8080.example.com' }),
      foreign('7.example.com', { service: 'tcp://127.0.0.1:8080' }),
    ];
    const merged = merge([...ours, ...theirs, end]);
    assert.deepEqual(merged.foreignRules, ['4.example.com', '5.example.com', '6.example.com', '7.example.com']);
    assert.deepEqual(merged.changes.removed, ['1.example.com', '2.example.com', '3.example.com']);
  });

  test('our rules are known without any planned rule, and broken ones are not ours', () => {
    const merged = merge([own('a.example.com'), null, 'x', { hostname: 7 }, end], { rules: [] });
    assert.deepEqual(merged.changes.removed, ['a.example.com']);
    assert.deepEqual(merged.removedForeignRules, [null, 'x', { hostname: 7 }]);
  });
});

describe('Merge', () => {
  const policy = 'Merge';

  test('our exact hostnames come first, foreign rules stay as they are before the last', () => {
    const theirs = [foreign('*.example.com', { originRequest: { noTLSVerify: true }, id: '1' }), foreign('z.example.org', { path: '/x' })];
    const merged = merge([...theirs, end], { policy });
    assert.deepEqual(merged.next?.['ingress'], [own('a.example.com'), ...theirs, end]);
    assert.deepEqual(merged.foreignRules, ['*.example.com', 'z.example.org']);
    assert.deepEqual(merged.changes.removedForeign, []);
  });

  test('a wildcard of ours is before foreign ones that would take its hosts, and behind more specific foreign hosts', () => {
    const rules = [own('a.example.com'), own('*.b.example.com'), own('*.example.com')];
    const theirs = [foreign('x.b.example.com'), foreign('*.c.example.com'), foreign('*.com'), foreign('x.example.com')];
    assert.deepEqual(written(merge([...theirs, end], { policy, rules })), [
      'a.example.com→8080',
      'x.b.example.com→3000',
      '*.c.example.com→3000',
      '*.b.example.com→8080',
      '*.example.com→8080',
      '*.com→3000',
      'x.example.com→3000',
      '*→404',
    ]);
    assert.deepEqual(written(merge([{ path: '/x', service: 'http://h:3000' }, end], { policy, rules })).at(-2), '*→3000');
  });

  test('our own rules that are no longer planned go, a foreign rule for a planned hostname stays behind ours', () => {
    const merged = merge([own('old.example.com'), foreign('a.example.com'), end], { policy });
    assert.deepEqual(written(merged), ['a.example.com→8080', 'a.example.com→3000', '*→404']);
  });

  test('a foreign last rule stays, unless ours must be the proxy', () => {
    const theirs = { service: 'http://192.0.2.1:3000', originRequest: { connectTimeout: 9 } };
    const kept = merge([theirs], { policy });
    assert.deepEqual(kept.next?.['ingress'], [own('a.example.com'), theirs]);
    assert.deepEqual(kept.foreignRules, ['*']);
    const taken = merge([theirs], { policy, last: { service: origin } });
    assert.deepEqual(taken.next?.['ingress'], [own('a.example.com'), { service: origin }]);
    assert.deepEqual(taken.removedForeignRules, [theirs]);
    const back = merge([own('a.example.com'), { service: origin }], { policy });
    assert.deepEqual(back.next?.['ingress'], [own('a.example.com'), end]);
  });
});

describe('Observe', () => {
  const policy = 'Observe';

  test('nothing is written, and hostnames that do not reach the proxy are told', () => {
    const rules = ['a.example.com', 'b.example.com', '*.c.example.com'].map((name) => own(name));
    const stored = [own('a.example.com'), foreign('b.example.com'), { service: 'http://localhost:8080' }];
    const merged = merge(stored, { policy, rules });
    assert.equal(merged.next, null);
    assert.deepEqual(merged.unrouted, ['b.example.com']);
    assert.deepEqual(merged.removedForeignRules, []);
    assert.deepEqual(merge([end], { policy, rules }).unrouted.length, 3);
  });
});

describe('hostnames that are lost', () => {
  const many = Array.from({ length: 30 }, (_, n) => own(`${n}.example.com`));

  test('removed ones count, ones that a planned wildcard or the last rule takes over do not', () => {
    const merged = merge([...many, end]);
    assert.deepEqual([merged.owned, merged.lost.length], [30, 30]);
    assert.deepEqual(merge([...many, end], { rules: [own('*.example.com')] }).lost, []);
    assert.deepEqual(merge([...many, end], { rules: [], last: { service: origin }, folded: true }).lost, []);
    assert.deepEqual(merge([...many, end], { rules: many.slice(1) }).lost, ['0.example.com']);
  });
});

test('which hosts a pattern takes', () => {
  for (const [pattern, hostname, takes] of [
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', '*.b.example.com', true],
    ['*.example.com', '*.example.com', true],
    ['*.Example.com', 'a.example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', 'evilexample.com', false],
    ['*.b.example.com', '*.example.com', false],
    ['a.example.com', '*.example.com', false],
    [undefined, 'a.example.com', true],
    ['*', '*.example.com', true],
  ] as const) {
    assert.equal(covers(pattern, hostname), takes, `${pattern} ${hostname}`);
  }
  assert.ok(sameRules([null], [null]));
  assert.ok(sameRules([{ ...own('a'), id: '1' }], [own('a')]));
  assert.ok(!sameRules([own('a')], [own('b')]));
});
