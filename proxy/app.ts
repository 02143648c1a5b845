// Composition of the proxy: config API → table → data plane, and the connectors beside it. No logic of its own beyond the order of steps.
import { existsSync } from 'node:fs';
import { setImmediate as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { startConfigApi } from './config/api.ts';
import { LastGood } from './config/last-good.ts';
import { ConfigReceiver } from './config/receiver.ts';
import type { Accepted } from './config/receiver.ts';
import type { ConfigState, ProxyConfig, TunnelConfig } from './config/schema.ts';
import { CloudflaredConnector } from './connector/cloudflared.ts';
import type { Connector, ConnectorLog } from './connector/connector.ts';
import { createNativeConnector } from './connector/native/native-connector.ts';
import { ConnectorSet } from './connector/set.ts';
import type { WantedTunnel } from './connector/set.ts';
import { TokenFile } from './connector/token-file.ts';
import { DataPlane } from './data-plane.ts';
import { LocalEntries } from './local-entries.ts';
import { AccessLog } from './observe/access-log.ts';
import { MetricsPage } from './metrics-page.ts';
import type { ProxySettings } from './settings.ts';
import { compileSteps } from './table/compile.ts';
import type { RouteTable } from './table/types.ts';

export interface Proxy {
  readonly configPort: number;
  /** Unregisters from the edge, serves what is in flight, ends; at the latest after the grace period. */
  drain(): Promise<void>;
}

/** Loopback: only the connector beside us may come in by a tunnel's port. */
const TUNNEL_HOST = '127.0.0.1';
const MAX_PROBLEMS = 20;

export async function startProxy(settings: ProxySettings, log: ConnectorLog): Promise<Proxy> {
  const proxy = new ProxyApp(settings, log);
  await proxy.start();
  return proxy;
}

class ProxyApp implements Proxy {
  readonly #settings: ProxySettings;
  readonly #log: ConnectorLog;
  readonly #metrics = new MetricsPage();
  readonly #dataPlane: DataPlane;
  readonly #localEntries: LocalEntries;
  readonly #connectors: ConnectorSet;
  readonly #receiver = new ConfigReceiver((accepted) => this.#apply(accepted));
  readonly #lastGood: LastGood;
  readonly #token: TokenFile;
  #tunnels: readonly TunnelConfig[] = [];
  #table: RouteTable | null = null;
  #problems: readonly string[] = [];
  #appliedAt = '';
  #ports = new Set<number>();
  /** Of those: no longer wanted, open for connectors that are leaving. */
  readonly #closing = new Set<number>();
  /** What is wrong with tokens, by tunnel; '' for the one that was given. Told once, not with each configuration. */
  #tokenProblems: ReadonlyMap<string, string> = new Map();
  #draining = false;
  #api: Awaited<ReturnType<typeof startConfigApi>> | null = null;

  constructor(settings: ProxySettings, log: ConnectorLog) {
    this.#settings = settings;
    this.#log = log;
    const accessLog = settings.accessLog.enabled ? createAccessLog(settings.accessLog) : undefined;
    const options = { trustedHops: settings.trustedHops };
    this.#dataPlane = new DataPlane({
      log,
      random: Math.random,
      metrics: this.#metrics.requests,
      options,
      ...(accessLog && { accessLog }),
    });
    this.#localEntries = new LocalEntries(this.#dataPlane, settings.entryAddress, log);
    this.#connectors = new ConnectorSet({
      create: (wanted) => this.#createConnector(wanted),
      onChange: () => this.#connectorChanged(),
      log,
    });
    this.#lastGood = new LastGood(settings.stateDir);
    this.#token = new TokenFile({ file: settings.tunnelTokenFile, fallback: settings.tunnelToken, onChange: () => this.#connect() });
  }

  get configPort(): number {
    return this.#api?.port ?? 0;
  }

  async start(): Promise<void> {
    const { configAddress, authToken } = this.#settings;
    if (authToken === null)
      this.#log.warn({}, 'the config API is open to everybody who reaches it, because PROXY_INSECURE_CONFIG_API is set');
    this.#tellWhatIsMissing();
    await this.#restore();
    this.#api = await startConfigApi({
      address: configAddress,
      token: authToken,
      receive: (body) => this.#receive(body),
      state: () => this.#state(),
      notReady: () => this.#notReady(),
      metrics: this.#settings.metrics ? () => this.#metrics.render(this.#receiver.header, this.#connectors.states()) : null,
    }).catch((error: Error) => {
      throw new Error(`PROXY_CONFIG_ADDR: ${error.message}`, { cause: error });
    });
    this.#log.info({ port: this.configPort }, 'config API is up');
  }

  /** At once, not only when a configuration asks for a connector: whoever starts this is looking now. */
  #tellWhatIsMissing(): void {
    const { connector, cloudflared } = this.#settings;
    const { problem, tunnelId } = this.#token;
    if (problem !== null) this.#tellTokenProblems(new Map([['', problem]]));
    if (tunnelId !== null && connector === 'cloudflared' && !existsSync(cloudflared))
      this.#log.warn({ program: cloudflared }, 'cloudflared is not there: set CLOUDFLARED to the program, or put it on PATH');
  }

  async #restore(): Promise<void> {
    const refusal = await this.#receiver.receive(this.#lastGood.read());
    if (refusal === null) this.#log.info({ ...this.#receiver.header }, 'serving the last good configuration until a controller answers');
    // Cut off is also what is not there.
    else if (refusal.code !== 'incomplete')
      this.#log.warn({ reason: refusal.message }, 'the configuration kept on disk cannot be used: waiting for a controller');
  }

  async drain(): Promise<void> {
    this.#draining = true;
    this.#token.close();
    // The edge, and whoever balances over the own entry, must stop sending before the data plane stops listening.
    await Promise.all([this.#connectors.drain(), this.#localEntries.farewell(this.#settings.graceMs)]);
    await this.#dataPlane.drain(this.#settings.graceMs);
    await this.#api?.close(1000);
  }

  async #receive(body: AsyncIterable<Uint8Array>): ReturnType<ConfigReceiver['receive']> {
    const refusal = await this.#receiver.receive(body);
    if (refusal !== null) this.#log.warn({ status: refusal.status, reason: refusal.message }, 'configuration refused');
    return refusal;
  }

  async #apply(accepted: Accepted): Promise<void> {
    const { config, header } = accepted;
    const table = await compile(config);
    await this.#openEntries(config);
    const unopened = await this.#localEntries.open(config);
    this.#dataPlane.setTable(table);
    this.#table = table;
    this.#tunnels = config.tunnels;
    this.#problems = [
      ...unopened,
      ...accepted.problems.map(({ item, field, message }) => `${item}${field && `, ${field}`}: ${message}`),
      ...table.problems.map(({ routeId, ruleIndex, field, message }) => `${routeId}, rules[${ruleIndex}].${field}: ${message}`),
    ].slice(0, MAX_PROBLEMS);
    this.#appliedAt = new Date().toISOString();
    this.#connect();
    void this.#closeEntries(config);
    this.#localEntries.close(config);
    this.#log.info({ epoch: header.epoch, sequence: header.sequence, ...table.counts }, 'configuration applied');
    await this.#lastGood.store(accepted).catch((error: Error) => this.#storeFailed(error));
  }

  #storeFailed(error: Error): void {
    this.#log.warn(
      { error: error.message },
      'the configuration cannot be kept on disk: after a restart this proxy waits for the controller',
    );
  }

  async #openEntries(config: ProxyConfig): Promise<void> {
    const standalone = this.#settings.tunnelToken === '' && this.#settings.tunnelTokenFile === '';
    for (const { port, id } of config.entries) {
      this.#closing.delete(port);
      if (this.#ports.has(port)) continue;
      const host = standalone && port === this.#settings.standaloneAddress.port ? this.#settings.standaloneAddress.host : TUNNEL_HOST;
      await this.#dataPlane.listen(port, host);
      this.#ports.add(port);
      this.#log.info({ entry: id, port }, 'entry opened');
    }
  }

  /** A connector that is leaving still brings requests: the edge must stop sending before the data plane stops listening. */
  async #closeEntries(config: ProxyConfig): Promise<void> {
    const wanted = new Set(config.entries.map(({ port }) => port));
    for (const port of this.#ports) if (!wanted.has(port)) this.#closing.add(port);
    if (this.#closing.size === 0) return;
    await this.#connectors.left();
    for (const port of this.#closing) {
      this.#closing.delete(port);
      this.#ports.delete(port);
      this.#log.info({ port }, 'entry closed');
      void this.#dataPlane.unlisten(port);
    }
  }

  /** Starts, switches and ends connectors as the configuration and the tokens at hand demand. */
  #connect(): void {
    if (this.#draining) return;
    const problems = new Map<string, string>();
    const { problem } = this.#token;
    if (problem !== null) problems.set('', problem);
    const wanted: WantedTunnel[] = [];
    for (const { id, token, protocol } of this.#tunnels) {
      const ofTunnel = token ?? this.#token.of(id);
      const chosen = this.#settings.tunnelProtocol === 'auto' ? protocol : this.#settings.tunnelProtocol;
      if (ofTunnel === null) problems.set(id, this.#tokenMissing());
      else wanted.push({ id, token: ofTunnel, protocol: chosen });
    }
    this.#tellTokenProblems(problems);
    // A tunnel ID with a typing error must not end what works: who has nobody to turn to stays where it is.
    if (wanted.length > 0 || this.#tunnels.length === 0) this.#connectors.want(wanted);
  }

  #tellTokenProblems(problems: ReadonlyMap<string, string>): void {
    for (const [tunnel, problem] of problems) {
      if (this.#tokenProblems.get(tunnel) === problem) continue;
      if (tunnel === '') this.#log.warn({ problem }, 'the token of TUNNEL_TOKEN or PROXY_TUNNEL_TOKEN_FILE cannot be used');
      else this.#log.warn({ tunnel, problem }, 'no token for this tunnel');
    }
    this.#tokenProblems = problems;
  }

  #tokenMissing(): string {
    const { problem, tunnelId } = this.#token;
    if (problem !== null) return problem;
    return tunnelId === null ? 'set TUNNEL_TOKEN or PROXY_TUNNEL_TOKEN_FILE' : `the one at hand is for tunnel ${tunnelId}`;
  }

  #createConnector({ id, token, protocol }: WantedTunnel): Connector {
    const { edge, edgeCa, edgeCaFile, graceMs, connector, cloudflared } = this.#settings;
    const common = { token, protocol, edge, gracePeriodMs: graceMs, log: tagged(this.#log, id) };
    if (connector === 'cloudflared') return new CloudflaredConnector({ ...common, program: cloudflared, edgeCaFile });
    return createNativeConnector({ ...common, ...(edgeCa === '' ? {} : { edgeCa }) });
  }

  #connectorChanged(): void {
    for (const [tunnel, { phase, connections, configVersion, error }] of this.#connectors.states()) {
      this.#log.info(
        { tunnel, phase, connections, configVersion, ...(error === null ? {} : { problem: error.message }) },
        'connector state',
      );
    }
  }

  /**
   * Ready: a configuration is applied and, where it asks for the tunnel of the token at hand, that tunnel is connected now. Where there are
   * only tunnels that come with their tokens, one of them must be: whose is broken must not decide it for the others.
   */
  #notReady(): string | null {
    if (this.#draining) return 'shutting down';
    if (this.#table === null) return 'no configuration yet';
    const own = this.#tunnels.find(({ id }) => id === this.#token.tunnelId) ?? this.#tunnels.find(({ token }) => token === undefined);
    const isConnected = ({ id }: TunnelConfig): boolean => this.#connectors.state(id)?.phase === 'connected';
    const entry = own ?? this.#tunnels.find(isConnected) ?? this.#tunnels[0];
    if (!entry) return null;
    const state = this.#connectors.state(entry.id);
    if (state === null) return `no token for tunnel ${entry.id}: ${this.#tokenMissing()}`;
    return state.phase === 'connected'
      ? null
      : `tunnel ${entry.id} is ${state.phase}${state.error === null ? '' : `: ${state.error.message}`}`;
  }

  #state(): ConfigState {
    const header = this.#receiver.header;
    const counts = this.#table?.counts ?? { routes: 0, rules: 0, backends: 0 };
    return {
      epoch: header?.epoch ?? 0,
      sequence: header?.sequence ?? 0,
      digest: header?.digest ?? '',
      ...counts,
      tunnels: this.#tunnels.length,
      ready: this.#notReady() === null,
      ...(this.#problems.length > 0 ? { problems: [...this.#problems] } : {}),
      ...(this.#appliedAt === '' ? {} : { appliedAt: this.#appliedAt }),
    };
  }
}

/** Lines go to stdout, some kilobytes at a time. */
function createAccessLog({ samplingRate, stripQuery }: ProxySettings['accessLog']): AccessLog {
  const sink = pino.destination({ fd: 1, minLength: 16_384, sync: false });
  return new AccessLog({ sink, sampleRate: samplingRate, omitQuery: stripQuery, random: Math.random, now: Date.now });
}

/** Compiles between requests, so that none waits for the whole table. */
async function compile(config: ProxyConfig): Promise<RouteTable> {
  const steps = compileSteps(config);
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    await pause();
  }
}

function tagged(log: ConnectorLog, tunnel: string): ConnectorLog {
  return {
    info: (fields, message) => log.info({ ...fields, tunnel }, message),
    warn: (fields, message) => log.warn({ ...fields, tunnel }, message),
    error: (fields, message) => log.error({ ...fields, tunnel }, message),
  };
}
