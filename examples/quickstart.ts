// `npm run quickstart`: the whole path on this machine, with no account and no cluster.
//
//   npm run quickstart                              runs until Ctrl-C; edit examples/quickstart/*.yaml meanwhile
//   npm run quickstart -- --once                    sends the requests itself, prints what came back, exits 0 only if all are right
//   npm run quickstart -- --connector cloudflared   the real cloudflared, from CLOUDFLARED or PATH
//   npm run quickstart -- --dir FOLDER              another folder of YAML
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startApp } from './demo/app.ts';
import { startGreeter } from './demo/greeter.ts';
import { startLocalCloudflare, TUNNEL_ID } from './local-cloudflare.ts';
import type { LocalCloudflare } from './local-cloudflare.ts';
import { startProgram } from './processes.ts';
import type { LogLine, Program } from './processes.ts';
import { exchanges } from './requests.ts';
import { ingressTable, say, step, table, tell, trouble } from './story.ts';

const root = path.join(import.meta.dirname, '..');
const APP_PORT = 47_080;
const GREETER_PORT = 47_051;
/** Cold start on a slow machine included. */
const START_MS = 60_000;

const options = {
  once: { type: 'boolean', default: false },
  connector: { type: 'string', default: 'native' },
  dir: { type: 'string', default: path.join(root, 'examples/quickstart') },
} as const;

function readArguments(): { readonly once: boolean; readonly connector: string; readonly dir: string } {
  try {
    const { values } = parseArgs({ options });
    if (!['native', 'cloudflared'].includes(values.connector))
      throw new Error(`--connector is native or cloudflared, not '${values.connector}'`);
    return values;
  } catch (error) {
    trouble((error as Error).message);
    say('usage: npm run quickstart -- [--once] [--connector native|cloudflared] [--dir FOLDER]');
    process.exit(2);
  }
}

/** The real binary, which no package registry has. */
function findCloudflared(): string {
  if (process.env['CLOUDFLARED']) return process.env['CLOUDFLARED'];
  try {
    return execFileSync('/bin/sh', ['-c', 'command -v cloudflared'], { encoding: 'utf8' }).trim();
  } catch {
    trouble('no cloudflared found: set CLOUDFLARED to its path, put it on PATH, or leave out --connector cloudflared');
    process.exit(2);
  }
}

/** A port that is free now, for programs that are told theirs. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const { once, connector, dir } = readArguments();
const cloudflared = connector === 'cloudflared' ? findCloudflared() : '';
const work = mkdtempSync(path.join(tmpdir(), 'quickstart-'));
const cleanups: (() => Promise<unknown> | void)[] = [() => rmSync(work, { recursive: true, force: true })];
const events = new EventTarget();

async function end(code: number): Promise<never> {
  for (const cleanup of cleanups.reverse()) await cleanup();
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    say('\nEnding everything ...');
    void end(0);
  });
}

/** Waits for a condition that is looked at whenever something happened. */
function until(what: string, holds: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`gave up waiting until ${what}`)), START_MS);
    const check = (): void => {
      if (!holds()) return;
      clearTimeout(timer);
      events.removeEventListener('change', check);
      resolve();
    };
    events.addEventListener('change', check);
    check();
  });
}

const changed = (): void => void events.dispatchEvent(new Event('change'));

async function startDemoServices(): Promise<void> {
  try {
    const app = await startApp(APP_PORT);
    cleanups.push(() => {
      app.closeAllConnections();
      app.close();
    });
    const greeter = await startGreeter(`127.0.0.1:${GREETER_PORT}`);
    cleanups.push(() => greeter.forceShutdown());
  } catch (error) {
    throw new Error(`the demo services need ports ${APP_PORT} and ${GREETER_PORT} of 127.0.0.1: ${(error as Error).message}`, {
      cause: error,
    });
  }
  step(`demo services: a web application on 127.0.0.1:${APP_PORT}, a gRPC service on 127.0.0.1:${GREETER_PORT}`);
}

interface Running {
  readonly cloudflare: LocalCloudflare;
  readonly lines: LogLine[];
}

