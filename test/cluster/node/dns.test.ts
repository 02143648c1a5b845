// Names of a cluster, and the messages in which they are asked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readQuery, writeAnswer } from './dns-message.ts';
import { clusterRecords } from './dns-names.ts';
import type { EndpointSlice, Service } from './types.ts';

const metadata = (name: string, labels = {}) => ({ name, namespace: 'ns', uid: name, resourceVersion: '1', labels });
const services = new Map<string, Service>([
  ['ns/app', { metadata: metadata('app'), spec: { clusterIP: '10.96.0.5', ports: [{ name: 'web', port: 80 }] } }],
  ['ns/pods', { metadata: metadata('pods'), spec: { clusterIP: 'None', ports: [{ name: 'web', port: 80 }] } }],
]);
const slices: readonly EndpointSlice[] = [
  {
    metadata: metadata('pods-1', { 'kubernetes.io/service-name': 'pods' }),
    addressType: 'IPv4',
    ports: [{ name: 'web', port: 8080 }],
    endpoints: [
      { addresses: ['10.244.1.1'] },
      { addresses: ['10.244.1.2'], hostname: 'second' },
      { addresses: ['10.244.1.3'], conditions: { ready: false } },
    ],
  },
];
const records = (name: string) => clusterRecords(`${name}.svc.cluster.local`, services, slices);

test('names of Services, endpoints and ports', () => {
  assert.deepEqual(records('app.ns'), [{ name: 'app.ns.svc.cluster.local', type: 'A', address: '10.96.0.5' }]);
  assert.deepEqual(
    records('pods.ns')?.map((record) => record.type === 'A' && record.address),
    ['10.244.1.1', '10.244.1.2'],
  );
  assert.deepEqual(
    records('second.pods.ns')?.map((record) => record.type === 'A' && record.address),
    ['10.244.1.2'],
  );
  assert.deepEqual(
    records('_web._tcp.pods.ns')?.map((record) => record.type === 'SRV' && `${record.target}:${record.port}`),
    ['10-244-1-1.pods.ns.svc.cluster.local:8080', 'second.pods.ns.svc.cluster.local:8080'],
  );
  assert.deepEqual(
    records('_web._tcp.app.ns')?.map((record) => record.type === 'SRV' && `${record.target}:${record.port}`),
    ['app.ns.svc.cluster.local:80'],
  );
  for (const name of ['none.ns', 'app.other', 'third.pods.ns', '_ftp._tcp.app.ns', 'a.b.c.app.ns', ''])
    assert.equal(records(name), null, name);
  assert.equal(clusterRecords('app.ns', services, slices), null);
});

const query = Buffer.from('12340100000100000000000003417070026e73037376630000010001', 'hex');

test('a query is read, and its answer repeats the question to the letter', () => {
  const question = readQuery(query);
  assert.ok(question);
  assert.deepEqual([question.id, question.name, question.type, question.recursionDesired], [0x1234, 'app.ns.svc', 1, true]);
  const answer = writeAnswer(question, 0, [{ name: 'app.ns.svc', type: 'A', address: '10.96.0.5' }]);
  assert.equal(answer.toString('hex', 2, 12), '85800001000100000000');
  assert.equal(answer.toString('hex', 12, 12 + question.section.length), query.toString('hex', 12));
  const record = answer.subarray(12 + question.section.length);
  assert.equal(record.toString('hex'), '03617070026e730373766300000100010000000100040a600005');
});

test('what is no query with one question gets no answer', () => {
  const response = Buffer.from(query);
  response.writeUInt8(0x81, 2);
  const two = Buffer.from(query);
  two.writeUInt16BE(2, 4);
  for (const message of [response, two, query.subarray(0, 11), query.subarray(0, 20), Buffer.alloc(0)])
    assert.equal(readQuery(message), null);
});
