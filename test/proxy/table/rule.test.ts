// What a rule does with the requests that it wins, and what makes it fail closed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FilterConfig, RuleConfig } from '#proxy/config/schema.ts';
import { validateRule } from '#proxy/table/compile.ts';
import type { CompiledRule } from '#proxy/table/types.ts';
import { exact, match, pattern, prefix, route, rule, table, winner } from './build.ts';

function compiled(config: RuleConfig): CompiledRule {
  const arm = match(table([route('r', { rules: [config] })]));
  assert.ok(arm !== null);
  return arm.rule;
}

function withFilters(...filters: readonly FilterConfig[]): RuleConfig {
  return { ...rule(), filters: [...filters] };
}

const setHeader = (name: string, value: string): FilterConfig => ({ type: 'RequestHeaderModifier', modifier: { set: [{ name, value }] } });

test('rule 36: an invalid reference keeps its weight and answers its status', () => {
  const { choices, totalWeight } = compiled({
    matches: [{}],
    backends: [{ backend: 'b', weight: 3 }, { status: 503, weight: 1 }, { weight: 2 }],
  });
  assert.deepEqual(
    choices.map(({ backend, status, upTo }) => [backend?.id ?? null, status, upTo]),
    [
      ['b', 0, 3],
      [null, 503, 4],
      [null, 500, 6],
    ],
  );
  assert.equal(totalWeight, 6);
});

test('rule 37, 38: no backends and backends of weight 0 leave nothing to choose', () => {
  assert.equal(compiled({ matches: [{}], backends: [] }).totalWeight, 0);
  const { choices, totalWeight } = compiled({ matches: [{}], backends: [{ backend: 'b', weight: 0 }] });
  assert.equal(totalWeight, 0);
  assert.equal(choices.length, 0);
});

test('a reference to a backend that is not there answers 500 for its share and is reported', () => {
  const routes = table([
    route('r', {
      rules: [
        {
          matches: [{}],
          backends: [
            { backend: 'b', weight: 1 },
            { backend: 'gone', weight: 1 },
          ],
        },
      ],
    }),
  ]);
  assert.deepEqual(
    match(routes)?.rule.choices.map(({ status }) => status),
    [0, 500],
  );
  assert.deepEqual(
    routes.problems.map(({ field, message }) => [field, message]),
    [['backends[1].backend', 'there is no backend "gone" in the configuration']],
  );
});

test('rule 44, 45: a backend’s edits follow its rule’s and apply to it alone', () => {
  const { choices } = compiled({
    matches: [{}],
    filters: [setHeader('a', '1')],
    backends: [
      { backend: 'b', weight: 1, filters: [setHeader('b', '2')] },
      { backend: 'b', weight: 1 },
    ],
  });
  assert.deepEqual(
    choices.map(({ requestEdits }) => requestEdits?.append),
    [
      ['a', '1', 'b', '2'],
      ['a', '1'],
    ],
  );
});

test('a backend’s rewrite changes what it names and keeps the rest of its rule’s', () => {
  const { choices } = compiled({
    matches: [{}],
    filters: [{ type: 'URLRewrite', hostname: 'rule.example.com', path: { type: 'ReplaceFullPath', value: '/rule' } }],
    backends: [{ backend: 'b', weight: 1, filters: [{ type: 'URLRewrite', hostname: 'backend.example.com' }] }],
  });
  assert.deepEqual(choices[0]?.rewrite, { hostname: 'backend.example.com', path: { type: 'ReplaceFullPath', value: '/rule' } });
});

test('rule 49: a rule with a redirect needs no backend', () => {
  const { redirect, error } = compiled({
    matches: [{}],
    backends: [],
    filters: [{ type: 'RequestRedirect', scheme: 'https', statusCode: 301 }],
  });
  assert.deepEqual(redirect, { scheme: 'https', hostname: null, port: 0, path: null, statusCode: 301 });
  assert.equal(error, 0);
});

test('a timeout that no timer can wait for is the longest that one can, not an immediate one', () => {
  const { requestTimeout, backendRequestTimeout } = compiled({
    ...rule(),
    timeouts: { request: 99_999 * 3_600_000, backendRequest: 2 ** 31 },
  });
  assert.deepEqual([requestTimeout, backendRequestTimeout], [2 ** 31 - 1, 2 ** 31 - 1]);
});

test('timeouts are milliseconds, 0 when there is none', () => {
  const { requestTimeout, backendRequestTimeout } = compiled({ ...rule(), timeouts: { request: 1500 } });
  assert.deepEqual([requestTimeout, backendRequestTimeout], [1500, 0]);
});

test('rule 46: a rule that the controller has closed answers 500 and is not reported again', () => {
  const closed: RuleConfig = { ...rule(), matches: [{}, pattern('(')], error: { status: 500, reason: 'UnsupportedValue' } };
  const routes = table([route('r', { rules: [closed] })]);
  assert.equal(match(routes)?.rule.error, 500);
  assert.deepEqual(routes.problems, []);
});

test('a bad expression closes its rule, matches nothing itself, and leaves other rules alone', () => {
  const routes = table([route('r', { rules: [rule(pattern('a('), prefix('/bad')), rule(prefix('/good'))] })]);
  assert.equal(match(routes, { path: '/bad' })?.rule.error, 500);
  assert.equal(match(routes, { path: '/good' })?.rule.error, 0);
  assert.equal(winner(routes, { path: '/a(' }), 'none');
  assert.equal(routes.problems.length, 1);
  const [problem] = routes.problems;
  assert.deepEqual([problem?.routeId, problem?.ruleIndex, problem?.field], ['HTTPRoute/default/r', 0, 'matches[0].path.value']);
  assert.match(problem?.message ?? '', /"a\(".*missing closing/);
});

