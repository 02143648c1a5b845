// All of it together: a real API server, a local Cloudflare, the chart's release with its controller and proxies, backends, visitors.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { ConfigState } from '#proxy/config/schema.ts';
import { apply, namespace, NAMESPACE, release } from '#test/chart/on-cluster/release.ts';
import { containerOf } from '#test/chart/helm.ts';
import { startCloudflareApi, type CloudflareApiDouble } from '#test/cloudflare/api/server.ts';
import type { ApiToken } from '#test/cloudflare/api/state.ts';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import { startEdge, type Edge } from '#test/cloudflare/edge/edge.ts';
import { startControlPlane, type Cluster } from '../control-plane.ts';
import { addAddress, NODE_ADDRESS } from '../network.ts';
import { until } from '../until.ts';
import { startBackend, type Backend } from './backend.ts';
import { Chat } from './chat.ts';
import { Kubelet, ProxyPod } from './kubelet.ts';
import type { Program } from './program.ts';
import { Traffic, type Entrance } from './traffic.ts';

export const TUNNEL_ID = '6ba7b810-9dad-41d1-80b4-00c04fd430c8';
export const TENANT = 'tenant-example';
const LIMIT_MS = 40_000;

export const within = (what: string, holds: () => Promise<boolean> | boolean, limitMs = LIMIT_MS): Promise<void> =>
  until(what, AbortSignal.timeout(limitMs), async () => holds());

interface Parts {
  readonly cluster: Cluster;
  readonly api: CloudflareApiDouble;
  readonly apiToken: ApiToken;
  readonly edge: Edge;
  readonly kubelet: Kubelet;
  readonly entrance: Entrance;
  readonly backends: readonly Backend[];
  readonly folder: string;
}

export class World {
  readonly cluster: Cluster;
  readonly api: CloudflareApiDouble;
  readonly edge: Edge;
  readonly kubelet: Kubelet;
  readonly traffic: Traffic;
  readonly backends: readonly Backend[];
  readonly chats: Chat[] = [];
  /** Whatever nobody may print, past tokens too. */
  readonly secrets = new Set<string>();
  apiToken: ApiToken;
  authToken = '';
  proxies: readonly ProxyPod[] = [];
  #controller: Program | null = null;
  #proxyService = '';
  #isStopping = false;
  readonly #entrance: Entrance;
  readonly #folder: string;

  private constructor({ cluster, api, apiToken, edge, kubelet, entrance, backends, folder }: Parts) {
    this.cluster = cluster;
    this.api = api;
    this.apiToken = apiToken;
    this.edge = edge;
    this.kubelet = kubelet;
    this.traffic = new Traffic(entrance);
    this.#entrance = entrance;
    this.backends = backends;
    this.#folder = folder;
  }

  /** Everything but the controller and the proxies, which need a token that the controller makes. */
  static async build(cluster: Cluster): Promise<World> {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-world-'));
    const ca = await createCertificateAuthority({ file: path.join(folder, 'ca.pem') });
    const api = await startCloudflareApi({});
    const account = api.addAccount({ name: 'Main job' });
    const apiToken = api.addToken({ name: 'controller' });
    api.addTunnel(account.id, { id: TUNNEL_ID, name: 'main-job' });
    const edge = await startEdge({ authority: api.authority, ca, connectorHost: NODE_ADDRESS });
    const { ip, httpsPort } = await edge.openTunnel(TUNNEL_ID);
    const names = ['blue', 'green', 'red', 'grey'];
    const backends = await Promise.all(names.map((name, index) => startBackend(name, addAddress(10 + index), [9000, 9001])));
    const entrance = { ip, port: httpsPort, ca: readFileSync(path.join(folder, 'ca.pem')) };
    const kubelet = new Kubelet(cluster, NAMESPACE);
    return new World({ cluster, api, apiToken, edge, kubelet, entrance, backends, folder });
  }

  static async start(): Promise<World> {
    const world = await World.build(await startControlPlane());
    await world.install();
    return world;
  }

  /** The platform's part: a release of the chart, the Secrets that it names, and the class that it makes. */
  async install(): Promise<void> {
    await apply(this.cluster, namespace(NAMESPACE));
    const tunnelToken = this.api.connectorToken(TUNNEL_ID);
    const { s: tunnelSecret } = JSON.parse(Buffer.from(tunnelToken, 'base64').toString()) as { readonly s: string };
    await this.writeSecret('cloudflare', { 'api-token': this.apiToken.value });
    await this.writeSecret('tunnel', { 'tunnel-token': tunnelToken });
    this.secrets.add(tunnelSecret);
    const gatewayClassConfig = { create: true, tunnelID: TUNNEL_ID, cloudflareCredentialsSecretRef: { name: 'cloudflare' } };
    const values = { gatewayClassConfig, hostnameOwnershipPolicy: { enabled: true }, proxy: { gracePeriodSeconds: 4 } };
    await release(this.cluster, 'install', values);
    const { args } = containerOf(await this.kubelet.deployments(), 'controller');
    this.#proxyService = /--proxy-endpoints=http:\/\/([^.]+)/.exec(args.join('\n'))?.[1] ?? '';
    await this.startController();
    this.authToken = await this.kubelet.secret(`${await this.kubelet.serviceAccountOf('controller')}-proxy-auth-token`, 'auth-token');
    this.secrets.add(this.authToken);
    await this.addProxy(20);
    await this.addProxy(21);
  }

