// Objects of ours in the namespaces of Gateways: server-side apply of what differs, deletion of what is no longer wanted, by label.
import { hash } from 'node:crypto';
import type { KubeObject } from '#controller/api/core.ts';
import { OWN_GROUP } from '#controller/api/own.ts';
import type { ObjectFact, ObjectManifest, ObjectPlan } from '#controller/api/plan.ts';
import { keyOf } from '#controller/api/ref.ts';
import type { Snapshot } from '#controller/api/snapshot.ts';
import { Backoff } from '#controller/kube/backoff.ts';
import type { KubeClient } from '#controller/kube/client.ts';
import { type Clock, systemClock } from '#controller/kube/clock.ts';
import { describeError, statusOf } from '#controller/kube/errors.ts';
import type { Log } from '#controller/kube/log.ts';
import { Slots } from '#controller/kube/slots.ts';
import { CONTROLLER_LABEL, controllerLabel, mustReplace } from '#controller/output/entry-service.ts';
import { holds } from '#controller/output/equal.ts';
import { ObjectRequests } from './object-requests.ts';

/** Where desired objects go. */
export interface ObjectSink {
  /** Takes all objects that should exist; resolves when each that differs has been tried once. Never rejects. */
  apply(plans: readonly ObjectPlan[]): Promise<void>;
  facts(): ReadonlyMap<string, ObjectFact>;
  stop(): void;
}

export interface ObjectApplierOptions {
  readonly client: KubeClient;
  readonly snapshot: () => Snapshot;
  /** Asked before each request: a controller that has lost its Lease must not write. */
  readonly mayWrite: () => boolean;
  readonly controllerName: string;
  /** Something that failed is to be tried again. */
  readonly onRetry: () => void;
  readonly log: Log;
  readonly clock?: Clock;
  readonly random?: () => number;
}

/** Of the plan that was applied last: tells that something is no longer desired, which the object itself does not show. */
const APPLIED = `${OWN_GROUP}/applied`;
const RETRY = { firstMs: 1_000, maxMs: 60_000 };
const PARALLEL = 4;
/** Stands for the plan of an object whose name somebody else's has. */
const FOREIGN = 'foreign';

/** One object that could not be brought to its plan. */
interface Failure {
  readonly fact: ObjectFact;
  /** What was tried; another plan is tried at once. */
  readonly digest: string;
  readonly backoff: Backoff;
  /** Monotonic time. */
  notBefore: number;
}

export class ObjectApplier implements ObjectSink {
  readonly #options: ObjectApplierOptions;
  readonly #requests: ObjectRequests;
  readonly #clock: Clock;
  readonly #slots = new Slots(PARALLEL);
  /** What was written and has not come back through the watch yet: digest, and the version that it had before. */
  readonly #written = new Map<string, { readonly digest: string; readonly before: string | undefined }>();
  /** Objects that we have deleted and the watch still shows. */
  readonly #deleted = new Set<string>();
  readonly #failures = new Map<string, Failure>();
  #facts: ReadonlyMap<string, ObjectFact> = new Map();
  #cancelRetry: () => void = () => {};
  #stopped = false;

  constructor(options: ObjectApplierOptions) {
    this.#options = options;
    this.#requests = new ObjectRequests(options.client);
    this.#clock = options.clock ?? systemClock;
  }

