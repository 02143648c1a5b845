// The Lease object (coordination.k8s.io/v1): what it says, and writes that only succeed on top of the version that was read.
import { OWN_GROUP } from '#controller/api/own.ts';
import type { KubeClient } from '#controller/kube/client.ts';
import { statusOf } from '#controller/kube/errors.ts';
import { isRecord } from '#controller/kube/json.ts';

/** The object as the API server has it, with whatever others put into it. */
export interface LeaseObject {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** leaseTransitions would start at zero again when the Lease is deleted or restored, and orders of proxies with it. */
const EPOCH_ANNOTATION = `${OWN_GROUP}/epoch`;

export const holderOf = ({ spec }: LeaseObject): string => (typeof spec['holderIdentity'] === 'string' ? spec['holderIdentity'] : '');

/** Null when there is none, or somebody wrote nonsense. */
export function epochOf({ metadata }: LeaseObject): number | null {
  const annotations = metadata['annotations'];
  const text = isRecord(annotations) ? annotations[EPOCH_ANNOTATION] : undefined;
  return typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The first epoch of a Lease without one, in seconds since 1970: above whatever was counted one by one before it was lost. */
export const firstEpoch = (now: number): number => Math.max(1, Math.floor(now / 1000));

/** Changes with every renewal. */
export const recordOf = ({ spec, metadata }: LeaseObject): string =>
  JSON.stringify([metadata['uid'], spec['holderIdentity'], spec['acquireTime'], spec['renewTime'], spec['leaseTransitions']]);

/** How long the holder may be silent, ms; ours when the Lease says nothing sensible. */
export function durationOf({ spec }: LeaseObject, ownMs: number): number {
  const seconds = spec['leaseDurationSeconds'];
  return typeof seconds === 'number' && seconds >= 1 && seconds <= 3600 ? seconds * 1000 : ownMs;
}

export interface LeaseResourceOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly leaseMs: number;
  /** A request fails after so many ms of silence. */
  readonly idleMs: number;
  /** Wall time, ms. */
  readonly now: () => number;
}

/** Each write resolves with the stored object, or with null when somebody else was faster. Other failures throw KubeError. */
export class LeaseResource {
  readonly #options: LeaseResourceOptions;
  readonly #collection: string;

  constructor(options: LeaseResourceOptions) {
    this.#options = options;
    this.#collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(options.namespace)}/leases`;
  }

  get #path(): string {
    return `${this.#collection}/${encodeURIComponent(this.#options.name)}`;
  }

  /** Null when there is none. */
  async read(): Promise<LeaseObject | null> {
    const { client, idleMs } = this.#options;
    try {
      return leaseFrom(await client.json({ method: 'GET', path: this.#path, idleMs }));
    } catch (error) {
      if (statusOf(error) === 404) return null;
      throw error;
    }
  }

  async create(epoch: number): Promise<LeaseObject | null> {
    const { name, namespace } = this.#options;
    const lease = { metadata: { name, namespace }, spec: {} };
    return await this.#write('POST', this.#held(lease, epoch, { acquired: true, transitions: 0 }));
  }

  async take(lease: LeaseObject, epoch: number): Promise<LeaseObject | null> {
    const before = lease.spec['leaseTransitions'];
    return await this.#write(
      'PUT',
      this.#held(lease, epoch, { acquired: true, transitions: (typeof before === 'number' ? before : 0) + 1 }),
    );
  }

  async renew(lease: LeaseObject, epoch: number): Promise<LeaseObject | null> {
    return await this.#write('PUT', this.#held(lease, epoch, { acquired: false }));
  }

  async release(lease: LeaseObject): Promise<LeaseObject | null> {
    const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: this.#time() };
    return await this.#write('PUT', { ...lease, spec });
  }

  #held(lease: LeaseObject, epoch: number, how: { readonly acquired: boolean; readonly transitions?: number }): LeaseObject {
    const { annotations } = lease.metadata;
    const { identity, leaseMs } = this.#options;
    return {
      metadata: { ...lease.metadata, annotations: { ...(isRecord(annotations) && annotations), [EPOCH_ANNOTATION]: String(epoch) } },
      spec: {
        ...lease.spec,
        holderIdentity: identity,
        leaseDurationSeconds: Math.max(1, Math.ceil(leaseMs / 1000)),
        renewTime: this.#time(),
        ...(how.acquired && { acquireTime: this.#time() }),
        ...(how.transitions !== undefined && { leaseTransitions: how.transitions }),
      },
    };
  }

  async #write(method: 'POST' | 'PUT', lease: LeaseObject): Promise<LeaseObject | null> {
    const { client, idleMs } = this.#options;
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...lease };
    try {
      return leaseFrom(await client.json({ method, path: method === 'POST' ? this.#collection : this.#path, body, idleMs }));
    } catch (error) {
      // 409: another version, or it exists; 404: it was deleted.
      if (statusOf(error) === 409 || (method === 'PUT' && statusOf(error) === 404)) return null;
      throw error;
    }
  }

  /** metav1.MicroTime. For people only: nobody compares it with a clock of his own. */
  #time(): string {
    return new Date(this.#options.now()).toISOString().replace('Z', '000Z');
  }
}

function leaseFrom(body: unknown): LeaseObject {
  if (!isRecord(body) || !isRecord(body['metadata'])) throw new Error('the answer of the API server is not a Lease');
  return { metadata: body['metadata'], spec: isRecord(body['spec']) ? body['spec'] : {} };
}
