// Header modifiers, prepared: which names do not pass, and what is appended.
import type { HeaderModifier } from '#proxy/config/schema.ts';
import { toBytes } from '#proxy/table/bytes.ts';
import type { HeaderEdits } from '#proxy/table/types.ts';

type Pair = NonNullable<HeaderModifier['set']>[number];

/**
 * Several modifiers as one, each working on what those before it left: `set` replaces, `add` appends, `remove` takes away, names without
 * case. Null when they change nothing. Values are byte strings, ready to be written as latin1.
 */
export function headerEdits(modifiers: readonly HeaderModifier[]): HeaderEdits | null {
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
  return Object.freeze({
    remove,
    removeMask: [...remove].reduce((mask, name) => mask | (1 << (name.length & 31)), 0),
    append: Object.freeze(append.flatMap(({ name, value }) => [name, value])),
    appendText: append.map(({ name, value }) => `${name}: ${value}\r\n`).join(''),
  });
}

/** The Gateway API: of entries with an equivalent name only the first counts. */
function firstOfEachName(pairs: readonly Pair[] | undefined): readonly Pair[] {
  const seen = new Set<string>();
  return (pairs ?? []).filter(({ name }) => !seen.has(name.toLowerCase()) && seen.add(name.toLowerCase()));
}
