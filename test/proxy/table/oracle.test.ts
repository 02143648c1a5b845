// The compiled index against a naive reading of the specification: sort all matches by its order, take the first that matches.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { MatchConfig, RouteConfig } from '#proxy/config/schema.ts';
import type { RequestKey } from '#proxy/table/types.ts';
import { entry, listener, match, request, route, rule, table } from './build.ts';

/** One match with all that decides about it, flat. */
interface Candidate {
  readonly label: string;
  readonly conditions: MatchConfig;
  readonly grpc: boolean;
  readonly order: readonly (number | string)[];
}

function candidates(routes: readonly RouteConfig[], hostname: string): readonly Candidate[] {
  return routes
    .filter(({ attachments }) =>
      attachments.some(({ hostnames }) => hostnames.includes(hostname) || (hostname === '' && hostnames.length === 0)),
    )
    .flatMap((one) =>
      one.rules.flatMap(({ matches }, ruleIndex) =>
        matches.map((conditions, matchIndex) => ({
          label: `${one.id}[${ruleIndex}][${matchIndex}]`,
          conditions,
          grpc: one.type === 'GRPC',
          order: orderOf(one, ruleIndex, conditions, matchIndex),
        })),
      ),
    )
    .sort((a, b) => compare(a.order, b.order));
}

function orderOf(
  one: RouteConfig,
  ruleIndex: number,
  { path, method, headers, query }: MatchConfig,
  matchIndex: number,
): Candidate['order'] {
  const { type, value } = path ?? { type: 'PathPrefix', value: '/' };
  const kind = ['Exact', 'RegularExpression', 'PathPrefix'].indexOf(type);
  const length = type === 'Exact' ? 0 : type === 'PathPrefix' ? value.replace(/\/$/, '').length : value.length;
  const names = (list: MatchConfig['headers'], fold: boolean): number =>
    new Set(list?.map(({ name }) => (fold ? name.toLowerCase() : name))).size;
  return [
    kind,
    -length,
    method === undefined ? 1 : 0,
    -names(headers, true),
    -names(query, false),
    one.created,
    `${one.namespace}/${one.name}`,
    one.id,
    ruleIndex,
    matchIndex,
  ];
}

function compare(a: Candidate['order'], b: Candidate['order']): number {
  for (let i = 0; i < a.length; i++) {
    if (a[i]! < b[i]!) return -1;
    if (a[i]! > b[i]!) return 1;
  }
  return 0;
}

function accepts({ conditions, grpc }: Candidate, { method, path, query, rawHeaders }: RequestKey): boolean {
  const pairs = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1]!] as const] : []));
  if (grpc && (method !== 'POST' || !pairs.some(([name, value]) => name === 'content-type' && value === 'application/grpc'))) return false;
  if (conditions.method !== undefined && conditions.method !== method) return false;
  const { type, value } = conditions.path ?? { type: 'PathPrefix', value: '/' };
  if (type === 'Exact' && path !== value) return false;
  if (type === 'RegularExpression' && !new RegExp(value).test(path)) return false;
  if (type === 'PathPrefix') {
    const wanted = value.split('/').filter((element, i, all) => i < all.length - 1 || element !== '');
    if (wanted.some((element, i) => path.split('/')[i] !== element)) return false;
  }
  const params = [...new URLSearchParams(query)];
  return (
    first(conditions.headers, true).every((one) => pairs.some(([name, text]) => name === one.name.toLowerCase() && holds(one, text))) &&
    first(conditions.query, false).every((one) => {
      const found = params.find(([name]) => name === one.name);
      return found !== undefined && holds(one, found[1]);
    })
  );
}

function first(list: MatchConfig['headers'], fold: boolean): NonNullable<MatchConfig['headers']> {
  const key = (name: string): string => (fold ? name.toLowerCase() : name);
  return (list ?? []).filter(({ name }, i, all) => all.findIndex((one) => key(one.name) === key(name)) === i);
}

function holds({ type, value }: { readonly type: string; readonly value: string }, text: string): boolean {
  return type === 'Exact' ? text === value : new RegExp(value).test(text);
}

