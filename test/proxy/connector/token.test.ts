// Reading tunnel tokens: good ones, and every way to be bad, without a word of the token in the error.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { decodeToken } from '#proxy/connector/token.ts';

const ID = '3f2b8c1d-0a4e-4f6b-9c7d-112233445566';
const SECRET = Buffer.alloc(32, 5).toString('base64');
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');

describe('token', () => {
  test('a good one', () => {
    const decoded = decodeToken(encode({ a: 'account', t: ID.toUpperCase(), s: SECRET }));
    assert.deepEqual(decoded, { account: 'account', tunnelId: ID, secret: Buffer.alloc(32, 5), endpoint: null });
  });

  test('with an endpoint, and with white space around it', () => {
    const decoded = decodeToken(`\n${encode({ a: 'account', t: ID, s: SECRET, e: 'fed' })} \n`);
    assert.ok('endpoint' in decoded);
    assert.equal(decoded.endpoint, 'fed');
  });

  const bad: readonly (readonly [string, string])[] = [
    ['empty', ''],
    ['not base64', 's3cr3t-but-no-base64!'],
    ['base64 without its padding', Buffer.from('12345').toString('base64').replace('=', '')],
    ['base64 of no JSON', Buffer.from('{"a":').toString('base64')],
    ['an array', encode([1])],
    ['null', encode(null)],
    ['no account', encode({ t: ID, s: SECRET })],
    ['an account of another type', encode({ a: 7, t: ID, s: SECRET })],
    ['no tunnel', encode({ a: 'x', s: SECRET })],
    ['a tunnel that is no UUID', encode({ a: 'x', t: 'tunnel', s: SECRET })],
    ['no secret', encode({ a: 'x', t: ID })],
    ['a secret that is not base64', encode({ a: 'x', t: ID, s: '%%%' })],
    ['megabytes', 'A'.repeat(4_000_000)],
  ];
  for (const [name, token] of bad) {
    test(name, () => {
      const decoded = decodeToken(token);
      assert.ok('error' in decoded);
      assert.match(decoded.error, /^the tunnel token /);
      if (token.length > 8) assert.ok(!decoded.error.includes(token.slice(0, 8)));
    });
  }

  test('random text never throws', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.base64String(), fc.json().map(encode)), (token) => void decodeToken(token)));
  });
});
