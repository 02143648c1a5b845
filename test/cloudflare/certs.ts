// A certificate authority for loopback: makes a certificate for whatever name a visitor or connector asks for.
import 'reflect-metadata';
import { randomBytes, type webcrypto } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import tls from 'node:tls';
import { callbackify } from 'node:util';
import * as x509 from '@peculiar/x509';

export interface CertificateAuthority {
  /** The authority's certificate (PEM), for `ca` options and `curl --cacert`. */
  readonly pem: string;
  /** Key and certificate chain (PEM) for a DNS name or an IP address. The same name gets the same certificate. */
  issue(name: string): Promise<IssuedCertificate>;
  /** Chooses the certificate of a handshake by its server name: an `SNICallback`. */
  readonly select: (name: string, done: (error: Error | null, context?: tls.SecureContext) => void) => void;
}

export interface IssuedCertificate {
  readonly key: string;
  readonly cert: string;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;
/** Names come from visitors' handshakes: bounded, oldest first out. */
const MAX_CACHED = 1000;
const DNS_NAME = /^(?=.{1,253}$)(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;

/** `file` is where the authority's certificate is written to, for programs that want a path. */
export async function createCertificateAuthority(options: { readonly file?: string } = {}): Promise<CertificateAuthority> {
  const authority = await LoopbackAuthority.create();
  if (options.file !== undefined) await writeFile(options.file, authority.pem);
  return authority;
}

class LoopbackAuthority implements CertificateAuthority {
  readonly pem: string;
  readonly #root: x509.X509Certificate;
  readonly #rootKey: webcrypto.CryptoKey;
  /** One key for all leaves: they live as long as this process, and a key pair per name would only cost time. */
  readonly #leafKeys: webcrypto.CryptoKeyPair;
  readonly #leafKeyPem: string;
  readonly #issued = new Map<string, Promise<IssuedCertificate>>();
  readonly #contexts = new Map<string, Promise<tls.SecureContext>>();

  private constructor(root: x509.X509Certificate, rootKey: webcrypto.CryptoKey, leafKeys: webcrypto.CryptoKeyPair, leafKeyPem: string) {
    this.pem = root.toString('pem');
    this.#root = root;
    this.#rootKey = rootKey;
    this.#leafKeys = leafKeys;
    this.#leafKeyPem = leafKeyPem;
  }

  static async create(): Promise<LoopbackAuthority> {
    const [rootKeys, leafKeys] = await Promise.all([generateKeys(), generateKeys()]);
    const root = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: serialNumber(),
      name: 'CN=Loopback test authority',
      ...validity(),
      keys: rootKeys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(rootKeys.publicKey),
      ],
    });
    const pkcs8 = await crypto.subtle.exportKey('pkcs8', leafKeys.privateKey);
    return new LoopbackAuthority(root, rootKeys.privateKey, leafKeys, x509.PemConverter.encode(pkcs8, 'PRIVATE KEY'));
  }

  issue(name: string): Promise<IssuedCertificate> {
    return cached(this.#issued, safeName(name), (safe) => this.#sign(safe));
  }

  readonly select: CertificateAuthority['select'] = (name, done) => callbackify(() => this.#context(name))(done);

  #context(name: string): Promise<tls.SecureContext> {
    return cached(this.#contexts, safeName(name), async (safe) => tls.createSecureContext(await this.issue(safe)));
  }

  async #sign(name: string): Promise<IssuedCertificate> {
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: [{ CN: [name.slice(0, 64)] }],
      issuer: this.#root.subject,
      ...validity(),
      publicKey: this.#leafKeys.publicKey,
      signingKey: this.#rootKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
        new x509.SubjectAlternativeNameExtension([{ type: isIP(name) === 0 ? 'dns' : 'ip', value: name }]),
        await x509.AuthorityKeyIdentifierExtension.create(this.#root),
      ],
    });
    return { key: this.#leafKeyPem, cert: `${certificate.toString('pem')}\n${this.pem}` };
  }
}

/** What is no name at all (a handshake may carry anything) gets the certificate of a name that nobody asks for. */
function safeName(name: string): string {
  const lower = name.toLowerCase();
  return isIP(lower) !== 0 || DNS_NAME.test(lower) ? lower : 'invalid.test';
}

function cached<T>(cache: Map<string, Promise<T>>, name: string, make: (name: string) => Promise<T>): Promise<T> {
  const existing = cache.get(name);
  if (existing !== undefined) return existing;
  const oldest = cache.keys().next();
  if (cache.size >= MAX_CACHED && oldest.done !== true) cache.delete(oldest.value);
  const made = make(name);
  cache.set(name, made);
  return made;
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

function serialNumber(): string {
  // Positive and without leading zero octet (RFC 5280 section 4.1.2.2).
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

function validity(): { readonly notBefore: Date; readonly notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - DAY_MS), notAfter: new Date(now + 365 * DAY_MS) };
}
