// Records Kubernetes Events: once per change of what they say, the same one again as one more of its series, and never at the cost of anything else.
import { createHash } from 'node:crypto';
import type { KubeObject } from '#controller/api/core.ts';
import type { EventPlan } from '#controller/api/plan.ts';
import { formatRef, type Key, keyOf } from '#controller/api/ref.ts';
import type { KindName } from '#controller/api/snapshot.ts';
import type { KubeClient } from '#controller/kube/client.ts';
import { type Clock, systemClock } from '#controller/kube/clock.ts';
import { describeError, statusOf } from '#controller/kube/errors.ts';
import type { Log } from '#controller/kube/log.ts';

export interface EventSink {
  /**
   * Takes all events that hold now. One is recorded when its text is new; one that is missing is over, so that it is recorded again when
   * it returns. Never throws.
   */
  record(events: readonly EventPlan[]): void;
  stop(): Promise<void>;
}

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** The object in the newest snapshot: `kubectl describe` finds events by its uid. */
  readonly current: (kind: KindName, key: Key) => KubeObject | undefined;
  readonly mayWrite: () => boolean;
  /** Name of the controller, as in GatewayClasses, and of this instance of it. */
  readonly controller: string;
  readonly instance: string;
  readonly log: Log;
  readonly clock?: Clock;
}

/** Limits of events.k8s.io/v1. */
const LONGEST_NOTE_BYTES = 1024;
const LONGEST_WORD = 128;
/** More than this at once is dropped, and tried again when it still holds at the next record. */
const BURST = 50;
const REFILL_MS = 1_000;
const MOST_COUNTED = 2_000;

export class EventRecorder implements EventSink {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  /** What was recorded of events that still hold. */
  #recorded = new Map<string, string>();
  readonly #queue: EventPlan[] = [];
  /** How often an event was seen, by its name; the oldest are forgotten. */
  readonly #counts = new Map<string, number>();
  readonly #abort = new AbortController();
  #working: Promise<void> = Promise.resolve();
  #busy = false;
  #tokens = BURST;
  #refilledAt: number;
  #deniedOnce = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#refilledAt = this.#clock.monotonic();
  }

  record(events: readonly EventPlan[]): void {
    if (this.#abort.signal.aborted || !this.#options.mayWrite()) return;
    const recorded = new Map<string, string>();
    for (const event of events) {
      const subject = `${formatRef(event.ref)} ${event.type} ${event.reason} ${event.action}`;
      if (this.#recorded.get(subject) === event.message) recorded.set(subject, event.message);
      else if (!recorded.has(subject) && this.#takeToken()) {
        recorded.set(subject, event.message);
        this.#queue.push(event);
      }
    }
    this.#recorded = recorded;
    if (!this.#busy && this.#queue.length > 0) this.#working = this.#work();
  }

  async stop(): Promise<void> {
    this.#queue.length = 0;
    this.#abort.abort();
    await this.#working;
  }

  #takeToken(): boolean {
    const now = this.#clock.monotonic();
    const refill = Math.floor((now - this.#refilledAt) / REFILL_MS);
    this.#tokens = Math.min(BURST, this.#tokens + refill);
    this.#refilledAt += refill * REFILL_MS;
    if (this.#tokens === 0) return false;
    this.#tokens--;
    return true;
  }

  async #work(): Promise<void> {
    this.#busy = true;
    for (let event = this.#queue.shift(); event !== undefined; event = this.#queue.shift()) {
      try {
        await this.#send(event);
      } catch (error) {
        const fields = { object: formatRef(event.ref), reason: event.reason, error: describeError(error) };
        if (statusOf(error) === 403 && !this.#deniedOnce) this.#options.log.warn(fields, 'may not record events; grant create and patch');
        else this.#options.log.debug(fields, 'event lost');
        this.#deniedOnce ||= statusOf(error) === 403;
      }
    }
    this.#busy = false;
  }

  async #send(event: EventPlan): Promise<void> {
    const { client } = this.#options;
    const { signal } = this.#abort;
    const object = this.#options.current(event.ref.kind as KindName, keyOf(event.ref.namespace, event.ref.name));
    const name = eventName(event, object?.metadata.uid ?? '');
    const path = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespaceOf(event))}/events`;
    const count = (this.#counts.get(name) ?? 0) + 1;
    const isFirst = count === 1 && (await this.#create(path, name, event, object));
    if (!isFirst) {
      // The server has it, from before a restart of ours or of the same trouble earlier.
      const series = { count: Math.max(2, count), lastObservedTime: microTime(this.#clock.now()) };
      const contentType = 'application/merge-patch+json';
      try {
        await client.json({ method: 'PATCH', path: `${path}/${name}`, body: { series }, contentType, signal });
      } catch (error) {
        // Events expire after an hour.
        if (statusOf(error) !== 404) throw error;
        await this.#create(path, name, event, object);
      }
    }
    this.#counts.delete(name);
    this.#counts.set(name, count);
    if (this.#counts.size > MOST_COUNTED) this.#counts.delete(this.#counts.keys().next().value ?? '');
  }

  /** False when an event of that name exists. */
  async #create(path: string, name: string, event: EventPlan, object: KubeObject | undefined): Promise<boolean> {
    const { client, controller, instance } = this.#options;
    const { ref } = event;
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace: namespaceOf(event) },
      eventTime: microTime(this.#clock.now()),
      reportingController: controller,
      reportingInstance: instance.slice(0, LONGEST_WORD),
      action: event.action.slice(0, LONGEST_WORD),
      reason: event.reason.slice(0, LONGEST_WORD),
      type: event.type,
      note: cutToBytes(event.message, LONGEST_NOTE_BYTES),
      regarding: {
        kind: ref.kind,
        name: ref.name,
        ...(ref.namespace !== '' && { namespace: ref.namespace }),
        ...(object && { apiVersion: object.apiVersion, uid: object.metadata.uid }),
      },
    };
    try {
      await client.json({ method: 'POST', path, body, signal: this.#abort.signal });
      return true;
    } catch (error) {
      if (statusOf(error) === 409) return false;
      throw error;
    }
  }
}

/** Events about cluster-scoped objects live in `default`. */
const namespaceOf = (event: EventPlan): string => event.ref.namespace || 'default';

/** The same words about the same object have the same name, whoever says them and when: the API server then counts instead of collecting. */
function eventName({ ref, type, reason, action, message }: EventPlan, uid: string): string {
  const digest = createHash('sha256').update(JSON.stringify([ref.kind, uid, type, reason, action, message]));
  return `${ref.name.slice(0, 200).replace(/[^a-z0-9]+$/, '')}.${digest.digest('hex').slice(0, 16)}`;
}

/** metav1.MicroTime. */
const microTime = (now: number): string => new Date(now).toISOString().replace('Z', '000Z');

function cutToBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  // A character cut in half decodes to a replacement character, which goes.
  return `${bytes
    .subarray(0, most - 3)
    .toString('utf8')
    .replace(/\uFFFD$/, '')}…`;
}
