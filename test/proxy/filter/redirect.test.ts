// Location headers and rewritten paths, by the rules and the table of the Gateway API.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { leadsBack, redirectLocation, type VisitedUrl } from '#proxy/filter/redirect.ts';
import { rewritePath } from '#proxy/filter/rewrite.ts';
import { hasPrefix, normalisePath, normalisePrefix } from '#proxy/table/path.ts';
import type { PathEdit, RedirectPlan } from '#proxy/table/types.ts';

const full = (value: string): PathEdit => ({ type: 'ReplaceFullPath', value });
const replace = (value: string): PathEdit => ({ type: 'ReplacePrefixMatch', value });

function plan(changes: Partial<RedirectPlan> = {}): RedirectPlan {
  return { scheme: null, hostname: null, port: 0, path: null, statusCode: 302, ...changes };
}

function url(changes: Partial<VisitedUrl> = {}): VisitedUrl {
  return { scheme: 'https', host: 'app.example.com', port: 0, path: '/a/b', query: '', ...changes };
}

const locations: readonly (readonly [title: string, plan: RedirectPlan, request: VisitedUrl, location: string])[] = [
  ['rule 47: what is not named stays the visitor’s', plan(), url({ scheme: 'http' }), 'http://app.example.com/a/b'],
  ['rule 47: what is not named stays the visitor’s', plan({ hostname: 'b.example.com' }), url(), 'https://b.example.com/a/b'],
  ['rule 48: a given port is used', plan({ port: 8443 }), url(), 'https://app.example.com:8443/a/b'],
  ['rule 48: a given port wins over that of Host', plan({ port: 8443 }), url({ port: 9999 }), 'https://app.example.com:8443/a/b'],
  [
    'rule 48: a given scheme brings its well-known port',
    plan({ scheme: 'https' }),
    url({ scheme: 'http', port: 8080 }),
    'https://app.example.com/a/b',
  ],
  [
    'rule 48: neither given, the visitor’s port stays',
    plan({ hostname: 'b.example.com' }),
    url({ port: 8080 }),
    'https://b.example.com:8080/a/b',
  ],
  ['rule 48: 80 is left out for http', plan({ port: 80 }), url({ scheme: 'http' }), 'http://app.example.com/a/b'],
  ['rule 48: 443 is left out for https', plan({ port: 443, scheme: 'https' }), url({ scheme: 'http' }), 'https://app.example.com/a/b'],
  ['rule 48: 443 is written for http', plan({ port: 443 }), url({ scheme: 'http' }), 'http://app.example.com:443/a/b'],
  ['rule 48: 80 is written for https', plan({ scheme: 'https', port: 80 }), url(), 'https://app.example.com:80/a/b'],
  ['rule 48: the well-known port of Host is left out', plan(), url({ port: 443 }), 'https://app.example.com/a/b'],
  ['rule 49: the query is kept', plan({ path: full('/x') }), url({ query: 'a=1&b=%2F' }), 'https://app.example.com/x?a=1&b=%2F'],
  ['rule 49: a path without slash gets one', plan({ path: full('x') }), url(), 'https://app.example.com/x'],
  ['an IPv6 host is in brackets', plan(), url({ host: '::1', port: 8080 }), 'https://[::1]:8080/a/b'],
  ['an IPv6 host keeps its brackets', plan(), url({ host: '[::1]' }), 'https://[::1]/a/b'],
  ['the path is not cleaned', plan({ scheme: 'https' }), url({ path: '//a//b/../%2F/' }), 'https://app.example.com//a//b/../%2F/'],
  ['a request for no path is sent to /', plan({ scheme: 'https' }), url({ path: '' }), 'https://app.example.com/'],
];

for (const [title, redirect, request, location] of locations) {
  test(`${title}: ${location}`, () => {
    assert.equal(redirectLocation(redirect, request, ''), location);
  });
}

/** The table in HTTPPathModifier's documentation, and what implementations get wrong beyond it. */
const prefixTable: readonly (readonly [path: string, prefix: string, value: string, result: string])[] = [
  ['/foo/bar', '/foo', '/xyz', '/xyz/bar'],
  ['/foo/bar', '/foo', '/xyz/', '/xyz/bar'],
  ['/foo/bar', '/foo/', '/xyz', '/xyz/bar'],
  ['/foo/bar', '/foo/', '/xyz/', '/xyz/bar'],
  ['/foo', '/foo', '/xyz', '/xyz'],
  ['/foo/', '/foo', '/xyz', '/xyz/'],
  ['/foo/bar', '/foo', '', '/bar'],
  ['/foo/', '/foo', '', '/'],
  ['/foo', '/foo', '', '/'],
  ['/foo/', '/foo', '/', '/'],
  ['/foo', '/foo', '/', '/'],
  ['/foo/bar', '/foo', '/', '/bar'],
  ['/foo', '/foo', '/xyz/', '/xyz/'],
  ['/bar', '/', '/xyz', '/xyz/bar'],
  ['/bar', '/', '/', '/bar'],
  ['/', '/', '/xyz', '/xyz/'],
  ['/foo//bar/', '/foo', '/xyz', '/xyz//bar/'],
  ['/foo/a%2Fb', '/foo', '/xyz', '/xyz/a%2Fb'],
  ['/f%6Fo/a%20b', '/foo', '/xyz', '/xyz/a%20b'],
  ['/foo/bar', '/foo', 'xyz', '/xyz/bar'],
];

for (const [path, prefix, value, result] of prefixTable) {
  test(`rule 50: ${path} with ${prefix} replaced by ${JSON.stringify(value)} is ${result}`, () => {
    const matched = normalisePrefix(prefix);
    assert.ok(hasPrefix(normalisePath(path), matched));
    assert.equal(rewritePath({ hostname: null, path: replace(value) }, path, matched), result);
    assert.equal(redirectLocation(plan({ path: replace(value) }), url({ path }), matched), `https://app.example.com${result}`);
  });
}

test('a rewrite without path leaves it as it arrived', () => {
  assert.equal(rewritePath({ hostname: 'x', path: null }, '/a//b%2F', '/a'), '/a//b%2F');
});

test('a rewritten path is never empty and begins with a slash', () => {
  const element = fc.constantFrom('a', 'b', '%2F', '', 'a%41');
  const path = fc.array(element, { maxLength: 4 }).map((elements) => `/${elements.join('/')}`);
  fc.assert(
    fc.property(path, fc.oneof(path, fc.constantFrom('', 'x', 'x/')), fc.nat(4), fc.boolean(), (path, value, count, isFull) => {
      const prefix = path
        .split('/')
        .slice(0, count + 1)
        .join('/');
      const result = rewritePath({ hostname: null, path: isFull ? full(value) : replace(value) }, path, normalisePrefix(prefix));
      assert.ok(result.startsWith('/'), result);
      if (!isFull) assert.ok(result.endsWith(path.split('/').slice(prefix.replace(/\/$/, '').split('/').length).join('/')), result);
    }),
  );
});

test('a redirect to the visitor’s own URL is recognised', () => {
  const request = url({ scheme: 'http', port: 80, query: 'q=1' });
  assert.ok(leadsBack(redirectLocation(plan({ scheme: 'http' }), request, null), request));
  assert.ok(!leadsBack(redirectLocation(plan({ scheme: 'https' }), request, null), request));
  assert.ok(!leadsBack(redirectLocation(plan({ path: full('/other') }), request, null), request));
});
