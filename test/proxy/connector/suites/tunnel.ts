// A tunnel from end to end for tests: origin, edge, one connector of either kind, and visitors.
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ConnectorLog, ConnectorOptions } from '#proxy/connector/connector.ts';
import { createNativeConnector, type NativeTuning } from '#proxy/connector/native/native-connector.ts';
import { startEdge, type Edge, type EdgeOptions, type EdgeTunnel } from '#test/cloudflare/edge/edge.ts';

/** Whatever runs cleanup: a suite or a test. */
export interface Cleanup {
  after(action: () => Promise<void> | void): void;
}

export interface Origin {
  readonly port: number;
  readonly server: http.Server;
  /** Replaced by tests; requests and upgrades that come next go to it. */
  onRequest: (request: http.IncomingMessage, response: http.ServerResponse) => void;
  onUpgrade: (request: http.IncomingMessage, socket: import('node:net').Socket, head: Buffer) => void;
  close(): Promise<void>;
}

export async function startOrigin(
  cleanup: Cleanup,
  onRequest: Origin['onRequest'] = (_, response) => void response.end(),
): Promise<Origin> {
  const server = http.createServer({ keepAliveTimeout: 120_000, requestTimeout: 0, maxHeaderSize: 256 * 1024 });
  server.on('request', (request, response) => origin.onRequest(request, response));
  server.on('upgrade', (request, socket, head) => origin.onUpgrade(request, socket as import('node:net').Socket, head));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin: Origin = {
    port: (server.address() as AddressInfo).port,
    server,
    onRequest,
    onUpgrade: (_, socket) => socket.destroy(),
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  cleanup.after(() => origin.close());
  return origin;
}

/** One tunnel known to an edge, with a document that tests may change. */
export interface TestTunnel {
  readonly id: string;
  readonly token: string;
  readonly edge: Edge;
  /** Raises the version, pushes, and resolves when the connectors have answered. */
  configure(config: unknown): Promise<void>;
  /** What `authority.tunnel` answers; replaced by tests. */
  record: EdgeTunnel;
}

export async function startTunnel(cleanup: Cleanup, options: Partial<EdgeOptions> = {}, config: unknown = null): Promise<TestTunnel> {
  const id = randomUUID();
  const accountTag = 'acc0123456789abcdef0123456789abc';
  const secret = randomBytes(32).toString('base64');
  const edge = await startEdge({ authority: { tunnel: (asked) => (asked === id ? tunnel.record : undefined) }, ...options });
  cleanup.after(() => edge.close());
  const tunnel: TestTunnel = {
    id,
    edge,
    token: Buffer.from(JSON.stringify({ a: accountTag, t: id, s: secret })).toString('base64'),
    record: { accountTag, secret, configSrc: 'cloudflare', document: { version: config === null ? 0 : 1, config } },
    async configure(next) {
      tunnel.record = { ...tunnel.record, document: { version: tunnel.record.document.version + 1, config: next } };
      await edge.configChanged(id);
    },
  };
  await edge.openTunnel(id);
  return tunnel;
}

/** A document whose only rule is this origin. */
export function originDocument(origin: { readonly port: number }): unknown {
  return { ingress: [{ service: `http://127.0.0.1:${origin.port}` }] };
}

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly fields: object;
  readonly message: string;
}

export function recordingLog(): ConnectorLog & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at = (level: LogLine['level']) => (fields: object, message: string) => void lines.push({ level, fields, message });
  return { lines, info: at('info'), warn: at('warn'), error: at('error') };
}

export const FAST: Partial<NativeTuning> = { spacingMs: 1, backoff: { firstMs: 10, mostMs: 50 }, timeoutMs: 5000 };

export function connectorOptions(tunnel: TestTunnel, overrides: Partial<ConnectorOptions> = {}): ConnectorOptions {
  const { edge, token } = tunnel;
  return { token, protocol: 'http2', edge: edge.addresses, edgeCa: edge.ca.pem, gracePeriodMs: 5000, log: recordingLog(), ...overrides };
}

