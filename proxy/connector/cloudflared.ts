// A Connector that supervises an unmodified cloudflared: starts it with a clean environment, watches it, restarts it, drains it.
import { setTimeout as delay } from 'node:timers/promises';
import { createInterface } from 'node:readline';
import type { ChildProcess } from 'node:child_process';
import { explainExit, metricsAddress, parseLogLine } from './cloudflared-logs.ts';
import type { Connector, ConnectorOptions, ConnectorState } from './connector.ts';
import { spawnTethered } from './tethered-process.ts';

export interface CloudflaredOptions extends ConnectorOptions {
  /** Path or name of the program. */
  readonly program: string;
  /** File with the CA of the edge; empty for Cloudflare's own. */
  readonly edgeCaFile: string;
  /** `--retries` of cloudflared; only tests lower it. */
  readonly retries?: number;
  /** First restart delay in milliseconds; doubled up to 30 s. */
  readonly backoffMs?: number;
}

const POLL_MS = 250;
const CONNECTED_POLL_MS = 1000;
const BACKOFF_MOST_MS = 30_000;
/** A run this long counts as healthy: the next failure starts with a short delay again. */
const HEALTHY_MS = 60_000;
const GRACE_MOST_MS = 180_000;

export class CloudflaredConnector implements Connector {
  state: ConnectorState = { phase: 'starting', connections: 0, configVersion: -1, error: null };
  private readonly options: CloudflaredOptions;
  private readonly listeners = new Set<(state: ConnectorState) => void>();
  private child: ChildProcess | null = null;
  private metrics: string | null = null;
  private lastError = '';
  private failures = 0;
  private readonly stopping = new AbortController();
  private loop: Promise<void> | null = null;

  constructor(options: CloudflaredOptions) {
    this.options = options;
  }

  start(): void {
    this.loop ??= this.supervise();
  }

  onState(listener: (state: ConnectorState) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** SIGTERM: cloudflared unregisters, serves what is in flight and ends, at the latest after its grace period. */
  async drain(): Promise<void> {
    this.stopping.abort();
    this.update({ phase: 'draining' });
    this.signal('SIGTERM');
    await this.ended(Math.min(this.options.gracePeriodMs, GRACE_MOST_MS) + 5000);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.signal('SIGKILL');
    await this.ended(5000);
  }

  /** Ends the present process as a crash would; the supervisor starts another. */
  kill(): void {
    this.signal('SIGKILL');
  }

  private async ended(limitMs: number): Promise<void> {
    const limit = new AbortController();
    const kill = delay(limitMs, undefined, { signal: limit.signal, ref: false }).then(
      () => this.signal('SIGKILL'),
      () => undefined,
    );
    await this.loop;
    limit.abort();
    await kill;
    this.update({ phase: 'stopped', connections: 0 });
  }

  private signal(signal: NodeJS.Signals): void {
    if (this.child && this.child.exitCode === null) this.child.kill(signal);
  }

  private async supervise(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const started = performance.now();
      const { code, killedBy } = await this.run();
      if (signal.aborted) return;
      const error = explainExit(code, killedBy, this.lastError);
      this.failures = performance.now() - started > HEALTHY_MS ? 1 : this.failures + 1;
      // A token that cannot be read stays unreadable: only a new connector, with another token, can help.
      const hopeless = error.code === 'InvalidToken';
      this.update({ phase: hopeless ? 'failed' : 'reconnecting', connections: 0, error });
      if (hopeless) return this.options.log.error({ code: error.code }, error.message);
      const most = Math.min(BACKOFF_MOST_MS, (this.options.backoffMs ?? 1000) * 2 ** (this.failures - 1));
      const wait = most / 2 + (Math.random() * most) / 2;
      this.options.log.error({ code: error.code, retryInMs: Math.round(wait) }, error.message);
      await delay(wait, undefined, { signal }).catch(() => undefined);
    }
  }

