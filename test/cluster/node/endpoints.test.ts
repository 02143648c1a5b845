// Services and slices to entrances: which ports lead where, and which lead nowhere.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceTable, type Entrance, type Target } from './endpoints.ts';
import type { EndpointSlice, Service } from './types.ts';

const metadata = (name: string, labels = {}) => ({ name, namespace: 'ns', uid: name, resourceVersion: '1', labels });
const service = (name: string, spec: Service['spec']): Service => ({ metadata: metadata(name), spec });
const slice = (of: string, name: string, rest: Omit<EndpointSlice, 'metadata' | 'addressType'>, addressType = 'IPv4'): EndpointSlice => ({
  metadata: metadata(name, { 'kubernetes.io/service-name': of }),
  addressType,
  ...rest,
});
const table = (services: readonly Service[], slices: readonly EndpointSlice[], fixed = new Map<string, readonly Target[]>()) =>
  Object.fromEntries(
    [...serviceTable({ services, slices, fixed })].map(([key, { targets }]: readonly [string, Entrance]) => [key, targets]),
  );

const web = [{ name: 'web', port: 80 }];

test('a port leads to the number that each slice has for its name, an endpoint in two slices once', () => {
  const app = service('app', { clusterIP: '10.96.0.5', ports: [...web, { name: 'other', port: 81 }] });
  const one = slice('app', 'one', { ports: [{ name: 'web', port: 8080 }], endpoints: [{ addresses: ['10.0.0.1'] }] });
  const two = slice('app', 'two', { ports: [{ name: 'web', port: 9090 }], endpoints: [{ addresses: ['10.0.0.2'] }] });
  const again = slice('app', 'again', { ports: [{ name: 'web', port: 8080 }], endpoints: [{ addresses: ['10.0.0.1'] }] });
  const ipv6 = slice('app', 'six', { ports: [{ name: 'web', port: 8080 }], endpoints: [{ addresses: ['fd00::1'] }] }, 'IPv6');
  assert.deepEqual(table([app], [one, two, again, ipv6]), {
    '10.96.0.5:80': [
      { host: '10.0.0.1', port: 8080 },
      { host: '10.0.0.2', port: 9090 },
    ],
  });
});

test('endpoints that are not ready get nothing, but those that leave do when no other is there', () => {
  const app = service('app', { clusterIP: '10.96.0.5', ports: web });
  const leaving = { addresses: ['10.0.0.1'], conditions: { ready: false, serving: true, terminating: true } };
  const starting = { addresses: ['10.0.0.2'], conditions: { ready: false, serving: false, terminating: false } };
  const unknown = { addresses: ['10.0.0.3'] };
  const ports = [{ name: 'web', port: 8080 }];
  assert.deepEqual(table([app], [slice('app', 'a', { ports, endpoints: [leaving, starting] })]), {
    '10.96.0.5:80': [{ host: '10.0.0.1', port: 8080 }],
  });
  assert.deepEqual(table([app], [slice('app', 'a', { ports, endpoints: [leaving, starting, unknown] })]), {
    '10.96.0.5:80': [{ host: '10.0.0.3', port: 8080 }],
  });
  assert.deepEqual(table([app], [slice('app', 'a', { ports, endpoints: [starting] })]), {});
});

test('headless Services, UDP and what has no address or port lead nowhere', () => {
  const services = [
    service('headless', { clusterIP: 'None', ports: web }),
    service('name', { type: 'ExternalName', externalName: 'example.com' }),
    service('udp', { clusterIP: '10.96.0.6', ports: [{ name: 'web', port: 80, protocol: 'UDP' }] }),
    service('empty', { clusterIP: '10.96.0.7', ports: web }),
  ];
  const slices = ['headless', 'udp', 'empty'].map((of) => slice(of, of, { ports: null, endpoints: null }));
  assert.deepEqual(table(services, slices), {});
});

test('a Service whose endpoint no slice can hold has it all the same', () => {
  const kubernetes = service('kubernetes', { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443 }] });
  const target = { host: '127.0.0.1', port: 6443 };
  assert.deepEqual(table([kubernetes], [], new Map([['ns/kubernetes', [target]]])), { '10.96.0.1:443': [target] });
});
