// The environment of a container, from every source that there is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environment, expand } from './environment.ts';
import { parseQuantity, resourceValue } from './fields.ts';
import { MissingReference } from './references.ts';
import type { ConfigMap, Container, Pod, Secret } from './types.ts';

const metadata = { name: 'app-1', namespace: 'ns', uid: 'u', resourceVersion: '1', labels: { app: 'app' } };
const references = {
  secrets: new Map<string, Secret>([['ns/s', { metadata, data: { user: Buffer.from('me').toString('base64') } }]]),
  configMaps: new Map<string, ConfigMap>([['ns/c', { metadata, data: { color: 'blue' } }]]),
  changes: { next: () => Promise.resolve(), subscribe: () => {} },
};

function of(container: Omit<Container, 'name' | 'image'>, image = {}): Readonly<Record<string, string>> {
  const spec: Container = { name: 'main', image: 'i', ...container };
  const pod: Pod = { metadata, spec: { containers: [spec], serviceAccountName: 'robot' } };
  return environment({ pod, address: '10.244.1.0', node: { name: 'node-1', address: '10.244.0.1' } }, spec, references, image);
}

test('later sources win: the image, whole Secrets and ConfigMaps, single variables', () => {
  const envFrom = [
    { prefix: 'C_', configMapRef: { name: 'c' } },
    { secretRef: { name: 's' } },
    { secretRef: { name: 'none', optional: true } },
  ];
  const env = [{ name: 'user', value: 'you' }, { name: 'EMPTY' }];
  assert.deepEqual(of({ envFrom, env }, { color: 'red', user: 'root' }), {
    HOSTNAME: 'app-1',
    color: 'red',
    C_color: 'blue',
    user: 'you',
    EMPTY: '',
  });
});

test('variables from fields, limits and keys', () => {
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  const env = [
    field('NAMESPACE', 'metadata.namespace'),
    field('LABEL', "metadata.labels['app']"),
    field('NODE', 'spec.nodeName'),
    field('HOST', 'status.hostIP'),
    field('ROBOT', 'spec.serviceAccountName'),
    { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
    { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'c', key: 'color' } } },
    { name: 'ABSENT', valueFrom: { secretKeyRef: { name: 's', key: 'none', optional: true } } },
  ];
  assert.deepEqual(of({ env, resources: { limits: { cpu: '1500m' } } }), {
    HOSTNAME: 'app-1',
    NAMESPACE: 'ns',
    LABEL: 'app',
    NODE: 'node-1',
    HOST: '10.244.0.1',
    ROBOT: 'robot',
    CPU: '2',
    COLOR: 'blue',
  });
});

test('what is missing is named, and what nobody knows is refused', () => {
  const from = (valueFrom: object) => () => of({ env: [{ name: 'A', valueFrom }] });
  assert.throws(from({ secretKeyRef: { name: 'none', key: 'a' } }), new MissingReference('Secret ns/none not found'));
  assert.throws(from({ secretKeyRef: { name: 's', key: 'a' } }), new MissingReference('s has no key a'));
  assert.throws(from({ fieldRef: { fieldPath: 'spec.hostname' } }), /fieldPath spec\.hostname is not known/);
  assert.throws(from({ fileKeyRef: {} }), /does not know: fileKeyRef/);
});

test('references to variables are replaced, if there are such', () => {
  const env = { A: '1', 'B.c': '2' };
  assert.equal(expand('$(A)-$(B.c)-$(C)-$$(A)-$A-$(date +%s)', env), '1-2-$(C)-$(A)-$A-$(date +%s)');
});

test('quantities, in whole units of a divisor', () => {
  assert.deepEqual(['1', '500m', '2k', '1Ki', '1.5Gi', '1e3'].map(parseQuantity), [1, 0.5, 2000, 1024, 1.5 * 2 ** 30, 1000]);
  assert.throws(() => parseQuantity('1 GB'), /not a quantity/);
  const container: Container = { name: 'c', image: 'i', resources: { limits: { memory: '100Mi' }, requests: { memory: '10Mi' } } };
  assert.equal(resourceValue(container, { resource: 'limits.memory' }), String(100 * 2 ** 20));
  assert.equal(resourceValue(container, { resource: 'requests.memory', divisor: '3Mi' }), '4');
  assert.equal(resourceValue(container, { resource: 'limits.cpu', divisor: '0' }), '64');
});