const path = fc.array(fc.constantFrom('a', 'b', 'ab', ''), { maxLength: 3 }).map((elements) => `/${elements.join('/')}`);
const value = fc.record({
  name: fc.constantFrom('x', 'X', 'y'),
  type: fc.constantFrom('Exact', 'Exact', 'RegularExpression'),
  value: fc.constantFrom('1', '2', '12'),
});
const values = fc.option(fc.array(value, { minLength: 1, maxLength: 3 }), { nil: undefined, freq: 2 });
const pathMatch = fc.oneof(
  fc.record({ type: fc.constantFrom('Exact', 'PathPrefix'), value: path }),
  fc.record({
    type: fc.constant('RegularExpression'),
    value: fc.constantFrom('a', '^/a', 'b$', '^/a/.*b', '^/[ab]+$', '/ab/?', '^(/a|/b)$'),
  }),
);
const matchConfig = fc
  .record({
    path: fc.option(pathMatch, { nil: undefined }),
    method: fc.option(fc.constantFrom('GET', 'POST'), { nil: undefined, freq: 3 }),
    headers: values,
    query: values,
  })
  .map((all) => Object.fromEntries(Object.entries(all).filter(([, one]) => one !== undefined)) as MatchConfig);
const routeConfig = fc
  .record({
    type: fc.constantFrom('HTTP', 'HTTP', 'GRPC'),
    namespace: fc.constantFrom('n', 'm'),
    created: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
    hostnames: fc.constantFrom([], ['h.example.com'], ['*.example.com'], ['h.example.com', '*.example.com']),
    rules: fc.array(fc.array(matchConfig, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
  })
  .map(({ rules, ...rest }) => ({ ...rest, rules: rules.map((matches) => rule(...matches)) }) as const);
const requestKey = fc
  .record({
    host: fc.constantFrom('h.example.com', 'g.example.com', 'example.org'),
    method: fc.constantFrom('GET', 'POST', 'PUT'),
    path,
    query: fc
      .array(fc.constantFrom('x=1', 'x=2', 'X=1', 'y=12', 'y', 'z=%31', '%78=1', 'y=%31%32'), { maxLength: 3 })
      .map((parts) => parts.join('&')),
    rawHeaders: fc
      .array(fc.constantFrom(['X', '1'], ['x', '2'], ['y', '12'], ['Content-Type', 'application/grpc']))
      .map((pairs) => pairs.flat()),
  })
  .map(request);

function agrees(routes: readonly RouteConfig[], key: RequestKey): void {
  const on = listener();
  const arm = match(table(routes, [entry(on)]), key);
  const hostname = routes.some(({ attachments }) => attachments[0]!.hostnames.includes(key.host))
    ? key.host
    : key.host.endsWith('.example.com') && routes.some(({ attachments }) => attachments[0]!.hostnames.includes('*.example.com'))
      ? '*.example.com'
      : '';
  const expected = candidates(routes, hostname).find((one) => accepts(one, key));
  assert.equal(arm === null ? undefined : `${arm.rule.routeId}[${arm.rule.ruleIndex}]`, expected?.label.replace(/\[\d+\]$/, ''));
  if (arm === null || expected === undefined) return;
  assert.equal(arm.hostname, hostname);
  const { type, value } = expected.conditions.path ?? { type: 'PathPrefix', value: '/' };
  // Two matches of one rule may both be the winner for all that can be seen of them, except for the prefix.
  assert.equal(arm.prefix, type === 'PathPrefix' ? value.replace(/\/$/, '') : null);
}

test('a table of few routes answers as the specification reads', () => {
  fc.assert(
    fc.property(fc.array(routeConfig, { maxLength: 4 }), fc.array(requestKey, { minLength: 1, maxLength: 5 }), (options, keys) => {
      const routes = options.map((one, i) => route(`r${i}`, one));
      for (const key of keys) agrees(routes, key);
    }),
    { numRuns: 400 },
  );
});

test('a table of many routes on one host, which is indexed, answers alike', () => {
  const oneHost = fc.array(
    routeConfig.map((one) => ({ ...one, hostnames: [] })),
    { minLength: 10, maxLength: 30 },
  );
  fc.assert(
    fc.property(oneHost, fc.array(requestKey, { minLength: 1, maxLength: 8 }), (options, keys) => {
      // Names repeat across namespaces and kinds, so every tie-break is needed.
      const routes = options
        .map((one, i) => route(`r${i % 10}`, one))
        .filter((one, i, all) => all.findIndex(({ id }) => id === one.id) === i);
      for (const key of keys) agrees(routes, key);
    }),
    { numRuns: 300 },
  );
});

test('many arms on one path, told apart by header and query, answer alike', () => {
  const samePath = matchConfig.map(({ path: _, ...rest }) => ({ ...rest, path: { type: 'PathPrefix' as const, value: '/a' } }));
  fc.assert(
    fc.property(
      fc.array(samePath, { minLength: 10, maxLength: 60 }),
      fc.array(requestKey, { minLength: 1, maxLength: 8 }),
      (matches, keys) => {
        const routes = matches.map((one, i) => route(`r${i}`, { rules: [rule(one)] }));
        for (const key of keys) agrees(routes, { ...key, path: '/a' });
      },
    ),
    { numRuns: 300 },
  );
});
