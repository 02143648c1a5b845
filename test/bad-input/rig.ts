// Everything of one installation without a cluster: a folder of YAML, controller and proxy as processes, a local Cloudflare, a backend.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { pskClientOptions } from '#proxy/config/psk.ts';
import { startCloudflareApi, type CloudflareApiDouble } from '#test/cloudflare/api/server.ts';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import { startEdge, type Edge } from '#test/cloudflare/edge/edge.ts';
import type { EdgeTunnel, TunnelAddress } from '#test/cloudflare/edge/types.ts';
import { freePorts, get, request, type Answer, type Fields } from './network.ts';
import * as objects from './objects.ts';
import { Program } from './program.ts';
import { Secrets } from './secrets.ts';
import { conditionsOf, filesBelow, readStatus, type Conditions, type Status } from './statuses.ts';
import { MIB, Vigil, type Expectations } from './vigil.ts';

export interface SystemOptions {
  /** More flags of the controller. */
  readonly flags?: readonly string[];
  /** With an edge, through which the good route is visited as well. */
  readonly edge?: boolean;
}

interface Ports {
  readonly config: number;
  readonly entry: number;
  readonly health: number;
  readonly metrics: number;
}

/** Problem of the watched folder as the controller tells it. */
export interface Problem {
  readonly where: string;
  readonly text: string;
}

const GOOD: Answer = { status: 200, body: 'good' };

export class System {
  readonly secrets = new Secrets();
  readonly authToken = randomBytes(32).toString('hex');
  /** Of the good class. */
  readonly apiToken = `cfut_${randomBytes(30).toString('base64url')}`;
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-bad-input-'));
  readonly api: CloudflareApiDouble;
  /** What the edge hands out instead of the tunnel's own document. */
  document: EdgeTunnel['document'] | null = null;
  readonly #backend: http.Server;
  #edge: Edge | null = null;
  #door: (TunnelAddress & { readonly ca: string }) | null = null;
  #programs: { readonly controller: Program; readonly proxy: Program } | null = null;
  #vigil = new Vigil([]);
  #ports: Ports = { config: 0, entry: 0, health: 0, metrics: 0 };

  private constructor(api: CloudflareApiDouble, backend: http.Server) {
    this.api = api;
    this.#backend = backend;
  }

  static async start(options: SystemOptions = {}): Promise<System> {
    const backend = http.createServer({ maxHeaderSize: MIB }, (_request, response) => response.end(GOOD.body));
    backend.maxHeadersCount = 0;
    await once(backend.listen(0, '127.0.0.1'), 'listening');
    const system = new System(await startCloudflareApi(), backend);
    try {
      await system.#start(options);
      return system;
    } catch (error) {
      await system.stop();
      throw error;
    }
  }

  get controller(): Program {
    return this.#programs?.controller ?? assert.fail('no controller');
  }

  get proxy(): Program {
    return this.#programs?.proxy ?? assert.fail('no proxy');
  }

  get edge(): Edge {
    return this.#edge ?? assert.fail('no edge');
  }

  get ports(): Ports {
    return this.#ports;
  }

