// Checks that a value from outside has the structure that our types promise, and says where it has not.

/**
 * A type name; a list of things of one shape; or an object with at least these fields, where a key with `?` may be absent.
 * `object` and `map` are any object, and an object of strings.
 */
export type Shape = 'string' | 'number' | 'boolean' | 'object' | 'map' | readonly [Shape] | { readonly [field: string]: Shape };

/** Null when the value fits, otherwise the first misfit in words: `spec.listeners[2].port must be a number`. */
export function misfit(value: unknown, shape: Shape, path: string): string | null {
  if (typeof shape === 'string') return scalarMisfit(value, shape, path);
  if (isListShape(shape)) return listMisfit(value, shape[0], path);
  if (!isPlainObject(value)) return `${path} must be an object`;
  for (const [name, inner] of Object.entries(shape)) {
    const optional = name.endsWith('?');
    const field = optional ? name.slice(0, -1) : name;
    const found = Object.hasOwn(value, field) ? value[field] : undefined;
    if (found === undefined && optional) continue;
    const wrong = misfit(found, inner, path ? `${path}.${field}` : field);
    if (wrong !== null) return wrong;
  }
  return null;
}

const isListShape = (shape: Shape): shape is readonly [Shape] => Array.isArray(shape);

export const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function listMisfit(value: unknown, inner: Shape, path: string): string | null {
  if (!Array.isArray(value)) return `${path} must be a list`;
  for (const [index, item] of value.entries()) {
    const wrong = misfit(item, inner, `${path}[${index}]`);
    if (wrong !== null) return wrong;
  }
  return null;
}

function scalarMisfit(value: unknown, type: string, path: string): string | null {
  if (type === 'map') {
    if (!isPlainObject(value)) return `${path} must be an object`;
    // The keys of a map are not shown: what is mapped may be a Secret's data.
    return Object.values(value).every((item) => typeof item === 'string') ? null : `${path} must hold strings only`;
  }
  if (type === 'object') return isPlainObject(value) ? null : `${path} must be an object`;
  return typeof value === type ? null : `${path} must be a ${type}`;
}
