// Which match wins: the Gateway API's order of precedence, numbered as in our list of rules that implementations get wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exact, pattern, prefix, route, rule, table, winner } from './build.ts';

const header = (name: string, value: string) => ({ name, type: 'Exact', value }) as const;

test('rule 1: Exact beats RegularExpression beats the longest PathPrefix beats shorter ones', () => {
  const routes = table([
    route('prefix', { rules: [rule(prefix('/'))] }),
    route('longer', { rules: [rule(prefix('/a/b'))] }),
    route('longest', { rules: [rule(prefix('/a/b/c'))] }),
    route('regex', { rules: [rule(pattern('/x$'))] }),
    route('exact', { rules: [rule(exact('/a/b/c/x'))] }),
  ]);
  assert.equal(winner(routes, { path: '/a/b/c/x' }), 'exact[0]');
  assert.equal(winner(routes, { path: '/a/b/c/d/x' }), 'regex[0]');
  assert.equal(winner(routes, { path: '/a/b/c/d' }), 'longest[0]');
  assert.equal(winner(routes, { path: '/a/b/d' }), 'longer[0]');
  assert.equal(winner(routes, { path: '/b' }), 'prefix[0]');
});

test('rule 1: a method match comes before any number of header matches, those before any number of query matches', () => {
  const headers = Array.from({ length: 16 }, (_, i) => header(`x-${i}`, '1'));
  const query = Array.from({ length: 16 }, (_, i) => header(`q${i}`, '1'));
  const routes = table([
    route('query', { rules: [rule({ ...prefix('/p'), query })] }),
    route('header', { rules: [rule({ ...prefix('/p'), headers: headers.slice(0, 1) })] }),
    route('headers', { rules: [rule({ ...prefix('/p'), headers })] }),
    route('method', { rules: [rule({ ...prefix('/p'), method: 'GET' })] }),
  ]);
  const all = {
    path: '/p',
    headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    query: query.map(({ name, value }) => `${name}=${value}`).join('&'),
  };
  assert.equal(winner(routes, all), 'method[0]');
  assert.equal(winner(routes, { ...all, method: 'PUT' }), 'headers[0]');
  assert.equal(winner(routes, { ...all, method: 'PUT', headers: { 'x-0': '1' } }), 'header[0]');
  assert.equal(winner(routes, { ...all, method: 'PUT', headers: {} }), 'query[0]');
});

test('rule 1: a path that is longer beats every other condition', () => {
  const routes = table([
    route('short', { rules: [rule({ ...prefix('/a'), method: 'GET', headers: [header('x', '1')], query: [header('q', '1')] })] }),
    route('long', { rules: [rule(prefix('/a/b'))] }),
  ]);
  assert.equal(winner(routes, { path: '/a/b', headers: { x: '1' }, query: 'q=1' }), 'long[0]');
});

test('rule 1: of expressions the longer one is looked at first', () => {
  const routes = table([route('short', { rules: [rule(pattern('/a'))] }), route('long', { rules: [rule(pattern('^/a[0-9]*'))] })]);
  assert.equal(winner(routes, { path: '/a1' }), 'long[0]');
});

test('rule 2: ties go to the oldest route, then to the first by namespace/name', () => {
  const newer = '2026-02-01T00:00:00Z';
  assert.equal(winner(table([route('b', { created: newer }), route('z')])), 'z[0]');
  assert.equal(winner(table([route('b', { created: newer }), route('a', { created: newer })])), 'a[0]');
  assert.equal(winner(table([route('a', { namespace: 'y' }), route('b', { namespace: 'x' })])), 'b[0]');
  assert.equal(
    winner(table([route('a', { created: 'yesterday' }), route('b', { created: newer })])),
    'b[0]',
    'an unknown age is no seniority',
  );
  assert.equal(
    winner(table([route('a', { created: '2026-01-01T00:00:00+02:00' }), route('b', { created: '2025-12-31T23:00:00Z' })])),
    'a[0]',
  );
});

test('rule 3: ties inside a route go to the first rule, even if its backend is invalid', () => {
  const bad = { matches: [prefix('/x')], backends: [{ status: 500 as const, weight: 1 }] };
  assert.equal(winner(table([route('r', { rules: [bad, rule(prefix('/x'))] })]), { path: '/x' }), 'r[0]');
});

test('rule 9: precedence is of each match, not of its rule', () => {
  const routes = table([
    route('admin', { rules: [rule(prefix('/'), exact('/admin'))] }),
    route('app', { created: '2026-02-01T00:00:00Z', rules: [rule(prefix('/app'))] }),
  ]);
  assert.equal(winner(routes, { path: '/app/x' }), 'app[0]');
  assert.equal(winner(routes, { path: '/admin' }), 'admin[0]');
});

test('rule 17: an HTTPRoute and a GRPCRoute share a hostname by the same order', () => {
  const grpc = { method: 'POST', headers: { 'Content-Type': 'application/grpc+proto' } };
  const routes = table([
    route('grpc', { type: 'GRPC', created: '2026-02-01T00:00:00Z', rules: [rule(exact('/pkg.Svc/Call'))] }),
    route('web', { rules: [rule(prefix('/'))] }),
    route('older', { rules: [rule(exact('/pkg.Svc/Old'))] }),
    route('grpc-old', { type: 'GRPC', created: '2026-02-01T00:00:00Z', rules: [rule(exact('/pkg.Svc/Old'))] }),
  ]);
  assert.equal(winner(routes, { path: '/pkg.Svc/Call', ...grpc }), 'grpc[0]');
  assert.equal(winner(routes, { path: '/pkg.Svc/Call', method: 'GET' }), 'web[0]');
  assert.equal(winner(routes, { path: '/pkg.Svc/Old', ...grpc }), 'older[0]');
});
