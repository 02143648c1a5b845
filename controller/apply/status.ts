// Writes statuses to the API server: only what differs, on top of the version that was looked at, a few at a time.
import type { KubeObject } from '#controller/api/core.ts';
import type { DesiredStatus, StatusUpdate } from '#controller/api/plan.ts';
import type { Key } from '#controller/api/ref.ts';
import type { KindName } from '#controller/api/snapshot.ts';
import { Backoff, type BackoffLimits } from '#controller/kube/backoff.ts';
import type { KubeClient } from '#controller/kube/client.ts';
import { type Clock, sleep, systemClock } from '#controller/kube/clock.ts';
import { describeError, KubeError, statusOf } from '#controller/kube/errors.ts';
import { resourceName, rowOf } from '#controller/kube/kinds.ts';
import type { Log } from '#controller/kube/log.ts';
import { equalJson } from '#controller/output/equal.ts';
import { mergeStatus, type ObjectWithStatus } from '#controller/output/merge-status.ts';
import { type KnownObject, lostField, newest, readObject, writeStatus } from './status-object.ts';
import type { StatusSink } from './status-sink.ts';

export type { StatusSink } from './status-sink.ts';

export interface StatusWriterOptions {
  readonly client: KubeClient;
  /** The object in the newest snapshot. */
  readonly current: (kind: KindName, key: Key) => KubeObject | undefined;
  /** Asked before each request: a controller that has lost its Lease must not write. */
  readonly mayWrite: () => boolean;
  readonly log: Log;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  readonly backoff?: BackoffLimits;
  /** Requests in flight at most. */
  readonly parallel?: number;
}

export interface StatusProblem {
  /** `HTTPRoute default/shop` */
  readonly where: string;
  readonly message: string;
}

interface Job {
  update: StatusUpdate;
  /** Whether a newer update came while the one before was being written. */
  renewed: boolean;
  running: boolean;
  readonly backoff: Backoff;
  cancelRetry: () => void;
  /** Resolved after the first try. */
  tried: PromiseWithResolvers<void>;
}

const MOST_CONFLICTS = 5;
const LONGEST_RETRY_AFTER_MS = 60_000;
/** Work between two breaths of the event loop. */
const SLICE_MS = 8;
/** How long writes in flight may take when everything stops. */
const GRACE_MS = 2_000;