  get controller(): Program {
    if (this.#controller === null) throw new Error('no controller was started');
    return this.#controller;
  }

  async startController(): Promise<void> {
    const kubeconfig = await this.cluster.serviceAccountKubeconfig(NAMESPACE, await this.kubelet.serviceAccountOf('controller'));
    const args = [`--kubeconfig=${kubeconfig}`, `--cloudflare-api-url=${this.api.url}`];
    const program = await this.kubelet.run('controller', { args });
    this.#controller = program;
    // A controller that cannot hold its Lease ends by itself, as it should, and the kubelet starts it again.
    void program.ended.then((how) => (how === 'exit code 1' && !this.#isStopping ? this.startController() : undefined));
  }

  openChat(host: string): void {
    this.chats.push(new Chat(this.#entrance, host));
  }

  /** Starts a pod and makes it known, before it is ready, as the headless Service does. */
  async addProxy(number: number): Promise<ProxyPod> {
    const env = { PROXY_CONNECTOR: 'native', PROXY_EDGE: this.edge.addresses.join(), PROXY_EDGE_CA: path.join(this.#folder, 'ca.pem') };
    const pod = await ProxyPod.create(this.kubelet, number, env);
    this.proxies = [...this.proxies, pod];
    await pod.start();
    await this.publishProxies();
    return pod;
  }

  /** Forgets a pod, as its endpoint goes when it is deleted. */
  async withdrawProxy(pod: ProxyPod): Promise<void> {
    this.proxies = this.proxies.filter((other) => other !== pod);
    await this.publishProxies();
  }

  async publishProxies(): Promise<void> {
    const endpoints = this.proxies.map(({ address }) => ({ addresses: [address], targetRef: { kind: 'Pod', name: `proxy-${address}` } }));
    await apply(this.cluster, endpointSlice(NAMESPACE, this.#proxyService, endpoints, { name: 'config-api', port: 8081 }));
  }

  readonly writeSecret = async (name: string, stringData: Readonly<Record<string, string>>): Promise<void> => {
    for (const value of Object.values(stringData)) this.secrets.add(value);
    await apply(this.cluster, { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAMESPACE }, stringData });
  };

  readonly configs = (): Promise<readonly ConfigState[]> => Promise.all(this.proxies.map((pod) => pod.config(this.authToken)));

  /** A merge patch; an absent field stays. */
  readonly patch = async (path: string, body: object): Promise<void> => {
    const { status, body: answer } = await this.cluster.request('PATCH', path, { body, contentType: 'application/merge-patch+json' });
    assert.equal(status, 200, JSON.stringify(answer));
  };

  /** Makes a change and waits until every proxy serves a configuration that differs from the one before it. */
  readonly pushed = async (change: () => Promise<unknown>): Promise<void> => {
    const [before] = await this.configs();
    await change();
    await within('every proxy has the change', async () => {
      const [first, ...rest] = await this.configs();
      return first?.digest !== before?.digest && rest.every(({ digest }) => digest === first?.digest);
    });
  };

  /** Waits until every connection of every connector obeys the document that is stored now, and that one has these hostnames. */
  readonly documented = async (...hostnames: readonly string[]): Promise<void> => {
    await within(`the tunnel's rules are for ${hostnames.join(', ') || 'nobody'}`, () => this.hostnames().join() === hostnames.join());
    await within('the connectors obey them', () => {
      const { version } = this.api.document(TUNNEL_ID);
      const connections = this.edge.connections(TUNNEL_ID);
      return connections.length > 0 && connections.every((connection) => connection.appliedVersion === version || connection.isDraining);
    });
  };

  /** Proxies that the edge may send requests to. */
  readonly connectors = (): number => {
    const usable = this.edge.connections(TUNNEL_ID).filter(({ isDraining }) => !isDraining);
    return new Set(usable.map(({ connectorId }) => connectorId)).size;
  };

  /** Hostnames of the tunnel's document. */
  hostnames(): readonly string[] {
    const { config } = this.api.document(TUNNEL_ID);
    const rules = (config?.['ingress'] ?? []) as readonly { readonly hostname?: string }[];
    return rules.flatMap(({ hostname }) => hostname ?? []);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const chat of this.chats) chat.stop();
    await this.traffic.stop();
    await Promise.all(this.kubelet.programs.filter(({ hasEnded }) => !hasEnded).map((program) => program.end('SIGKILL')));
    await Promise.all(this.proxies.map((pod) => pod.remove()));
    await this.edge.close();
    await Promise.all([this.api.close(), ...this.backends.map((backend) => backend.close()), this.cluster.stop()]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export const endpointSlice = (
  namespace: string,
  service: string,
  endpoints: readonly object[],
  port: { readonly name: string; readonly port: number },
): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${service}-by-hand`, namespace, labels: { 'kubernetes.io/service-name': service } },
  addressType: 'IPv4',
  endpoints,
  ports: [port],
});
