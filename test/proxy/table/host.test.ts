// Which hostname, which listener: specificity, isolation, and how a tunnel's requests find their listener.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { HostMap, hostPattern } from '#proxy/table/host.ts';
import { entry, listener, match, prefix, route, rule, table, winner } from './build.ts';

test('rule 4: the hostname is compared before the path, exact before longer before shorter wildcard before none', () => {
  const routes = table([
    route('any', { rules: [rule(prefix('/deep/path'))] }),
    route('short', { hostnames: ['*.example.com'] }),
    route('long', { hostnames: ['*.app.example.com'] }),
    route('exact', { hostnames: ['x.app.example.com'] }),
  ]);
  assert.equal(winner(routes, { host: 'x.app.example.com', path: '/deep/path' }), 'exact[0]');
  assert.equal(winner(routes, { host: 'y.app.example.com', path: '/deep/path' }), 'long[0]');
  assert.equal(winner(routes, { host: 'app.example.com', path: '/deep/path' }), 'short[0]');
  assert.equal(winner(routes, { host: 'example.com', path: '/deep/path' }), 'any[0]');
});

test('rule 4: what the most specific hostname does not match is not found elsewhere', () => {
  const routes = table([
    route('broad', { hostnames: ['*.example.com'] }),
    route('narrow', { hostnames: ['a.example.com'], rules: [rule(prefix('/only'))] }),
  ]);
  assert.equal(winner(routes, { host: 'a.example.com', path: '/only' }), 'narrow[0]');
  assert.equal(winner(routes, { host: 'a.example.com', path: '/other' }), 'none');
  assert.equal(winner(routes, { host: 'b.example.com', path: '/other' }), 'broad[0]');
});

test('rule 13: an unknown host is not found', () => {
  const routes = table([route('r', { hostnames: ['a.example.com'] })]);
  assert.equal(winner(routes, { host: 'b.example.com' }), 'none');
  assert.equal(winner(routes, { host: '' }), 'none');
  assert.equal(winner(routes, { host: 'a.'.repeat(40_000) }), 'none');
  assert.equal(winner(table([]), {}), 'none');
});

test('rule 15: a wildcard stands for one or more labels, never for none', () => {
  const routes = table([route('r', { hostnames: ['*.example.com'] })]);
  assert.equal(winner(routes, { host: 'a.example.com' }), 'r[0]');
  assert.equal(winner(routes, { host: 'a.b.example.com' }), 'r[0]');
  assert.equal(winner(routes, { host: 'example.com' }), 'none');
  assert.equal(winner(routes, { host: '.example.com' }), 'none');
  assert.equal(winner(routes, { host: 'evilexample.com' }), 'none');
  assert.equal(winner(routes, { host: `${'a.'.repeat(120)}example.com` }), 'r[0]');
  assert.equal(winner(routes, { host: `${'a.'.repeat(125)}example.com` }), 'none', 'longer than any DNS name');
});

test('rule 16: hostnames of the configuration have no case', () => {
  const routes = table([route('r', { hostnames: ['A.Example.COM'] })]);
  assert.equal(winner(routes, { host: 'a.example.com' }), 'r[0]');
});

test('the arm tells the hostname pattern under which it was found', () => {
  const on = listener({ hostname: '*.example.com' });
  const routes = table([route('hostless', { listeners: [on] })], [entry(on)]);
  assert.equal(match(routes, { host: 'a.example.com' })?.hostname, '*.example.com');
  assert.equal(match(table([route('any')]))?.hostname, '');
});

test('a route without hostnames has those of its listener, and shares them with routes that spell them out', () => {
  const on = listener({ hostname: 'app.example.com' });
  const routes = table(
    [
      route('spelled', { listeners: [on], hostnames: ['app.example.com'], rules: [rule(prefix('/x'))] }),
      route('hostless', { listeners: [on] }),
    ],
    [entry(on)],
  );
  assert.equal(winner(routes, { path: '/x' }), 'spelled[0]');
  assert.equal(winner(routes, { path: '/y' }), 'hostless[0]');
});

test('rule 84: only routes of the most specific listener answer', () => {
  const broad = listener();
  const wildcard = listener({ hostname: '*.example.com' });
  const narrow = listener({ hostname: 'a.example.com' });
  const routes = table(
    [
      route('broad', { listeners: [broad] }),
      route('wildcard', { listeners: [wildcard], rules: [rule(prefix('/w'))] }),
      route('narrow', { listeners: [narrow], rules: [rule(prefix('/n'))] }),
    ],
    [entry(broad, wildcard, narrow)],
  );
  assert.equal(winner(routes, { host: 'a.example.com', path: '/n' }), 'narrow[0]');
  assert.equal(winner(routes, { host: 'a.example.com', path: '/w' }), 'none');
  assert.equal(winner(routes, { host: 'b.example.com', path: '/w' }), 'wildcard[0]');
  assert.equal(winner(routes, { host: 'b.example.com', path: '/' }), 'none');
  assert.equal(winner(routes, { host: 'b.org', path: '/' }), 'broad[0]');
});

