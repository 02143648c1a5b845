// Writes a pod's status whenever it is different from what was written last, one write at a time.
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#controller/kube/client.ts';
import { describeError, statusOf } from '#controller/kube/errors.ts';
import { sleeps } from './probe.ts';
import { podStatus, timestamp, type PodStatus, type PodView } from './status.ts';
import type { Pod } from './types.ts';

const RETRY_MS = 200;

export class PodReporter {
  readonly #client: KubeClient;
  readonly #pod: Pod;
  readonly #look: () => Omit<PodView, 'conditions'>;
  readonly #over = new AbortController();
  #written: PodStatus | null = null;
  #isDirty = false;
  #writing: Promise<void> = Promise.resolve();
  #isWriting = false;
  #isLast = false;

  constructor(client: KubeClient, pod: Pod, look: () => Omit<PodView, 'conditions'>) {
    this.#client = client;
    this.#pod = pod;
    this.#look = look;
  }

  /** The pod may look different now. */
  changed(): void {
    this.#isDirty = true;
    if (this.#isWriting || this.#over.signal.aborted) return;
    this.#isWriting = true;
    this.#writing = this.#write();
  }

  /** Writes the last state, or tries to; nothing is written afterwards. */
  async end(): Promise<void> {
    this.#isLast = true;
    this.changed();
    await this.#writing;
    this.#over.abort();
  }

  async #write(): Promise<void> {
    while (this.#isDirty && !this.#over.signal.aborted) {
      // Several things that change in one turn are one write.
      await Promise.resolve();
      this.#isDirty = false;
      const status = podStatus({ ...this.#look(), conditions: this.#written?.conditions ?? [] }, timestamp(new Date()));
      if (!isDeepStrictEqual(status, this.#written)) await this.#send(status);
    }
    this.#isWriting = false;
  }

  async #send(status: PodStatus): Promise<void> {
    const { name, namespace, uid } = this.#pod.metadata;
    try {
      await this.#client.json({
        method: 'PATCH',
        path: `/api/v1/namespaces/${namespace}/pods/${name}/status`,
        contentType: 'application/merge-patch+json',
        // The uid is a condition: another pod may have the name by now.
        body: { metadata: { uid }, status },
      });
      this.#written = status;
    } catch (error) {
      if (statusOf(error) === 404 || statusOf(error) === 409 || this.#isLast) return this.#over.abort();
      console.error(`node: status of pod ${namespace}/${name}: ${describeError(error)}`);
      this.#isDirty = true;
      await sleeps(RETRY_MS, this.#over.signal);
    }
  }
}
