// Replacing a path, or the part of it that a PathPrefix matched. Nothing else about the path changes: no cleaning, no re-encoding.
import type { PathEdit } from '#proxy/table/types.ts';

/**
 * The edited path: never empty, always beginning with `/`. `path` as it arrived, without query; `prefix` the matched PathPrefix ('' for `/`).
 * A null prefix (the match was of another type, which validation refuses) replaces nothing.
 */
export function editPath(edit: PathEdit, path: string, prefix: string | null): string {
  if (edit.type === 'ReplaceFullPath') return rooted(edit.value);
  if (prefix === null) return rooted(path);
  const rest = afterPrefix(path, prefix);
  // The table in the Gateway API's HTTPPathModifier: `/foo/bar` with `/foo` replaced by `/xyz/` is `/xyz/bar`.
  return rooted(rest === '' ? edit.value : edit.value.replace(/\/+$/, '') + rest);
}

/** Begins with a slash, as every path on a request line has to. */
export function rooted(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

/**
 * What follows the prefix. It is counted in elements, not characters: the prefix is in normalised form, the path may spell a character of it
 * as `%41`. No encoding stands for a separator, so the count is the same.
 */
function afterPrefix(path: string, prefix: string): string {
  let at = 0;
  for (let slash = prefix.indexOf('/'); slash !== -1; slash = prefix.indexOf('/', slash + 1)) {
    at = path.indexOf('/', at + 1);
    if (at === -1) return '';
  }
  return path.slice(at);
}
