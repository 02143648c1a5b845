// Equality of JSON values, whatever the order of their fields; a field that is undefined counts as absent, as JSON writes it.

export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, index) => equalJson(item, b[index]));
  }
  const [one, other] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return (
    Object.keys(one).every((name) => equalJson(one[name], fieldOf(other, name))) &&
    Object.keys(other).every((name) => other[name] === undefined || fieldOf(one, name) !== undefined)
  );
}

/** Not what every object inherits, for instance under `constructor`. */
const fieldOf = (value: Readonly<Record<string, unknown>>, name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined);

/**
 * Whether an object has all that is desired of it; what else it has are defaults and the affairs of others. Lists have the same elements, in
 * any order: server-side apply merges some of them by key.
 */
export function holds(stored: unknown, desired: unknown): boolean {
  if (stored === desired || desired === undefined) return true;
  if (typeof stored !== 'object' || typeof desired !== 'object' || stored === null || desired === null) return false;
  if (Array.isArray(desired)) {
    if (!Array.isArray(stored) || stored.length !== desired.length) return false;
    return desired.every((item, index) => holds(stored[index], item) || stored.some((other) => holds(other, item)));
  }
  return Object.entries(desired).every(([name, value]) => holds(fieldOf(stored as Record<string, unknown>, name), value));
}
