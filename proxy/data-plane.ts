// The data plane: listeners in front, endpoints behind, and the table between them, which is swapped as a whole.
import type { AccessLog } from '#proxy/observe/access-log.ts';
import type { Metrics } from '#proxy/observe/metrics.ts';
import type { RequestKey, RouteTable } from '#proxy/table/types.ts';
import { HTTP_DEFAULTS, type HttpOptions } from './http/options.ts';
import type { Log, Plane } from './http/plane.ts';
import { RequestHead } from './http/request-head.ts';
import { LocalServer } from './http/local-server.ts';
import { FrontServer, type PortServer } from './http/server.ts';
import { UPSTREAM_DEFAULTS, type UpstreamOptions } from './upstream/options.ts';
import { Upstreams } from './upstream/upstreams.ts';

export interface DataPlaneDependencies {
  /** pino's shape. */
  readonly log: Log;
  readonly metrics?: Metrics | undefined;
  readonly accessLog?: AccessLog | undefined;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly options?: Partial<HttpOptions & UpstreamOptions> | undefined;
}

export interface DataPlaneStats {
  readonly listeners: number;
  readonly connections: number;
  readonly exchanges: number;
  readonly tunnels: number;
  readonly upstream: { readonly endpoints: number; readonly connections: number; readonly ejected: number };
}

/** After the last exchange, requests that are already on their way get this long to arrive before idle connections are closed. */
const QUIET = 100;

export class DataPlane implements Plane {
  readonly options: HttpOptions;
  readonly upstreams: Upstreams;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics | null;
  readonly accessLog: AccessLog | null;
  readonly head = new RequestHead();
  readonly key: RequestKey = { host: '', hostPort: 0, scheme: 'http', method: '', path: '', query: '', rawHeaders: [] };
  tick = 0;

  private readonly servers = new Map<number, PortServer>();
  /** No longer accepting, with connections that are still open. */
  private readonly leaving = new Set<PortServer>();
  private readonly timer: NodeJS.Timeout;
  private table: RouteTable | null = null;
  private exchanges = 0;
  private tunnels = 0;
  private onQuiet: (() => void) | null = null;

  constructor({ log, metrics, accessLog, random, options }: DataPlaneDependencies) {
    this.log = log;
    this.metrics = metrics ?? null;
    this.accessLog = accessLog ?? null;
    this.random = random;
    this.options = { ...HTTP_DEFAULTS, ...options };
    this.upstreams = new Upstreams({ ...UPSTREAM_DEFAULTS, ...options });
    this.timer = setInterval(() => this.onTick(), this.options.tickTime).unref();
  }

  /**
   * From the next request on this table decides; those under way keep what the former one decided. Connections to endpoints that stay are
   * kept, those to others are drained; upgraded ones are never cut.
   */
  setTable(table: RouteTable): void {
    this.table = table;
    for (const server of this.servers.values()) server.front.entry = table.entries.get(server.front.port) ?? null;
    this.upstreams.swap(table.backends.values());
  }

  /** Opens a tunnel's listener; port 0 takes a free one. Requests get 503 until a table has an entry for the port. */
  async listen(port: number, host = '127.0.0.1'): Promise<{ readonly port: number }> {
    return this.opened(await FrontServer.listen(this, port, host));
  }

  /** Opens a listener of the proxy's own entry. Connections are closed until a table has a local entry for the port. */
  async listenLocal(port: number, host: string): Promise<{ readonly port: number }> {
    return this.opened(await LocalServer.listen(this, port, host));
  }

  private opened(server: PortServer): { readonly port: number } {
    const actual = server.front.port;
    server.front.entry = this.table?.entries.get(actual) ?? null;
    this.servers.set(actual, server);
    return { port: actual };
  }

  /** Closes a listener: no new connections, and those that are open end with their next answer. Resolves when the last one is closed. */
  async unlisten(port: number): Promise<void> {
    const server = this.servers.get(port);
    if (server === undefined) return;
    this.servers.delete(port);
    this.leaving.add(server);
    const closed = server.close();
    server.closeIdle();
    await closed;
    this.leaving.delete(server);
  }

  /** Closes connections on which nothing is open, on both sides. */
  closeIdle(): void {
    for (const server of this.everyServer()) server.closeIdle();
    this.upstreams.closeIdle();
  }

  /**
   * The end: stops accepting, ends every connection with its next answer, waits up to `graceMs` for exchanges and tunnels, then closes
   * whatever is open. Call it when nobody sends requests here any more.
   */
  async drain(graceMs: number): Promise<void> {
    const closed = Promise.all([...this.everyServer()].map((server) => server.close()));
    const deadline = performance.now() + graceMs;
    while (!(await this.quiet(deadline))) {
      // An exchange began during the quiet time.
    }
    clearInterval(this.timer);
    for (const server of this.everyServer()) server.destroy();
    this.upstreams.destroy();
    await closed;
    this.servers.clear();
  }

  /** True when nothing is open and stayed so for the quiet time, or when the deadline has passed. */
  private async quiet(deadline: number): Promise<boolean> {
    if (this.exchanges > 0 && performance.now() < deadline) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, deadline - performance.now());
        this.onQuiet = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.onQuiet = null;
    const left = deadline - performance.now();
    if (left <= 0) return true;
    await new Promise((resolve) => setTimeout(resolve, Math.min(QUIET, left)));
    return this.exchanges === 0 && this.everyAnswerSent();
  }

  private everyAnswerSent(): boolean {
    return [...this.everyServer()].every((server) => server.allIdle);
  }

  stats(): DataPlaneStats {
    const servers = [...this.everyServer()];
    return {
      listeners: this.servers.size,
      connections: servers.reduce((sum, server) => sum + server.connectionCount, 0),
      exchanges: this.exchanges - this.tunnels,
      tunnels: this.tunnels,
      upstream: this.upstreams.stats(performance.now()),
    };
  }

  exchangeOpened(): void {
    this.exchanges += 1;
    if (this.metrics !== null) this.metrics.inFlight += 1;
  }

  exchangeClosed(): void {
    this.exchanges -= 1;
    if (this.metrics !== null) this.metrics.inFlight -= 1;
    if (this.exchanges === 0) this.onQuiet?.();
  }

  tunnelOpened(): void {
    this.tunnels += 1;
    if (this.metrics === null) return;
    this.metrics.tunnels += 1;
    this.metrics.inFlight -= 1;
  }

  tunnelClosed(): void {
    this.tunnels -= 1;
    if (this.metrics === null) return;
    this.metrics.tunnels -= 1;
    this.metrics.inFlight += 1;
  }

  private onTick(): void {
    this.tick += 1;
    for (const server of this.everyServer()) server.checkStall(this.tick);
    this.upstreams.sweep(performance.now());
  }

  private *everyServer(): Generator<PortServer> {
    yield* this.servers.values();
    yield* this.leaving;
  }
}
