// Keeps the store equal to one collection of the API server: list, watch, resume, and list again when resuming is impossible.
import { Backoff } from '#controller/kube/backoff.ts';
import { between, sleep } from '#controller/kube/clock.ts';
import { describeError, KubeError, statusOf } from '#controller/kube/errors.ts';
import { type KindRow, resourceName, resourcePath } from '#controller/kube/kinds.ts';
import { Intake, type Scope } from './intake.ts';
import { defaultListLimits, listAll } from './list.ts';
import type { ReflectorContext, ReflectorStats, Verdict } from './reflector-context.ts';
import type { SourceProblem } from './source.ts';
import { watchEvents, type WatchEvent } from './stream.ts';

const FAILURES_UNTIL_LIST = 5;
const FAILURES_UNTIL_PROBLEM = 3;
const LONGEST_RETRY_AFTER_MS = 60_000;

class UnreadableEvent extends Error {}

export class Reflector {
  readonly #context: ReflectorContext;
  readonly #row: KindRow;
  readonly #scope: Scope | null;
  readonly #where: string;
  readonly #intake: Intake;
  readonly #backoff: Backoff;
  readonly #abort = new AbortController();
  /** Ends the watch that is open, and nothing else. */
  #interrupt = new AbortController();
  /** Who waits for a list that began after he asked. */
  #askers: (() => void)[] = [];
  #done: Promise<void> = Promise.resolve();
  #verdict: Verdict = 'unread';
  /** The API version in use. */
  #version: string;
  /** Where to resume; empty when only a list can tell where we are. */
  #position = '';
  #relistAt = Number.POSITIVE_INFINITY;
  /** Answers in a row that say the collection is not there or not allowed. */
  #denials = 0;
  /** Monotonic time of the first of them. */
  #deniedAt = 0;
  #failures = 0;
  #problem: string | null = null;
  #lists = 0;
  #events = 0;
  #heardAt = Number.NEGATIVE_INFINITY;

  constructor(context: ReflectorContext, row: KindRow, scope: Scope | null = null) {
    this.#context = context;
    this.#row = row;
    this.#scope = scope;
    this.#where = scope ? `${row.kind} ${scope.namespace}/${scope.name}` : row.kind;
    this.#intake = new Intake(row, context.store, scope, context.changed);
    this.#backoff = new Backoff(context.timings.backoff, context.random);
    this.#version = row.versions[0] ?? '';
  }

  start(): void {
    this.#done = this.#loop();
  }

  /** Resolves when no request, timer or connection is left. */
  async stop(): Promise<void> {
    this.#intake.close();
    this.#abort.abort();
    await this.#done;
    this.#answer(this.#askers);
  }

  /** Resolves when the store holds a full list that began after this call, however long the server takes to give one. */
  refresh(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#abort.signal.aborted) resolve();
    else this.#askers.push(resolve);
    this.#interrupt.abort();
    return promise;
  }

  /** True when the store can be relied on: it holds a full list, or it is known that there is nothing to hold. */
  get settled(): boolean {
    return this.#verdict === 'forbidden' ? this.#dispensable : this.#verdict !== 'unread';
  }

  problems(): readonly SourceProblem[] {
    return [...(this.#problem === null ? [] : [{ where: this.#where, message: this.#problem }]), ...this.#intake.problems()];
  }

  stats(): ReflectorStats {
    const silentMs = this.#context.clock.monotonic() - this.#heardAt;
    return { where: this.#where, verdict: this.#verdict, lists: this.#lists, events: this.#events, silentMs };
  }

  /** Without it the rest works on: an object that others refer to, or a kind that is not essential. */
  get #dispensable(): boolean {
    return this.#scope !== null || this.#row.need === 'optional';
  }

  async #loop(): Promise<void> {
    const { clock, timings } = this.#context;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      let pauseMs: number;
      try {
        if (this.#position === '' || this.#askers.length > 0 || clock.monotonic() >= this.#relistAt) await this.#list();
        // A server that ends each watch at once must not be asked again and again.
        pauseMs = (await this.#watch()) >= timings.healthyMs ? 0 : this.#backoff.next();
      } catch (error) {
        pauseMs = signal.aborted ? 0 : this.#react(error);
      }
      await sleep(clock, pauseMs, signal);
    }
  }

  async #list(): Promise<void> {
    const askers = this.#askers;
    this.#askers = [];
    try {
      await this.#listAnyVersion();
      this.#answer(askers);
    } catch (error) {
      this.#askers.unshift(...askers);
      throw error;
    }
  }

  #answer(askers: readonly (() => void)[]): void {
    for (const resolve of askers) resolve();
  }

