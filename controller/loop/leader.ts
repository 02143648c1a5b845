// Who acts: one instance at a time holds a Lease, and each that takes it raises the epoch by which proxies tell newer orders from older.
import type { KubeClient } from '#controller/kube/client.ts';
import { between, type Clock, sleep, systemClock } from '#controller/kube/clock.ts';
import { describeError, statusOf } from '#controller/kube/errors.ts';
import type { Log } from '#controller/kube/log.ts';
import { durationOf, epochOf, firstEpoch, holderOf, type LeaseObject, LeaseResource, recordOf } from './lease.ts';

/** Order among those who ever led, and whether we lead now. Without a cluster a file takes the place of the Lease. */
export interface EpochSource {
  /** To be asked before each write to anything outside. */
  isLeader(): boolean;
  /** Of our current or last time as leader; 0 before the first. */
  epoch(): number;
  /** A proxy has seen a higher epoch: resolves with a still higher one once it is safely ours, with null if it cannot be. Never rejects. */
  adoptEpochAbove(epoch: number): Promise<number | null>;
}

export interface ElectorOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  /** Unique among all instances, also of one pod's restarts. */
  readonly identity: string;
  readonly log: Log;
  readonly onElected: (epoch: number) => void;
  /** Stop acting. The elector itself goes on trying. */
  readonly onLost: (reason: string) => void;
  readonly timings?: ElectorTimings;
  readonly clock?: Clock;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/** In ms. */
export interface ElectorTimings {
  /** Others wait so long after the last renewal that they saw. */
  readonly leaseMs: number;
  /** Without a renewal for so long we no longer lead; less than the lease, as clocks run at different speeds and writes take time. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

const defaultElectorTimings: ElectorTimings = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

export class Elector implements EpochSource {
  readonly #options: ElectorOptions;
  readonly #timings: ElectorTimings;
  readonly #clock: Clock;
  readonly #resource: LeaseResource;
  readonly #stopping = new AbortController();
  /** One request about the Lease at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #done: Promise<void> = Promise.resolve();
  #lease: LeaseObject | null = null;
  #leading = false;
  /** Monotonic time up to which we certainly lead. */
  #validUntil = Number.NEGATIVE_INFINITY;
  #epoch = 0;
  #cancelDeadline: () => void = () => {};
  /** What another holder's Lease said, and the monotonic time at which we first saw it say so: clocks of machines are not compared. */
  #observed = { record: '', at: 0 };
  #problem: string | null = null;

