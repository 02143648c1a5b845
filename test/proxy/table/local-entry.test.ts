// The proxy's own entry: one Gateway, one listener port, one scheme; the most specific listener owns a host, alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CertificateConfig, LocalEntryConfig, LocalListenerConfig, RouteConfig } from '#proxy/config/schema.ts';
import { compileTable } from '#proxy/table/compile.ts';
import { config, match, request, route } from './build.ts';

const CERTIFICATE: CertificateConfig = { kind: 'certificate', id: 'Secret/infra/tls', cert: 'chain', key: 'key' };

function local(gateway: string, listenerPort: number, protocol: 'HTTP' | 'HTTPS', hostnames: readonly string[]): LocalEntryConfig {
  const listeners = hostnames.map((hostname): LocalListenerConfig => {
    const id = `Gateway/infra/${gateway}/${hostname}-${listenerPort}`;
    return { id, protocol, port: listenerPort, ...(hostname === '' ? {} : { hostname }), certificates: [CERTIFICATE.id] };
  });
  const port = 20_000 + listenerPort + (gateway === 'a' ? 0 : 100);
  return { kind: 'localEntry', id: `local/infra/${gateway}/${listenerPort}`, port, listenerPort, protocol, listeners };
}

/** A route for `/` at one listener of an entry. */
function attached(entry: LocalEntryConfig, hostname: string, hostnames: readonly string[] = []): RouteConfig {
  const listener = entry.listeners.find((one) => (one.hostname ?? '') === hostname)?.id ?? '';
  const name = `${entry.id}:${hostname === '' ? 'any' : hostname}`;
  return { ...route(name), id: name, attachments: [{ entry: entry.id, listener, hostnames: [...hostnames] }] };
}

function table(entries: readonly LocalEntryConfig[], routes: readonly RouteConfig[]) {
  return compileTable({ ...config(routes, []), certificates: [CERTIFICATE], localEntries: entries });
}

function winner(routes: ReturnType<typeof table>, entry: LocalEntryConfig, key: Parameters<typeof request>[0]): string {
  return routes.entries.get(entry.port)?.match(request(key))?.rule.routeId ?? 'none';
}

test('of the listeners of one port the most specific owns a host, whatever hostnames routes have', () => {
  const http = local('a', 80, 'HTTP', ['', '*.example.com', '*.foo.example.com', 'abc.foo.example.com']);
  const hostnames = ['bar.com', 'example.com', 'x.example.com', 'x.foo.example.com', 'abc.foo.example.com'];
  const own = ['', '*.example.com', '*.foo.example.com', 'abc.foo.example.com'].map((hostname) => attached(http, hostname));
  const routes = table([http], own);
  assert.deepEqual(
    hostnames.map((host) => winner(routes, http, { host, scheme: 'http' }).split(':')[1]),
    ['any', 'any', '*.example.com', '*.foo.example.com', 'abc.foo.example.com'],
  );
  const isolated = table([http], [attached(http, '', ['abc.foo.example.com', 'bar.com'])]);
  assert.equal(winner(isolated, http, { host: 'abc.foo.example.com' }), 'none', 'the exact listener has no route');
  assert.notEqual(winner(isolated, http, { host: 'bar.com' }), 'none');
});

test('neither the port of Host nor the scheme of a request leads to another listener', () => {
  const [plain, alternative, secure] = [local('a', 80, 'HTTP', ['']), local('a', 90, 'HTTP', ['']), local('a', 443, 'HTTPS', [''])];
  const routes = table([plain, alternative, secure], [attached(plain, ''), attached(secure, '')]);
  for (const hostPort of [0, 80, 90, 443, 1234]) {
    for (const scheme of ['http', 'https'] as const) {
      assert.equal(winner(routes, plain, { hostPort, scheme }), 'local/infra/a/80:any');
      assert.equal(winner(routes, secure, { hostPort, scheme }), 'local/infra/a/443:any');
      assert.equal(winner(routes, alternative, { hostPort, scheme }), 'none');
    }
  }
});

test('a listener of another protocol is never asked', () => {
  const mixed: LocalEntryConfig = { ...local('a', 80, 'HTTP', ['']), protocol: 'HTTPS' };
  assert.equal(winner(table([mixed], [attached(mixed, '')]), mixed, {}), 'none');
});

test('two Gateways with the same port and host know nothing of each other', () => {
  const [a, b] = [local('a', 80, 'HTTP', ['']), local('b', 80, 'HTTP', [''])];
  const shared: RouteConfig = { ...attached(a, ''), attachments: [...attached(a, '').attachments, ...attached(b, '').attachments] };
  const routes = table(
    [a, b],
    [{ ...shared, rules: [{ ...shared.rules[0]!, matches: [{ path: { type: 'Exact', value: '/both' } }] }] }, attached(b, '')],
  );
  assert.equal(winner(routes, a, { path: '/both' }), 'local/infra/a/80:any');
  assert.equal(winner(routes, b, { path: '/both' }), 'local/infra/a/80:any');
  assert.equal(winner(routes, a, { path: '/' }), 'none');
  assert.equal(winner(routes, b, { path: '/' }), 'local/infra/b/80:any');
});

test('a handshake finds its listener as a request does, and the listener its certificates', () => {
  const https = local('a', 443, 'HTTPS', ['*.example.com', 'a.example.com']);
  const entry = table([{ ...https, clientValidation: { mode: 'AllowValidOnly', ca: 'bundle' } }], []).entries.get(https.port);
  const exact = entry?.local?.listenerOf('a.example.com');
  assert.deepEqual(exact?.certificates, [{ cert: 'chain', key: 'key' }]);
  assert.equal(entry?.local?.listenerOf('x.example.com'), entry?.local?.listenerOf('y.example.com'));
  assert.notEqual(entry?.local?.listenerOf('x.example.com'), exact);
  assert.deepEqual([entry?.local?.listenerOf(''), entry?.local?.listenerOf('example.com')], [null, null]);
  assert.deepEqual(entry?.local?.clientValidation, { mode: 'AllowValidOnly', ca: 'bundle' });
});

test('behind a tunnel there is no such thing', () => {
  assert.equal(match(compileTable(config([route('r')])))?.rule.routeId, 'HTTPRoute/default/r');
  assert.deepEqual(
    [...compileTable(config([])).entries.values()].map(({ local: own }) => own),
    [null],
  );
});
