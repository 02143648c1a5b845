// Bundles of CA certificates: what is taken out of them, and what is wrong with those that cannot be used.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { suite, test } from 'node:test';
import { readBundle, type Bundle } from '#controller/graph/ca.ts';
import { CA_A, CA_B, caMap, configMap } from '#test/build/ca.ts';
import { secret } from '#test/build/objects.ts';

const read = (ca: string): Bundle =>
  readBundle({ configMaps: new Map([['a/ca', caMap('ca', ca)]]), secrets: new Map() }, 'ConfigMap', 'a/ca');
const problem = (ca: string): string => {
  const bundle = read(ca);
  return 'problem' in bundle ? bundle.problem : 'none';
};

const body = (pem: string): string => pem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
const wrapped = (base64: string): string => `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;

suite('what is used', () => {
  test('one certificate, several, and lines of any length', () => {
    assert.deepEqual(read(CA_A), { pem: CA_A });
    assert.deepEqual(read(CA_A + CA_B), { pem: CA_A + CA_B });
    assert.deepEqual(read(wrapped(body(CA_A))), { pem: CA_A });
    assert.deepEqual(read(CA_A.replaceAll('\n', '\r\n')), { pem: CA_A });
  });

  test('what stands around certificates is left out, keys above all', () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n';
    assert.deepEqual(read(`# our own CA\n${CA_A}${key}subject=CN = b\n${CA_B}`), { pem: CA_A + CA_B });
  });

  test('OpenSSL reads what comes out', () => {
    const bundle = read(wrapped(body(CA_B)));
    assert.equal('pem' in bundle && new X509Certificate(bundle.pem).subject, 'CN=ca-b');
  });

  test('a Secret serves as well, of whatever type', () => {
    const secrets = new Map([['a/ca', secret('ca', 'a', { 'ca.crt': CA_A })]]);
    assert.deepEqual(readBundle({ configMaps: new Map(), secrets }, 'Secret', 'a/ca'), { pem: CA_A });
  });
});

suite('what cannot be used', () => {
  test('no object, no key, no value', () => {
    const none = { configMaps: new Map(), secrets: new Map() };
    assert.deepEqual(readBundle(none, 'ConfigMap', 'a/ca'), { problem: 'does not exist, or may not be read' });
    const of = (object: ReturnType<typeof configMap>): Bundle =>
      readBundle({ configMaps: new Map([['a/ca', object]]), secrets: new Map() }, 'ConfigMap', 'a/ca');
    assert.deepEqual(of(configMap('ca', { 'tls.crt': CA_A })), { problem: 'has nothing under ca.crt' });
    assert.deepEqual(of(caMap('ca', '')), { problem: 'has nothing under ca.crt' });
    assert.deepEqual(of({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ca' } }), { problem: 'has nothing under ca.crt' });
  });

  test('a Secret whose value is not base64', () => {
    const secrets = new Map([['a/ca', { ...secret('ca', 'a', {}), data: { 'ca.crt': '%%%' } }]]);
    assert.deepEqual(readBundle({ configMaps: new Map(), secrets }, 'Secret', 'a/ca'), { problem: 'has no PEM under ca.crt' });
  });

  test('text that is no PEM, and PEM of something else', () => {
    assert.match(problem('hello'), /has no PEM certificate/);
    assert.match(problem('-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n'), /has no PEM certificate/);
  });

  test('one damaged certificate spoils the bundle: nobody may believe that it is trusted', () => {
    assert.match(problem(CA_A + wrapped('MIIB')), /something else than an X\.509 certificate in block 2/);
    assert.match(problem(wrapped('')), /block 1/);
    assert.match(problem(wrapped('A===')), /block 1/);
    assert.match(problem(CA_A + CA_B.slice(0, -40)), /cut or damaged/);
  });

  test('a certificate with a byte less or more, or with other parts', () => {
    const der = Buffer.from(body(CA_A), 'base64');
    const of = (bytes: Uint8Array): string => problem(wrapped(Buffer.from(bytes).toString('base64')));
    assert.equal(of(der), 'none');
    assert.match(of(der.subarray(0, -1)), /block 1/);
    assert.match(of(Buffer.concat([der, Buffer.from([0])])), /block 1/);
    assert.match(of(Buffer.from([0x30, 0])), /block 1/);
    assert.match(of(Buffer.from([0x30, 0x80, 0, 0])), /block 1/, 'indefinite length');
    assert.match(of(Buffer.from([0x30, 0x85, 1, 1, 1, 1, 1])), /block 1/, 'a length that no file has');
    assert.match(of(Buffer.from([0x30, 6, 0x30, 0, 0x30, 0, 0x04, 0])), /block 1/, 'an octet string in place of the signature');
    for (let at = 0; at < der.length; at += 7) assert.doesNotThrow(() => of(der.subarray(at)));
  });
});
