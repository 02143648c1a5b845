// Secrets and ConfigMaps are read one by one, as others refer to them: the controller needs no right to read those of a whole cluster.
import type { Key } from '#controller/api/ref.ts';
import { isNamespaceName, isObjectName, type KindRow } from '#controller/kube/kinds.ts';
import { Reflector } from './reflector.ts';
import type { ReflectorContext, ReflectorStats } from './reflector-context.ts';
import type { SourceProblem } from './source.ts';

export class WantedObjectsOf {
  readonly #context: ReflectorContext;
  readonly #row: KindRow;
  readonly #reflectors = new Map<Key, Reflector>();
  readonly #ending = new Set<Promise<void>>();

  constructor(context: ReflectorContext, row: KindRow) {
    this.#context = context;
    this.#row = row;
  }

  /** Starts to read what is new in the set and forgets what is no longer in it. */
  set(keys: ReadonlySet<Key>): void {
    const { changed } = this.#context;
    let differs = false;
    for (const [key, reflector] of this.#reflectors) {
      if (keys.has(key)) continue;
      this.#reflectors.delete(key);
      this.#end(key, reflector);
      differs = true;
    }
    for (const key of keys) {
      const scope = readKey(key);
      if (scope === null || this.#reflectors.has(key)) continue;
      const reflector = new Reflector(this.#context, this.#row, scope);
      this.#reflectors.set(key, reflector);
      reflector.start();
      differs = true;
    }
    if (differs) changed();
  }

  get settled(): boolean {
    return [...this.#reflectors.values()].every((reflector) => reflector.settled);
  }

  problems(): readonly SourceProblem[] {
    return [...this.#reflectors.values()].flatMap((reflector) => reflector.problems());
  }

  stats(): readonly ReflectorStats[] {
    return [...this.#reflectors.values()].map((reflector) => reflector.stats());
  }

  async stop(): Promise<void> {
    for (const reflector of this.#reflectors.values()) this.#ending.add(reflector.stop());
    await Promise.all(this.#ending);
  }

  #end(key: Key, reflector: Reflector): void {
    const ended = reflector.stop().then(() => void this.#ending.delete(ended));
    this.#ending.add(ended);
    this.#context.store.remove(this.#row.kind, key);
  }
}

/** Null for what cannot name an object: such a reference is to nothing, and must not become part of a request. */
function readKey(key: Key): { readonly namespace: string; readonly name: string } | null {
  const [namespace = '', name = '', ...rest] = key.split('/');
  return rest.length === 0 && isNamespaceName(namespace) && isObjectName(name) ? { namespace, name } : null;
}
