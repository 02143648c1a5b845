// Header modifiers, prepared: which names do not pass, and what is appended.
import type { HeaderModifier } from '#proxy/config/schema.ts';
import { toBytes } from '#proxy/table/bytes.ts';
import type { HeaderEdits } from '#proxy/table/types.ts';

type Pair = NonNullable<HeaderModifier['set']>[number];

/** Edits that thousands of rules have in common are kept once. One cache per table, so that nothing outlives it. */
export class EditsCache {
  readonly #edits = new Map<string, HeaderEdits>();
  readonly #names = new Map<string, Pick<HeaderEdits, 'remove' | 'removeMask'>>();

  /** The one object for these edits. */
  share(remove: ReadonlySet<string>, append: readonly string[], appendText: string): HeaderEdits {
    const names = [...remove].sort().join('\n');
    const key = `${names}\n\n${appendText}`;
    const known = this.#edits.get(key);
    if (known !== undefined) return known;
    let removed = this.#names.get(names);
    if (removed === undefined) {
      removed = { remove, removeMask: [...remove].reduce((mask, name) => mask | (1 << (name.length & 31)), 0) };
      this.#names.set(names, removed);
    }
    const edits = Object.freeze({ ...removed, append: Object.freeze(append), appendText });
    this.#edits.set(key, edits);
    return edits;
  }
}

/**
 * Several modifiers as one, each working on what those before it left: `set` replaces, `add` appends, `remove` takes away, names without
 * case. Null when they change nothing. Values are byte strings, ready to be written as latin1.
 */
export function headerEdits(modifiers: readonly HeaderModifier[], cache: EditsCache = new EditsCache()): HeaderEdits | null {
  if (modifiers.length === 0) return null;
  const remove = new Set<string>();
  let append: { readonly lower: string; readonly name: string; readonly value: string }[] = [];
  const drop = (lower: string): void => {
    remove.add(lower);
    append = append.filter((one) => one.lower !== lower);
  };
  for (const modifier of modifiers) {
    for (const { name, value } of firstOfEachName(modifier.set)) {
      drop(name.toLowerCase());
      append.push({ lower: name.toLowerCase(), name, value: toBytes(value) });
    }
    for (const { name, value } of firstOfEachName(modifier.add)) append.push({ lower: name.toLowerCase(), name, value: toBytes(value) });
    for (const name of modifier.remove ?? []) drop(name.toLowerCase());
  }
  if (remove.size === 0 && append.length === 0) return null;
  const fields = append.flatMap(({ name, value }) => [name, value]);
  return cache.share(remove, fields, append.map(({ name, value }) => `${name}: ${value}\r\n`).join(''));
}

/** The Gateway API: of entries with an equivalent name only the first counts. */
function firstOfEachName(pairs: readonly Pair[] | undefined): readonly Pair[] {
  const seen = new Set<string>();
  return (pairs ?? []).filter(({ name }) => !seen.has(name.toLowerCase()) && seen.add(name.toLowerCase()));
}
