// One YAML document → plain JSON data, or the reason why not and where. Bounded: aliases cannot make it grow. Pure.
import { YAMLException, constructFromEvents, parseEvents } from 'js-yaml';
import { KUBECTL_SCHEMA } from './yaml-scalars.ts';
import { Places, placeOfOffset, type FieldPath, type Place } from './place.ts';

export type Decoded = { readonly value: unknown } | { readonly error: string; readonly place: Place };

const MAX_DEPTH = 100;
/** What a short document may grow to by aliases. */
const FREE_GROWTH = 65_536;

class NotJson extends Error {
  readonly path: FieldPath;

  constructor(message: string, path: FieldPath) {
    super(message);
    this.path = path;
  }
}

/** `text` holds at most one document; an empty one has the value undefined. Places count from the first line of `text`. */
export function decodeDocument(text: string): Decoded {
  try {
    const events = parseEvents(text, { maxDepth: MAX_DEPTH });
    const [document] = constructFromEvents(events, { source: text, schema: KUBECTL_SCHEMA });
    return { value: new Copier(text.length).copy(document, []) };
  } catch (error) {
    if (error instanceof NotJson) return { error: error.message, place: new Places(text).of(error.path, 'key') };
    if (error instanceof YAMLException) return { error: explain(error.reason), place: placeOfOffset(text, error.mark?.position ?? 0) };
    // The parser gives no promise about its exceptions, and their text could quote the document, which may hold a Secret.
    return { error: 'is not YAML that can be read', place: { line: 1, column: 1 } };
  }
}

/** The parser's reasons name anchors and tags as they stand in the text: an unquoted password that begins with `*` or `!` would be one. */
function explain(reason: string): string {
  const plain = reason
    .replaceAll(/"[^"]*"|!<[^>]*>/g, '…')
    .replace(/(such characters): .*/s, '$1')
    .replace(/\s+/g, ' ');
  const hint = HINTS.find(([pattern]) => pattern.test(plain))?.[1];
  return hint === undefined ? plain : `${plain} (${hint})`;
}

const HINTS: readonly (readonly [RegExp, string])[] = [
  [/unidentified alias/, 'put a value that begins with * in quotes'],
  [/unknown .* tag|undeclared tag handle|tag name cannot|tag suffix/, 'put a value that begins with ! in quotes'],
  [/tab characters/, 'indent with spaces'],
  [/duplicated mapping key/, 'the same field stands twice in one object'],
  [/non-printable|null byte/, 'is it a text file?'],
  [/maxDepth/, `more than ${MAX_DEPTH} levels`],
  [
    /end of the stream or a document separator/,
    'what stands before is complete: compare the indentation with the lines above, and indent with spaces',
  ],
  [/bad indentation|deficient indentation/, 'compare the indentation with the line above'],
  [
    /multiline key may not be an implicit key|expected ':'/,
    'a colon after the name of the field is missing, or the line above is not finished',
  ],
];

/**
 * Copies what the parser made, so that values reached by several aliases are several values. A document without aliases has fewer values and
 * characters of text than it has characters; one that has more than twice as many is an attempt to exhaust the memory.
 */
class Copier {
  #budget: number;

  constructor(textLength: number) {
    this.#budget = Math.max(2 * textLength, FREE_GROWTH);
  }

  copy(value: unknown, path: readonly (string | number)[]): unknown {
    this.#budget -= typeof value === 'string' ? value.length + 1 : 1;
    if (this.#budget < 0) throw new NotJson('aliases make the document many times larger than its text; write the values out', []);
    if (typeof value === 'string' || typeof value === 'boolean' || value === null || value === undefined) return value;
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) throw new NotJson('infinity and NaN are not allowed', path);
      return value;
    }
    if (path.length > MAX_DEPTH)
      throw new NotJson(`aliases nest more than ${MAX_DEPTH} levels, or an anchor contains itself`, path.slice(0, 1));
    if (Array.isArray(value)) return value.map((item: unknown, index) => this.copy(item, [...path, index]));
    return this.#copyMapping(value as Readonly<Record<string, unknown>>, path);
  }

  #copyMapping(mapping: Readonly<Record<string, unknown>>, path: readonly (string | number)[]): unknown {
    const copy: Record<string, unknown> = {};
    for (const key of Object.keys(mapping)) {
      if (key === '__proto__') throw new NotJson('a field must not be called __proto__', [...path, key]);
      this.#budget -= key.length;
      copy[key] = this.copy(mapping[key], [...path, key]);
    }
    return copy;
  }
}
