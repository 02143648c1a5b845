// All objects of one kind, followed by list and watch for as long as the node lives.
import { setTimeout as pause } from 'node:timers/promises';
import type { KubeClient } from '#controller/kube/client.ts';
import { watchEvents } from '#controller/watch/stream.ts';
import { Changes } from './changes.ts';
import type { KubeObject } from './types.ts';

/** Servers of tests go away and come back: asked again soon. */
const RETRY_MS = 200;
const LONGEST_WATCH_MS = 600_000;

export const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;

export class Collection<T extends KubeObject> {
  readonly changes = new Changes();
  readonly #client: KubeClient;
  readonly #path: string;
  readonly #signal: AbortSignal;
  #objects = new Map<string, T>();
  #isRead = false;
  readonly #done: Promise<void>;

  /** Follows at once, until `signal` aborts. `path` is that of the whole cluster's collection. */
  constructor(client: KubeClient, path: string, signal: AbortSignal) {
    this.#client = client;
    this.#path = path;
    this.#signal = signal;
    this.#done = this.#follow();
  }

  /** Everything was listed once. */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** Resolves when nothing goes on any more. */
  get done(): Promise<void> {
    return this.#done;
  }

  /** `key` is `<namespace>/<name>`. */
  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): readonly T[] {
    return [...this.#objects.values()];
  }

  async #follow(): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        await this.#watch(await this.#list());
      } catch {
        // A refused or cut connection, or a version that is too old: a new list is always right.
        await pause(RETRY_MS, undefined, { signal: this.#signal }).catch(() => {});
      }
    }
  }

  async #list(): Promise<string> {
    const list = (await this.#client.json({ method: 'GET', path: this.#path, signal: this.#signal })) as {
      readonly metadata: { readonly resourceVersion: string };
      readonly items: readonly T[];
    };
    this.#objects = new Map(list.items.map((object) => [keyOf(object), object]));
    this.#isRead = true;
    this.changes.notify();
    return list.metadata.resourceVersion;
  }

  async #watch(resourceVersion: string): Promise<void> {
    const query = { watch: 'true', resourceVersion };
    const request = { method: 'GET', path: this.#path, query, idleMs: LONGEST_WATCH_MS, signal: this.#signal } as const;
    for await (const event of watchEvents(await this.#client.open(request))) {
      if (event.type === 'UNREADABLE' || event.type === 'BOOKMARK') throw new Error('only a new list is right');
      const object = event.object as T;
      if (event.type === 'DELETED') this.#objects.delete(keyOf(object));
      else this.#objects.set(keyOf(object), object);
      this.changes.notify();
    }
  }
}
