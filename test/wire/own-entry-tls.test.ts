// TLS at the proxy's own entry: which certificate a name gets, when nobody is let in, and for which hosts a connection is good.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { before, test, type TestContext } from 'node:test';
import tls from 'node:tls';
import WebSocket, { WebSocketServer } from 'ws';
import type { AddressInfo } from 'node:net';
import { createCertificateAuthority, type CertificateAuthority, type IssuedCertificate } from '#test/cloudflare/certs.ts';
import { get, h2Client, rawClient, startOwnEntry, tlsClient, type EntryDraft, type ListenerDraft } from './own-entry.ts';
import { OK, Peer, answering, rawBackend } from './raw.ts';

let authority: CertificateAuthority;
let other: CertificateAuthority;
const pairs: Record<string, IssuedCertificate> = {};
before(async () => {
  [authority, other] = await Promise.all([createCertificateAuthority(), createCertificateAuthority()]);
  for (const name of ['any.test', '*.example.com', 'www.example.com', 'second.test']) pairs[name] = await authority.issue(name);
});

/** An HTTPS entry in front of one backend: for each listener its hostname ('' for every) and certificates. */
async function https(t: TestContext, listeners: Readonly<Record<string, readonly string[]>>, draft: Partial<EntryDraft> = {}) {
  const backend = await rawBackend(answering(OK));
  t.after(() => backend.close());
  const drafts = Object.entries(listeners).map(([hostname, certificates]): ListenerDraft => {
    return { ...(hostname === '' ? {} : { hostname }), certificates, endpoints: [backend.address] };
  });
  const full: EntryDraft = { protocol: 'HTTPS', listeners: drafts, certificates: pairs, ...draft };
  return { ...(await startOwnEntry(t, full)), backend, draft: full };
}

const trusting = (servername: string, rest: tls.ConnectionOptions = {}): tls.ConnectionOptions => ({
  servername,
  ca: authority.pem,
  checkServerIdentity: () => undefined,
  ...rest,
});

/** The name in the certificate that a client is shown. */
async function shown(t: TestContext, port: number, servername: string, rest: tls.ConnectionOptions = {}): Promise<string | undefined> {
  const socket = await tlsClient(t, port, trusting(servername, rest));
  const { subjectaltname } = socket.getPeerCertificate();
  socket.destroy();
  return subjectaltname;
}

