// One pod from its sandbox to its removal.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { KubeClient } from '#controller/kube/client.ts';
import { describeError } from '#controller/kube/errors.ts';
import { createSandbox, NODE_ADDRESS, type Sandbox } from '../network.ts';
import { Changes } from './changes.ts';
import type { Mount } from './container-root.ts';
import { CLUSTER_DOMAIN } from './dns-names.ts';
import type { NodeFacts } from './fields.ts';
import type { Image } from './images.ts';
import { PodContainer } from './pod-container.ts';
import { PodReporter } from './pod-reporter.ts';
import { sleeps } from './probe.ts';
import { PodTokens, type References } from './references.ts';
import { timestamp, type ContainerView, type PodView } from './status.ts';
import type { Pod } from './types.ts';
import { PodVolumes } from './volumes.ts';

export interface WorkerContext {
  readonly client: KubeClient;
  readonly node: NodeFacts;
  readonly references: References;
  readonly images: readonly Image[];
  readonly env: Readonly<Record<string, string>>;
  /** A folder of the node for all pods. */
  readonly folder: string;
}

/** What is not there is looked for again at each change of what may be it; anything else that fails is tried again after this. */
const RETRY_MS = 1000;

export class PodWorker {
  readonly pod: Pod;
  containers: readonly PodContainer[] = [];
  readonly #context: WorkerContext;
  readonly #folder: string;
  readonly #stop = new AbortController();
  readonly #changes = new Changes();
  readonly #startTime = timestamp(new Date());
  readonly #reporter: PodReporter;
  readonly #alive: Promise<void>;
  #sandbox: Sandbox | null = null;
  /** Why nothing runs yet. */
  #waitsFor: string | null = null;
  #removed: Promise<void> | null = null;

  /** Starts at once. `number` is that of the pod's address. */
  constructor(pod: Pod, number: number, context: WorkerContext) {
    this.pod = pod;
    this.#context = context;
    this.#folder = path.join(context.folder, pod.metadata.uid);
    this.#reporter = new PodReporter(context.client, pod, () => this.#view());
    this.#changes.subscribe(() => this.#reporter.changed(), this.#stop.signal);
    this.#alive = this.#live(number).catch((error: unknown) => this.#wait(describeError(error)));
  }

  /** Ends the containers and removes what the pod had; resolves when nothing of it is left on the node. */
  remove(graceSeconds: number): Promise<void> {
    // Whoever deletes with force does not wait for the grace period that was given before.
    if (this.#removed !== null && graceSeconds === 0) for (const container of this.containers) void container.stop(0);
    this.#removed ??= this.#remove(graceSeconds);
    return this.#removed;
  }

  async #remove(graceSeconds: number): Promise<void> {
    this.#reporter.changed();
    await Promise.all(this.containers.map((container) => container.stop(graceSeconds * 1000)));
    this.#stop.abort();
    await this.#alive;
    await this.#sandbox?.remove();
    rmSync(this.#folder, { recursive: true, force: true });
    await this.#reporter.end();
  }

  async #live(number: number): Promise<void> {
    const { pod } = this;
    if (pod.spec.initContainers !== undefined) throw new Error('init containers are not emulated');
    const sandbox = await createSandbox(number);
    this.#sandbox = sandbox;
    const { client, node, references, images, env } = this.#context;
    const placed = { pod, address: sandbox.address, node };
    const tokens = new PodTokens(client, pod);
    const volumes = new PodVolumes(path.join(this.#folder, 'volumes'), { placed, references, tokens });
    if (!(await this.#written(volumes))) return;
    const resolver = this.#resolver();
    this.containers = pod.spec.containers.map((spec) => {
      const mounts = (): readonly Mount[] => [resolver, ...volumes.mountsOf(spec)];
      const folder = path.join(this.#folder, spec.name);
      const changed = (): void => this.#changes.notify();
      return new PodContainer(spec, { placed, references, images, env, enter: sandbox.enter, folder, mounts, changed });
    });
    await Promise.all([this.#follow(volumes, tokens), ...this.containers.map((container) => container.run())]);
  }

  /** False when the pod ended before all was there. */
  async #written(volumes: PodVolumes): Promise<boolean> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const changed = this.#context.references.changes.next(AbortSignal.any([signal, AbortSignal.timeout(RETRY_MS)]));
      try {
        await volumes.write();
        this.#wait(null);
        return !signal.aborted;
      } catch (error) {
        this.#wait(describeError(error));
        await changed;
      }
    }
    return false;
  }

  /** Rewrites what changed as long as the pod lives: mounted Secrets and ConfigMaps are those of the API, and tokens are fresh. */
  async #follow(volumes: PodVolumes, tokens: PodTokens): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const turn = new AbortController();
      const either = AbortSignal.any([signal, turn.signal]);
      // A timer cannot wait longer than this.
      const freshMs = Math.min(2 ** 31 - 1, Math.max(RETRY_MS, tokens.renewAt - Date.now()));
      await Promise.race([this.#context.references.changes.next(either), sleeps(freshMs, either)]);
      turn.abort();
      // What is deleted under a running pod stays as it was.
      await volumes.write().catch(() => {});
    }
  }

  /** As a kubelet writes it for pods that ask the cluster first. */
  #resolver(): Mount {
    const source = path.join(this.#folder, 'resolv.conf');
    const zone = `svc.${CLUSTER_DOMAIN}`;
    const search = `search ${this.pod.metadata.namespace}.${zone} ${zone} ${CLUSTER_DOMAIN}`;
    mkdirSync(this.#folder, { recursive: true });
    writeFileSync(source, `${search}\nnameserver ${NODE_ADDRESS}\noptions ndots:5\n`);
    return { source, target: '/etc/resolv.conf' };
  }

  #wait(reason: string | null): void {
    this.#waitsFor = reason;
    this.#changes.notify();
  }

  #view(): Omit<PodView, 'conditions'> {
    const containers = this.containers.length > 0 ? this.containers.map(({ view }) => view) : this.#pending();
    const { node } = this.#context;
    const address = this.#sandbox?.address ?? null;
    return { pod: this.pod, node, address, startTime: this.#startTime, containers, isEnding: this.#removed !== null };
  }

  #pending(): readonly ContainerView[] {
    const waiting = { reason: 'ContainerCreating', ...(this.#waitsFor === null ? {} : { message: this.#waitsFor }) };
    const common = { state: { waiting }, lastState: null, isStarted: false, isReady: false, restarts: 0, isOver: false };
    return this.pod.spec.containers.map(({ name, image }) => ({ name, image, ...common }));
  }
}
