import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GRPCRouteMatch, HTTPRouteRule } from '#controller/api/gateway.ts';
import { outlineOf } from '#controller/graph/route.ts';
import { ruleSchema, type RuleConfig } from '#proxy/config/schema.ts';
import { grpcRoute, httpRoute } from '#test/build/objects.ts';

const outline = (rule: HTTPRouteRule) => outlineOf(httpRoute({ rules: [rule] }));
const config = (rule: HTTPRouteRule): RuleConfig | null | undefined => outline(rule).rules[0]?.config;
const grpcPath = (match: GRPCRouteMatch) => outlineOf(grpcRoute({ rules: [{ matches: [match] }] })).rules[0]?.config?.matches[0]?.path;

test('what is left out has the meaning of the specification', () => {
  const everything = [{ path: { type: 'PathPrefix', value: '/' } }];
  assert.deepEqual(config({})?.matches, everything);
  assert.deepEqual(config({ matches: [] })?.matches, everything);
  assert.deepEqual(config({ matches: [{}] })?.matches, everything);
  assert.deepEqual(config({ matches: [{ path: { value: '/a' } }] })?.matches, [{ path: { type: 'PathPrefix', value: '/a' } }]);
  const spec = { hostnames: ['app.example.com'] };
  assert.deepEqual(
    outlineOf({ ...httpRoute(), spec }).rules.map((rule) => rule.config?.matches),
    [everything],
  );
  assert.deepEqual(config({ filters: [{ type: 'RequestRedirect', requestRedirect: {} }] })?.filters, [
    { type: 'RequestRedirect', statusCode: 302 },
  ]);
});

test('gRPC methods travel as paths', () => {
  for (const [match, expected] of [
    [{ method: { service: 's.v1.S', method: 'M' } }, { type: 'Exact', value: '/s.v1.S/M' }],
    [{ method: { type: 'Exact', service: 's' } }, { type: 'PathPrefix', value: '/s' }],
    [{ method: { method: 'a.b' } }, { type: 'RegularExpression', value: String.raw`^/[^/]+/a\.b$` }],
    [{ method: { type: 'RegularExpression', service: 'a|b', method: 'c' } }, { type: 'RegularExpression', value: '^/(?:a|b)/(?:c)$' }],
    [{ method: { type: 'RegularExpression', service: 'a' } }, { type: 'RegularExpression', value: '^/(?:a)/(?:[^/]+)$' }],
    [{ method: { type: 'RegularExpression', method: 'c' } }, { type: 'RegularExpression', value: '^/(?:[^/]+)/(?:c)$' }],
    [{ method: {} }, { type: 'PathPrefix', value: '/' }],
    [{}, { type: 'PathPrefix', value: '/' }],
    [{ headers: [{ name: 'a', value: 'b' }] }, { type: 'PathPrefix', value: '/' }],
  ] as const)
    assert.deepEqual(grpcPath(match), expected, JSON.stringify(match));
});

test('an unsupported filter closes its rule and not its neighbours', () => {
  for (const type of ['RequestMirror', 'CORS', 'ExtensionRef', 'ExternalAuth', 'SomethingNew']) {
    const { rules, unservable, partial } = outlineOf(httpRoute({ rules: [{ filters: [{ type }] }, {}] }));
    assert.equal(rules[0]?.config?.error?.status, 500, type);
    assert.deepEqual(rules[0]?.config?.matches, [{ path: { type: 'PathPrefix', value: '/' } }], 'it wins what it would have won');
    assert.equal(rules[1]?.config?.error, undefined);
    assert.equal(unservable, null);
    assert.match(partial?.message ?? '', new RegExp(`^Dropped Rule 0: .*spec\\.rules\\[0\\]\\.filters\\[0\\]\\.type: filter ${type}`));
    assert.equal(outline({ filters: [{ type }] }).unservable?.reason, 'UnsupportedValue');
  }
});

test('what cannot be done yet and does no harm is told, and the rule goes on', () => {
  for (const rule of [{ retry: { attempts: 1 } }, { sessionPersistence: {} }]) {
    const { rules, unservable, partial } = outline(rule);
    assert.equal(rules[0]?.closed, false);
    assert.equal(unservable, null);
    assert.match(partial?.message ?? '', /^spec\.rules\[0\]\.(?:retry|sessionPersistence) is ignored/);
  }
  assert.equal(outline({}).partial, null);
});

test('a filter of one backend closes that share alone', () => {
  const { rules, partial } = outline({
    backendRefs: [
      { name: 'a', port: 1, filters: [{ type: 'CORS' }] },
      { name: 'b', port: 1 },
    ],
  });
  assert.deepEqual(
    rules[0]?.backends.map(({ closed }) => closed),
    [true, false],
  );
  assert.equal(rules[0]?.closed, false);
  assert.match(partial?.message ?? '', /^spec\.rules\[0\]\.backendRefs\[0\]\.filters\[0\]\.type/);
});

test('beyond the limits of the pushed configuration a rule is closed, never sent as it is', () => {
  const long = 'x'.repeat(5000);
  for (const rule of [
    { matches: [{ headers: [{ name: 'a', value: long }] }] },
    { matches: [{ path: { value: `/${long}` } }] },
    { name: long },
    { filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'a', value: long }] } }] },
    { backendRefs: Array.from({ length: 17 }, () => ({ name: 'a', port: 1 })) },
    { backendRefs: [{ name: 'a', port: 1, weight: -1 }] },
    { matches: Array.from({ length: 65 }, () => ({})) },
  ] satisfies readonly HTTPRouteRule[]) {
    const result = outline(rule);
    assert.notEqual(result.unservable, null, JSON.stringify(rule).slice(0, 80));
    assert.ok((result.unservable?.message.length ?? 0) < 2500);
    const [first] = result.rules;
    if (first?.config === null || first?.config === undefined) continue;
    assert.ok(ruleSchema.safeParse(first.config).success, 'what is sent instead is within the limits');
  }
});

test('a rule none of whose matches can be read answers nothing', () => {
  const { rules, unservable } = outline({ matches: [{ path: { type: 'Glob', value: '/*' } }] });
  assert.equal(rules[0]?.config, null);
  assert.match(unservable?.message ?? '', /matches\[0\]\.path\.type is Glob: use Exact, PathPrefix, RegularExpression/);
});
