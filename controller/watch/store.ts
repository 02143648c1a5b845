// What the source knows right now, by kind and key; hands out frozen snapshots that share whatever did not change.
import type { KubeObject } from '#controller/api/core.ts';
import type { Key } from '#controller/api/ref.ts';
import type { KindName, Kinds, Snapshot } from '#controller/api/snapshot.ts';
import { kindRows } from '#controller/kube/kinds.ts';

const kindNames = [...kindRows.keys()];

export class Store {
  readonly #current = new Map<KindName, Map<Key, KubeObject>>(kindNames.map((kind) => [kind, new Map()]));
  readonly #published = new Map<KindName, ReadonlyMap<Key, KubeObject>>(kindNames.map((kind) => [kind, new Map()]));
  readonly #dirty = new Set<KindName>();
  readonly #served = new Set<KindName>();
  #revision = 0;
  #snapshot: Snapshot | null = null;

  /** False when the object is there already, in the same version. */
  put(kind: KindName, key: Key, object: KubeObject): boolean {
    const objects = this.#of(kind);
    if (isSame(objects.get(key), object)) return false;
    objects.set(key, object);
    this.#touch(kind);
    return true;
  }

  /** With a uid: only if it is that object, not one recreated under its name since. */
  remove(kind: KindName, key: Key, uid?: string): boolean {
    const objects = this.#of(kind);
    const found = objects.get(key);
    if (found === undefined || (uid !== undefined && found.metadata.uid !== uid)) return false;
    objects.delete(key);
    this.#touch(kind);
    return true;
  }

  /** Keys that a complete list did not name. */
  absentFrom(kind: KindName, listed: ReadonlySet<Key>): readonly Key[] {
    return [...this.#of(kind).keys()].filter((key) => !listed.has(key));
  }

  /** A kind that is no longer served has no objects. */
  setServed(kind: KindName, served: boolean): boolean {
    const objects = this.#of(kind);
    if (this.#served.has(kind) === served && (served || objects.size === 0)) return false;
    if (served) this.#served.add(kind);
    else {
      this.#served.delete(kind);
      objects.clear();
    }
    this.#touch(kind);
    return true;
  }

  snapshot(): Snapshot {
    if (this.#snapshot !== null) return this.#snapshot;
    for (const kind of this.#dirty) this.#published.set(kind, new Map(this.#of(kind)));
    this.#dirty.clear();
    // Every kind of `Kinds` has its row, and a row puts only objects of its kind here.
    const objects = Object.freeze(Object.fromEntries(this.#published)) as unknown as {
      readonly [K in KindName]: ReadonlyMap<Key, Kinds[K]>;
    };
    this.#snapshot = Object.freeze({ revision: this.#revision, objects, served: new Set(this.#served) });
    return this.#snapshot;
  }

  #of(kind: KindName): Map<Key, KubeObject> {
    const objects = this.#current.get(kind);
    if (objects === undefined) throw new Error(`no row for kind ${kind}`);
    return objects;
  }

  #touch(kind: KindName): void {
    this.#dirty.add(kind);
    this.#revision++;
    this.#snapshot = null;
  }
}

/** The resourceVersion tells versions of one object apart; the uid tells an object from its successor of the same name. */
const isSame = (a: KubeObject | undefined, b: KubeObject): boolean =>
  a !== undefined && a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
