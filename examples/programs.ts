// The controller and the proxy of the quick start, told about each other and about the local Cloudflare: the settings of a real installation.
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Lifetime } from './lifetime.ts';
import type { LocalCloudflare } from './local-cloudflare.ts';
import { root, type Options } from './options.ts';
import { startProgram } from './processes.ts';
import type { LogLine, Program } from './processes.ts';

export interface ProgramsOptions {
  readonly lifetime: Lifetime;
  readonly cloudflare: LocalCloudflare;
  readonly options: Options;
  /** Folder of YAML. */
  readonly dir: string;
  readonly onLine: (line: LogLine) => void;
  /** A program has ended before its time. */
  readonly onEarlyEnd: (program: string, how: string) => void;
}

export const statusFolder = (lifetime: Lifetime): string => path.join(lifetime.folder, 'status');

export async function startPrograms(given: ProgramsOptions): Promise<void> {
  const { lifetime, cloudflare, options, dir, onLine } = given;
  const authToken = randomBytes(32).toString('hex');
  const [configPort = 0, entryPort = 0, healthPort = 0, metricsPort = 0] = await freePorts(4);
  const main = path.join(root, 'main.ts');
  // Where Node keeps what it has compiled: the next start takes half the time.
  const common = { NODE_COMPILE_CACHE: path.join(root, 'node_modules/.cache/quickstart') };
  const proxy = startProgram({
    name: 'proxy',
    args: [main, 'proxy'],
    env: {
      ...common,
      TUNNEL_TOKEN: cloudflare.connectorToken,
      PROXY_AUTH_TOKEN: authToken,
      PROXY_CONFIG_ADDR: `127.0.0.1:${configPort}`,
      PROXY_CONNECTOR: options.connector,
      PROXY_EDGE: cloudflare.edgeAddresses.join(','),
      PROXY_EDGE_CA: cloudflare.visitor.caFile,
      PROXY_STATE_DIR: path.join(lifetime.folder, 'proxy'),
      PROXY_GRACE_PERIOD: '2s',
      CLOUDFLARED: options.cloudflared,
    },
    onLine,
  });
  const controller = startProgram({
    name: 'controller',
    args: [
      main,
      'controller',
      `--watch-dir=${dir}`,
      `--state-dir=${path.join(lifetime.folder, 'controller')}`,
      `--status-dir=${statusFolder(lifetime)}`,
      `--proxy-endpoints=http://127.0.0.1:${configPort}/config`,
      `--cloudflare-api-url=${cloudflare.apiUrl}`,
      `--tunnel-entry-port=${entryPort}`,
      `--health-addr=127.0.0.1:${healthPort}`,
      `--metrics-addr=127.0.0.1:${metricsPort}`,
      '--hostname-ownership-enforce',
      '--hostname-ownership-namespace-selector=cf.k8s.lex.la/hostname-suffix',
    ],
    env: { ...common, CF_PROXY_AUTH_TOKEN: authToken },
    onLine,
  });
  lifetime.onEnd(() => Promise.all([controller.stop(), proxy.stop()]));
  for (const program of [proxy, controller]) watch(program, given);
}

function watch({ name, ended }: Program, { lifetime, onEarlyEnd }: ProgramsOptions): void {
  void ended.then((how) => {
    if (!lifetime.isEnding) onEarlyEnd(name, how);
  });
}

/** Ports that are free now, all different, for programs that are told theirs. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