export class StatusWriter implements StatusSink {
  readonly #options: StatusWriterOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #jobs = new Map<string, Job>();
  /** Jobs to be tried now, in order. */
  readonly #queue = new Set<string>();
  readonly #workers = new Set<Promise<void>>();
  /** Workers that will still look into the queue. */
  #active = 0;
  /** What the API server answered last, for objects whose newest version the watch has not brought yet. */
  readonly #answered = new Map<string, KnownObject>();
  /** Statuses that a version of an object already has, or does not take: nothing to do until one of the two changes. */
  readonly #settled = new WeakMap<KubeObject, DesiredStatus>();
  /** What was sent where the server stored something else. */
  readonly #curtailed = new Map<string, { readonly resourceVersion: string; readonly sent: object }>();
  readonly #reported = new Set<string>();
  readonly #problems = new Map<string, string>();
  /** Ends pauses and retries; `#abort` ends requests in flight. */
  readonly #stopping = new AbortController();
  readonly #abort = new AbortController();
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
  }

  async apply(updates: readonly StatusUpdate[]): Promise<void> {
    if (this.#stopped) return;
    this.#forgetDeleted();
    const waiting = updates.flatMap((update) => {
      const watched = this.#options.current(update.ref.kind, update.key);
      const isDone = watched !== undefined && this.#settled.get(watched) === update.desired;
      return isDone && !this.#jobs.has(idOf(update)) ? [] : [this.#enqueue(update)];
    });
    this.#work();
    await Promise.all(waiting);
  }

  /** Statuses that the API server does not let us write, until they are written. */
  problems(): readonly StatusProblem[] {
    return [...this.#problems].map(([where, message]) => ({ where, message }));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#queue.clear();
    for (const job of this.#jobs.values()) {
      job.cancelRetry();
      if (!job.running) job.tried.resolve();
    }
    const cancel = this.#clock.after(GRACE_MS, () => this.#abort.abort());
    await Promise.all(this.#workers);
    cancel();
  }

  get #stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  #enqueue(update: StatusUpdate): Promise<void> {
    const id = idOf(update);
    let job = this.#jobs.get(id);
    if (job === undefined) {
      const backoff = new Backoff(this.#options.backoff ?? { firstMs: 1_000, maxMs: 60_000 }, this.#random);
      job = { update, renewed: false, running: false, backoff, cancelRetry: () => {}, tried: Promise.withResolvers() };
      this.#jobs.set(id, job);
    } else {
      const isPending = job.running ? job.renewed : this.#queue.has(id);
      if (!isPending) job.tried = Promise.withResolvers();
      job.update = update;
      job.cancelRetry();
    }
    if (job.running) job.renewed = true;
    else this.#queue.add(id);
    return job.tried.promise;
  }

  #work(): void {
    while (this.#active < (this.#options.parallel ?? 8) && this.#queue.size > 0) {
      const worker = this.#worker().finally(() => this.#workers.delete(worker));
      this.#workers.add(worker);
    }
  }

  async #worker(): Promise<void> {
    this.#active++;
    let sliceEnd = this.#clock.monotonic() + SLICE_MS;
    for (const id of this.#queue) {
      this.#queue.delete(id);
      const job = this.#jobs.get(id);
      if (job !== undefined) await this.#run(id, job);
      // Most updates turn out equal without a request, so nothing else would let the loop breathe.
      if (this.#clock.monotonic() > sliceEnd) {
        await new Promise(setImmediate);
        sliceEnd = this.#clock.monotonic() + SLICE_MS;
      }
    }
    this.#active--;
  }

  async #run(id: string, job: Job): Promise<void> {
    const { tried, update } = job;
    job.running = true;
    let retryMs: number | null = null;
    try {
      await sleep(this.#clock, this.#pausedUntil - this.#clock.monotonic(), this.#stopping.signal);
      if (!this.#stopped) await this.#bring(id, update);
      this.#problems.delete(id);
    } catch (error) {
      retryMs = this.#onFailure(id, update, error, job);
    }
    job.running = false;
    tried.resolve();
    if (job.renewed && !this.#stopped) {
      job.renewed = false;
      this.#queue.add(id);
    } else if (retryMs === null || this.#stopped) {
      job.tried.resolve();
      this.#jobs.delete(id);
    } else {
      job.cancelRetry = this.#clock.after(retryMs, () => {
        this.#queue.add(id);
        this.#work();
      });
    }
  }

  /** Returns normally when the status is there, or must not be there; throws when it could not be written. */
  async #bring(id: string, update: StatusUpdate): Promise<void> {
    const { client, current, mayWrite } = this.#options;
    const { signal } = this.#abort;
    const watched = current(update.ref.kind, update.key);
    if (watched === undefined || watched.metadata.uid !== update.uid) return this.#forget(id);
    let object = newest(watched, this.#answered.get(id));
    if (object === watched) this.#answered.delete(id);
    for (let conflicts = 0; ; conflicts++) {
      const status = this.#missing(id, object, update);
      if (status === null) {
        if (object === watched) this.#settled.set(watched, update.desired);
        return;
      }
      if (!mayWrite()) return;
      try {
        const stored = await writeStatus(client, object, status, signal);
        this.#answered.set(id, stored);
        this.#compare(id, update, status, stored);
        return;
      } catch (error) {
        const status = statusOf(error);
        if ((status !== 409 && status !== 404) || conflicts === MOST_CONFLICTS) throw error;
        const fresh = await this.#reread(watched, signal);
        if (fresh === null || fresh.metadata.uid !== update.uid) return this.#forget(id);
        // It is there, but its status is not: a CRD without the subresource.
        if (status === 404) throw error;
        object = fresh;
      }
    }
  }

  /** The status to send, null when the object has it already. */
  #missing(id: string, object: ObjectWithStatus, update: StatusUpdate): object | null {
    const now = `${new Date(this.#clock.now()).toISOString().slice(0, 19)}Z`;
    const merged = mergeStatus(object, update, now);
    if (merged === null) return null;
    const before = this.#curtailed.get(id);
    // The server stores only a part of it, as it did last time; sending it again would not help.
    const inVain =
      before !== undefined && before.resourceVersion === object.metadata.resourceVersion && equalJson(merged.status, before.sent);
    return inVain ? null : merged.status;
  }

  async #reread(object: KubeObject, signal: AbortSignal): Promise<KnownObject | null> {
    try {
      return await readObject(this.#options.client, object, signal);
    } catch (error) {
      if (statusOf(error) === 404) return null;
      throw error;
    }
  }

  #compare(id: string, update: StatusUpdate, sent: object, stored: KnownObject): void {
    if (equalJson(sent, stored.status)) {
      this.#curtailed.delete(id);
      return;
    }
    this.#curtailed.set(id, { resourceVersion: stored.metadata.resourceVersion, sent });
    const field = lostField(sent, stored.status);
    const what = `${update.ref.kind} ${field?.replaceAll(/\[\d+\]/g, '[]')}`;
    if (field === null || this.#reported.has(what)) return;
    this.#reported.add(what);
    this.#options.log.warn({ object: id, field }, 'the installed CRD does not know a field of the status; install a newer one');
  }

  /** Ms until the next try, null to give up. */
  #onFailure(id: string, update: StatusUpdate, error: unknown, job: Job): number | null {
    if (this.#stopped) return null;
    const status = statusOf(error);
    const resource = `${resourceName(rowOf(update.ref.kind))}/status`;
    const fields = { object: id, error: describeError(error) };
    if (status === 400 || status === 422) {
      this.#problems.set(id, `the API server does not accept the status: ${describeError(error)}`);
      this.#options.log.error(fields, 'status refused');
      const watched = this.#options.current(update.ref.kind, update.key);
      if (watched !== undefined) this.#settled.set(watched, update.desired);
      return null;
    }
    if (status === 403) {
      this.#problems.set(id, `may not write ${resource}: grant the verb update to the ServiceAccount (${describeError(error)})`);
    }
    this.#options.log.warn(fields, 'cannot write a status, will try again');
    const asked = error instanceof KubeError ? Math.min(error.retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS) : 0;
    // Whoever asks for patience means all of us.
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + asked);
    return Math.max(asked, job.backoff.next());
  }

  #forgetDeleted(): void {
    for (const memory of [this.#answered, this.#curtailed, this.#problems]) {
      for (const id of memory.keys()) {
        const [kind = '', key = ''] = id.split(' ');
        if (this.#options.current(kind as KindName, key) === undefined) this.#forget(id);
      }
    }
  }

  #forget(id: string): void {
    this.#answered.delete(id);
    this.#curtailed.delete(id);
    this.#problems.delete(id);
  }
}

/** The kind and the key, as people write them too. */
const idOf = ({ ref, key }: StatusUpdate): string => `${ref.kind} ${key}`;