  constructor(options: ElectorOptions) {
    this.#options = options;
    this.#timings = options.timings ?? defaultElectorTimings;
    this.#clock = options.clock ?? systemClock;
    // An answer that takes longer than this leaves no time for a second try before the deadline.
    const idleMs = Math.max(1, Math.floor(this.#timings.renewDeadlineMs / 3));
    this.#resource = new LeaseResource({ ...options, idleMs, leaseMs: this.#timings.leaseMs, now: () => this.#clock.now() });
  }

  start(): void {
    this.#done = this.#loop();
  }

  isLeader(): boolean {
    return this.#leading && this.#clock.monotonic() < this.#validUntil;
  }

  epoch(): number {
    return this.#epoch;
  }

  /** Why we can neither lead nor tell whether another does; null when all is well. */
  problem(): string | null {
    return this.#problem;
  }

  async adoptEpochAbove(above: number): Promise<number | null> {
    // A proxy that claims an absurd epoch must not make ours unwritable.
    if (!Number.isSafeInteger(above + 1)) return null;
    return await this.#inTurn(async () => {
      if (!this.isLeader()) return null;
      if (this.#epoch > above) return this.#epoch;
      try {
        await this.#renew(above + 1);
        this.#options.log.warn({ epoch: this.#epoch, seen: above }, 'a proxy knows a higher epoch; raised ours above it');
        return this.isLeader() ? this.#epoch : null;
      } catch (error) {
        this.#noteFailure(error);
        return null;
      }
    });
  }

  /** Gives the Lease back, so that another instance can take it at once. Stop everything that writes before. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#done;
    const lease = this.#lease;
    const held = this.#leading && lease !== null;
    this.#end();
    if (!held) return;
    await this.#inTurn(() => this.#release(lease)).catch((error: unknown) => {
      this.#options.log.debug({ error: describeError(error) }, 'could not give the Lease back; it expires by itself');
    });
  }

  async #release(lease: LeaseObject): Promise<void> {
    if ((await this.#resource.release(lease)) !== null) return;
    // Somebody wrote to it since the last renewal, often we ourselves: ports of tunnels are remembered in it.
    const newest = await this.#resource.read();
    if (newest !== null && holderOf(newest) === this.#options.identity) await this.#resource.release(newest);
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#inTurn(() => this.#tick());
      await sleep(this.#clock, this.#pause(), signal);
    }
  }

  async #tick(): Promise<void> {
    try {
      await (this.#leading ? this.#renew(this.#epoch) : this.#challenge());
      this.#problem = null;
    } catch (error) {
      this.#noteFailure(error);
    }
  }

  #pause(): number {
    const { retryMs } = this.#timings;
    const jittered = between(this.#options.random ?? Math.random, [retryMs * 0.8, retryMs]);
    if (this.#leading || this.#lease === null) return jittered;
    const untilFree = this.#observed.at + durationOf(this.#lease, this.#timings.leaseMs) - this.#clock.monotonic();
    return Math.max(1, Math.min(jittered, untilFree > 0 ? untilFree : jittered));
  }

  /** Takes the Lease if it is free: nobody's, ours from before a restart, or not renewed for its whole duration while we looked. */
  async #challenge(): Promise<void> {
    const began = this.#clock.monotonic();
    const lease = await this.#resource.read();
    if (lease === null) {
      const created = await this.#resource.create(firstEpoch(this.#clock.now()));
      if (created !== null) this.#begin(created, began);
      return;
    }
    this.#lease = lease;
    const record = recordOf(lease);
    if (record !== this.#observed.record) this.#observed = { record, at: began };
    const holder = holderOf(lease);
    const isExpired = began - this.#observed.at >= durationOf(lease, this.#timings.leaseMs);
    if (holder !== '' && holder !== this.#options.identity && !isExpired) return;
    const epoch = Math.max(this.#epoch, epochOf(lease) ?? firstEpoch(this.#clock.now())) + 1;
    const taken = await this.#resource.take(lease, epoch);
    if (taken !== null) this.#begin(taken, began);
  }

  #begin(lease: LeaseObject, began: number): void {
    this.#leading = true;
    this.#epoch = epochOf(lease) ?? this.#epoch;
    this.#extend(lease, began);
    this.#options.log.info({ epoch: this.#epoch }, 'leading');
    this.#options.onElected(this.#epoch);
  }

  /** Throws when it could not be renewed now; ends the leadership when it cannot be renewed any more. */
  async #renew(epoch: number): Promise<void> {
    const began = this.#clock.monotonic();
    let lease = this.#lease;
    if (lease === null) return;
    let renewed = await this.#resource.renew(lease, epoch);
    if (renewed === null) {
      // Somebody wrote to it (or our own last write arrived although its answer did not).
      lease = await this.#resource.read();
      if (lease !== null && holderOf(lease) !== this.#options.identity)
        return this.#lose(`the Lease is held by ${holderOf(lease) || 'nobody'}`);
      const raised = Math.max(epoch, lease === null ? 0 : (epochOf(lease) ?? 0));
      renewed = lease === null ? await this.#resource.create(raised + 1) : await this.#resource.renew(lease, raised);
    }
    if (renewed === null) throw new Error('the Lease changes under our hands');
    if (!this.#leading) return;
    this.#epoch = epochOf(renewed) ?? epoch;
    this.#extend(renewed, began);
  }

  /** Counted from before the request: the server may have stored the renewal at any moment since. */
  #extend(lease: LeaseObject, began: number): void {
    const { renewDeadlineMs } = this.#timings;
    this.#lease = lease;
    this.#validUntil = began + renewDeadlineMs;
    this.#cancelDeadline();
    this.#cancelDeadline = this.#clock.after(Math.max(0, this.#validUntil - this.#clock.monotonic()), () =>
      this.#lose(`the Lease could not be renewed for ${renewDeadlineMs} ms`),
    );
  }

  #lose(reason: string): void {
    if (!this.#leading) return;
    this.#end();
    this.#options.log.error({ reason }, 'no longer leading');
    this.#options.onLost(reason);
  }

  #end(): void {
    this.#cancelDeadline();
    this.#leading = false;
    this.#validUntil = Number.NEGATIVE_INFINITY;
  }

  #noteFailure(error: unknown): void {
    const { namespace, name, log } = this.#options;
    const grant = statusOf(error) === 403 ? '; grant get, create and update of leases.coordination.k8s.io in that namespace' : '';
    const problem = `cannot hold the Lease ${namespace}/${name}: ${describeError(error)}${grant}`;
    if (problem !== this.#problem) log.warn({ problem }, 'leader election is in trouble');
    this.#problem = problem;
  }

  #inTurn<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(action);
    this.#turn = result.catch(() => {});
    return result;
  }
}
