// What a single match accepts: path, method, header, query.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MatchConfig } from '#proxy/config/schema.ts';
import { toBytes } from '#proxy/table/bytes.ts';
import { exact, match, pattern, prefix, route, rule, table, winner, type request } from './build.ts';

type Key = NonNullable<Parameters<typeof request>[0]>;

function accepts(conditions: MatchConfig, key: Key, type: 'HTTP' | 'GRPC' = 'HTTP'): boolean {
  return winner(table([route('r', { type, rules: [rule(conditions)] })]), key) === 'r[0]';
}

function header(name: string, value: string, type: 'Exact' | 'RegularExpression' = 'Exact'): MatchConfig {
  return { headers: [{ name, type, value }] };
}

function query(name: string, value: string, type: 'Exact' | 'RegularExpression' = 'Exact'): MatchConfig {
  return { query: [{ name, type, value }] };
}

const paths: readonly (readonly [rule: string, match: MatchConfig, path: string, expected: boolean])[] = [
  ['rule 6: PathPrefix compares whole elements', prefix('/v2'), '/v2', true],
  ['rule 6: PathPrefix compares whole elements', prefix('/v2'), '/v2/', true],
  ['rule 6: PathPrefix compares whole elements', prefix('/v2'), '/v2/x', true],
  ['rule 6: PathPrefix compares whole elements', prefix('/v2'), '/v2example', false],
  ['rule 6: PathPrefix is case-sensitive', prefix('/v2'), '/V2', false],
  ['rule 6: a trailing slash of the prefix is ignored', prefix('/v2/'), '/v2', true],
  ['rule 6: a trailing slash of the prefix is ignored', prefix('/v2/'), '/v2/x', true],
  ['rule 6: a trailing slash of the prefix is ignored', prefix('/v2/'), '/v2x', false],
  ['rule 6: / covers everything', prefix('/'), '/anything/at/all', true],
  ['rule 6: / covers everything', prefix('/'), '//', true],
  ['rule 6: empty elements are elements', prefix('/a'), '/a//b', true],
  ['rule 6: empty elements are elements', prefix('/a/b'), '/a//b', false],
  ['rule 7: Exact is case-sensitive', exact('/Foo'), '/foo', false],
  ['rule 7: Exact does not tolerate a trailing slash', exact('/foo'), '/foo/', false],
  ['rule 7: Exact does not tolerate a missing one', exact('/foo/'), '/foo', false],
  ['rule 7: Exact', exact('/foo'), '/foo', true],
  ['rule 8: an omitted path is the prefix /', {}, '/x', true],
  ['an encoded unreserved character is that character', exact('/a'), '/%61', true],
  ['an encoded unreserved character is that character', exact('/%61'), '/a', true],
  ['an encoded unreserved character is that character', prefix('/a-b'), '/a%2Db/c', true],
  ['an encoded slash separates nothing', prefix('/a'), '/a%2Fb', false],
  ['an encoded slash is not a slash', exact('/a/b'), '/a%2Fb', false],
  ['hexadecimal digits have no case', exact('/a%2Fb'), '/a%2fb', true],
  ['an encoded percent is not decoded twice', exact('/a'), '/%2561', false],
  ['a malformed encoding stands for itself', exact('/100%'), '/100%', true],
  ['a malformed encoding stands for itself', exact('/%zz%4'), '/%zz%4', true],
  ['dot segments are not resolved', exact('/b'), '/a/../b', false],
  ['an expression is found anywhere in the path', pattern('/[0-9]+/'), '/a/12/b', true],
  ['an expression sees decoded unreserved characters', pattern('^/abc$'), '/%61bc', true],
  ['an expression does not see the query', pattern('q=1'), '/a', false],
];

for (const [title, conditions, path, expected] of paths) {
  test(`${title}: ${conditions.path?.value ?? 'no path'} ${expected ? 'accepts' : 'refuses'} ${path}`, () => {
    assert.equal(accepts(conditions, { path, query: 'q=1' }), expected);
  });
}

test('rule 9: within a match all conditions hold, between matches any', () => {
  const both: MatchConfig = { ...prefix('/a'), method: 'POST', ...header('x', '1') };
  assert.ok(accepts(both, { path: '/a', method: 'POST', headers: { x: '1' } }));
  assert.ok(!accepts(both, { path: '/a', method: 'POST' }));
  assert.ok(!accepts(both, { path: '/a', headers: { x: '1' } }));
  const either = table([route('r', { rules: [rule(prefix('/a'), header('x', '1'))] })]);
  assert.equal(winner(either, { path: '/b', headers: { x: '1' } }), 'r[0]');
  assert.equal(winner(either, { path: '/a' }), 'r[0]');
  assert.equal(winner(either, { path: '/b' }), 'none');
});

test('rule 10: header names have no case, values are exact', () => {
  assert.ok(accepts(header('X-Env', 'a'), { headers: { 'x-eNV': 'a' } }));
  assert.ok(!accepts(header('x-env', 'a'), { headers: { 'x-env': 'A' } }));
  assert.ok(!accepts(header('x-env', 'a'), { headers: { 'x-en_': 'a' } }));
  assert.ok(!accepts(header('x-env', 'a'), { headers: { 'x-env': 'a, b' } }), 'lists are not taken apart');
});

