// A data plane with ports of the proxy's own entry, and clients for it: HTTP/1.1, HTTP/2, with and without TLS.
import { once } from 'node:events';
import http2, { type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { connect as connectNet } from 'node:net';
import type { TestContext } from 'node:test';
import tls from 'node:tls';
import type { BackendConfig, CertificateConfig, LocalEntryConfig, RouteConfig, RuleConfig } from '#proxy/config/schema.ts';
import { DataPlane, type DataPlaneDependencies } from '#proxy/data-plane.ts';
import { Metrics } from '#proxy/observe/metrics.ts';
import { compileTable } from '#proxy/table/compile.ts';
import { Peer, rawBackend, type RawBackend } from './raw.ts';

/** One listener with one route for all of it. */
export interface ListenerDraft {
  readonly hostname?: string;
  readonly certificates?: readonly string[];
  readonly rule?: Partial<RuleConfig>;
  readonly endpoints?: readonly string[];
  readonly backendProtocol?: 'http1' | 'h2c';
}

export interface EntryDraft {
  readonly listenerPort?: number;
  readonly protocol?: 'HTTP' | 'HTTPS';
  readonly listeners: readonly ListenerDraft[];
  readonly clientValidation?: LocalEntryConfig['clientValidation'];
  readonly certificates?: Readonly<Record<string, { readonly cert: string; readonly key: string }>>;
}

export interface OwnEntry {
  readonly plane: DataPlane;
  readonly port: number;
  readonly warnings: string[];
  configure(draft: EntryDraft): void;
  /** Takes the entry away, as a configuration without it does; resolves when the last connection is closed. */
  close(): Promise<void>;
}

export async function startOwnEntry(
  t: TestContext,
  draft: EntryDraft,
  { options, ...rest }: Partial<DataPlaneDependencies> = {},
): Promise<OwnEntry> {
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (_fields: object, message: string) => void warnings.push(message) };
  const plane = new DataPlane({ log, random: () => 0.5, options: { tickTime: 20, ...options }, ...rest });
  const { port } = await plane.listenLocal(0, '::');
  t.after(() => plane.drain(0));
  const configure = (next: EntryDraft): void => plane.setTable(tableOf(port, next));
  configure(draft);
  const close = (): Promise<void> => {
    plane.setTable(compileTable({ tunnels: [], entries: [], certificates: [], localEntries: [], backends: [], routes: [] }));
    return plane.unlisten(port);
  };
  return { plane, port, warnings, configure, close };
}

function tableOf(port: number, draft: EntryDraft) {
  const { protocol = 'HTTP', listenerPort = protocol === 'HTTP' ? 80 : 443 } = draft;
  const backends: BackendConfig[] = [];
  const routes: RouteConfig[] = [];
  const listeners = draft.listeners.map(({ hostname, certificates, rule, endpoints, backendProtocol }, index) => {
    const id = `listener-${index}`;
    if (endpoints !== undefined)
      backends.push({ kind: 'backend', id, name: id, protocol: backendProtocol ?? 'http1', endpoints: [...endpoints] });
    const choices = endpoints === undefined ? [] : [{ backend: id, weight: 1 }];
    routes.push({
      kind: 'route',
      id: `HTTPRoute/default/${id}`,
      type: 'HTTP',
      namespace: 'default',
      name: id,
      created: '2026-01-01T00:00:00Z',
      attachments: [{ entry: 'local', listener: id, hostnames: [] }],
      rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], backends: choices, ...rule }],
    });
    const named = hostname === undefined ? {} : { hostname };
    return { id, protocol, port: listenerPort, ...named, certificates: [...(certificates ?? [])] };
  });
  const local: LocalEntryConfig = { kind: 'localEntry', id: 'local', port, listenerPort, protocol, listeners };
  if (draft.clientValidation !== undefined) local.clientValidation = draft.clientValidation;
  const certificates = Object.entries(draft.certificates ?? {}).map(([id, pair]): CertificateConfig => ({
    kind: 'certificate',
    id,
    ...pair,
  }));
  return compileTable({ tunnels: [], entries: [], certificates, localEntries: [local], backends, routes });
}

/** The same with one listener for every host, in front of one backend. */
export async function behindOwnEntry(
  t: TestContext,
  onPeer?: (peer: Peer) => void,
  options = {},
): Promise<OwnEntry & { readonly backend: RawBackend; readonly metrics: Metrics }> {
  const backend = await rawBackend(onPeer);
  t.after(() => backend.close());
  const metrics = new Metrics();
  return { ...(await startOwnEntry(t, { listeners: [{ endpoints: [backend.address] }] }, { options, metrics })), backend, metrics };
}

/** A connection whose bytes are up to the test. */
export async function rawClient(t: TestContext, port: number, host = '127.0.0.1'): Promise<Peer> {
  const socket = connectNet({ port, host, allowHalfOpen: true, noDelay: true });
  const peer = new Peer(socket);
  t.after(() => peer.close());
  await once(socket, 'connect');
  return peer;
}

/** A TLS connection; rejects with what the handshake, or the first answer to nothing, failed with. */
export async function tlsClient(t: TestContext, port: number, options: tls.ConnectionOptions): Promise<tls.TLSSocket> {
  const socket = tls.connect({ port, host: '127.0.0.1', ...options });
  t.after(() => void socket.destroy());
  await once(socket, 'secureConnect');
  socket.on('error', () => {});
  return socket;
}

export async function h2Client(t: TestContext, port: number, socket?: tls.TLSSocket): Promise<ClientHttp2Session> {
  const session =
    socket === undefined
      ? http2.connect(`http://127.0.0.1:${port}`)
      : http2.connect(`https://127.0.0.1:${port}`, { createConnection: () => socket });
  session.on('error', () => {});
  t.after(() => session.destroy());
  await once(session, 'remoteSettings');
  return session;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly trailers: IncomingHttpHeaders;
}

export function get(session: ClientHttp2Session, headers: OutgoingHttpHeaders = {}): Promise<Answer> {
  return answerOf(session.request({ ':path': '/', ':authority': 'app.example.com', ...headers }));
}

/** The whole response; rejects when the stream breaks off. */
export async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  let headers: IncomingHttpHeaders & { ':status'?: number | undefined } = {};
  let trailers: IncomingHttpHeaders = {};
  let body = '';
  stream.setEncoding('latin1');
  stream.on('response', (fields) => (headers = fields));
  stream.on('trailers', (fields) => (trailers = fields));
  stream.on('data', (chunk: string) => (body += chunk));
  await once(stream, 'close');
  if (stream.rstCode !== 0 || headers[':status'] === undefined) throw new Error(`stream ended with code ${stream.rstCode}`);
  return { status: headers[':status'], headers, body, trailers };
}
