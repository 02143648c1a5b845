// The encoded header list of responses.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { decodeHeaders, encodeHeaders, isControlHeader } from '#proxy/connector/wire.ts';

describe('wire: response headers', () => {
  test('known text', () => {
    assert.equal(encodeHeaders(['Content-Type', 'text/plain', 'X', '']), 'Q29udGVudC1UeXBl:dGV4dC9wbGFpbg;WA:');
    assert.equal(encodeHeaders([]), '');
  });

  test('there and back, in order and with repeats', () => {
    const latin1 = fc.string({ unit: fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code)) });
    const pairs = fc
      .array(
        fc.tuple(
          latin1.filter((name) => name !== ''),
          latin1,
        ),
      )
      .map((list) => list.flat());
    fc.assert(fc.property(pairs, (list) => assert.deepEqual(decodeHeaders(encodeHeaders(list)), list)));
  });

  test('anything else is null, never a throw', () => {
    for (const text of [';', ':', 'a', 'a:b:c', 'a:b;', 'YQ:YQ;;YQ:YQ', 'Y Q:YQ']) assert.equal(decodeHeaders(text), null, text);
    fc.assert(fc.property(fc.string(), (text) => void decodeHeaders(text)));
  });

  test('reserved names', () => {
    for (const name of ['cf-int-x', 'cf-cloudflared-response-meta', 'cf-proxy-x']) assert.equal(isControlHeader(name), true);
    for (const name of ['cf-ray', 'cf-cache-status', 'x-cf-int-x', 'cf-']) assert.equal(isControlHeader(name), false);
  });
});