/** Status of a request over HTTP/1.1. */
async function status(socket: tls.TLSSocket, host: string): Promise<string> {
  const peer = new Peer(socket);
  peer.send(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  return (await peer.until(/\r\n\r\n/)).slice(9, 12);
}

const FAILS = { code: /^ERR_SSL_.*UNRECOGNIZED_NAME$/ };

test('the most specific listener shows its certificate', async (t) => {
  const { port } = await https(t, { '': ['any.test'], '*.example.com': ['*.example.com'], 'www.example.com': ['www.example.com'] });
  for (const [servername, expected] of [
    ['www.example.com', 'www.example.com'],
    ['WWW.Example.com', 'www.example.com'],
    ['a.b.example.com', '*.example.com'],
    ['example.com', 'any.test'],
    ['', 'any.test'],
  ] as const)
    assert.equal(await shown(t, port, servername), `DNS:${expected}`, servername);
});

test('of several certificates of a listener the one shown covers the name', async (t) => {
  const { port } = await https(t, { '': ['any.test', 'second.test'] });
  assert.equal(await shown(t, port, 'second.test'), 'DNS:second.test');
  assert.equal(await shown(t, port, 'third.test'), 'DNS:any.test');
});

test('an unknown name, no name, and a listener without a usable certificate: unrecognized_name', async (t) => {
  const broken = { cert: 'no certificate', key: 'no key' };
  const mismatch = { cert: pairs['any.test']!.cert, key: (await other.issue('any.test')).key };
  const { port, warnings } = await https(
    t,
    { 'www.example.com': ['www.example.com'], 'none.test': [], 'broken.test': ['broken'], 'mismatch.test': ['mismatch'] },
    { certificates: { ...pairs, broken, mismatch } },
  );
  for (const servername of ['other.test', '', 'none.test', 'broken.test', 'mismatch.test'])
    await assert.rejects(shown(t, port, servername), FAILS, servername);
  assert.equal(warnings.length, 2);
  assert.equal(await shown(t, port, 'www.example.com'), 'DNS:www.example.com');
});

test('TLS 1.2 and 1.3, nothing older, and HTTP/2 only for those who ask for it', async (t) => {
  const { port } = await https(t, { '': ['any.test'] });
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await tlsClient(
      t,
      port,
      trusting('any.test', { minVersion: version, maxVersion: version, ALPNProtocols: ['h2', 'http/1.1'] }),
    );
    assert.deepEqual([socket.getProtocol(), socket.alpnProtocol], [version, 'h2']);
    assert.equal((await get(await h2Client(t, port, socket), { ':authority': 'any.test' })).body, 'ok');
  }
  const old = trusting('any.test', { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
  await assert.rejects(tlsClient(t, port, old), /protocol version|PROTOCOL_VERSION/i);
  for (const ALPNProtocols of [[], ['http/1.1']]) {
    const socket = await tlsClient(t, port, trusting('any.test', { ALPNProtocols }));
    assert.equal(await status(socket, 'any.test'), '200');
  }
  await assert.rejects(tlsClient(t, port, trusting('any.test', { ALPNProtocols: ['spdy/1'] })), /application.protocol/i);
});

test('clear text on a port of TLS is told so', async (t) => {
  const { port } = await https(t, { '': ['any.test'] });
  const peer = await rawClient(t, port);
  peer.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await peer.until(/^HTTP\/1\.1 400 [^]*HTTPS only/);
});

test('the scheme is that of the socket', async (t) => {
  const { port, backend } = await https(t, { '': ['any.test'] }, { listenerPort: 8443 });
  await status(await tlsClient(t, port, trusting('any.test')), 'any.test');
  assert.match(backend.peers[0]!.text, /X-Forwarded-Proto: https\r\nX-Forwarded-Host: any\.test\r\nX-Forwarded-Port: 8443\r\n/);
});

test('a new certificate is shown from the next handshake on, connections and sessions of the old one go on', async (t) => {
  const { port, draft, configure } = await https(t, { '': ['any.test'] });
  const socket = await tlsClient(t, port, trusting('any.test'));
  assert.equal(await status(socket, 'any.test'), '200');
  configure({ ...draft, certificates: { 'any.test': pairs['second.test']! } });
  assert.equal(await shown(t, port, 'any.test'), 'DNS:second.test');
  assert.equal(await status(socket, 'any.test'), '200');
});

test('a session is resumed across configurations, unless what it was made of has changed', async (t) => {
  const { port, draft, configure } = await https(t, { '': ['any.test'] });
  const options = trusting('any.test', { maxVersion: 'TLSv1.2' });
  const first = await tlsClient(t, port, options);
  const session = first.getSession();
  assert.ok(session);
  configure(draft);
  assert.equal((await tlsClient(t, port, { ...options, session })).isSessionReused(), true);
  configure({ ...draft, certificates: { 'any.test': pairs['second.test']! } });
  assert.equal((await tlsClient(t, port, { ...options, session })).isSessionReused(), false);
});

/** SNI and Host → answer, with listeners for all, *.example.com and www.example.com. The listener counts, not the name. */
const DIRECTIONS: readonly (readonly [string, string, string])[] = [
  ['www.example.com', 'www.example.com', '200'],
  ['www.example.com', 'www.example.com:8443', '200'],
  ['www.example.com', 'a.example.com', '421'],
  ['www.example.com', 'any.test', '421'],
  ['a.example.com', 'a.example.com', '200'],
  ['a.example.com', 'b.example.com', '200'],
  ['a.example.com', 'www.example.com', '421'],
  ['a.example.com', 'any.test', '421'],
  ['any.test', 'other.test', '200'],
  ['any.test', 'www.example.com', '421'],
  ['', 'any.test', '200'],
  ['', 'a.example.com', '421'],
];

test('a request for a host of another listener than the connection was made for: 421, over both versions', async (t) => {
  const { port } = await https(t, { '': ['any.test'], '*.example.com': ['any.test'], 'www.example.com': ['any.test'] });
  for (const [servername, host, expected] of DIRECTIONS) {
    assert.equal(await status(await tlsClient(t, port, trusting(servername)), host), expected, `HTTP/1.1: ${servername} → ${host}`);
    const session = await h2Client(t, port, await tlsClient(t, port, trusting(servername, { ALPNProtocols: ['h2'] })));
    assert.equal(String((await get(session, { ':authority': host })).status), expected, `HTTP/2: ${servername} → ${host}`);
  }
});

test('a connection that was made before its port changed its protocol is good for nothing more', async (t) => {
  const { port, draft, configure } = await https(t, { '': ['any.test'] });
  const socket = await tlsClient(t, port, trusting('any.test'));
  assert.equal(await status(socket, 'any.test'), '200');
  configure({ ...draft, protocol: 'HTTP' });
  assert.equal(await status(socket, 'any.test'), '421');
});

/** Whether a request gets an answer; a handshake that fails may show only after it, as TLS 1.3 has it. */
async function letIn(t: TestContext, port: number, client: Partial<IssuedCertificate>, maxVersion: tls.SecureVersion): Promise<boolean> {
  try {
    const socket = await tlsClient(t, port, trusting('any.test', { ...client, maxVersion }));
    return (await status(socket, 'any.test')) === '200';
  } catch {
    return false;
  }
}

test('client certificates: demanded and checked, asked for only, or closed to everybody', async (t) => {
  const [right, wrong] = await Promise.all([authority.issue('client.test'), other.issue('client.test')]);
  const cases = [
    ['AllowValidOnly', authority.pem, [true, false, false]],
    ['AllowValidOnly', `${other.pem}\n${authority.pem}`, [true, true, false]],
    ['AllowInsecureFallback', authority.pem, [true, true, true]],
    // Nothing to check them by: neither everybody nor whoever has a certificate of a public authority.
    ['AllowValidOnly', '', [false, false, false]],
    ['AllowValidOnly', 'no certificate', [false, false, false]],
    ['AllowInsecureFallback', 'no certificate', [false, false, false]],
  ] as const;
  for (const [mode, ca, expected] of cases) {
    const { port } = await https(t, { '': ['any.test'] }, { clientValidation: { mode, ca } });
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const results = [];
      for (const client of [right, wrong, {}]) results.push(await letIn(t, port, client, version));
      assert.deepEqual(results, expected, `${mode} with ${ca.slice(0, 20)} over ${version}`);
    }
  }
});

test('a session that began before client certificates were demanded does not get around them', async (t) => {
  const { port, draft, configure } = await https(t, { '': ['any.test'] });
  const options = trusting('any.test', { maxVersion: 'TLSv1.2' });
  const session = (await tlsClient(t, port, options)).getSession();
  assert.ok(session);
  configure({ ...draft, clientValidation: { mode: 'AllowValidOnly', ca: authority.pem } });
  await assert.rejects(tlsClient(t, port, { ...options, session }));
});

test('WebSockets over TLS, also for clients that would speak HTTP/2', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  server.on('connection', (socket) => socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })));
  t.after(() => server.close());
  const listeners = [{ certificates: ['any.test'], endpoints: [`127.0.0.1:${(server.address() as AddressInfo).port}`] }];
  const { port } = await startOwnEntry(t, { protocol: 'HTTPS', listeners, certificates: pairs });
  const client = new WebSocket(`wss://127.0.0.1:${port}/ws`, { ...trusting('any.test'), origin: 'https://elsewhere.test' });
  await once(client, 'open');
  client.send(Buffer.from([0, 255]));
  const [data] = (await once(client, 'message')) as [Buffer];
  assert.deepEqual([...data], [0, 255]);
  client.close();
  await once(client, 'close');
});

test('a handshake that does not get on is ended', async (t) => {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const listeners = [{ certificates: ['any.test'], endpoints: [backend.address] }];
  const { port } = await startOwnEntry(t, { protocol: 'HTTPS', listeners, certificates: pairs }, { options: { headersTimeout: 100 } });
  const silent = await rawClient(t, port);
  const begun = await rawClient(t, port);
  begun.send(Buffer.from([22, 3, 1, 2, 0, 1]));
  await Promise.all([silent.gone(), begun.gone()]);
});