  async #start({ flags = [], edge = false }: SystemOptions): Promise<void> {
    this.#prepare();
    const environment = edge ? await this.#startEdge() : { PROXY_EDGE: '127.0.0.1:1' };
    const [config = 0, entry = 0, health = 0, metrics = 0] = await freePorts(4);
    this.#ports = { config, entry, health, metrics };
    this.#programs = { proxy: this.#startProxy(environment), controller: this.#startController(flags) };
    this.#vigil = new Vigil([this.proxy, this.controller]);
    const visits = [() => this.visit(), ...(edge ? [() => this.visitByEdge()] : [])];
    for (const visit of visits) {
      await this.until('the good route is served', async () => (await visit()).body === GOOD.body);
      this.#vigil.watch('the good route', visit, GOOD);
    }
    this.#vigil.watchHealth('controller', health);
    this.#vigil.watchHealth('proxy', config);
  }

  #prepare(): void {
    const { api, secrets, folder } = this;
    api.addAccount({ id: objects.ACCOUNT_ID, name: 'Bad input' });
    api.addTunnel(objects.ACCOUNT_ID, { id: objects.TUNNEL_ID, name: 'good' });
    api.addToken({ name: 'good', value: this.apiToken });
    secrets.add('API token', this.apiToken);
    secrets.add('auth token', this.authToken);
    secrets.addConnectorToken('connector token', api.connectorToken(objects.TUNNEL_ID));
    mkdirSync(path.join(folder, 'objects'));
    this.writeConnectorToken(api.connectorToken(objects.TUNNEL_ID));
    const { port } = this.#backend.address() as AddressInfo;
    this.write('good.yaml', objects.yaml(...objects.good(this.apiToken, port)));
  }

  async #startEdge(): Promise<Readonly<Record<string, string>>> {
    const file = path.join(this.folder, 'ca.pem');
    const ca = await createCertificateAuthority({ file });
    const { authority } = this.api;
    const tunnel = (id: string): EdgeTunnel | undefined => {
      const own = authority.tunnel(id);
      return own === undefined || this.document === null ? own : { ...own, document: this.document };
    };
    this.#edge = await startEdge({ authority: { ...authority, tunnel }, ca });
    this.#door = { ...(await this.#edge.openTunnel(objects.TUNNEL_ID)), ca: ca.pem };
    return { PROXY_EDGE: this.#edge.addresses.join(), PROXY_EDGE_CA: file };
  }

  #startProxy(environment: Readonly<Record<string, string>>): Program {
    return new Program('proxy', [], {
      PROXY_TUNNEL_TOKEN_FILE: path.join(this.folder, 'tunnel-token'),
      PROXY_AUTH_TOKEN: this.authToken,
      PROXY_CONFIG_ADDR: `127.0.0.1:${this.#ports.config}`,
      PROXY_CONNECTOR: 'native',
      PROXY_STATE_DIR: path.join(this.folder, 'proxy'),
      PROXY_GRACE_PERIOD: '1s',
      ...environment,
    });
  }

  #startController(flags: readonly string[]): Program {
    const { config, entry, health, metrics } = this.#ports;
    const own = [
      `--watch-dir=${path.join(this.folder, 'objects')}`,
      `--state-dir=${path.join(this.folder, 'controller')}`,
      `--status-dir=${path.join(this.folder, 'status')}`,
      `--proxy-endpoints=http://127.0.0.1:${config}/config`,
      `--cloudflare-api-url=${this.api.url}`,
      `--tunnel-entry-port=${entry}`,
      `--health-addr=127.0.0.1:${health}`,
      `--metrics-addr=127.0.0.1:${metrics}`,
    ];
    return new Program('controller', [...own, ...flags], { CF_PROXY_AUTH_TOKEN: this.authToken });
  }

  /** Writes a file of the watched folder. */
  write(name: string, content: string | Buffer): void {
    writeFileSync(path.join(this.folder, 'objects', name), content);
  }

  remove(name: string): void {
    rmSync(path.join(this.folder, 'objects', name), { recursive: true, force: true });
  }

  /** Into the Secret that the proxy has mounted. */
  writeConnectorToken(text: string): void {
    writeFileSync(path.join(this.folder, 'tunnel-token'), text);
  }

  /** A request for the good route, or for another host. */
  visit(host = objects.GOOD_HOST, target = '/', headers: Fields = {}): Promise<Answer> {
    return get(this.#ports.entry, target, { ...headers, host });
  }

  /** The same through the edge and the connector. */
  visitByEdge(host = objects.GOOD_HOST, target = '/', headers: Fields = {}): Promise<Answer> {
    const { ip, httpsPort, ca } = this.#door ?? assert.fail('no edge');
    return request({ secure: true, host: ip, port: httpsPort, servername: host, ca, path: target, headers: { ...headers, host } });
  }

  /** `name` as `namespace/name`, or `name` for kinds without namespaces; empty while there is none. */
  status(kind: string, name: string): Status {
    return readStatus(path.join(this.folder, 'status'), kind, name);
  }

  conditions(kind: string, name: string): Conditions {
    return conditionsOf(this.status(kind, name));
  }

  /** What the controller has said is wrong with the folder, so far. */
  problems(): readonly Problem[] {
    const lines = this.controller.output.split('\n').filter((line) => line.includes('"msg":"problem"') && line.endsWith('}'));
    return lines.map((line) => JSON.parse(line) as Problem);
  }

  until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    return this.#vigil.until(what, holds);
  }

  /** Does something bad and waits for its outcome, while the good route is served and both processes answer. */
  endures(
    what: string,
    act: () => void | Promise<void>,
    outcome: () => boolean | Promise<boolean>,
    expectations?: Expectations,
  ): Promise<void> {
    return this.#vigil.endures(what, act, outcome, expectations);
  }

  /** To be called last: both are alive, use no more memory than stated, and have told no secret to anybody. */
  async checkEnd(boundsMiB: { readonly controller: number; readonly proxy: number }): Promise<void> {
    this.#vigil.check(boundsMiB);
    assert.deepEqual(this.secrets.secretsIn(await this.#everythingSaid()), []);
  }

  /** What anybody but the two processes can read. */
  async #everythingSaid(): Promise<string> {
    const { config, health, metrics } = this.#ports;
    const headers = { authorization: `Bearer ${this.authToken}` };
    const pages = await Promise.all([
      get(config, '/metrics'),
      get(config, '/readyz'),
      request({ secure: true, port: config, path: '/config', headers, ...pskClientOptions(this.authToken) }),
      get(health, '/readyz'),
      get(metrics, '/metrics'),
    ]);
    for (const { body } of pages) assert.notEqual(body, '');
    // The last good contents of files are the files, Secrets and all; that nobody else may read them is a test of the folder source.
    const files = ['status', 'controller'].flatMap((name) => filesBelow(path.join(this.folder, name), 'last-good'));
    return [this.controller.output, this.proxy.output, ...pages.map(({ body }) => body), ...files].join('\n');
  }

  async stop(): Promise<void> {
    await this.#vigil.stop();
    await this.#edge?.close();
    await this.api.close();
    this.#backend.closeAllConnections();
    this.#backend.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
