// Small values that users write: addresses, durations, tokens, Secret data.
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import fc from 'fast-check';
import { forbidden, hostPort } from '#controller/graph/address.ts';
import { parseDuration } from '#controller/graph/duration.ts';
import { decodeBase64, decodeToken, secretValue } from '#controller/graph/token.ts';
import { ACCOUNT, connectorToken, secret, TUNNEL, TUNNEL_SECRET } from '#test/build/objects.ts';

test('addresses that a proxy must not call', () => {
  for (const [address, expected] of [
    ['10.0.0.1', null],
    ['203.0.113.9', null],
    ['2001:db8::1', null],
    ['fd00::1', null],
    ['::ffff:10.0.0.1', null],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['::1', 'loopback'],
    ['0:0:0:0:0:0:0:1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::127.0.0.1', 'loopback'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['169.254.169.254', 'link-local'],
    ['::ffff:169.254.169.254', 'link-local'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['::', 'unspecified'],
    ['224.0.0.1', 'multicast'],
    ['255.255.255.255', 'multicast'],
    ['ff02::1', 'multicast'],
    ['127.1', 'not an IP address'],
    ['0177.0.0.1', 'not an IP address'],
    ['2130706433', 'not an IP address'],
    ['256.0.0.1', 'not an IP address'],
    ['fe80::1%eth0', 'not an IP address'],
    ['1::2::3', 'not an IP address'],
    ['1:2:3:4:5:6:7:8:9', 'not an IP address'],
    [':1', 'not an IP address'],
    ['localhost', 'not an IP address'],
    ['', 'not an IP address'],
    ['10.0.0.1:80', 'not an IP address'],
  ] as const)
    assert.equal(forbidden(address), expected, address);
  assert.equal(hostPort('10.0.0.1', 80), '10.0.0.1:80');
  assert.equal(hostPort('2001:db8::1', 80), '[2001:db8::1]:80');
  fc.assert(fc.property(fc.ipV4(), (address) => forbidden(address) !== 'not an IP address'));
  fc.assert(fc.property(fc.ipV6(), (address) => forbidden(address) !== 'not an IP address'));
  fc.assert(fc.property(fc.string(), (text) => void forbidden(text)));
});

test('durations', () => {
  for (const [text, expected] of [
    ['0s', 0],
    ['10s', 10_000],
    ['500ms', 500],
    ['1m30s', 90_000],
    ['2h', 7_200_000],
    ['1h1m1s1ms', 3_661_001],
    ['', null],
    ['10', null],
    ['1.5s', null],
    ['-1s', null],
    ['100000s', null],
    ['1s1s1s1s1s', null],
    ['1d', null],
  ] as const)
    assert.equal(parseDuration(text), expected, text);
});

test('a connector token tells account and tunnel, and nothing else', () => {
  assert.deepEqual(decodeToken(connectorToken()), { accountId: ACCOUNT, tunnelId: TUNNEL });
  assert.deepEqual(decodeToken(`${connectorToken({ t: TUNNEL.toUpperCase() })}\n`), { accountId: ACCOUNT, tunnelId: TUNNEL });
});

test('what is not a token is told without its bytes', () => {
  for (const text of [
    '',
    'not base64!',
    Buffer.from(`no json ${TUNNEL_SECRET}`).toString('base64'),
    Buffer.from('[]').toString('base64'),
    Buffer.from('null').toString('base64'),
    Buffer.from('"text"').toString('base64'),
    connectorToken({ a: undefined }),
    connectorToken({ a: 'short' }),
    connectorToken({ a: { nested: TUNNEL_SECRET } }),
    connectorToken({ t: 'no-uuid' }),
    connectorToken({ t: 7 }),
    connectorToken({ s: '' }),
    connectorToken({ s: null }),
  ]) {
    const result = decodeToken(text);
    assert.ok('problem' in result, text);
    assert.ok(!result.problem.includes(TUNNEL_SECRET));
  }
  fc.assert(fc.property(fc.string(), (text) => void decodeToken(text)));
});

test('values of Secrets', () => {
  const object = secret('s', 'ns', { key: ' value\n', empty: '' });
  assert.equal(secretValue(object, 'key'), 'value');
  assert.equal(secretValue(object, 'empty'), '');
  assert.equal(secretValue(object, 'absent'), undefined);
  assert.equal(secretValue(object, 'constructor'), undefined);
  assert.equal(secretValue({ ...object, data: { key: '%%%' } }, 'key'), null);
  assert.equal(secretValue({ ...object, data: { key: '//79' } }, 'key'), null);
  assert.equal(secretValue({ ...object, stringData: { key: 'newer' } }, 'key'), 'newer');
  assert.equal(decodeBase64('w6Q=\n'), 'ä');
});