/** Our two programs, told about each other and about the local Cloudflare. */
async function startPrograms(cloudflare: LocalCloudflare, lines: LogLine[]): Promise<void> {
  const authToken = randomBytes(32).toString('hex');
  const [configPort, entryPort, healthPort, metricsPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const heard = (line: LogLine): void => {
    lines.push(line);
    const text = tell(line);
    if (text !== null) say(text);
    changed();
  };
  const proxy = startProgram(
    'proxy',
    [path.join(root, 'main.ts'), 'proxy'],
    {
      TUNNEL_TOKEN: cloudflare.connectorToken,
      PROXY_AUTH_TOKEN: authToken,
      PROXY_CONFIG_ADDR: `127.0.0.1:${configPort}`,
      PROXY_CONNECTOR: connector,
      PROXY_EDGE: cloudflare.edge.addresses.join(','),
      PROXY_EDGE_CA: cloudflare.visitor.caFile,
      PROXY_STATE_DIR: path.join(work, 'proxy'),
      PROXY_GRACE_PERIOD: '5s',
      ...(cloudflared === '' ? {} : { CLOUDFLARED: cloudflared }),
    },
    heard,
  );
  const controller = startProgram(
    'controller',
    [
      path.join(root, 'main.ts'),
      'controller',
      `--watch-dir=${dir}`,
      `--state-dir=${path.join(work, 'controller')}`,
      `--status-dir=${path.join(work, 'status')}`,
      `--proxy-endpoints=http://127.0.0.1:${configPort}/config`,
      `--cloudflare-api-url=${cloudflare.api.url}`,
      `--tunnel-entry-port=${entryPort}`,
      `--health-addr=127.0.0.1:${healthPort}`,
      `--metrics-addr=127.0.0.1:${metricsPort}`,
      '--hostname-ownership-enforce',
      '--hostname-ownership-namespace-selector=cf.k8s.lex.la/hostname-suffix',
    ],
    { CF_PROXY_AUTH_TOKEN: authToken },
    heard,
  );
  for (const program of [proxy, controller]) watch(program);
}

/** A program that ends before its time ends the quick start. */
function watch(program: Program): void {
  let ending = false;
  cleanups.push(() => {
    ending = true;
    return program.stop();
  });
  void program.ended.then((how) => {
    if (ending) return;
    trouble(`the ${program.name} ended by itself (${how})`);
    void end(1);
  });
}

async function narrate({ cloudflare, lines }: Running): Promise<void> {
  const has = (msg: string): boolean => lines.some((line) => line.msg === msg);
  await until('the controller has read the YAML', () => has('source synced'));
  step(`the controller read the YAML in ${path.relative(process.cwd(), dir) || dir}`);
  await until('the tunnel document is written', () => cloudflare.api.document(TUNNEL_ID).version > 0);
  step(`tunnel ${TUNNEL_ID} found; its ingress rules are written (version ${cloudflare.api.document(TUNNEL_ID).version}):`);
  ingressTable((cloudflare.api.document(TUNNEL_ID).config as { ingress: [] }).ingress);
  await until('the proxy has a configuration', () => has('configuration applied'));
  const applied = (): boolean =>
    cloudflare.edge.connections(TUNNEL_ID).some(({ appliedVersion }) => appliedVersion === cloudflare.api.document(TUNNEL_ID).version);
  await until('the connector has registered with the edge', applied);
  step(`the connector (${connector}) registered with the edge and applied the rules`);
  await until(
    'the routes are accepted',
    () => lines.filter(({ msg, text }) => msg === 'status' && String(text).includes('Accepted')).length > 0,
  );
}

/** Sends every request and prints what came back; true when all is as it should be. */
async function sendAll({ visitor }: LocalCloudflare): Promise<boolean> {
  const rows: string[][] = [];
  let failures = 0;
  for (const exchange of exchanges) {
    try {
      rows.push(['ok', exchange.sent, await exchange.run(visitor)]);
    } catch (error) {
      failures += 1;
      rows.push(['FAIL', exchange.sent, `${(error as Error).message} (expected: ${exchange.expected})`]);
    }
  }
  say();
  table(['', 'sent', 'came back'], rows);
  say(`\n${exchanges.length - failures} passed, ${failures} failed`);
  return failures === 0;
}

function invite({ visitor }: LocalCloudflare): void {
  say('\nTry it from another terminal:\n');
  for (const exchange of exchanges) say(`  # ${exchange.sent}: ${exchange.expected}\n  ${exchange.curl(visitor)}\n`);
  say(`Edit a file in ${path.relative(process.cwd(), dir) || dir} and send again: changes are live within a second.`);
  say(`Statuses as YAML: ${path.join(work, 'status')}`);
  say('Ctrl-C ends everything.\n');
}

try {
  const cloudflare = await startLocalCloudflare(work);
  cleanups.push(() => cloudflare.close());
  step(`a local Cloudflare: API at ${cloudflare.api.url}, edge at ${cloudflare.edge.addresses.join(', ')}`);
  cloudflare.edge.onChange(changed);
  cloudflare.api.authority.onConfigChange(changed);
  await startDemoServices();
  const lines: LogLine[] = [];
  await startPrograms(cloudflare, lines);
  await narrate({ cloudflare, lines });
  if (once) await end((await sendAll(cloudflare)) ? 0 : 1);
  invite(cloudflare);
  cloudflare.api.authority.onConfigChange(() => {
    step('the tunnel\u2019s ingress rules changed:');
    ingressTable((cloudflare.api.document(TUNNEL_ID).config as { ingress: [] }).ingress);
  });
} catch (error) {
  trouble((error as Error).message);
  await end(1);
}
