// A real API server with a controller and a proxy of its own beside it, for tests that throw bad objects at it.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { KindName } from '#controller/api/snapshot.ts';
import { kindRows } from '#controller/kube/kinds.ts';
import { startCloudflareApi, type CloudflareApiDouble, type TokenSeed } from '#test/cloudflare/api/server.ts';
import { startControlPlane, type Cluster } from '#test/cluster/control-plane.ts';
import { freePorts, get, type Answer } from './network.ts';
import * as o from './objects.ts';
import { Program } from './program.ts';
import { Secrets } from './secrets.ts';
import { conditionsOf, type Conditions, type Status } from './statuses.ts';
import { Vigil } from './vigil.ts';

interface Stored {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion?: string };
  readonly status?: Status;
}

/** Served by the proxy itself: an API server takes no EndpointSlice with an address of this machine. */
const GOOD = o.httpRoute('good', {
  rules: [{ filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: 'elsewhere.example.com' } }] }],
});

export class ClusterSystem {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-bad-input-'));
  readonly secrets = new Secrets();
  readonly cluster: Cluster;
  readonly api: CloudflareApiDouble;
  #programs: readonly Program[] = [];
  #entry = 0;
  #metrics = 0;
  vigil = new Vigil([]);

  private constructor(cluster: Cluster, api: CloudflareApiDouble) {
    this.cluster = cluster;
    this.api = api;
  }

  static async start(): Promise<ClusterSystem> {
    const system = new ClusterSystem(await startControlPlane(), await startCloudflareApi());
    await system.#start();
    return system;
  }

  async #start(): Promise<void> {
    const { api, cluster, secrets, folder } = this;
    api.addAccount({ id: o.ACCOUNT_ID, name: 'Bad input' });
    api.addTunnel(o.ACCOUNT_ID, { id: o.TUNNEL_ID, name: 'good' });
    secrets.addConnectorToken('connector token', api.connectorToken(o.TUNNEL_ID));
    const authToken = this.secret('auth token');
    await this.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: o.NAMESPACE } });
    const [config = 0, entry = 0, health = 0, metrics = 0] = await freePorts(4);
    [this.#entry, this.#metrics] = [entry, metrics];
    const proxy = new Program('proxy', [], {
      TUNNEL_TOKEN: api.connectorToken(o.TUNNEL_ID),
      PROXY_AUTH_TOKEN: authToken,
      PROXY_CONFIG_ADDR: `127.0.0.1:${config}`,
      PROXY_CONNECTOR: 'native',
      PROXY_EDGE: '127.0.0.1:1',
      PROXY_STATE_DIR: path.join(folder, 'proxy'),
      PROXY_GRACE_PERIOD: '1s',
    });
    const flags = [
      `--kubeconfig=${cluster.kubeconfig}`,
      `--proxy-endpoints=http://127.0.0.1:${config}/config`,
      `--cloudflare-api-url=${api.url}`,
      `--tunnel-entry-port=${entry}`,
      `--health-addr=127.0.0.1:${health}`,
      `--metrics-addr=127.0.0.1:${metrics}`,
    ];
    const controller = new Program('controller', flags, { CF_PROXY_AUTH_TOKEN: authToken });
    this.#programs = [proxy, controller];
    this.vigil = new Vigil(this.#programs);
    for (const object of o.good(this.token(), 1)) {
      const { kind, metadata } = object as unknown as Stored;
      if (kind !== 'EndpointSlice') await this.create(metadata.name === 'good' && kind === 'HTTPRoute' ? GOOD : object);
    }
    await this.vigil.until('the good route is served', async () => (await this.visit()).status === 302);
    this.vigil.watch('the good route', () => this.visit(), { status: 302, body: '' });
    this.vigil.watchHealth('controller', health);
    this.vigil.watchHealth('proxy', config);
  }

  visit(): Promise<Answer> {
    return get(this.#entry, '/', { host: o.GOOD_HOST });
  }

  /** A random text that must not be seen. */
  secret(name: string): string {
    const text = randomBytes(30).toString('base64url');
    this.secrets.add(name, text);
    return text;
  }

  /** An API token that Cloudflare knows. */
  token(seed: Partial<TokenSeed> = {}): string {
    const value = this.secret('API token');
    this.api.addToken({ name: 'token', value, ...seed });
    return value;
  }

  /** Status and body of the answer of the API server. */
  async tryCreate(object: o.Fields): Promise<{ readonly status: number; readonly body: unknown }> {
    return this.cluster.request('POST', collection(object as unknown as Stored), { body: object });
  }

  async create(object: o.Fields): Promise<void> {
    const { status, body } = await this.tryCreate(object);
    assert.ok(status < 300, `${JSON.stringify(body)} for ${JSON.stringify(object).slice(0, 500)}`);
  }

  async conditions(object: o.Fields): Promise<Conditions> {
    const stored = object as unknown as Stored;
    const { body } = await this.cluster.request('GET', `${collection(stored)}/${stored.metadata.name}`);
    return conditionsOf((body as Stored).status ?? {});
  }

  /** What anybody who may read objects, events, logs and metrics can see. */
  async everythingSaid(): Promise<string> {
    const kinds = [...kindRows.values()]
      .filter(({ kind }) => kind !== 'Secret')
      .map(({ group, versions, plural }) => listPath(group, versions[0] ?? '', plural));
    const paths = [...kinds, listPath('events.k8s.io', 'v1', 'events'), listPath('coordination.k8s.io', 'v1', 'leases')];
    const lists = await Promise.all(paths.map(async (list) => JSON.stringify((await this.cluster.request('GET', list)).body)));
    return [...this.#programs.map(({ output }) => output), (await get(this.#metrics, '/metrics')).body, ...lists].join('\n');
  }

  heard(pattern: RegExp): boolean {
    return this.#programs.some(({ output }) => pattern.test(output));
  }

  async stop(): Promise<void> {
    await this.vigil.stop();
    await this.api.close();
    await this.cluster.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const listPath = (group: string, version: string, plural: string): string =>
  group === '' ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`;

function collection({ kind, metadata }: Stored): string {
  const row = kindRows.get(kind as KindName);
  assert.ok(row, kind);
  const { group, versions, plural } = row;
  const version = versions[0] ?? '';
  const namespace = metadata.namespace === undefined ? '' : `namespaces/${metadata.namespace}/`;
  return listPath(group, version, `${namespace}${plural}`);
}
