// The loopback authority: certificates that clients accept for the asked name, one for each name.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { createCertificateAuthority } from './certs.ts';

describe('certs', () => {
  test('a chain that verifies, for names, wildcards and addresses', async () => {
    const ca = await createCertificateAuthority();
    const root = new X509Certificate(ca.pem);
    assert.equal(root.ca, true);
    for (const [name, matching, other] of [
      ['app.example.com', 'app.example.com', 'other.example.com'],
      ['*.example.com', 'x.example.com', 'example.com'],
    ] as const) {
      const leaf = new X509Certificate((await ca.issue(name)).cert);
      assert.equal(leaf.checkIssued(root) && leaf.verify(root.publicKey), true);
      assert.equal(leaf.checkHost(matching), matching === name ? name : '*.example.com');
      assert.equal(leaf.checkHost(other), undefined);
      assert.equal(leaf.ca, false);
    }
    for (const ip of ['127.77.1.2', '::1']) assert.equal(new X509Certificate((await ca.issue(ip)).cert).checkIP(ip), ip);
  });

  test('one certificate for each name, in any letter case', async () => {
    const ca = await createCertificateAuthority();
    const [first, again, upper, other] = await Promise.all(['a.test', 'a.test', 'A.TEST', 'b.test'].map((name) => ca.issue(name)));
    assert.equal(first, again);
    assert.equal(first, upper);
    assert.notEqual(first?.cert, other?.cert);
    assert.notEqual(new X509Certificate(first?.cert ?? '').serialNumber, new X509Certificate(other?.cert ?? '').serialNumber);
  });

  test('what is no name gets a certificate for none', async () => {
    const ca = await createCertificateAuthority();
    for (const name of ['', '..', 'a b', '*', 'x\0y', '-', 'ü.test', 'a'.repeat(5000)]) {
      assert.equal(new X509Certificate((await ca.issue(name)).cert).subject, 'CN=invalid.test', name);
    }
  });

  test('the authority`s certificate as a file', async (t) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'ca-'));
    t.after(() => rm(folder, { recursive: true }));
    const ca = await createCertificateAuthority({ file: path.join(folder, 'ca.pem') });
    assert.equal(await readFile(path.join(folder, 'ca.pem'), 'utf8'), ca.pem);
  });
});
