// TLS in front of a listener: which certificate a client is shown, and what is asked of its own.
import { X509Certificate } from 'node:crypto';
import { createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls';
import type { KeyPair, LocalEntry } from '#proxy/table/types.ts';
import type { Log } from './plane.ts';

/**
 * A TLS server for each listener and choice of certificates, kept while neither its certificates nor the client validation change: sessions
 * can be resumed across configurations, and never at another listener.
 */
export class TlsDoor {
  readonly #log: Log;
  readonly #handshakeTimeout: number;
  readonly #onSecure: (socket: TLSSocket) => void;
  #entry: LocalEntry | null = null;
  /** By all that they were made of; those that only former configurations have used are forgotten with the next one. */
  #servers = new Map<string, Server | null>();
  #former = new Map<string, Server | null>();

  constructor(log: Log, handshakeTimeout: number, onSecure: (socket: TLSSocket) => void) {
    this.#log = log;
    this.#handshakeTimeout = handshakeTimeout;
    this.#onSecure = onSecure;
  }

  /** Null when there is no certificate for the name, or client certificates could not be checked: nobody is let in then. */
  serverFor(entry: LocalEntry, serverName: string): Server | null {
    if (entry !== this.#entry) {
      this.#entry = entry;
      this.#former = this.#servers;
      this.#servers = new Map();
    }
    const listener = entry.listenerOf(serverName);
    if (listener === null) return null;
    const pairs = presented(listener.certificates, serverName);
    const { mode, ca } = entry.clientValidation ?? { mode: '', ca: '' };
    const key = [listener.hostname, mode, ca, ...pairs.flatMap((pair) => [pair.cert, pair.key])].join('\0');
    let server = this.#servers.get(key) ?? this.#former.get(key);
    if (server === undefined) server = this.#create(pairs, entry, listener.hostname);
    this.#servers.set(key, server);
    return server;
  }

  #create(pairs: readonly KeyPair[], { clientValidation, listenerPort }: LocalEntry, hostname: string): Server | null {
    if (pairs.length === 0) return null;
    try {
      // An empty or unreadable bundle would leave the roots of the system, or nobody, in its place.
      if (clientValidation !== null) void new X509Certificate(clientValidation.ca);
      const server = createServer({
        cert: pairs.map(({ cert }) => cert),
        key: pairs.map(({ key }) => key),
        minVersion: 'TLSv1.2',
        ALPNProtocols: ['h2', 'http/1.1'],
        handshakeTimeout: this.#handshakeTimeout,
        ...(clientValidation === null ? {} : askedOfClients(clientValidation)),
      });
      server.on('secureConnection', this.#onSecure);
      server.on('tlsClientError', (_error, socket) => socket.destroy());
      return server;
    } catch (error) {
      // OpenSSL's messages name what is wrong with a key, not its content.
      const fields = { listenerPort, hostname, error: (error as Error).message };
      this.#log.warn(fields, 'a listener refuses handshakes: its certificate, key or client CA cannot be used');
      return null;
    }
  }
}

/**
 * Where any certificate will do, none is checked: OpenSSL leaves the error of a signature that is wrong (an authority of the same name with
 * another key is enough) behind, and Node then takes it for the next thing that happens to the connection.
 */
const askedOfClients = ({ mode, ca }: NonNullable<LocalEntry['clientValidation']>): TlsOptions =>
  mode === 'AllowValidOnly'
    ? { requestCert: true, rejectUnauthorized: true, ca }
    : { requestCert: true, rejectUnauthorized: false, ca: [] };

/** Of several certificates those whose names cover the client's, if any does; one for each kind of key, the first. */
function presented(pairs: readonly KeyPair[], serverName: string): readonly KeyPair[] {
  if (pairs.length < 2) return pairs;
  const readable = pairs.flatMap((pair) => {
    const certificate = read(pair);
    return certificate === null ? [] : [{ pair, certificate }];
  });
  const fitting = readable.filter(({ certificate }) => certificate.checkHost(serverName) !== undefined);
  const kinds = new Set<string>();
  return (fitting.length > 0 ? fitting : readable).flatMap(({ pair, certificate }) => {
    const kind = certificate.publicKey.asymmetricKeyType ?? '';
    if (kinds.has(kind)) return [];
    kinds.add(kind);
    return [pair];
  });
}

const certificates = new WeakMap<KeyPair, X509Certificate | null>();

function read(pair: KeyPair): X509Certificate | null {
  let certificate = certificates.get(pair);
  if (certificate !== undefined) return certificate;
  try {
    certificate = new X509Certificate(pair.cert);
  } catch {
    certificate = null;
  }
  certificates.set(pair, certificate);
  return certificate;
}
