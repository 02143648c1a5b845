// Tunnel documents: which are refused, and which rule a request gets. The cases are what cloudflared does.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { DocumentStore } from '#proxy/connector/native/document.ts';
import { findRule, parseDocument, type TunnelDocument } from '#proxy/connector/native/ingress.ts';

const LAST = { service: 'http_status:404' };

function parse(config: unknown): TunnelDocument {
  const parsed = parseDocument(config);
  if ('error' in parsed) assert.fail(parsed.error);
  return parsed.document;
}

/** Status of the rule that a request gets; each test rule is a different status. */
function statusFor(document: TunnelDocument, host: string, path = '/'): number {
  const { service } = findRule(document, host, path);
  return service.kind === 'status' ? service.status : 0;
}

describe('ingress: which rule', () => {
  const hosts = parse({
    ingress: [
      { hostname: 'app.example.com', service: 'http_status:201' },
      { hostname: '*.example.com', service: 'http_status:202' },
      { hostname: 'App.Mixed.Test', service: 'http_status:203' },
      { hostname: 'bücher.example', service: 'http_status:205' },
      { hostname: '*.W.test', service: 'http_status:206' },
      LAST,
    ],
  });
  const cases: readonly (readonly [string, number])[] = [
    ['app.example.com', 201],
    ['app.example.com:8443', 201],
    ['other.example.com', 202],
    ['deep.er.example.com', 202],
    // A wildcard stands for labels, not for nothing.
    ['example.com', 404],
    ['.example.com', 404],
    ['notexample.com', 404],
    // The rule's side is also tried in its ASCII form, which is lower case; the request's side is taken as it is.
    ['app.mixed.test', 203],
    ['App.Mixed.Test', 203],
    ['APP.example.com', 202],
    ['xn--bcher-kva.example', 205],
    ['a.W.test', 206],
    ['a.w.test', 404],
    ['[::1]:443', 404],
    ['', 404],
  ];
  for (const [host, status] of cases) test(`host "${host}"`, () => assert.equal(statusFor(hosts, host), status));

  const paths = parse({
    ingress: [
      { hostname: 'app.example.com', path: '/static', service: 'http_status:201' },
      { path: '^/a b$', service: 'http_status:202' },
      { path: '\\.(png|gif)$', service: 'http_status:203' },
      LAST,
    ],
  });
  const pathCases: readonly (readonly [string, string, number])[] = [
    ['app.example.com', '/static/x', 201],
    // Unanchored.
    ['app.example.com', '/x/static', 201],
    ['other.example.com', '/static/x', 404],
    // The decoded path, without the query.
    ['x', '/a%20b', 202],
    ['x', '/a%20b?c', 202],
    ['x', '/a?x=.png', 404],
    ['x', '/i.png?x', 203],
    ['x', '/%zz.png', 203],
    ['x', '*', 404],
  ];
  for (const [host, path, status] of pathCases) test(`path ${host}${path}`, () => assert.equal(statusFor(paths, host, path), status));

  test('no rules at all: 503 for everything', () => {
    for (const config of [null, undefined, {}, { ingress: null }, { ingress: [] }]) assert.equal(statusFor(parse(config), 'x'), 503);
  });

  test('a path expression that would make a backtracking engine hang', () => {
    const document = parse({ ingress: [{ path: '^/(a+)+$', service: 'http_status:201' }, LAST] });
    assert.equal(statusFor(document, 'x', `/${'a'.repeat(20_000)}!`), 404);
  });
});

describe('ingress: services', () => {
  const service = (text: string, originRequest?: unknown): unknown => {
    const [rule] = parse({ ingress: [{ service: text, originRequest }] }).rules;
    return rule?.service;
  };

  test('http origins', () => {
    const settings = { connectTimeoutMs: 30_000, keepAliveConnections: 100, keepAliveTimeoutMs: 90_000, hostHeader: null };
    assert.deepEqual(service('http://127.0.0.1:8080'), { kind: 'http', host: '127.0.0.1', port: 8080, settings });
    assert.deepEqual(service('ws://localhost'), { kind: 'http', host: 'localhost', port: 80, settings });
    assert.deepEqual(service('http://[::1]:81'), { kind: 'http', host: '::1', port: 81, settings });
  });

  test('origin settings: the rule`s own, then the document`s', () => {
    const document = parse({
      originRequest: { connectTimeout: 5, keepAliveConnections: 7, httpHostHeader: 'inner.test' },
      ingress: [{ service: 'http://a', originRequest: { connectTimeout: 2, keepAliveTimeout: 3, future: true } }],
    });
    const [rule] = document.rules;
    assert.ok(rule?.service.kind === 'http');
    const expected = { connectTimeoutMs: 2000, keepAliveConnections: 7, keepAliveTimeoutMs: 3000, hostHeader: 'inner.test' };
    assert.deepEqual(rule.service.settings, expected);
  });

  test('seconds beyond what a timer can wait are as many as it can', () => {
    const { settings } = service('http://a', { connectTimeout: 1e12, keepAliveTimeout: 2_147_484 }) as { readonly settings: object };
    assert.deepEqual(settings, {
      connectTimeoutMs: 2 ** 31 - 1,
      keepAliveConnections: 100,
      keepAliveTimeoutMs: 2 ** 31 - 1,
      hostHeader: null,
    });
  });

  test('legal for cloudflared, not served here', () => {
    for (const text of [
      'https://a',
      'unix:/a.sock',
      'unix+tls:/a.sock',
      'tcp://a:1',
      'ssh://a',
      'h2c://a:1',
      'hello_world',
      'bastion',
      'http_status:700',
    ]) {
      const found = service(text) as { kind: string };
      assert.equal(found.kind, 'unsupported', text);
    }
    // Traffic that must be authenticated is not let through by one that cannot do it.
    assert.equal((service('http://a', { access: { required: true } }) as { kind: string }).kind, 'unsupported');
  });
});

