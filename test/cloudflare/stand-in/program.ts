// Behaves like the cloudflared program at its edges (flags, environment, log lines, metrics, signals, exit codes), so that its supervisor
// can be tested where the real binary is not to be had. The tunnel itself is carried by the connector in TypeScript.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { createNativeConnector } from '#proxy/connector/native/native-connector.ts';

const VALUES = [
  '--protocol',
  '--metrics',
  '--grace-period',
  '--output',
  '--loglevel',
  '--retries',
  '--edge',
  '--cacert',
  '--label',
  '--url',
  '--token',
];
const SWITCHES = ['--no-autoupdate'];
const WORDS = ['tunnel', 'run'];

const say = (level: string, message: string, fields: object = {}): void =>
  void process.stderr.write(`${JSON.stringify({ level, time: new Date().toISOString(), ...fields, message })}\n`);

function parse(argv: readonly string[]): Map<string, string[]> | null {
  const found = new Map<string, string[]>();
  for (let i = 0; i < argv.length; i += 1) {
    const arg = argv[i] ?? '';
    if (WORDS.includes(arg) || SWITCHES.includes(arg)) continue;
    if (!VALUES.includes(arg)) return null;
    i += 1;
    found.set(arg, [...(found.get(arg) ?? []), argv[i] ?? '']);
  }
  return found;
}

const flags = parse(process.argv.slice(2));
if (flags === null) {
  process.stdout.write('NAME:\n   cloudflared - a stand-in\n');
  process.exit(0);
}
const flag = (name: string): string | undefined => flags.get(name)?.[0];
const token = flag('--token') ?? process.env['TUNNEL_TOKEN'] ?? '';
const protocol = flag('--protocol') ?? 'auto';
if (protocol !== 'http2' && protocol !== 'quic' && protocol !== 'auto') {
  say('error', `unknown protocol: ${protocol}`);
  process.exit(1);
}
const graceMs = Number(/^(\d+)s$/.exec(flag('--grace-period') ?? '30s')?.[1] ?? Number.NaN) * 1000;
if (!(graceMs <= 180_000)) {
  say('error', 'grace-period must be equal or less than 3m0s');
  process.exit(1);
}

const ca = flag('--cacert');
const url = flag('--url');
const connector = createNativeConnector(
  {
    token,
    protocol: 'http2',
    edge: flags.get('--edge') ?? [],
    gracePeriodMs: graceMs,
    ...(ca === undefined ? {} : { edgeCa: readFileSync(ca, 'utf8') }),
    ...(url === undefined ? {} : { originPort: Number(new URL(url).port) }),
    log: {
      info: (fields, message) => say('info', message, fields),
      warn: (fields, message) => say('warn', message, fields),
      error: (fields, message) => say('error', message, fields),
    },
  },
  { spacingMs: 20, backoff: { firstMs: 20, mostMs: 100 } },
);

const metrics = createServer((request, response) => {
  const { phase, connections, configVersion } = connector.state;
  const ready = phase === 'connected' ? connections : 0;
  response.setHeader('content-type', 'application/json');
  if (request.url === '/ready')
    return response
      .writeHead(ready > 0 ? 200 : 503)
      .end(JSON.stringify({ status: ready > 0 ? 200 : 503, readyConnections: ready, connectorId: 'stand-in' }));
  if (request.url === '/config') return response.end(JSON.stringify({ version: configVersion, config: {} }));
  return response.writeHead(404).end();
});
const [host, port] = (flag('--metrics') ?? '127.0.0.1:0').split(':');
metrics.listen(Number(port), host, () => {
  const bound = metrics.address() as AddressInfo;
  say('info', `Starting metrics server on ${bound.address}:${bound.port}/metrics`);
  if (process.env['STAND_IN_SHOW_ENVIRONMENT']) say('info', 'environment', { names: Object.keys(process.env) });
});

let wasConnected = false;
connector.onState((state) => {
  wasConnected ||= state.phase === 'connected';
  if (state.error?.code === 'InvalidToken') {
    say('error', 'Provided Tunnel token is not valid.');
    process.exit(255);
  }
  // The real one waits for ever on "Unauthorized" and gives up on any other refusal of its first connection.
  const refused = state.phase === 'failed' || state.error?.code === 'Refused';
  if (!wasConnected && refused) {
    say('error', 'Failed to register the connection', { error: state.error?.message });
    process.exit(1);
  }
});
connector.start();

let isEnding = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (isEnding) process.kill(process.pid, 'SIGKILL');
    isEnding = true;
    say('info', 'Initiating graceful shutdown due to signal', { signal });
    void connector.drain().then(() => process.exit(0));
  });
}