  /** What is no longer wanted goes first: it may hold an address that another object wants. */
  async apply(plans: readonly ObjectPlan[]): Promise<void> {
    const wanted = new Set(plans.map(idOf));
    const stale = this.#ours().filter((object) => !wanted.has(idOfObject(object)));
    this.#forget(new Set([...wanted, ...stale.map(idOfObject)]));
    await Promise.all(stale.map((object) => this.#slots.run(() => this.#try(idOfObject(object), '', () => this.#remove(object)))));
    await Promise.all(plans.map((plan) => this.#slots.run(() => this.#bring(plan))));
    this.#facts = new Map(plans.map((plan) => [idOf(plan), this.#failures.get(idOf(plan))?.fact ?? { state: 'Applied', message: '' }]));
    this.#planRetry();
  }

  facts(): ReadonlyMap<string, ObjectFact> {
    return this.#facts;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelRetry();
  }

  /** Everything that carries our label, in every namespace, and is not on its way out. */
  #ours(): readonly KubeObject[] {
    return this.#shown().filter((object) => this.#isOurs(object) && !this.#isDeleted(object));
  }

  #shown(): readonly KubeObject[] {
    const { Service, EndpointSlice } = this.#options.snapshot().objects;
    return [...Service.values(), ...EndpointSlice.values()];
  }

  #isOurs({ metadata: { labels } }: KubeObject): boolean {
    return labels?.[CONTROLLER_LABEL] === controllerLabel(this.#options.controllerName);
  }

  #isDeleted({ metadata: { uid, deletionTimestamp } }: KubeObject): boolean {
    return deletionTimestamp !== undefined || (uid !== undefined && this.#deleted.has(uid));
  }

  async #bring(plan: ObjectPlan): Promise<void> {
    const id = idOf(plan);
    const digest = hash('sha256', JSON.stringify(plan.manifest), 'hex').slice(0, 16);
    const manifest = marked(plan.manifest, digest);
    const watched = this.#options.snapshot().objects[plan.kind].get(plan.key);
    const stored = watched === undefined || this.#isDeleted(watched) ? undefined : watched;
    if (stored !== undefined && !this.#isOurs(stored)) {
      const message = 'it exists and is not from this controller: delete it, or give the Gateway another name';
      // Tried at once when it has gone.
      this.#fail(id, FOREIGN, { state: 'Refused', message });
      return;
    }
    const written = this.#written.get(id);
    const isOnItsWay = written?.digest === digest && written.before === watched?.metadata.resourceVersion;
    if (!isOnItsWay) this.#written.delete(id);
    if (isOnItsWay || (stored !== undefined && holds(stored, watchable(manifest)))) {
      this.#failures.delete(id);
      return;
    }
    await this.#try(id, digest, async () => {
      const replaced = stored !== undefined && mustReplace(stored, manifest);
      if (replaced) await this.#replace(stored, manifest);
      await this.#requests.apply(manifest, replaced ? undefined : stored?.metadata.uid);
      this.#written.set(id, { digest, before: watched?.metadata.resourceVersion });
    });
  }

  /** An address cannot be changed. Whether the new one can be had is asked first: the old one serves until then. */
  async #replace(stored: KubeObject, manifest: ObjectManifest): Promise<void> {
    await this.#requests.rehearse(manifest);
    await this.#remove(stored);
  }

  async #remove(object: KubeObject): Promise<void> {
    await this.#requests.remove(object);
    if (object.metadata.uid !== undefined) this.#deleted.add(object.metadata.uid);
    this.#written.delete(idOfObject(object));
    this.#options.log.info({ object: idOfObject(object) }, 'deleted');
  }

  /** Runs it unless the same failed a moment ago. */
  async #try(id: string, digest: string, action: () => Promise<void>): Promise<void> {
    const before = this.#failures.get(id);
    if (before?.digest === digest && this.#clock.monotonic() < before.notBefore) return;
    if (this.#stopped || !this.#options.mayWrite()) return;
    try {
      await action();
      this.#failures.delete(id);
    } catch (error) {
      const status = statusOf(error);
      const message =
        status === 403 ? `${describeError(error)}; the chart grants the right with localEntry.enabled=true` : describeError(error);
      this.#fail(id, digest, { state: status === 422 ? 'Refused' : 'Failed', message });
    }
  }

  #fail(id: string, digest: string, fact: ObjectFact): void {
    const before = this.#failures.get(id);
    const backoff = before?.digest === digest ? before.backoff : new Backoff(RETRY, this.#options.random ?? Math.random);
    this.#failures.set(id, { fact, digest, backoff, notBefore: this.#clock.monotonic() + backoff.next() });
    if (before?.fact.message !== fact.message)
      this.#options.log.warn({ object: id, error: fact.message }, 'cannot bring an object to its plan, will try again');
  }

  /** One timer for the failure that may be tried next. */
  #planRetry(): void {
    this.#cancelRetry();
    const times = [...this.#failures.values()].map(({ notBefore }) => notBefore);
    if (times.length === 0 || this.#stopped) return;
    this.#cancelRetry = this.#clock.after(Math.max(0, Math.min(...times) - this.#clock.monotonic()), this.#options.onRetry);
  }

  /** Everything that is neither wanted nor there. */
  #forget(known: ReadonlySet<string>): void {
    for (const memory of [this.#written, this.#failures]) for (const id of memory.keys()) if (!known.has(id)) memory.delete(id);
    if (this.#deleted.size === 0) return;
    const shown = new Set(this.#shown().map(({ metadata }) => metadata.uid));
    for (const uid of this.#deleted) if (!shown.has(uid)) this.#deleted.delete(uid);
  }
}

/** The kind and the key, as people write them too. */
const idOf = ({ kind, key }: ObjectPlan): string => `${kind} ${key}`;
const idOfObject = ({ kind, metadata }: KubeObject): string => `${kind} ${keyOf(metadata.namespace, metadata.name)}`;

const marked = (manifest: ObjectManifest, digest: string): ObjectManifest => ({
  ...manifest,
  metadata: { ...manifest.metadata, annotations: { ...manifest.metadata.annotations, [APPLIED]: digest } },
});

/** Without what the watch does not keep; the digest stands for that. */
const watchable = (manifest: ObjectManifest): object => ({ ...manifest, metadata: { ...manifest.metadata, ownerReferences: undefined } });
