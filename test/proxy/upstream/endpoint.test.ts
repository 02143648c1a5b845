// An endpoint's address and health.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Endpoint, splitAddress } from '#proxy/upstream/endpoint.ts';
import { UPSTREAM_DEFAULTS } from '#proxy/upstream/options.ts';

test('addresses of both families; what is none gets a port that refuses', () => {
  assert.deepEqual(splitAddress('10.0.0.1:8080'), { host: '10.0.0.1', port: 8080 });
  assert.deepEqual(splitAddress('[2001:db8::1]:80'), { host: '2001:db8::1', port: 80 });
  for (const address of ['', '10.0.0.1', '10.0.0.1:', ':80', '10.0.0.1:0', '10.0.0.1:65536', '10.0.0.1:8e1x'])
    assert.equal(splitAddress(address).port, 0, address);
});

test('ejected after failures in a row, longer each time, up to a maximum', () => {
  const endpoint = new Endpoint('127.0.0.1:1', { ...UPSTREAM_DEFAULTS, ejectAfter: 2, ejectTime: 1000, maxEjectTime: 3000 });
  assert.equal(endpoint.failed('connect', 0), false);
  assert.equal(endpoint.ejectedUntil, 0);
  assert.equal(endpoint.failed('connect-timeout', 10), true);
  assert.equal(endpoint.ejectedUntil, 1010);
  assert.equal(endpoint.failed('connect', 20), false, 'it was left out already');
  assert.equal(endpoint.ejectedUntil, 2020);
  assert.equal(endpoint.failed('connect', 5000), true);
  assert.equal(endpoint.ejectedUntil, 8000);
});

test('failures that are not the connection’s do not eject', () => {
  const endpoint = new Endpoint('127.0.0.1:1', { ...UPSTREAM_DEFAULTS, ejectAfter: 1 });
  for (const kind of ['reset', 'protocol', 'refused', 'overload'] as const) endpoint.failed(kind, 0);
  assert.equal(endpoint.ejectedUntil, 0);
});
