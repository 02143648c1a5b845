// The proxy's config API against everybody who reaches it: garbage, enormous bodies, wrong keys, and connections that never get anywhere.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, suite, test } from 'node:test';
import tls from 'node:tls';
import { pskClientOptions } from '#proxy/config/psk.ts';
import type { ConfigItem } from '#proxy/config/schema.ts';
import { serializeConfig } from '#proxy/config/serialize.ts';
import { raw, request, type Answer, type Fields } from './network.ts';
import * as o from './objects.ts';
import { System } from './rig.ts';
import { MIB } from './vigil.ts';

let system: System;
before(async () => (system = await System.start()));
after(() => system?.stop());

const NDJSON = { 'content-type': 'application/x-ndjson' };
const EPOCH = 2 ** 40;
const TLS_ALERT = 0x15;

interface Put {
  readonly method?: string;
  readonly headers?: Fields;
  /** The bearer token; its absence leaves out the header. */
  readonly bearer?: string | null;
  /** The token that the TLS key is made from. */
  readonly key?: string;
}

function put(
  body: string | Buffer,
  { method = 'PUT', headers = NDJSON, bearer = system.authToken, key = system.authToken }: Put = {},
): Promise<Answer> {
  const authorization: Fields = bearer === null ? {} : { authorization: `Bearer ${bearer}` };
  return request(
    {
      secure: true,
      port: system.ports.config,
      path: '/config',
      method,
      headers: { ...headers, ...authorization },
      ...pskClientOptions(key),
    },
    body,
  );
}

