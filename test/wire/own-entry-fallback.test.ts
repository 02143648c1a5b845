// A listener that lets everybody in still asks for a client certificate, and takes any: also that of an authority which only has the right name.
import assert from 'node:assert/strict';
import type { webcrypto } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import { startOwnEntry, tlsClient } from './own-entry.ts';

/** A wrong signature of RSA is an error to OpenSSL; one of ECDSA is only wrong. */
const ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', publicExponent: new Uint8Array([1, 0, 1]), modulusLength: 2048 } as const;
const newKeys = (): Promise<webcrypto.CryptoKeyPair> => crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

/** Without key identifiers, by which OpenSSL would tell two authorities of one name apart before it looks at a signature. */
async function authority(name: string) {
  const keys = await newKeys();
  const root = await x509.X509CertificateGenerator.createSelfSigned({ name, keys, signingAlgorithm: ALGORITHM });
  const leaf = await newKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    subject: 'CN=client',
    issuer: name,
    publicKey: leaf.publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm: ALGORITHM,
  });
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', leaf.privateKey), 'PRIVATE KEY');
  return { ca: root.toString('pem'), client: { cert: certificate.toString('pem'), key } };
}

test('in fallback mode a request is answered with the right certificate, a wrong one of the same issuer name, and none', async (t) => {
  const [trusted, impostor] = await Promise.all([authority('CN=clients'), authority('CN=clients')]);
  const pair = await (await createCertificateAuthority()).issue('a.example');
  const { port } = await startOwnEntry(t, {
    protocol: 'HTTPS',
    listeners: [{ certificates: ['own'] }],
    certificates: { own: pair },
    clientValidation: { mode: 'AllowInsecureFallback', ca: trusted.ca },
  });
  for (const client of [trusted.client, impostor.client, {}]) {
    // In TLS 1.2 the handshake ends when the proxy has seen the certificate: the request comes later.
    const socket = await tlsClient(t, port, { rejectUnauthorized: false, maxVersion: 'TLSv1.2', servername: 'a.example', ...client });
    socket.end('GET / HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n');
    // A route without backends.
    assert.match(await text(socket), /^HTTP\/1\.1 500 /);
  }
});