test('a filter that is refused on a backend closes that backend’s share alone', () => {
  const { choices, error } = compiled({
    matches: [{}],
    backends: [
      { backend: 'b', weight: 1, filters: [setHeader('Host', 'x')] },
      { backend: 'b', weight: 1 },
    ],
  });
  assert.equal(error, 0);
  assert.deepEqual(
    choices.map(({ status }) => status),
    [500, 0],
  );
});

const problems: readonly (readonly [title: string, config: RuleConfig, field: string, message: RegExp])[] = [
  ['header expression', rule({ headers: [{ name: 'x', type: 'RegularExpression', value: '[' }] }), 'matches[0].headers[0].value', /"\["/],
  [
    'query expression',
    rule({ query: [{ name: 'x', type: 'RegularExpression', value: 'a**' }] }),
    'matches[0].query[0].value',
    /nested repetition/,
  ],
  ['relative path', rule({}, exact('a')), 'matches[1].path.value', /must begin with "\/"/],
  ['connection header', withFilters(setHeader('Connection', 'close')), 'filters[0].modifier.set[0].name', /belongs to the connection/],
  ['host header', withFilters(setHeader('hOST', 'x')), 'filters[0].modifier.set[0].name', /URLRewrite/],
  ['proxy header', withFilters(setHeader('Proxy-Authorization', 'x')), 'filters[0].modifier.set[0].name', /cannot be modified/],
  ['pseudo header', withFilters(setHeader(':path', 'x')), 'filters[0].modifier.set[0].name', /cannot be modified/],
  ['no header name', withFilters(setHeader('a b', 'x')), 'filters[0].modifier.set[0].name', /not a header name/],
  ['line break in a value', withFilters(setHeader('a', 'x\r\ny: z')), 'filters[0].modifier.set[0].value', /control characters/],
  [
    'NUL in a value',
    withFilters({ type: 'ResponseHeaderModifier', modifier: { add: [{ name: 'a', value: '\0' }] } }),
    'filters[0].modifier.add[0].value',
    /control characters/,
  ],
  [
    'removed framing',
    withFilters({ type: 'ResponseHeaderModifier', modifier: { remove: ['x', 'Content-Length'] } }),
    'filters[0].modifier.remove[1]',
    /Content-Length/,
  ],
  ['redirect host', withFilters({ type: 'RequestRedirect', hostname: 'a.com/x', statusCode: 302 }), 'filters[0].hostname', /DNS name/],
  [
    'redirect path',
    withFilters({ type: 'RequestRedirect', path: { type: 'ReplaceFullPath', value: '/a\r\nb' }, statusCode: 302 }),
    'filters[0].path.value',
    /percent-encoded/,
  ],
  [
    'rewrite with query',
    withFilters({ type: 'URLRewrite', path: { type: 'ReplaceFullPath', value: '/a?b' } }),
    'filters[0].path.value',
    /percent-encoded/,
  ],
  [
    'prefix replacement',
    { ...rule(exact('/a')), filters: [{ type: 'URLRewrite', path: { type: 'ReplacePrefixMatch', value: '/b' } }] },
    'filters[0].path.type',
    /PathPrefix/,
  ],
  [
    'two redirects',
    withFilters({ type: 'RequestRedirect', statusCode: 302 }, { type: 'RequestRedirect', statusCode: 301 }),
    'filters[1].type',
    /only once/,
  ],
  [
    'redirect and rewrite',
    withFilters({ type: 'RequestRedirect', statusCode: 302 }, { type: 'URLRewrite', hostname: 'a' }),
    'filters[1].type',
    /together/,
  ],
  [
    'backend filter',
    { matches: [{}], backends: [{ backend: 'b', weight: 1, filters: [setHeader('te', 'x')] }] },
    'backends[0].filters[0].modifier.set[0].name',
    /"te"/,
  ],
];

for (const [title, config, field, message] of problems) {
  test(`the controller’s check finds: ${title}`, () => {
    const found = validateRule('HTTP', config, 'HTTPRoute/default/r', 4);
    assert.equal(found.length, 1, JSON.stringify(found));
    assert.deepEqual([found[0]?.routeId, found[0]?.ruleIndex, found[0]?.field], ['HTTPRoute/default/r', 4, field]);
    assert.match(found[0]?.message ?? '', message);
  });
}

test('the controller’s check accepts what the proxy can do, and does not look up backends', () => {
  const good: RuleConfig = {
    matches: [prefix('/a'), { method: 'GET', headers: [{ name: 'x', type: 'RegularExpression', value: '(?i)^v[0-9]$' }] }],
    filters: [setHeader('x', 'y'), { type: 'URLRewrite', hostname: 'a.example.com', path: { type: 'ReplacePrefixMatch', value: '' } }],
    backends: [{ backend: 'elsewhere', weight: 1 }],
  };
  assert.deepEqual(validateRule('HTTP', good), []);
  assert.deepEqual(validateRule('GRPC', rule(exact('/pkg.Svc/Call'))), []);
});
