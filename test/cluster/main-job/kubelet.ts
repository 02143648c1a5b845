// Plays the kubelet: starts what the Deployments of the chart say, with the arguments, environment and Secrets that they name.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { pskClientOptions } from '#proxy/config/psk.ts';
import type { ConfigState } from '#proxy/config/schema.ts';
import { containerOf, deployment, type Manifest } from '#test/chart/helm.ts';
import type { Cluster } from '../control-plane.ts';
import { createSandbox, type Sandbox } from '../network.ts';
import { until } from '../until.ts';
import { Program } from './program.ts';

const LIMIT_MS = 30_000;

/** What is local to a machine without images: appended to the arguments, or put over the environment. */
export interface Overrides {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export class Kubelet {
  /** Everything that was ever started. */
  readonly programs: Program[] = [];
  readonly #cluster: Cluster;
  readonly #namespace: string;

  constructor(cluster: Cluster, namespace: string) {
    this.#cluster = cluster;
    this.#namespace = namespace;
  }

  async deployments(): Promise<readonly Manifest[]> {
    const { body } = await this.#cluster.request('GET', `/apis/apps/v1/namespaces/${this.#namespace}/deployments`);
    return (body as { readonly items: readonly Manifest[] }).items.map((item) => ({ ...item, kind: 'Deployment' }));
  }

  /** Starts the container of a Deployment; waits for the Secrets that it needs, as long as that takes. */
  async run(name: 'controller' | 'proxy', overrides: Overrides, enter: readonly string[] = []): Promise<Program> {
    const { args, env } = containerOf(await this.deployments(), name);
    const values = await Promise.all(
      env.map(async ({ name, value, valueFrom }): Promise<[string, string]> => {
        if (valueFrom?.fieldRef?.fieldPath === 'metadata.namespace') return [name, this.#namespace];
        const ref = valueFrom?.secretKeyRef;
        return [name, ref === undefined ? (value ?? '') : await this.secret(ref.name, ref.key)];
      }),
    );
    const program = new Program(`${name} ${this.programs.length + 1}`, {
      args: [...args, ...(overrides.args ?? [])],
      env: { ...Object.fromEntries(values), ...overrides.env },
      enter,
    });
    this.programs.push(program);
    return program;
  }

  async serviceAccountOf(name: 'controller' | 'proxy'): Promise<string> {
    return deployment(await this.deployments(), name).spec.template.spec.serviceAccountName ?? 'default';
  }

  async secret(name: string, key: string): Promise<string> {
    let value = '';
    await until(`Secret ${name} has ${key}`, AbortSignal.timeout(LIMIT_MS), async () => {
      const { body } = await this.#cluster.request('GET', `/api/v1/namespaces/${this.#namespace}/secrets/${name}`);
      value = (body as { readonly data?: Readonly<Record<string, string>> }).data?.[key] ?? '';
      return value !== '';
    });
    return Buffer.from(value, 'base64').toString();
  }
}

/** A pod of the proxy: an address, a folder that outlives its container, and the mounted Secret. */
export class ProxyPod {
  readonly address: string;
  readonly #kubelet: Kubelet;
  readonly #sandbox: Sandbox;
  readonly #folder: string;
  readonly #overrides: Readonly<Record<string, string>>;
  #program: Program | null = null;
  #agent: https.Agent | null = null;

  private constructor(kubelet: Kubelet, sandbox: Sandbox, env: Readonly<Record<string, string>>) {
    this.#kubelet = kubelet;
    this.#sandbox = sandbox;
    this.address = sandbox.address;
    this.#folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-pod-'));
    this.#overrides = {
      ...env,
      PROXY_STATE_DIR: path.join(this.#folder, 'state'),
      PROXY_TUNNEL_TOKEN_FILE: path.join(this.#folder, 'tunnel-token'),
    };
  }

  static async create(kubelet: Kubelet, number: number, env: Readonly<Record<string, string>>): Promise<ProxyPod> {
    return new ProxyPod(kubelet, await createSandbox(number), env);
  }

  get program(): Program {
    if (this.#program === null) throw new Error('the container was not started');
    return this.#program;
  }

  /** Starts the container, or starts it again. */
  async start(): Promise<void> {
    this.mountToken(await this.#kubelet.secret('tunnel', 'tunnel-token'));
    this.#program = await this.#kubelet.run('proxy', { env: this.#overrides }, this.#sandbox.enter);
  }

  /** The mounted Secret changes as a whole. */
  mountToken(token: string): void {
    const file = path.join(this.#folder, 'tunnel-token');
    writeFileSync(`${file}.next`, token, { mode: 0o600 });
    renameSync(`${file}.next`, file);
  }

  /** What the proxy says of its configuration, over the key that only holders of the auth token have. */
  async config(authToken: string): Promise<ConfigState> {
    this.#agent ??= new https.Agent({ keepAlive: false, ...pskClientOptions(authToken) });
    const headers = { authorization: `Bearer ${authToken}` };
    const { status, body } = await get({ host: this.address, port: 8081, path: '/config', agent: this.#agent, headers }, https);
    if (status !== 200) throw new Error(`${this.program.name} answers ${status}: ${body}`);
    return JSON.parse(body) as ConfigState;
  }

  async isReady(): Promise<boolean> {
    return (await get({ host: this.address, port: 8081, path: '/readyz', agent: false }, http)).status === 200;
  }

  async remove(): Promise<void> {
    if (this.#program !== null && !this.#program.hasEnded) await this.#program.end('SIGKILL');
    await this.#sandbox.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function get(
  options: https.RequestOptions,
  client: typeof http | typeof https,
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const request = client.request({ ...options, signal: AbortSignal.timeout(10_000) }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    request.on('error', reject);
    request.end();
  });
}
