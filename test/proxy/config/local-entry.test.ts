// Local entries and certificates on the wire: read whole, cut where they point nowhere, dropped where they cannot be read.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { CertificateConfig, LocalEntryConfig } from '#proxy/config/schema.ts';
import { configItems } from '#proxy/config/serialize.ts';
import { config, route } from '#test/proxy/table/build.ts';
import { lines, parse } from './wire.ts';

const certificate: CertificateConfig = { kind: 'certificate', id: 'Secret/infra/tls', cert: 'chain', key: 'very-secret-key' };
const local: LocalEntryConfig = {
  kind: 'localEntry',
  id: 'local/infra/public/443',
  port: 20_000,
  listenerPort: 443,
  protocol: 'HTTPS',
  listeners: [
    { id: 'Gateway/infra/public/https', protocol: 'HTTPS', port: 443, hostname: 'example.com', certificates: [certificate.id] },
    { id: 'Gateway/infra/public/other', protocol: 'HTTPS', port: 443 },
  ],
  clientValidation: { mode: 'AllowValidOnly', ca: 'bundle' },
};
const attached = {
  ...route('a'),
  attachments: [{ entry: local.id, listener: 'Gateway/infra/public/https', hostnames: ['example.com'] }],
};
const full = { ...config([attached], []), certificates: [certificate], localEntries: [local] };

async function parsed(items: readonly unknown[]) {
  const result = await parse(lines(items).join('\n'));
  assert.ok('config' in result, JSON.stringify(result));
  return result;
}

test('a local entry, its certificate and its routes come through whole', async () => {
  const { config: read, problems } = await parsed(configItems(full));
  assert.deepEqual(read, full);
  assert.deepEqual(problems, []);
});

test('a listener goes on with the certificates that there are', async () => {
  const { config: read, problems } = await parsed(configItems({ ...full, certificates: [] }));
  assert.deepEqual(
    read.localEntries[0]?.listeners.map(({ certificates }) => certificates),
    [[], undefined],
  );
  assert.equal(read.routes[0]?.attachments.length, 1);
  assert.deepEqual(problems, [
    { item: local.id, field: 'listeners[0].certificates', message: 'there is no certificate "Secret/infra/tls"' },
  ]);
});

test('what cannot be read is dropped with what hangs on it, and shows nothing of its key', async () => {
  const { config: read, problems } = await parsed([
    ...configItems({ ...full, certificates: [], localEntries: [] }),
    { ...certificate, cert: 7 },
    { ...local, clientValidation: { mode: 'very-secret-key', ca: '' } },
  ]);
  assert.deepEqual([read.certificates, read.localEntries, read.routes[0]?.attachments], [[], [], []]);
  assert.deepEqual(
    problems.map(({ item }) => item),
    [certificate.id, local.id, attached.id],
  );
  assert.ok(!JSON.stringify(problems).includes('very-secret-key'));
});

test('a port belongs to one entry of either kind', async () => {
  const tunnel = { kind: 'entry', id: 'shared', port: local.port, listeners: [] };
  const result = await parse(lines([...configItems(full), tunnel]).join('\n'));
  assert.ok('error' in result);
  assert.equal(result.error.code, 'duplicate');
});
