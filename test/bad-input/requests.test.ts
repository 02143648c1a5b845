// Requests that are too large, malformed or no requests, and an edge that sends nonsense: refused, and the good route goes on.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { raw, type Fields } from './network.ts';
import * as o from './objects.ts';
import { System } from './rig.ts';
import { MIB } from './vigil.ts';

let system: System;
before(async () => (system = await System.start({ edge: true })));
after(() => system?.stop());

const fields = (count: number, length: number): Fields =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'v'.repeat(length)]));

const HOST = `Host: ${o.GOOD_HOST}\r\n`;
const head = (line: string, more = ''): string => `${line}\r\n${HOST}Connection: close\r\n${more}\r\n`;

const garbage: readonly (readonly [string, string | Buffer, RegExp])[] = [
  ['random bytes', Buffer.concat([randomBytes(10_000), Buffer.from('\r\n\r\n')]), /^HTTP\/1\.1 400/],
  ['a TLS handshake', Buffer.from('16030100ff0100', 'hex'), /^HTTP\/1\.1 400/],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /^HTTP\/1\.1 400/],
  ['HTTP/3.7', head('GET / HTTP/3.7'), /^HTTP\/1\.1 400/],
  ['no host', 'GET / HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400/],
  ['two hosts', head('GET / HTTP/1.1', HOST), /^HTTP\/1\.1 400/],
  ['a host with a blank', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n', /^HTTP\/1\.1 400/],
  ['a NUL in a field', head('GET / HTTP/1.1', 'X: a\0b\r\n'), /^HTTP\/1\.1 400/],
  ['a blank in a name', head('GET / HTTP/1.1', 'X Y: a\r\n'), /^HTTP\/1\.1 400/],
  ['a folded field', head('GET / HTTP/1.1', 'X: a\r\n b\r\n'), /^HTTP\/1\.1 400/],
  ['two framings', head('POST / HTTP/1.1', 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n'), /^HTTP\/1\.1 400/],
  ['a negative length', head('POST / HTTP/1.1', 'Content-Length: -1\r\n'), /^HTTP\/1\.1 400/],
  ['an endless length', head('POST / HTTP/1.1', 'Content-Length: 99999999999999999999999\r\n'), /^HTTP\/1\.1 400/],
  ['an endless chunk', `${head('POST / HTTP/1.1', 'Transfer-Encoding: chunked\r\n')}ffffffffffffffffff\r\n`, /^HTTP\/1\.1 400/],
  ['user info', head('GET http://user:password@good.example.com/ HTTP/1.1'), /^HTTP\/1\.1 400/],
  ['CONNECT', head('CONNECT evil.example.com:443 HTTP/1.1'), /^HTTP\/1\.1 405/],
  ['a NUL in the path', head('GET /%00 HTTP/1.1'), /^HTTP\/1\.1 400/],
  ['a path above the root', head('GET /../../etc/passwd HTTP/1.1'), /^HTTP\/1\.1 400/],
  ['broken escapes', head('GET /%zz%e0%a4 HTTP/1.1'), /^HTTP\/1\.1 200/],
];

const LAST = { service: 'http_status:404' };
const documents: readonly (readonly [unknown, RegExp])[] = [
  ['garbage', /document: .*expected object, received string/],
  [[], /document: .*expected object, received array/],
  [{ ingress: 'x'.repeat(2 * MIB) }, /ingress: .*expected array, received string/],
  [{ ingress: [{ service: 5 }] }, /ingress\.0\.service: .*expected string, received number/],
  [{ ingress: [{ hostname: 'a', service: 'http://a' }] }, /ingress rule 1: the last rule must match every request/],
  [{ ingress: [{ path: '(', service: 'http://a' }, LAST] }, /ingress rule 1: the path is not a regular expression in RE2 syntax/],
  [{ ingress: [{ hostname: 'a.*.b', service: 'http://a' }, LAST] }, /ingress rule 1: the hostname may have one wildcard/],
  [{ ingress: [{ hostname: 'x', service: 'nonsense' }, LAST] }, /ingress rule 1: the service is no URL/],
  [{ ingress: [{ service: 'http_status:99999' }] }, /ingress rule 1: http_status needs a status code from 100 to 999/],
  [{ originRequest: { connectTimeout: 'soon' }, ingress: [LAST] }, /originRequest\.connectTimeout: .*expected number, received string/],
  [
    { ingress: Array.from({ length: 50_000 }, () => ({ hostname: 'x'.repeat(50), service: 'x' })) },
    /ingress rule 1: the service is no URL/,
  ],
];

suite('bad requests', () => {
  test('sets of headers: what fits is served, what does not is refused', async () => {
    const sets: readonly (readonly [string, Fields, number])[] = [
      ['1,900 fields', fields(1900, 1), 200],
      ['2,000 fields beside those of a client', fields(2000, 1), 431],
      ['10,000 fields', fields(10_000, 1), 431],
      ['100 KiB', fields(10, 10_240), 200],
      ['one field of 100 KiB', fields(1, 102_400), 200],
      ['200 KiB', fields(20, 10_240), 431],
    ];
    for (const [what, headers, status] of sets) assert.equal((await system.visit(o.GOOD_HOST, '/', headers)).status, status, what);
    assert.equal((await system.visitByEdge(o.GOOD_HOST, '/', fields(10, 10_240))).body, 'good', '100 KiB through the tunnel');
    assert.equal((await system.visitByEdge(o.GOOD_HOST, '/', fields(900, 1))).body, 'good', '900 fields through the tunnel');
  });

  test('what is no request is answered with an error and ends its own connection', async () => {
    await system.endures(
      'garbage',
      async () => {
        const answers = await Promise.all(garbage.map(async ([what, bytes]) => [what, await raw(system.ports.entry, bytes)] as const));
        const wrong = answers.filter(([, answer], index) => garbage[index]?.[2].test(answer) !== true);
        assert.deepEqual(wrong, []);
      },
      () => true,
    );
  });
});

suite('bad documents of the tunnel, and bad tokens', () => {
  test('a token that is none, in the Secret that the proxy has mounted, ends no connection', async () => {
    const text = randomBytes(40).toString('base64');
    system.secrets.add('no connector token', text);
    const before = system.edge.connections(o.TUNNEL_ID).map(({ id }) => id);
    await system.endures(
      'a token that is none',
      () => system.writeConnectorToken(text),
      () => /"problem":"the tunnel token does not hold a JSON object","msg":"the token of .* cannot be used"/.test(system.proxy.output),
    );
    const now = system.edge.connections(o.TUNNEL_ID).map(({ id }) => id);
    assert.deepEqual(
      before.filter((id) => !now.includes(id)),
      [],
    );
  });

  test('are refused with the rule and the reason, and the one before stays', async () => {
    const { appliedVersion = -1 } = system.edge.connections(o.TUNNEL_ID)[0] ?? {};
    for (const [index, [config, reason]] of documents.entries()) {
      const from = system.proxy.output.length;
      await system.endures(
        reason.source,
        async () => {
          system.document = { version: 1000 + index, config };
          await system.edge.configChanged(o.TUNNEL_ID);
        },
        // Each connection tells, and what it told of the document before may only arrive now.
        () =>
          system.proxy.output
            .slice(from)
            .split('\n')
            .slice(0, -1)
            .filter((text) => text.includes('"tunnel document refused, the previous one stays"'))
            .some((text) => reason.test((JSON.parse(text) as { readonly error: string }).error)),
      );
      assert.equal(system.edge.connections(o.TUNNEL_ID)[0]?.appliedVersion, appliedVersion);
    }
  });

  test('a version that is none is refused, and waits without end are taken as long ones', async () => {
    const from = system.proxy.output.length;
    for (const version of [1.5, 2 ** 31]) {
      system.document = { version, config: { ingress: [LAST] } };
      await system.edge.configChanged(o.TUNNEL_ID);
    }
    const refusals = (): number =>
      system.proxy.output.slice(from).match(/"error":"the push is no JSON object with version and config"/g)?.length ?? 0;
    await system.until('both are refused', () => refusals() >= 2);
    const originRequest = { connectTimeout: 1e12, keepAliveTimeout: 1e12, keepAliveConnections: 1e12 };
    await system.endures(
      'waits without end',
      async () => {
        system.document = { version: 2000, config: { ingress: [{ service: `http://127.0.0.1:${system.ports.entry}`, originRequest }] } };
        await system.edge.configChanged(o.TUNNEL_ID);
      },
      () => system.edge.connections(o.TUNNEL_ID).every((connection) => connection.appliedVersion === 2000),
    );
  });

  test('leave both processes small and silent about secrets', () => system.checkEnd({ controller: 400, proxy: 300 }));
});