test('rule 84: a listener without routes keeps the hosts that are its own', () => {
  const broad = listener();
  const narrow = listener({ hostname: 'a.example.com' });
  assert.equal(winner(table([route('broad', { listeners: [broad] })], [entry(broad, narrow)]), { host: 'a.example.com' }), 'none');
});

const http = listener({ protocol: 'HTTP' });
const https = listener({ protocol: 'HTTPS' });

test('the listener of the visitor’s scheme answers', () => {
  const routes = table([route('plain', { listeners: [http] }), route('tls', { listeners: [https] })], [entry(http, https)]);
  assert.equal(winner(routes, { scheme: 'https' }), 'tls[0]');
  assert.equal(winner(routes, { scheme: 'http' }), 'plain[0]');
});

test('the other scheme’s listeners are asked only if none of the first has the host', () => {
  const named = listener({ protocol: 'HTTPS', hostname: 'a.example.com' });
  const routes = table(
    [route('plain', { listeners: [http] }), route('tls', { listeners: [named], rules: [rule(prefix('/tls'))] })],
    [entry(http, named)],
  );
  assert.equal(winner(routes, { host: 'a.example.com', path: '/' }), 'none', 'the HTTPS listener has the host and keeps it');
  assert.equal(winner(routes, { host: 'b.example.com', path: '/' }), 'plain[0]');
  const only = table([route('tls', { listeners: [https] })], [entry(https)]);
  assert.equal(winner(only, { scheme: 'http' }), 'tls[0]');
});

test('the port of Host selects only among listeners if some have it', () => {
  const odd = listener({ protocol: 'HTTPS', port: 8443 });
  const routes = table([route('default', { listeners: [https] }), route('odd', { listeners: [odd] })], [entry(https, odd)]);
  assert.equal(winner(routes, { hostPort: 8443 }), 'odd[0]');
  assert.equal(winner(routes, { hostPort: 443 }), 'default[0]');
  assert.equal(winner(routes, { hostPort: 9999 }), 'default[0]');
});

test('the well-known port goes first when none is written', () => {
  const odd = listener({ protocol: 'HTTPS', port: 8443 });
  const routes = table([route('a-odd', { listeners: [odd] }), route('default', { listeners: [https] })], [entry(https, odd)]);
  assert.equal(winner(routes), 'default[0]');
});

test('the most specific hostname goes before the well-known port', () => {
  const odd = listener({ protocol: 'HTTPS', port: 8443, hostname: 'a.example.com' });
  const routes = table([route('default', { listeners: [https] }), route('odd', { listeners: [odd] })], [entry(https, odd)]);
  assert.equal(winner(routes, { host: 'a.example.com' }), 'odd[0]');
});

test('a port that only a listener with another hostname has filters all the same', () => {
  const odd = listener({ protocol: 'HTTPS', port: 8443, hostname: 'b.example.com' });
  const routes = table([route('default', { listeners: [https] })], [entry(https, odd)]);
  assert.equal(winner(routes, { host: 'a.example.com', hostPort: 8443 }), 'none');
});

test('listeners that a request cannot tell apart are one', () => {
  const one = { ...listener(), id: 'Gateway/a/one/https' };
  const two = { ...listener(), id: 'Gateway/b/two/https' };
  const routes = table(
    [
      route('first', { listeners: [one], rules: [rule(prefix('/x'))] }),
      route('second', { listeners: [two] }),
      route('both', { listeners: [one, two], rules: [rule(prefix('/y'))] }),
    ],
    [entry(one, two)],
  );
  assert.equal(winner(routes, { path: '/x' }), 'first[0]');
  assert.equal(winner(routes, { path: '/z' }), 'second[0]');
  assert.equal(winner(routes, { path: '/y' }), 'both[0]');
});

test('ports that are not well-known and not written in Host are one', () => {
  const a = listener({ port: 8443 });
  const b = listener({ port: 9443 });
  const routes = table(
    [route('a', { listeners: [a], rules: [rule(prefix('/a'))] }), route('b', { listeners: [b], rules: [rule(prefix('/b'))] })],
    [entry(a, b)],
  );
  assert.equal(winner(routes, { path: '/a' }), 'a[0]');
  assert.equal(winner(routes, { path: '/b' }), 'b[0]');
  assert.equal(winner(routes, { path: '/b', hostPort: 8443 }), 'none');
});

const label = fc.constantFrom('a', 'b', 'xa', 'example', 'com');
const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
const patternOf = fc.oneof(
  name,
  name.map((one) => `*.${one}`),
  fc.constant(''),
  fc.constant('*'),
);

test('the most specific pattern is found, as a naive comparison finds it', () => {
  const covers = (pattern: string, host: string): boolean =>
    pattern === '' || pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1);
  const rank = (pattern: string): number => (pattern === '' ? 0 : pattern.startsWith('*.') ? pattern.length : 1000);
  fc.assert(
    fc.property(fc.array(patternOf, { maxLength: 8 }), name, (patterns, host) => {
      const hosts = new HostMap<string>();
      for (const pattern of patterns.map(hostPattern)) hosts.set(pattern, pattern);
      const expected =
        patterns
          .map(hostPattern)
          .filter((pattern) => covers(pattern, host))
          .sort((a, b) => rank(b) - rank(a))[0] ?? null;
      assert.equal(hosts.find(host), expected);
    }),
  );
});