  /** One life of the program. */
  private async run(): Promise<{ code: number | null; killedBy: string | null }> {
    this.metrics = null;
    this.lastError = '';
    const child = spawnTethered(this.options.program, this.arguments(), { env: this.environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => this.line(line));
    }
    const life = new AbortController();
    const polling = this.poll(life.signal);
    const end = await new Promise<{ code: number | null; killedBy: string | null }>((resolve) => {
      child.once('error', (error) => {
        this.lastError = error.message;
        resolve({ code: 127, killedBy: null });
      });
      child.once('close', (code, killedBy) => resolve({ code, killedBy }));
    });
    life.abort();
    await polling;
    this.child = null;
    return end;
  }

  /** Only flags that every version since 2025 knows; newer switches go by environment, which older versions ignore. */
  private arguments(): string[] {
    const { edge, edgeCaFile, protocol, gracePeriodMs, label, retries, originPort } = this.options;
    const grace = `${Math.round(Math.min(gracePeriodMs, GRACE_MOST_MS) / 1000)}s`;
    const settings: Record<string, string | undefined> = {
      '--protocol': protocol === 'auto' ? 'http2' : protocol,
      '--metrics': '127.0.0.1:0',
      '--grace-period': grace,
      '--output': 'json',
      '--loglevel': 'info',
      '--retries': retries?.toString(),
      '--cacert': edgeCaFile || undefined,
    };
    const run = { '--label': label, '--url': originPort && `http://127.0.0.1:${originPort}` };
    const flags = (given: Record<string, string | number | undefined>): string[] =>
      Object.entries(given).flatMap(([name, value]) => (value ? [name, String(value)] : []));
    const places = edge.flatMap((address) => ['--edge', address]);
    return ['tunnel', '--no-autoupdate', ...flags(settings), ...places, 'run', ...flags(run)];
  }

  /** Nothing of ours reaches the child but its token: arguments are readable by every process of the node, an environment is not. */
  private environment(): NodeJS.ProcessEnv {
    return {
      TUNNEL_TOKEN: this.options.token,
      TUNNEL_NO_PRECHECKS: 'true',
      TUNNEL_MANAGEMENT_DIAGNOSTICS: 'false',
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: '/nonexistent',
    };
  }

  private line(raw: string): void {
    const line = parseLogLine(raw, this.options.token);
    if (!line) return;
    this.metrics ??= metricsAddress(line.message);
    if (line.level === 'error')
      this.lastError = typeof line.fields['error'] === 'string' ? `${line.message} (${line.fields['error']})` : line.message;
    const { log } = this.options;
    if (line.level === 'error') log.error({ ...line.fields, from: 'cloudflared' }, line.message);
    else if (line.level === 'warn') log.warn({ ...line.fields, from: 'cloudflared' }, line.message);
    else log.info({ ...line.fields, from: 'cloudflared' }, line.message);
  }

  /** Asks the metrics server of the child how many connections are registered and which configuration it applied. */
  private async poll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await delay(this.state.phase === 'connected' ? CONNECTED_POLL_MS : POLL_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted || this.metrics === null) continue;
      const ready = await fetchJson(`http://${this.metrics}/ready`, signal);
      const config = await fetchJson(`http://${this.metrics}/config`, signal);
      if (signal.aborted) return;
      const connections = Number(ready?.['readyConnections'] ?? 0);
      const configVersion = Number(config?.['version'] ?? -1);
      if (this.stopping.signal.aborted) this.update({ connections });
      else if (connections > 0) this.update({ phase: 'connected', connections, configVersion, error: null });
      else this.update({ phase: this.state.phase === 'connected' ? 'reconnecting' : this.state.phase, connections: 0, configVersion });
    }
  }

  private update(change: Partial<ConnectorState>): void {
    const next = { ...this.state, ...change };
    const before = JSON.stringify(this.state);
    this.state = next;
    if (JSON.stringify(next) === before) return;
    for (const listener of this.listeners) listener(next);
  }
}

async function fetchJson(url: string, signal: AbortSignal): Promise<Record<string, unknown> | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(2000)]) });
    return (await response.json()) as Record<string, unknown>;
  } catch {
    return null;
  }
}
