// Saves work between two builds: what did not change is not computed again. Everything here relies on inputs being frozen.

/** Remembers the last call only: builds follow one another, and the previous snapshot is the only one that the next resembles. */
export function lastCall<A extends readonly unknown[], R>(compute: (...args: A) => R): (...args: A) => R {
  let last: { readonly args: A; readonly result: R } | undefined;
  return (...args) => {
    if (last === undefined || !sameElements(last.args, args)) last = { args, result: compute(...args) };
    return last.result;
  };
}

export function sameElements(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
}

/** Equality of plain data as JSON has it. Stops at the first difference; identical parts are not looked into. */
export function sameData(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((value, index) => sameData(value, b[index]));
  }
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => Object.hasOwn(right, key) && sameData(left[key], right[key]));
}

/** Remembers the last call for each subject, as long as the subject lives. */
export function lastFor<K extends object, A extends readonly unknown[], R>(
  compute: (subject: K, ...args: A) => R,
): (subject: K, ...args: A) => R {
  const known = new WeakMap<K, { readonly args: A; readonly result: R }>();
  return (subject, ...args) => {
    let last = known.get(subject);
    if (last === undefined || !sameElements(last.args, args)) {
      last = { args, result: compute(subject, ...args) };
      known.set(subject, last);
    }
    return last.result;
  };
}
