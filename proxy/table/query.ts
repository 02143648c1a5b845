// Query parameters as routes see them: percent-decoded with `+` as space, the first value of a repeated name. Scans without allocating.
import { hexByte } from './path.ts';
import type { Work } from './work.ts';

/** Where a value lies in the query. One object is reused for all requests. */
export interface ValueRange {
  start: number;
  end: number;
}

/** Finds the first parameter with this name (a byte string, case-sensitive). Without `=` its value is empty. */
export function findParameter(query: string, name: string, range: ValueRange, work: Work): boolean {
  for (let at = 0; at < query.length;) {
    const ampersand = query.indexOf('&', at);
    const end = ampersand === -1 ? query.length : ampersand;
    work.left -= 1 + Math.min(name.length, end - at);
    const after = skipDecoded(query, at, end, name, true);
    if (after === end || (after !== -1 && query.charCodeAt(after) === EQUALS)) {
      range.start = Math.min(after + 1, end);
      range.end = end;
      return true;
    }
    at = end + 1;
  }
  return false;
}

/** Whether the value in `range` decodes to exactly these bytes. */
export function valueEquals(query: string, range: ValueRange, value: string, work: Work): boolean {
  work.left -= 2 * Math.min(value.length, range.end - range.start);
  return skipDecoded(query, range.start, range.end, value, false) === range.end;
}

/** The decoded value as a byte string, for expressions and index look-ups. */
export function decodedValue(query: string, { start, end }: ValueRange, work: Work): string {
  const raw = query.slice(start, end);
  work.left -= raw.length >> 3;
  if (!/[%+]/.test(raw)) return raw;
  work.left -= raw.length;
  let value = '';
  for (let at = 0; at < raw.length; at += width(raw, at, raw.length)) value += String.fromCharCode(byteAt(raw, at, raw.length));
  return value;
}

/** Position after `expected`, spelled in any encoding from `at` on; -1 if something else is there. A name ends at its `=`. */
function skipDecoded(query: string, at: number, end: number, expected: string, isName: boolean): number {
  for (let i = 0; i < expected.length; i++) {
    if (at >= end || (isName && query.charCodeAt(at) === EQUALS)) return -1;
    if (byteAt(query, at, end) !== expected.charCodeAt(i)) return -1;
    at += width(query, at, end);
  }
  return at;
}

const EQUALS = 0x3d;
const PERCENT = 0x25;
const PLUS = 0x2b;

function byteAt(text: string, at: number, end: number): number {
  const c = text.charCodeAt(at);
  if (c === PLUS) return 0x20;
  return width(text, at, end) === 3 ? hexByte(text, at + 1) : c;
}

/** Characters that one byte takes here: three for an encoding, one for anything else, a malformed encoding included. */
function width(text: string, at: number, end: number): number {
  return text.charCodeAt(at) === PERCENT && at + 2 < end && hexByte(text, at + 1) !== -1 ? 3 : 1;
}