test('rule 10: any line of a repeated header counts', () => {
  assert.ok(accepts(header('x', 'b'), { rawHeaders: ['X', 'a', 'x', 'b'] }));
  assert.ok(accepts(header('x', '^b', 'RegularExpression'), { rawHeaders: ['X', 'a', 'x', 'bc'] }));
});

test('rule 10: of entries with one name the first counts', () => {
  const twice: MatchConfig = {
    headers: [
      { name: 'X', type: 'Exact', value: 'a' },
      { name: 'x', type: 'Exact', value: 'b' },
    ],
  };
  assert.ok(accepts(twice, { headers: { x: 'a' } }));
  assert.ok(!accepts(twice, { headers: { x: 'b' } }));
});

test('header values beyond ASCII are compared as the bytes on the wire', () => {
  assert.ok(accepts(header('x', 'é'), { headers: { x: toBytes('é') } }));
  assert.ok(accepts(header('x', '^.$', 'RegularExpression'), { headers: { x: toBytes('é') } }));
  assert.ok(accepts(header('x', 'caf[éè]', 'RegularExpression'), { headers: { x: toBytes('un café') } }));
});

test('rule 11: query names and values are case-sensitive, the first of a repeated parameter counts', () => {
  assert.ok(accepts(query('animal', 'whale'), { query: 'x=1&animal=whale' }));
  assert.ok(!accepts(query('animal', 'whale'), { query: 'Animal=whale' }));
  assert.ok(!accepts(query('animal', 'whale'), { query: 'animal=Whale' }));
  assert.ok(!accepts(query('animal', 'whale'), { query: 'animal=dog&animal=whale' }));
  assert.ok(accepts(query('animal', 'whale'), { query: 'animal=whale&animal=dog' }));
  assert.ok(!accepts(query('animal', 'whale'), { query: 'animals=whale&xanimal=whale' }));
});

test('query parameters are percent-decoded, plus is a space, malformed encodings stand for themselves', () => {
  assert.ok(accepts(query('a b', 'c d'), { query: 'a+b=c%20d' }));
  assert.ok(accepts(query('na=me', 'é&'), { query: 'na%3Dme=%C3%A9%26' }));
  assert.ok(!accepts(query('na=me', 'x'), { query: 'na=me=x' }));
  assert.ok(accepts(query('na', 'me=x'), { query: 'na=me=x' }));
  assert.ok(accepts(query('p', '100%'), { query: 'p=100%' }));
  assert.ok(accepts(query('p', '%zz'), { query: 'p=%zz' }));
  assert.ok(accepts(query('flag', ''), { query: 'x&flag' }));
  assert.ok(accepts(query('flag', ''), { query: 'flag=&flag=1' }));
  assert.ok(!accepts(query('flag', ''), { query: '' }));
  assert.ok(accepts(query('q', '^é+$', 'RegularExpression'), { query: 'q=%c3%a9%C3%A9' }));
});

test('rule 12: the method is compared as it is', () => {
  assert.ok(accepts({ method: 'GET' }, { method: 'GET' }));
  assert.ok(!accepts({ method: 'GET' }, { method: 'get' }));
  assert.ok(!accepts({ method: 'GET' }, { method: 'HEAD' }));
});

test('a GRPCRoute wants POST and a gRPC content type', () => {
  const grpc = (contentType: string, method = 'POST'): boolean => accepts({}, { method, headers: { 'content-type': contentType } }, 'GRPC');
  assert.ok(grpc('application/grpc'));
  assert.ok(grpc('application/grpc+proto'));
  assert.ok(grpc('Application/gRPC;charset=utf-8'));
  assert.ok(!grpc('application/grpc-web'));
  assert.ok(!grpc('application/grpcx'));
  assert.ok(!grpc('application/json'));
  assert.ok(!grpc('application/grpc', 'GET'));
  assert.ok(!accepts({}, { method: 'POST' }, 'GRPC'));
});

test('a decision that takes too many steps is no decision: the arm in question answers 500', () => {
  const hostile = rule(header('x', '(a|b)*a(a|b){200}[cd]', 'RegularExpression'));
  const routes = table([route('hostile', { rules: [hostile] }), route('other', { created: '2026-02-01T00:00:00Z' })]);
  const arm = match(routes, { headers: { x: 'ab'.repeat(20_000) } });
  assert.equal(arm?.rule.routeId, 'HTTPRoute/default/hostile');
  assert.equal(arm?.rule.error, 500);
  assert.equal(winner(routes, { headers: { x: 'short' } }), 'other[0]');
});

test('thousands of arms on one path, each with a name of its own, end the search early and closed', () => {
  const many = Array.from({ length: 5000 }, (_, i) => i);
  const headers = table([route('many', { rules: many.map((i) => rule(header(`x-${i}`, 'v'))) })]);
  assert.equal(match(headers, { rawHeaders: many.slice(0, 2000).flatMap((i) => [`y-${i}`, 'v']) })?.rule.error, 500);
  assert.equal(match(headers, { headers: { 'x-17': 'v' } })?.rule.ruleIndex, 17);
  const queries = table([route('many', { rules: many.map((i) => rule(query(`x${i}`, 'v'))) })]);
  assert.equal(match(queries, { query: 'a&'.repeat(30_000) })?.rule.error, 500);
  assert.equal(match(queries, { query: 'x17=v' })?.rule.ruleIndex, 17);
});
