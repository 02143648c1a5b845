import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ACROSS_NAMESPACES, dnsLabel, labelValue } from '#controller/api/names.ts';

const isDnsLabel = (text: string): boolean => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text);

test('a name that may be used is used', () => {
  for (const name of ['a', 'cf-proxy-tunnel', 'x'.repeat(63), '0-9']) assert.equal(dnsLabel(name), name);
});

test('what does not fit is cut, and told apart by a hash of the whole', () => {
  const long = `cf-proxy-${'g'.repeat(244)}`;
  assert.match(dnsLabel(long), /^cf-proxy-g{45}-[0-9a-f]{8}$/);
  assert.equal(dnsLabel(long).length, 63);
  assert.notEqual(dnsLabel(long), dnsLabel(`${long}-config`));
  assert.equal(dnsLabel(long), dnsLabel(long));
});

test('characters that a label cannot have do not make two names one', () => {
  assert.match(dnsLabel('web.example'), /^web-example-[0-9a-f]{8}$/);
  assert.notEqual(dnsLabel('web.example'), dnsLabel('web-example'));
  assert.notEqual(dnsLabel('Web'), dnsLabel('web'));
  assert.match(dnsLabel('...'), /^[0-9a-f]{8}$/);
  assert.match(dnsLabel(''), /^[0-9a-f]{8}$/);
});

test('nobody takes another’s derived name by asking for it', () => {
  const derived = dnsLabel('g'.repeat(253));
  assert.notEqual(dnsLabel(derived), derived);
});

test('the end of what is kept never doubles the dash before the hash', () => {
  assert.match(dnsLabel(`${'a'.repeat(50)}----${'b'.repeat(50)}`), /^a{50}-[0-9a-f]{8}$/);
});

test('names across namespaces carry a hash that nobody finds a second text for', () => {
  const name = dnsLabel(`team/${'g'.repeat(253)}`, ACROSS_NAMESPACES);
  assert.match(name, /^team-g{25}-[0-9a-f]{32}$/);
  assert.notEqual(dnsLabel(name, ACROSS_NAMESPACES), name);
  assert.equal(
    dnsLabel('tunnel-01234567', ACROSS_NAMESPACES),
    'tunnel-01234567',
    'looks like one within a namespace, which is no matter here',
  );
});

test('a label value is the name wherever the name may be one', () => {
  for (const name of ['tunnel', 'tunnel.example.com', 'tunnel-01234567', 'x'.repeat(63)]) assert.equal(labelValue(name), name);
  assert.ok(isDnsLabel(labelValue(`${'x'.repeat(60)}.example.com`)));
});

test('whatever the name, what comes out is legal, and different names stay different', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 253 }), fc.string({ maxLength: 253 }), (one, other) => {
      assert.ok(isDnsLabel(dnsLabel(one)), dnsLabel(one));
      assert.match(labelValue(one), /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/);
      if (one !== other) assert.notEqual(dnsLabel(one), dnsLabel(other));
    }),
  );
});
