// What is wrong with an object: which field, in words. Pure.
import type { FieldPath } from './place.ts';

export interface Finding {
  readonly path: FieldPath;
  /** Which part of the field to point at. */
  readonly at: 'key' | 'value';
  readonly message: string;
}

/** As many as help: a person mends the first ones, and a hostile file has millions. */
const MOST = 10;

/** Findings in the order in which they were made, and how many more there were. */
export class Findings {
  readonly list: Finding[] = [];
  more = 0;

  add(path: FieldPath, message: string, at: 'key' | 'value' = 'key'): void {
    if (this.list.length < MOST) this.list.push({ path, at, message });
    else this.more++;
  }

  get isEmpty(): boolean {
    return this.list.length === 0;
  }
}

/** `spec.rules[0].matches[0].path`; names that would be mistaken for a path stand in quotes. */
export function formatPath(path: FieldPath): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (/^[\w-]+$/.test(segment)) text += text === '' ? segment : `.${segment}`;
    else text += `[${quote(segment)}]`;
  }
  return text;
}

const LONGEST = 60;

/** Long, and of no language: a token that was pasted into the wrong field. */
const looksSecret = (value: unknown): boolean =>
  typeof value === 'string' && /^[\w+/=.-]{32,}$/.test(value) && /[A-Z]/.test(value) && /[a-z]/.test(value) && /\d/.test(value);

/** A value in a message: in quotes, and cut, as it may be as long as the file. */
export function quote(value: unknown): string {
  if (looksSecret(value)) return `a text of ${(value as string).length} characters that looks like a secret`;
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** The candidate that was probably meant, or null. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  if (word.length > 64) return null;
  const folded = word.toLowerCase();
  let best: string | null = null;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(folded, candidate.toLowerCase());
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/** Insertions, deletions, substitutions and swapped neighbours from one word to the other. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const substituted = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(i - 2, j - 2) + 1 : Infinity;
      row.push(Math.min(substituted, swapped, at(i - 1, j) + 1, at(i, j - 1) + 1));
    }
  }
  return at(a.length, b.length);
}