/** A connector in use: only what all kinds have. */
export interface ConnectorKind {
  readonly name: string;
  /** Starts one and resolves when it is registered and runs with the tunnel's document. */
  start(tunnel: TestTunnel, cleanup: Cleanup): Promise<{ drain(): Promise<void> }>;
}

export const NATIVE: ConnectorKind = {
  name: 'native connector',
  async start(tunnel, cleanup) {
    const connector = createNativeConnector(connectorOptions(tunnel), FAST);
    cleanup.after(() => connector.stop());
    connector.start();
    await connected(tunnel);
    return connector;
  },
};

/** Path of a cloudflared from CLOUDFLARED or PATH, or null. */
export function findCloudflared(): string | null {
  const named = process.env['CLOUDFLARED'];
  const candidates = named ? [named] : (process.env['PATH'] ?? '').split(':').map((folder) => path.join(folder, 'cloudflared'));
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function cloudflared(program: string): ConnectorKind {
  return {
    name: `cloudflared (${program})`,
    async start(tunnel, cleanup) {
      const folder = mkdtempSync(path.join(tmpdir(), 'cloudflared-'));
      const caFile = path.join(folder, 'ca.pem');
      writeFileSync(caFile, tunnel.edge.ca.pem);
      const edges = tunnel.edge.addresses.flatMap((address) => ['--edge', address]);
      const flags = ['--no-autoupdate', '--no-prechecks', '--protocol', 'http2', '--metrics', '127.0.0.1:0', '--retries', '0'];
      const child = spawn(program, ['tunnel', ...flags, '--grace-period', '5s', '--cacert', caFile, ...edges, 'run'], {
        env: { TUNNEL_TOKEN: tunnel.token, HOME: folder },
        stdio: 'ignore',
      });
      const exited = once(child, 'close');
      cleanup.after(async () => {
        child.kill('SIGKILL');
        await exited;
        rmSync(folder, { recursive: true });
      });
      await connected(tunnel, 60_000);
      return {
        async drain() {
          child.kill('SIGTERM');
          await exited;
        },
      };
    },
  };
}

/** Every connection is registered and runs with the tunnel's document. */
export async function connected(tunnel: TestTunnel, timeoutMs?: number): Promise<void> {
  const { edge, id } = tunnel;
  const isReady = (): boolean => {
    const connections = edge.connections(id).filter(({ isDraining }) => !isDraining);
    const version = tunnel.record.configSrc === 'cloudflare' ? tunnel.record.document.version : -1;
    return connections.length === edge.addresses.length && connections.every(({ appliedVersion }) => appliedVersion >= version);
  };
  await edge.when(isReady, timeoutMs);
}

export interface Reply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly rawTrailers: readonly string[];
  readonly body: Buffer;
  readonly text: string;
}

export interface VisitOptions {
  readonly method?: string;
  readonly host?: string;
  readonly path?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  readonly secure?: boolean;
}

/** Opens a visitor's HTTP/1.1 request without sending its body. */
export function openVisit(tunnel: TestTunnel, options: VisitOptions = {}): http.ClientRequest {
  const address = tunnel.edge.address(tunnel.id);
  if (address === undefined) throw new Error('the tunnel has no address');
  const host = options.host ?? 'app.example.com';
  const common = {
    host: address.ip,
    method: options.method ?? 'GET',
    path: options.path ?? '/',
    headers: { host, ...options.headers },
    agent: false,
    maxHeaderSize: 256 * 1024,
  };
  if (options.secure !== true) return http.request({ ...common, port: address.httpPort });
  return https.request({ ...common, port: address.httpsPort, servername: host, ca: tunnel.edge.ca.pem });
}

/** A whole exchange of a visitor over HTTP/1.1. */
export async function visit(tunnel: TestTunnel, options: VisitOptions = {}): Promise<Reply> {
  const request = openVisit(tunnel, options);
  request.end(options.body);
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  return readReply(response);
}

export async function readReply(response: http.IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const { statusCode = 0, headers, rawHeaders, rawTrailers } = response;
  return { status: statusCode, headers, rawHeaders, rawTrailers, body, text: body.toString('utf8') };
}