const lines = (...items: readonly unknown[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('');
const header = { kind: 'config', format: 1, epoch: EPOCH, sequence: 1, digest: '0'.repeat(64) };
const end = { kind: 'end', items: 1 };
const route = { kind: 'route', id: 'HTTPRoute/a/b', type: 'HTTP', namespace: 'a', name: 'b', created: '', attachments: [], rules: [] };

/** A complete configuration whose digest is right. */
const whole = (...items: readonly ConfigItem[]): string =>
  [...serializeConfig(items, { epoch: EPOCH, sequence: 1 }, () => createHash('sha256')).lines].map((line) => `${line}\n`).join('');

const sameDigest = async (): Promise<string> => (JSON.parse((await put('', { method: 'GET' })).body) as { readonly digest: string }).digest;

suite('bad configurations', () => {
  test('are refused with what is wrong, and the one in force stays', async () => {
    const bodies: readonly (readonly [string, string | Buffer, number, RegExp])[] = [
      ['nothing', '', 400, /the configuration is empty/],
      ['text', 'hello\n', 400, /line 1 is not a JSON object in UTF-8/],
      ['bytes', Buffer.from([0xff, 0xfe, 0x00, 0x0a]), 400, /line 1 is not a JSON object in UTF-8/],
      ['a list', '[]\n', 400, /line 1 is not a JSON object/],
      ['a nest', `${'['.repeat(100_000)}\n`, 400, /line 1 is not a JSON object/],
      ['another format', lines({ ...header, format: 2 }), 400, /the configuration has format 2, this proxy reads format 1/],
      ['no format', lines({ kind: 'config' }), 400, /line 1 is not a header: format/],
      ['a negative epoch', lines({ ...header, epoch: -1 }), 400, /line 1 is not a header: epoch/],
      ['an old epoch', lines({ ...header, epoch: 1 }), 409, /\(epoch 1, sequence 1\) is not later than/],
      ['only a header', lines(header), 400, /the configuration has no end line/],
      ['an unknown kind', lines(header, { kind: 'x', id: 'y' }), 400, /line 2 has no id or a kind that this proxy does not know/],
      ['a bad route', lines(header, { ...route, attachments: 'x' }), 400, /line 2: route "HTTPRoute\/a\/b" is invalid: attachments/],
      ['twice the same', lines(header, route, route), 400, /line 3: route "HTTPRoute\/a\/b" occurs twice/],
      ['a wrong count', lines(header, { kind: 'end', items: 5 }), 400, /the end line announces 5 items, but there are 0/],
      ['a wrong digest', lines(header, route, end), 400, /the digest of the items is not that of the header/],
      ['a line of 5 MiB', `${lines(header)}{"kind":"route","id":"${'x'.repeat(5 * MIB)}"}\n`, 413, /line 2 is longer than 4194304 bytes/],
    ];
    const before = await sameDigest();
    await system.endures(
      'bad configurations',
      async () => {
        const wrong: string[] = [];
        for (const [what, body, status, message] of bodies) {
          const answer = await put(body);
          if (answer.status !== status || !message.test((JSON.parse(answer.body) as { readonly message: string }).message))
            wrong.push(`${what}: ${answer.status} ${answer.body}`);
        }
        assert.deepEqual(wrong, []);
      },
      () => true,
    );
    assert.equal(await sameDigest(), before);
  });

  test('from whoever has not the token, the method, the type or TLS', async () => {
    const good = whole();
    assert.equal((await put(good, { bearer: null })).status, 401);
    assert.equal((await put(good, { bearer: 'x'.repeat(10_000) })).status, 401);
    assert.equal((await put(good, { bearer: system.authToken.slice(1) })).status, 401);
    assert.equal((await put(good, { method: 'POST' })).status, 405);
    assert.equal((await put(good, { method: 'DELETE' })).status, 405);
    assert.equal((await put(good, { headers: { 'content-type': 'text/html' } })).status, 415);
    await assert.rejects(put(good, { key: 'another token' }), /ECONNRESET|alert|bad record mac|handshake/i);
    const open = await request(
      { port: system.ports.config, path: '/config', method: 'PUT', headers: { ...NDJSON, authorization: `Bearer ${system.authToken}` } },
      good,
    );
    assert.equal(open.status, 426);
    assert.match(open.body, /served over TLS only/);
  });

  test('of 65 MiB: read to the end, while everybody else is served', async () => {
    const before = await sameDigest();
    const name = 'n'.repeat(480);
    const items = Array.from(
      { length: 120_000 },
      (_, index) => `{"kind":"backend","id":"${index}","name":"${name}","protocol":"http1","endpoints":["10.0.0.1:80"]}\n`,
    );
    const body = Buffer.from(lines(header) + items.join('') + lines({ kind: 'end', items: items.length }));
    assert.ok(body.length > 64 * MIB);
    let answer: Answer | null = null;
    await system.endures(
      '65 MiB',
      async () => void (answer = await put(body, {})),
      () => answer !== null,
      { beats: 10 },
    );
    assert.match(JSON.stringify(answer), /"status":400.*the digest of the items is not that of the header/);
    assert.equal(await sameDigest(), before);
  });
});

suite('bad connections', () => {
  test('bytes that are neither HTTP nor TLS, at every port of both processes', async () => {
    const garbage = [
      '\0\0\0\0',
      'hello\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      `GET /config HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(5000)}\r\n`,
      '\x16\x03\x01\x00\x05hello',
      `GET /%zz${'%'.repeat(1000)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    ];
    const { config, health, metrics } = system.ports;
    const answers = await Promise.all([config, health, metrics].flatMap((port) => garbage.map((bytes) => raw(port, bytes))));
    const isRefused = (answer: string): boolean => answer === '' || answer.startsWith('HTTP/1.1 4') || answer.codePointAt(0) === TLS_ALERT;
    assert.deepEqual(
      answers.filter((answer) => !isRefused(answer)),
      [],
    );
    assert.doesNotMatch(answers.join(), / at |node_modules|file:/);
  });

  test('a thousand that say nothing, and some that say it slowly, hold up nobody', async () => {
    const { config } = system.ports;
    const sockets: net.Socket[] = [];
    const keep = (socket: net.Socket): net.Socket => {
      sockets.push(socket.on('error', () => undefined));
      return socket;
    };
    const idle = Array.from({ length: 1000 }, () => keep(net.connect({ port: config, host: '127.0.0.1' })));
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    const slow = [
      net.connect({ port: config, host: '127.0.0.1' }),
      tls.connect({ port: config, host: '127.0.0.1', ...pskClientOptions(system.authToken) }),
    ].map(keep);
    for (const socket of slow) socket.write(`PUT /config HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${system.authToken}\r\n`);
    const timer = setInterval(() => slow.forEach((socket) => socket.write('X: y\r\n')), 20);
    await system.endures(
      'a thousand connections',
      () => system.write('meanwhile.yaml', o.yaml(o.rule('meanwhile', {}))),
      async () => (await system.visit('meanwhile.example.com')).body === 'good',
    );
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
  });

  test('leave both processes small and silent about secrets', () => system.checkEnd({ controller: 400, proxy: 500 }));
});