describe('ingress: refused documents', () => {
  const refused: readonly (readonly [string, unknown, RegExp])[] = [
    ['no object', 'text', /document/],
    ['rules that are no list', { ingress: {} }, /ingress/],
    ['a rule that is no object', { ingress: [7] }, /ingress\.0/],
    ['a hostname of another type', { ingress: [{ hostname: 5, service: 'http_status:404' }] }, /ingress\.0\.hostname/],
    ['no service', { ingress: [{ hostname: '' }] }, /rule 1: the service/],
    ['a service without scheme', { ingress: [{ service: 'localhost:80' }] }, /rule 1: the service/],
    ['a service without host', { ingress: [{ service: 'http://' }] }, /rule 1: the service/],
    ['a service with a path', { ingress: [{ service: 'http://a/b' }] }, /rule 1: the service must not have a path/],
    ['a service with an empty path', { ingress: [{ service: 'http://a/' }] }, /must not have a path/],
    ['a status out of range', { ingress: [{ service: 'http_status:99' }] }, /http_status/],
    ['a status that is no number', { ingress: [{ service: 'http_status:ok' }] }, /http_status/],
    ['no catch-all at the end', { ingress: [{ hostname: 'a.test', service: 'http://a' }] }, /rule 1: the last rule/],
    ['a path on the last rule', { ingress: [{ path: '/', service: 'http://a' }] }, /rule 1: the last rule/],
    ['a catch-all in the middle', { ingress: [{ hostname: '*', service: 'http://a' }, LAST] }, /rule 1: only the last rule/],
    ['a hostname with a port', { ingress: [{ hostname: 'a.test:80', service: 'http://a' }, LAST] }, /rule 1: the hostname/],
    ['a wildcard in the middle', { ingress: [{ hostname: 'a.*.test', service: 'http://a' }, LAST] }, /rule 1: the hostname/],
    ['look-ahead in a path', { ingress: [{ path: '(?=a)', service: 'http://a' }, LAST] }, /rule 1: the path/],
    ['a duration with a fraction', { ingress: [{ service: 'http://a', originRequest: { connectTimeout: 1.5 } }] }, /connectTimeout/],
    ['a duration with a unit', { originRequest: { connectTimeout: '30s' }, ingress: [LAST] }, /originRequest\.connectTimeout/],
  ];
  for (const [name, config, error] of refused) {
    test(name, () => {
      const parsed = parseDocument(config);
      assert.ok('error' in parsed);
      assert.match(parsed.error, error);
    });
  }

  test('any value is taken or refused, never a throw', () => {
    const rule = fc.record(
      { hostname: fc.anything(), path: fc.anything(), service: fc.anything(), originRequest: fc.anything() },
      { requiredKeys: [] },
    );
    fc.assert(fc.property(fc.oneof(fc.anything(), fc.record({ ingress: fc.array(rule) })), (config) => void parseDocument(config)));
  });
});

describe('ingress: versions', () => {
  const push = (version: unknown, config: unknown): string => JSON.stringify({ version, config });

  test('only newer documents are taken, wrong ones leave the previous in force', () => {
    const applied: TunnelDocument[] = [];
    const store = new DocumentStore(null, (document) => applied.push(document));
    assert.equal(store.version, -1);
    assert.deepEqual(store.push(push(0, null)), { lastAppliedVersion: 0, err: null });
    assert.deepEqual(store.push(push(5, { ingress: [{ service: 'http_status:201' }] })), { lastAppliedVersion: 5, err: null });
    assert.deepEqual(store.push(push(5, { ingress: [{ service: 'http_status:202' }] })), { lastAppliedVersion: 5, err: null });
    assert.deepEqual(store.push(push(4, null)), { lastAppliedVersion: 5, err: null });
    const refused = store.push(push(6, { ingress: [{ service: 'nonsense' }] }));
    assert.equal(refused.lastAppliedVersion, 5);
    assert.match(refused.err ?? '', /rule 1/);
    assert.equal(statusFor(store.document, 'x'), 201);
    assert.equal(applied.length, 2);
  });

  test('pushes that are no pushes', () => {
    const store = new DocumentStore(null, () => undefined);
    for (const text of ['', '{', 'null', '[]', '"x"', push('1', null), push(1.5, null), push(2 ** 40, null), '{"config":null}']) {
      const answer = store.push(text);
      assert.equal(answer.lastAppliedVersion, -1, text);
      assert.notEqual(answer.err, null, text);
    }
  });
});