  async #listAnyVersion(): Promise<void> {
    const { versions } = this.#row;
    for (const [index, version] of versions.entries()) {
      try {
        await this.#context.slots.run(() => this.#listVersion(version));
        return;
      } catch (error) {
        if (statusOf(error) !== 404 || index === versions.length - 1) throw error;
      }
    }
  }

  async #listVersion(version: string): Promise<void> {
    const { client, store, clock, random, timings, changed, listLimits } = this.#context;
    const listing = this.#intake.beginList(version);
    const request = { method: 'GET', path: this.#path(version), query: this.#selector(), signal: this.#abort.signal } as const;
    const position = await listAll(client, { ...request, accept: this.#accept('List') }, listing.page, listLimits ?? defaultListLimits);
    listing.end();
    this.#version = version;
    this.#position = position;
    this.#relistAt = clock.monotonic() + between(random, timings.relistMs);
    this.#heardAt = clock.monotonic();
    this.#lists++;
    if (this.#scope === null && store.setServed(this.#row.kind, true)) changed();
    this.#decide('listed');
  }

  /** Resolves with the ms that the watch lived when the server ends it in order; infinite when it was interrupted for a list. */
  async #watch(): Promise<number> {
    // Asked during the list that has just ended.
    if (this.#askers.length > 0) return Number.POSITIVE_INFINITY;
    this.#interrupt = new AbortController();
    try {
      return await this.#watchUntil(AbortSignal.any([this.#abort.signal, this.#interrupt.signal]));
    } catch (error) {
      if (this.#interrupt.signal.aborted) return Number.POSITIVE_INFINITY;
      throw error;
    }
  }

  async #watchUntil(signal: AbortSignal): Promise<number> {
    const { client, clock, random, timings } = this.#context;
    const response = await client.open({
      method: 'GET',
      path: this.#path(this.#version),
      query: {
        ...this.#selector(),
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion: this.#position,
        timeoutSeconds: String(Math.ceil(between(random, timings.serverTimeoutMs) / 1000)),
      },
      accept: this.#accept(''),
      idleMs: timings.idleMs,
      signal,
    });
    const opened = clock.monotonic();
    const lived = (): number => clock.monotonic() - opened;
    this.#failures = 0;
    this.#denials = 0;
    this.#report(null);
    try {
      for await (const event of watchEvents(response)) this.#take(event);
      return lived();
    } finally {
      if (lived() >= timings.healthyMs) this.#backoff.reset();
    }
  }

  #take(event: WatchEvent): void {
    this.#events++;
    this.#heardAt = this.#context.clock.monotonic();
    switch (event.type) {
      case 'BOOKMARK':
        this.#position = event.resourceVersion;
        return;
      case 'UNREADABLE':
        throw new UnreadableEvent(event.message);
      case 'DELETED':
        this.#advance(event.object);
        this.#intake.remove(event.object);
        return;
      default:
        this.#advance(event.object);
        this.#intake.put(this.#version, event.object);
    }
  }

  #advance(object: unknown): void {
    const version = (object as { readonly metadata?: { readonly resourceVersion?: unknown } } | null)?.metadata?.resourceVersion;
    if (typeof version === 'string' && version !== '') this.#position = version;
  }

  /** Decides what a failure means; returns the pause until the next try, ms. */
  #react(error: unknown): number {
    const status = statusOf(error);
    const asked = error instanceof KubeError ? Math.min(error.retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS) : 0;
    this.#context.log.debug({ where: this.#where, error: describeError(error) }, 'watch interrupted');
    if (error instanceof KubeError && error.expired) {
      this.#position = '';
      return this.#backoff.next();
    }
    if (status === 403) return this.#onForbidden(error);
    if (status === 404) return this.#onNotFound();
    if (status === 429) return Math.max(asked, this.#backoff.next());
    this.#failures++;
    const refused = status >= 400 && status < 500;
    if (refused || error instanceof UnreadableEvent || this.#failures >= FAILURES_UNTIL_LIST) this.#position = '';
    if (refused || error instanceof UnreadableEvent || this.#failures >= FAILURES_UNTIL_PROBLEM) {
      this.#report(`cannot read ${resourceName(this.#row)} from the API server: ${describeError(error)}`);
    }
    return Math.max(asked, this.#backoff.next());
  }

  #onForbidden(error: unknown): number {
    const { clock, random, timings } = this.#context;
    // With a position the list was allowed, and only the watch is not: then lists have to do.
    const unreadable = this.#position === '';
    const known = this.#verdict === 'listed';
    this.#position = '';
    this.#denials++;
    if (this.#denials === 1) this.#deniedAt = clock.monotonic();
    if (known && this.#denials === 1) return timings.confirmMs;
    const place = this.#scope ? ` named ${this.#scope.name} in namespace ${this.#scope.namespace}` : '';
    const grant = 'grant the verbs get, list and watch to the ServiceAccount of the controller';
    this.#report(`may not list and watch ${resourceName(this.#row)}${place}: ${grant} (${describeError(error)})`);
    if (unreadable && known && clock.monotonic() - this.#deniedAt < timings.giveUpMs) return timings.confirmMs;
    // An essential kind that was read before keeps its last known objects: acting as if there were none would undo everything.
    if (unreadable && (this.#dispensable || !known)) {
      this.#intake.clear();
      this.#decide('forbidden');
    }
    return between(random, timings.forbiddenMs);
  }

  #onNotFound(): number {
    const { random, timings } = this.#context;
    this.#position = '';
    this.#denials++;
    if (this.#verdict === 'listed' && this.#denials === 1) return timings.confirmMs;
    this.#report(null);
    this.#intake.clear();
    this.#decide('not served');
    return between(random, timings.notServedMs);
  }

  #decide(verdict: Verdict): void {
    // That there is nothing to list is an answer as well.
    if (verdict !== 'listed') this.#answer(this.#askers.splice(0));
    if (this.#verdict === verdict) return;
    this.#verdict = verdict;
    this.#context.log.info({ where: this.#where, state: verdict }, 'source state changed');
    this.#context.changed();
  }

  #report(problem: string | null): void {
    if (this.#problem === problem) return;
    this.#problem = problem;
    if (problem !== null) this.#context.log.warn({ where: this.#where, problem }, 'cannot follow objects');
    this.#context.changed();
  }

  #path(version: string): string {
    return resourcePath(this.#row, version, { namespace: this.#scope?.namespace });
  }

  #selector(): Readonly<Record<string, string>> {
    // RBAC rules with resourceNames allow list and watch exactly with this selector.
    const name = this.#scope?.name ?? this.#row.onlyName;
    return name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
  }

  #accept(suffix: 'List' | ''): string {
    return this.#row.metadataOnly ? `application/json;as=PartialObjectMetadata${suffix};g=meta.k8s.io;v=v1` : 'application/json';
  }
}
