// Scheduler and kubelet of the only node: every pod of the cluster runs here.
import type { KubeClient } from '#controller/kube/client.ts';
import { describeError, statusOf } from '#controller/kube/errors.ts';
import type { Collection } from './collection.ts';
import { PodWorker, type WorkerContext } from './pod-worker.ts';
import { sleeps } from './probe.ts';
import type { Pod } from './types.ts';

const DEFAULT_GRACE_SECONDS = 30;
const RETRY_MS = 200;
/** Addresses below are for what a test itself puts on the bridge. */
const FIRST_ADDRESS = 256;

export class Kubelet {
  readonly #client: KubeClient;
  readonly #pods: Collection<Pod>;
  readonly #context: WorkerContext;
  readonly #signal: AbortSignal;
  /** By uid: a pod may follow another one of its name. */
  readonly #workers = new Map<string, PodWorker>();
  /** Pods on their way out, and pods on their way to a node. */
  readonly #deleting = new Map<string, Promise<void>>();
  readonly #binding = new Set<string>();
  #nextAddress = FIRST_ADDRESS;

  constructor(pods: Collection<Pod>, context: WorkerContext, signal: AbortSignal) {
    this.#client = context.client;
    this.#pods = pods;
    this.#context = context;
    this.#signal = signal;
    pods.changes.subscribe(() => this.#sync(), signal);
    this.#sync();
  }

  worker(namespace: string, name: string): PodWorker | undefined {
    return [...this.#workers.values()].find(({ pod }) => pod.metadata.namespace === namespace && pod.metadata.name === name);
  }

  /** Ends every program at once. */
  async stop(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.remove(0)));
    await Promise.all(this.#deleting.values());
  }

  #sync(): void {
    const pods = new Map(this.#pods.values().map((pod) => [pod.metadata.uid, pod]));
    for (const [uid, worker] of this.#workers) {
      if (!pods.has(uid)) void worker.remove(0).then(() => this.#workers.delete(uid));
    }
    for (const uid of this.#deleting.keys()) if (!pods.has(uid)) this.#deleting.delete(uid);
    for (const pod of pods.values()) this.#attend(pod);
  }

  #attend(pod: Pod): void {
    const { uid, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) {
      if (!this.#deleting.has(uid)) this.#deleting.set(uid, this.#delete(pod));
    } else if (pod.spec.nodeName === undefined) {
      if (!this.#binding.has(uid)) void this.#bind(pod);
    } else if (pod.spec.nodeName === this.#context.node.name && !this.#workers.has(uid)) {
      this.#workers.set(uid, new PodWorker(pod, this.#nextAddress++, this.#context));
    }
  }

  async #bind({ metadata }: Pod): Promise<void> {
    const { name, namespace, uid } = metadata;
    this.#binding.add(uid);
    const target = { apiVersion: 'v1', kind: 'Node', name: this.#context.node.name };
    await this.#write('POST', `/api/v1/namespaces/${namespace}/pods/${name}/binding`, { metadata: { name, uid }, target });
    this.#binding.delete(uid);
  }

  /** The programs have the time that the pod was given; then the API forgets it. */
  async #delete({ metadata }: Pod): Promise<void> {
    const { name, namespace, uid, deletionGracePeriodSeconds = DEFAULT_GRACE_SECONDS } = metadata;
    await this.#workers.get(uid)?.remove(deletionGracePeriodSeconds);
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid } };
    await this.#write('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`, options);
  }

  /** Until the server has it, or says that the pod is not there or not as it was. */
  async #write(method: 'POST' | 'DELETE', path: string, body: object): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        await this.#client.json({ method, path, body, signal: this.#signal });
        return;
      } catch (error) {
        if (this.#signal.aborted || statusOf(error) === 404 || statusOf(error) === 409) return;
        console.error(`node: ${method} ${path}: ${describeError(error)}`);
        await sleeps(RETRY_MS, this.#signal);
      }
    }
  }
}
