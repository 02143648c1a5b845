// A user's regular expression as a yes-or-no question. RE2 syntax, found anywhere in the value (no implied anchors), as in Go's `regexp`.
import { toBytes } from '../bytes.ts';
import type { Work } from '../work.ts';
import { Automaton, type StatePool } from './automaton.ts';
import { compileProgram, tailOf } from './program.ts';
import { anchoredPrefix, literalsOf, type Literal } from './shape.ts';

export interface Pattern {
  /** What every matching value begins with, as a byte string; '' when the pattern may match elsewhere. */
  readonly prefix: string;
  /** Whether the pattern occurs in a byte string. False with `work.left < 0` means: not decided within the budget. */
  test(bytes: string, work: Work): boolean;
}

export type PatternResult = { readonly pattern: Pattern } | { readonly error: string };

/** Patterns of one table: each source is compiled once, and all share one pool of states. */
export class PatternCache {
  readonly #pool: StatePool;
  readonly #known = new Map<string, PatternResult>();

  constructor(pool: StatePool) {
    this.#pool = pool;
  }

  /** How many different patterns were asked for. */
  get size(): number {
    return this.#known.size;
  }

  /** Errors name the pattern and what is wrong with it. */
  compile(source: string): PatternResult {
    const known = this.#known.get(source);
    if (known !== undefined) return known;
    const result = compilePattern(source, this.#pool);
    this.#known.set(source, result);
    return result;
  }
}

function compilePattern(source: string, pool: StatePool): PatternResult {
  const compiled = compileProgram(source);
  if ('error' in compiled) return { error: `pattern ${quote(source)} is not a usable RE2 expression: ${compiled.error}` };
  const literals = literalsOf(compiled.program);
  if (literals !== null) return { pattern: literalPattern(literals) };
  const { text, next } = anchoredPrefix(compiled.program);
  const prefix = toBytes(text);
  const automaton = new Automaton(tailOf(compiled.program, next), text, pool);
  if (prefix === '') return { pattern: { prefix, test: (bytes, work) => automaton.test(bytes, 0, work) } };
  const test = (bytes: string, work: Work): boolean => {
    work.left--;
    return bytes.startsWith(prefix) && automaton.test(bytes, prefix.length, work);
  };
  return { pattern: { prefix, test } };
}

function literalPattern(literals: readonly Literal[]): Pattern {
  const tests = literals.map(literalTest);
  const [only] = tests;
  const prefix = literals.length === 1 && literals[0]?.atStart === true ? toBytes(literals[0].text) : '';
  if (tests.length === 1 && only !== undefined) return { prefix, test: only };
  return { prefix, test: (bytes, work) => tests.some((one) => one(bytes, work)) };
}

function literalTest({ text, atStart, atEnd }: Literal): (bytes: string, work: Work) => boolean {
  const literal = toBytes(text);
  if (atStart && atEnd) return spending(1, (bytes) => bytes === literal);
  if (atStart) return spending(1, (bytes) => bytes.startsWith(literal));
  if (atEnd) return spending(1, (bytes) => bytes.endsWith(literal));
  return (bytes, work) => {
    work.left -= 1 + (bytes.length >> SEARCH_SHIFT);
    return bytes.includes(literal);
  };
}

/** A substring search passes about eight characters in the time of one step. */
const SEARCH_SHIFT = 3;

function spending(steps: number, test: (bytes: string) => boolean): (bytes: string, work: Work) => boolean {
  return (bytes, work) => {
    work.left -= steps;
    return test(bytes);
  };
}

/** A pattern as it appears in messages: quoted, and cut when it is long. */
function quote(source: string): string {
  return JSON.stringify(source.length > MAX_QUOTED ? `${source.slice(0, MAX_QUOTED)}…` : source);
}

const MAX_QUOTED = 120;
