// A real Kubernetes control plane on loopback for tests and for people: etcd, kube-apiserver, kube-controller-manager, and our CRDs.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ended, spawnTethered } from '#proxy/connector/tethered-process.ts';
import { buildHint, gatewayApiCrds, missingTools, toolPath, type CrdChannel, type ToolName } from '../../tools/tool-paths.ts';
import { createCredentials, writeKubeconfig } from './access.ts';
import { apiRequest, refusal, type ApiAccess, type ApiRequest, type ApiResponse } from './api-client.ts';
import { applyCrds } from './apply-crds.ts';
import { apiServerArguments, controllerManagerArguments, etcdArguments, type Layout } from './command-lines.ts';
import { Daemon } from './daemon.ts';
import { freeStablePort } from './free-port.ts';
import { until } from './until.ts';

const neededTools = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kubectl',
  'gateway-api-crds',
] as const satisfies readonly ToolName[];
const ownCrds = path.join(import.meta.dirname, '..', '..', 'crds');
const START_LIMIT_MS = 90_000;
/** Bytes of sun_path without its terminator, on the system that has the fewest (macOS). */
const SOCKET_PATH_LIMIT = 103;

export interface ControlPlaneOptions {
  /** Which Gateway API CRDs to install; `experimental` by default. */
  readonly channel?: CrdChannel;
  /** Gives up and cleans up when aborted during the start; has no meaning afterwards. */
  readonly signal?: AbortSignal;
  /** Hears each step of the start in words. */
  readonly say?: (step: string) => void;
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

export interface Cluster {
  /** Base URL, e.g. `https://127.0.0.1:21443`; the same for the cluster's whole life. */
  readonly server: string;
  /** Path of the admin's kubeconfig, which needs no other file. */
  readonly kubeconfig: string;
  readonly token: string;
  /** PEM. */
  readonly ca: string;
  /** State and logs of the servers; removed by `stop`. */
  readonly folder: string;
  /** Resolves, with the reason, when the cluster was stopped or one of its servers ended by itself. */
  readonly ended: Promise<string>;
  /** Runs the built kubectl as admin. A failing command is a result, not a rejection. */
  kubectl(args: readonly string[], options?: { readonly input?: string }): Promise<CommandResult>;
  /** One call to the API as admin, much faster than kubectl. `path` starts with `/api`. */
  request(method: string, path: string, request?: ApiRequest): Promise<ApiResponse>;
  /** Writes a kubeconfig with a fresh one-hour token of an existing ServiceAccount, and resolves with its path. */
  serviceAccountKubeconfig(namespace: string, name: string): Promise<string>;
  /** By default a crash (SIGKILL); the data stays. */
  stopApiServer(signal?: NodeJS.Signals): Promise<void>;
  /** On the same port and with the same data; resolves when it is ready. */
  startApiServer(): Promise<void>;
  restartApiServer(): Promise<void>;
  /** Ends all processes, removes the folder, resolves when both are done. */
  stop(): Promise<void>;
}

/** Why no cluster can be started on this machine, with the command that helps; null when one can. Tests skip with it. */
export function clusterUnavailable(): string | null {
  const missing = missingTools(neededTools);
  return missing.length === 0 ? null : buildHint(missing);
}

/** Starts a control plane of its own; any number may run at once. Nothing of it survives this process, however that ends. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<Cluster> {
  const unavailable = clusterUnavailable();
  if (unavailable !== null) throw new Error(`cannot start a test cluster: ${unavailable}`);
  const cluster = new ControlPlane();
  const limit = AbortSignal.timeout(START_LIMIT_MS);
  try {
    await cluster.start(options, options.signal === undefined ? limit : AbortSignal.any([limit, options.signal]));
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

// No nodes: Pods stay Pending, and tests write EndpointSlices by hand. Those that need more start a node beside it (node/node.ts).
class ControlPlane implements Cluster {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-cluster-'));
  readonly kubeconfig = path.join(this.folder, 'kubeconfig');
  readonly #credentials = createCredentials(this.folder);
  readonly #etcd = new Daemon(built('etcd'), this.folder);
  readonly #apiServer = new Daemon(built('kube-apiserver'), this.folder);
  readonly #controllerManager = new Daemon(built('kube-controller-manager'), this.folder);
  readonly #life = new AbortController();
  #port = 0;
  #stopped: Promise<void> | null = null;

  readonly ended = new Promise<string>((resolve) => {
    this.#life.signal.addEventListener('abort', () => resolve((this.#life.signal.reason as Error).message));
  });

  get server(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  get token(): string {
    return this.#credentials.adminToken;
  }

  get ca(): string {
    return readFileSync(this.#layout.caFile, 'utf8');
  }

  get #layout(): Layout {
    const { tokenFile, serviceAccountKey, serviceAccountPublicKey } = this.#credentials;
    return {
      folder: this.folder,
      etcdSocket: path.join(this.folder, 'etcd.sock'),
      address: '127.0.0.1',
      port: this.#port,
      certificates: path.join(this.folder, 'certificates'),
      // The server makes itself a certificate, and appends the authority that signed it.
      caFile: path.join(this.folder, 'certificates', 'apiserver.crt'),
      controllerManagerKubeconfig: path.join(this.folder, 'controller-manager.kubeconfig'),
      tokenFile,
      serviceAccountKey,
      serviceAccountPublicKey,
    };
  }

  get #access(): ApiAccess {
    return { server: this.server, ca: this.ca, token: this.token };
  }

  async start({ channel = 'experimental', say = () => {} }: ControlPlaneOptions, giveUp: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([giveUp, this.#life.signal]);
    const { etcdSocket } = this.#layout;
    if (Buffer.byteLength(etcdSocket) > SOCKET_PATH_LIMIT)
      throw new Error(`too long for a socket: ${etcdSocket}; set TMPDIR to a shorter folder`);
    this.#etcd.start(etcdArguments(this.#layout), this.#died);
    say('etcd started');
    await this.#startOnFreePort(signal);
    writeKubeconfig(this.kubeconfig, this.#access);
    say(`kube-apiserver ready on ${this.server}`);
    const { controllerManagerKubeconfig } = this.#layout;
    writeKubeconfig(controllerManagerKubeconfig, { ...this.#access, token: this.#credentials.controllerManagerToken });
    this.#controllerManager.start(controllerManagerArguments(this.#layout), this.#died);
    const gatewayApi = gatewayApiCrds(channel);
    const folders = gatewayApi === null ? [ownCrds] : [gatewayApi, ownCrds];
    const kinds = await applyCrds(this.#access, folders, signal);
    say(`${kinds} custom kinds served (Gateway API, ${channel} channel${existsSync(ownCrds) ? ', and our own' : ''})`);
    await until('the controllers work', signal, () => this.#exists('/api/v1/namespaces/default/serviceaccounts/default'));
    say('kube-controller-manager works');
  }

  async kubectl(args: readonly string[], { input }: { readonly input?: string } = {}): Promise<CommandResult> {
    const child = spawnTethered(built('kubectl'), [`--kubeconfig=${this.kubeconfig}`, ...args], {
      env: { PATH: process.env['PATH'], HOME: this.folder },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    child.stdin?.on('error', () => {}); // a command that fails early does not read its input
    child.stdin?.end(input);
    const [stdout, stderr] = await Promise.all([collect(child.stdout), collect(child.stderr), ended(child)]);
    return { stdout, stderr, code: child.exitCode };
  }

  request(method: string, path: string, request: ApiRequest = {}): Promise<ApiResponse> {
    return apiRequest(this.#access, method, path, request);
  }

  async serviceAccountKubeconfig(namespace: string, name: string): Promise<string> {
    const address = `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(name)}/token`;
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
    const response = await this.request('POST', address, { body });
    if (response.status !== 201) throw new Error(`no token for ServiceAccount ${namespace}/${name}: ${refusal(response)}`);
    const { token } = (response.body as { readonly status: { readonly token: string } }).status;
    const file = path.join(this.folder, `${namespace}.${name}.kubeconfig`);
    return writeKubeconfig(file, { ...this.#access, token }, namespace);
  }

  stopApiServer(signal?: NodeJS.Signals): Promise<void> {
    return this.#apiServer.stop(signal);
  }

  startApiServer(): Promise<void> {
    return this.#runApiServer(AbortSignal.any([AbortSignal.timeout(START_LIMIT_MS), this.#life.signal]));
  }

  async restartApiServer(): Promise<void> {
    await this.stopApiServer();
    await this.startApiServer();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  // All at once and the hard way: their data is thrown away.
  async #end(): Promise<void> {
    this.#life.abort(new Error('the cluster was stopped'));
    await Promise.all([this.#controllerManager, this.#apiServer, this.#etcd].map((daemon) => daemon.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }

  // Between the choice of a port and its use anybody may take it.
  async #startOnFreePort(signal: AbortSignal): Promise<void> {
    for (let triesLeft = 3; ; triesLeft -= 1) {
      this.#port = await freeStablePort('127.0.0.1');
      try {
        await this.#runApiServer(signal);
        return;
      } catch (error) {
        if (triesLeft === 0 || !String(error).includes('address already in use')) throw error;
      }
    }
  }

  /** Resolves when the server is ready, which includes its built-in roles and namespaces. Its end from then on is the cluster's. */
  async #runApiServer(signal: AbortSignal): Promise<void> {
    const death = new AbortController();
    this.#apiServer.start(apiServerArguments(this.#layout), (reason) => death.abort(new Error(reason)));
    const ready = async (): Promise<boolean> => (await this.request('GET', '/readyz', { signal: death.signal })).body === 'ok';
    const alive = AbortSignal.any([signal, death.signal]);
    await until('kube-apiserver is ready', alive, ready);
    await until('the default namespace exists', alive, () => this.#exists('/api/v1/namespaces/default'));
    death.signal.addEventListener('abort', () => this.#died((death.signal.reason as Error).message));
  }

  async #exists(path: string): Promise<boolean> {
    return (await this.request('GET', path)).status === 200;
  }

  readonly #died = (reason: string): void => {
    console.error(`The test cluster is broken: ${reason}`);
    this.#life.abort(new Error(reason));
  };
}

function built(name: (typeof neededTools)[number]): string {
  const program = toolPath(name);
  if (program === null) throw new Error(buildHint([name]));
  return program;
}

async function collect(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = '';
  for await (const chunk of stream?.setEncoding('utf8') ?? []) text += String(chunk);
  return text;
}
