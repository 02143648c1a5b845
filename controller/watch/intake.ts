// Lets objects of one kind (or one object) into the store, and remembers those that could not be let in.
import { type Key, keyOf } from '#controller/api/ref.ts';
import type { KindRow } from '#controller/kube/kinds.ts';
import { decode, identify } from './decode.ts';
import type { SourceProblem } from './source.ts';
import type { Store } from './store.ts';

/** Which part of a kind is read: everything, or one object. */
export interface Scope {
  readonly namespace: string;
  readonly name: string;
}

export class Intake {
  readonly #row: KindRow;
  readonly #store: Store;
  readonly #only: Key | null;
  readonly #changed: () => void;
  /** Why an object is not, or only in an older version, in the store. */
  readonly #rejected = new Map<string, SourceProblem>();
  #closed = false;

  constructor(row: KindRow, store: Store, scope: Scope | null, changed: () => void) {
    this.#row = row;
    this.#store = store;
    this.#only = scope && keyOf(scope.namespace, scope.name);
    this.#changed = changed;
  }

  /** A complete list, taken page by page; objects that it does not name are removed at its end only. */
  beginList(version: string): Listing {
    const listed = new Set<Key>();
    const rejected = new Set<string>();
    return {
      page: (items) => {
        if (this.#closed) return;
        for (const item of items) {
          const { key, where } = this.#put(version, item);
          if (key !== null) listed.add(key);
          if (where !== null) rejected.add(where);
        }
      },
      end: () => {
        if (this.#closed) return;
        const gone = this.#only === null ? this.#store.absentFrom(this.#row.kind, listed) : listed.has(this.#only) ? [] : [this.#only];
        for (const key of gone) if (this.#store.remove(this.#row.kind, key)) this.#changed();
        for (const where of this.#rejected.keys()) if (!rejected.has(where)) this.#forgive(where);
      },
    };
  }

  put(version: string, object: unknown): void {
    if (!this.#closed) this.#put(version, object);
  }

  remove(object: unknown): void {
    if (this.#closed) return;
    const { key, ...rest } = identify(this.#row, object);
    if (key === null) return;
    this.#forgive(this.#where(key));
    if (this.#store.remove(this.#row.kind, key, rest.ok ? rest.metadata.uid : undefined)) this.#changed();
  }

  /** Everything is gone: the kind is no longer served, or may no longer be read. */
  clear(): void {
    if (this.#only !== null) {
      if (this.#store.remove(this.#row.kind, this.#only)) this.#changed();
    } else if (this.#store.setServed(this.#row.kind, false)) this.#changed();
    for (const where of this.#rejected.keys()) this.#forgive(where);
  }

  /** What an ending connection still delivers is not let in: the object may have a new reader already. */
  close(): void {
    this.#closed = true;
  }

  problems(): readonly SourceProblem[] {
    return [...this.#rejected.values()];
  }

  #put(version: string, item: unknown): { readonly key: Key | null; readonly where: string | null } {
    const decoded = decode(this.#row, version, item);
    if (decoded.ok) {
      this.#forgive(this.#where(decoded.key));
      if (this.#store.put(this.#row.kind, decoded.key, decoded.object)) this.#changed();
      return { key: decoded.key, where: null };
    }
    // The version before stays, as a broken file in a folder keeps its last good objects.
    const where = this.#where(decoded.key);
    if (this.#rejected.get(where)?.message !== decoded.message) {
      this.#rejected.set(where, { where, message: decoded.message });
      this.#changed();
    }
    return { key: decoded.key, where };
  }

  #forgive(where: string): void {
    if (this.#rejected.delete(where)) this.#changed();
  }

  #where(key: Key | null): string {
    return key === null ? this.#row.kind : `${this.#row.kind} ${key}`;
  }
}

export interface Listing {
  readonly page: (items: readonly unknown[]) => void;
  readonly end: () => void;
}
