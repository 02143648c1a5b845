// Sorting in slices: a merge sort that hands control back, because one native sort of 100,000 arms takes tens of milliseconds.

const RUN = 1024;

/** Sorts a copy. Yields after each piece of work of about a thousand items. */
export function* sortSteps<Item>(items: readonly Item[], compare: (a: Item, b: Item) => number): Generator<void, readonly Item[]> {
  if (items.length <= RUN) return [...items].sort(compare);
  let runs: (readonly Item[])[] = [];
  for (let at = 0; at < items.length; at += RUN) {
    runs.push(items.slice(at, at + RUN).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: (readonly Item[])[] = [];
    for (let i = 0; i < runs.length; i += 2) merged.push(yield* mergeSteps(runs[i]!, runs[i + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0]!;
}

function* mergeSteps<Item>(
  a: readonly Item[],
  b: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Generator<void, readonly Item[]> {
  const merged: Item[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    merged.push(compare(a[i]!, b[j]!) <= 0 ? a[i++]! : b[j++]!);
    if (merged.length % RUN === 0) yield;
  }
  while (i < a.length) merged.push(a[i++]!);
  while (j < b.length) merged.push(b[j++]!);
  return merged;
}
