// A pattern as a list of instructions: RE2JS parses and compiles, this file copies the result into arrays that our automaton runs.
//
// Why not run RE2JS itself: its matching is linear, but `program size × input` of 200 × 32 KiB takes a quarter of a second, and it cannot be
// told to stop. Syntax, Unicode tables and case folding are the hard part and stay with the library.
import { RE2JS, RE2JSException } from 're2js';
import { estimateSize, MAX_ESTIMATE, MAX_PROGRAM } from './size.ts';

/** Instructions, by the library's numbers. */
export const OP = {
  alt: 1,
  altMatch: 2,
  capture: 3,
  assertion: 4,
  fail: 5,
  match: 6,
  nop: 7,
  rune: 8,
  rune1: 9,
  any: 10,
  anyNotNewline: 11,
};

/** Zero-width conditions between two characters, by the library's bits. */
export const ASSERT = { lineStart: 1, lineEnd: 2, textStart: 4, textEnd: 8, wordBoundary: 16, noWordBoundary: 32 };

export const MAX_RUNE = 0x10ffff;

interface Instruction {
  /** `alt`, `assertion`, `fail`, `match`, `nop` or `rune`; other kinds are translated to these. */
  readonly op: number;
  /** Index of the next instruction. */
  readonly out: number;
  /** Second branch of `alt`; bits of `assertion`. */
  readonly arg: number;
  /** Code points that `rune` takes: pairs of lowest and highest, ascending. */
  readonly ranges: readonly number[];
}

export interface Program {
  readonly start: number;
  readonly instructions: readonly Instruction[];
}

export type ProgramResult = { readonly program: Program } | { readonly error: string };

/** Compiles RE2 syntax. Errors are sentences without the pattern, for `pattern "…": ` to precede. */
export function compileProgram(source: string): ProgramResult {
  if (estimateSize(source) > MAX_ESTIMATE)
    return { error: 'it would compile to a very large program; shorten it or lower its repetition counts' };
  try {
    const { inst, start } = RE2JS.compile(source).re2().prog as { inst: readonly LibraryInstruction[]; start: number };
    if (inst.length > MAX_PROGRAM)
      return { error: `it compiles to ${inst.length} instructions, more than ${MAX_PROGRAM}; shorten it or lower its repetition counts` };
    return { program: { start, instructions: inst.map(translate) } };
  } catch (error) {
    if (error instanceof RE2JSException) return { error: error.message.replace(/^error parsing regexp: /, '') };
    throw error;
  }
}

/** What is left of a program from an instruction on, renumbered: the rest need not be kept. */
export function tailOf({ instructions }: Program, start: number): Program {
  const numbers = new Map([[start, 0]]);
  const order = [start];
  const numberOf = (pc: number): number => {
    const known = numbers.get(pc);
    if (known !== undefined) return known;
    numbers.set(pc, order.length);
    return order.push(pc) - 1;
  };
  const tail: Instruction[] = [];
  for (const pc of order) {
    const { op, out, arg, ranges } = instructions[pc] ?? { op: OP.fail, out: 0, arg: 0, ranges: [] };
    const ends = op === OP.match || op === OP.fail;
    tail.push({ op, out: ends ? 0 : numberOf(out), arg: op === OP.alt ? numberOf(arg) : arg, ranges });
  }
  return { start: 0, instructions: tail };
}

interface LibraryInstruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  readonly runes: ArrayLike<number>;
}

function translate({ op, out, arg, runes }: LibraryInstruction): Instruction {
  if (op === OP.altMatch) return { op: OP.alt, out, arg, ranges: [] };
  if (op === OP.capture) return { op: OP.nop, out, arg: 0, ranges: [] };
  if (op >= OP.rune && op <= OP.anyNotNewline) return { op: OP.rune, out, arg: 0, ranges: rangesOf(op, arg, Array.from(runes)) };
  return { op, out, arg, ranges: [] };
}

function rangesOf(op: number, arg: number, runes: readonly number[]): readonly number[] {
  if (op === OP.any) return [0, MAX_RUNE];
  if (op === OP.anyNotNewline) return [0, 0x09, 0x0b, MAX_RUNE];
  const [only] = runes;
  if (runes.length !== 1 || only === undefined) return runes;
  return (arg & FOLD_CASE) === 0 ? [only, only] : caseVariants(only);
}

const FOLD_CASE = 1;
const variants = new Map<number, readonly number[]>();

/**
 * Every code point that equals `rune` when case is ignored (`k`, `K` and the Kelvin sign), as ranges. The library writes the variants of a
 * class out in full, but not those of a single character: so it is asked for a class of that character and one that has no case.
 */
function caseVariants(rune: number): readonly number[] {
  const known = variants.get(rune);
  if (known !== undefined) return known;
  const { inst } = RE2JS.compile(`(?i)[\\x{${rune.toString(16)}}\\x{${MAX_RUNE.toString(16)}}]`).re2().prog as {
    inst: readonly LibraryInstruction[];
  };
  const ranges = Array.from(inst.find((one) => one.op === OP.rune)?.runes ?? []).slice(0, -2);
  variants.set(rune, ranges);
  return ranges;
}
