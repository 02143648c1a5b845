// The supervisor of cloudflared, against the local edge: with a stand-in program always, with the real one where it is found.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { tmpdir } from 'node:os';
import { mkdtempSync, rmSync } from 'node:fs';
import { CloudflaredConnector } from '#proxy/connector/cloudflared.ts';
import type { CloudflaredOptions } from '#proxy/connector/cloudflared.ts';
import type { ConnectorState } from '#proxy/connector/connector.ts';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import { startEdge, type Edge, type EdgeTunnel } from '#test/cloudflare/edge/edge.ts';
import { createStandIn } from '#test/cloudflare/stand-in/stand-in.ts';

const TUNNEL = 'f47ac10b-58cc-4372-a567-0e02b2c3d479';
const SECRET = Buffer.alloc(32, 7).toString('base64');
const TOKEN = Buffer.from(JSON.stringify({ a: 'account', t: TUNNEL, s: SECRET })).toString('base64');

/** The real binary, if this machine has one. */
function realBinary(): string | null {
  const given = process.env['CLOUDFLARED'];
  if (given) return given;
  try {
    return execFileSync('/bin/sh', ['-c', 'command -v cloudflared'], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}

interface World {
  readonly edge: Edge;
  readonly caFile: string;
  readonly origin: number;
  readonly lines: { level: string; fields: object; message: string }[];
  readonly connector: (options?: Partial<CloudflaredOptions>) => CloudflaredConnector;
}

async function world(t: TestContext, program: string): Promise<World> {
  const dir = mkdtempSync(path.join(tmpdir(), 'supervisor-'));
  const caFile = path.join(dir, 'ca.pem');
  const ca = await createCertificateAuthority({ file: caFile });
  const origin = createServer((request, response) => void setImmediate(() => response.end(`origin saw ${request.headers.host}`)));
  await once(origin.listen(0, '127.0.0.1'), 'listening');
  const port = (origin.address() as AddressInfo).port;
  const document = { version: 3, config: { ingress: [{ service: `http://127.0.0.1:${port}` }] } };
  const tunnel: EdgeTunnel = { accountTag: 'account', secret: SECRET, configSrc: 'cloudflare', document };
  const edge = await startEdge({ ca, authority: { tunnel: (id) => (id === TUNNEL ? tunnel : undefined) }, connectorPorts: [0, 0] });
  const lines: World['lines'] = [];
  const record = (level: string) => (fields: object, message: string) => void lines.push({ level, fields, message });
  const log = { info: record('info'), warn: record('warn'), error: record('error') };
  const connectors: CloudflaredConnector[] = [];
  t.after(async () => {
    await Promise.all(connectors.map((connector) => connector.stop()));
    await edge.close();
    origin.closeAllConnections();
    origin.close();
    rmSync(dir, { recursive: true });
  });
  const connector = (options: Partial<CloudflaredOptions> = {}): CloudflaredConnector => {
    const base = {
      program,
      token: TOKEN,
      protocol: 'http2' as const,
      edge: edge.addresses,
      edgeCaFile: caFile,
      gracePeriodMs: 10_000,
      retries: 0,
      backoffMs: 50,
      log,
    };
    const created = new CloudflaredConnector({ ...base, ...options });
    connectors.push(created);
    return created;
  };
  return { edge, caFile, origin: port, lines, connector };
}

function reached(connector: CloudflaredConnector, holds: (state: ConnectorState) => boolean): Promise<ConnectorState> {
  if (holds(connector.state)) return Promise.resolve(connector.state);
  return new Promise((resolve) => {
    const end = connector.onState((state) => {
      if (!holds(state)) return;
      end();
      resolve(state);
    });
  });
}

async function visit(edge: Edge): Promise<string> {
  const address = await edge.openTunnel(TUNNEL);
  const response = await fetch(`http://${address.ip}:${address.httpPort}/`);
  return `${response.status} ${await response.text()}`;
}

/** Processes whose environment holds the token: the child and nothing else. */
function commandLines(program: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')];
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(program) || line.includes('stand-in/program.ts'));
}

function suite(name: string, programOf: () => string | null): void {
  const program = programOf();
  const skip = program === null ? 'no cloudflared binary; set CLOUDFLARED or put it on PATH' : false;
  describe(`supervised ${name}`, { skip }, () => {
    const binary = program ?? '';

    test('registers, reports its version of the document, carries traffic, and drains with exit 0', async (t) => {
      const { edge, connector, lines } = await world(t, binary);
      const subject = connector();
      subject.start();
      const state = await reached(subject, ({ phase, configVersion }) => phase === 'connected' && configVersion === 3);
      assert.equal(state.error, null);
      assert.match(await visit(edge), /^200 origin saw/);
      await subject.drain();
      assert.equal(subject.state.phase, 'stopped');
      assert.equal(edge.connections(TUNNEL).length, 0);
      assert.equal(lines.filter(({ level, message }) => level === 'error' && /ended/.test(message)).length, 0);
    });

    test('the token is in no argument and in no log line', async (t) => {
      const { connector, lines } = await world(t, binary);
      const subject = connector();
      subject.start();
      await reached(subject, ({ phase }) => phase === 'connected');
      const found = commandLines(binary);
      assert.ok(found.length > 0);
      assert.ok(found.every((line) => !line.includes(TOKEN) && !line.includes(SECRET)));
      await subject.drain();
      assert.ok(!JSON.stringify(lines).includes(TOKEN) && !JSON.stringify(lines).includes(SECRET));
    });

    test('lost connections come back, and the state says so meanwhile', async (t) => {
      const { edge, connector } = await world(t, binary);
      const subject = connector();
      subject.start();
      await reached(subject, ({ phase }) => phase === 'connected');
      edge.pause();
      await reached(subject, ({ phase }) => phase === 'reconnecting');
      edge.resume();
      await reached(subject, ({ phase }) => phase === 'connected');
    });

    test('a refused first connection is reported and tried again by a new process', async (t) => {
      const { edge, connector } = await world(t, binary);
      const allow = edge.refuseRegistrations('tunnel is not allowed', { retry: false });
      const subject = connector();
      subject.start();
      const state = await reached(subject, ({ error }) => error !== null);
      assert.equal(state.error?.code, 'Refused');
      allow();
      await reached(subject, ({ phase }) => phase === 'connected');
    });

    test('a token that is no token ends in a clear error and no further tries', async (t) => {
      const { connector } = await world(t, binary);
      const subject = connector({ token: 'not-a-token' });
      subject.start();
      const state = await reached(subject, ({ phase }) => phase === 'failed');
      assert.equal(state.error?.code, 'InvalidToken');
      assert.match(state.error?.message ?? '', /Secret with the connector token/);
    });
  });
}

const standIn = createStandIn();
process.on('exit', () => standIn.remove());
suite('stand-in for cloudflared', () => standIn.program);
suite('cloudflared', realBinary);

test('a program that does not exist is named, and the supervisor stays up', async (t) => {
  const { connector } = await world(t, '/nonexistent/cloudflared');
  const subject = connector();
  subject.start();
  const state = await reached(subject, ({ error }) => error !== null);
  assert.equal(state.error?.code, 'Process');
  assert.match(state.error?.message ?? '', /CLOUDFLARED/);
});

test('a child that dies is started again', async (t) => {
  const { connector, edge } = await world(t, standIn.program);
  const subject = connector();
  subject.start();
  await reached(subject, ({ phase }) => phase === 'connected');
  const before = edge.connections(TUNNEL)[0]?.connectorId;
  subject.kill();
  await reached(subject, ({ phase }) => phase === 'reconnecting');
  await reached(subject, ({ phase }) => phase === 'connected');
  assert.notEqual(edge.connections(TUNNEL)[0]?.connectorId, before);
});

test('the child gets its token and a handful of switches, nothing of our environment', async (t) => {
  const watched = createStandIn({ STAND_IN_SHOW_ENVIRONMENT: '1' });
  t.after(() => watched.remove());
  process.env['OUR_SECRET'] = 'x';
  const { connector, lines } = await world(t, watched.program);
  const subject = connector();
  subject.start();
  await reached(subject, ({ phase }) => phase === 'connected');
  const names = lines.flatMap(({ message, fields }) => (message === 'environment' ? (fields as { names: string[] }).names : []));
  const known = [
    'TUNNEL_TOKEN',
    'TUNNEL_NO_PRECHECKS',
    'TUNNEL_MANAGEMENT_DIAGNOSTICS',
    'PATH',
    'HOME',
    'PWD',
    'OLDPWD',
    'SHLVL',
    '_',
    'STAND_IN_SHOW_ENVIRONMENT',
  ];
  assert.deepEqual(
    names.filter((name) => !known.includes(name)),
    [],
  );
  assert.ok(names.includes('TUNNEL_TOKEN'));
});
