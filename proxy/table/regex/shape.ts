// Recognises expressions that are a handful of literals in disguise, so that most of them never need an automaton.
//
// The compiled program is read, not the pattern's text, so `^/foo`, `^/foo.*` and `\A(?:/foo)` are one shape, and equivalence needs no proof
// about syntax: every way through the program spells a literal, or it is not taken for one.
import { ASSERT, OP, type Program } from './program.ts';

/** One way to match: the literal as text, and whether it must begin or end the input. */
export interface Literal {
  readonly text: string;
  readonly atStart: boolean;
  readonly atEnd: boolean;
}

const MAX_LITERALS = 16;
const MAX_STEPS = 2000;
/** Members of a class that are worth spelling out, as in `[ab]`. */
const MAX_CLASS = 3;

/** The literals of which one must be found, or null if the pattern is more than that. */
export function literalsOf(program: Program): readonly Literal[] | null {
  const accepting = acceptingFrom(program);
  const found: Literal[] = [];
  const pending: { readonly pc: number; readonly text: string; readonly atStart: boolean; readonly atEnd: boolean }[] = [
    { pc: program.start, text: '', atStart: false, atEnd: false },
  ];
  for (let steps = 0; ; steps++) {
    const here = pending.pop();
    if (here === undefined) return found;
    if (steps > MAX_STEPS || found.length > MAX_LITERALS) return null;
    const { text, atStart, atEnd } = here;
    const instruction = program.instructions[here.pc];
    if (instruction === undefined) return null;
    // Once a match is reached, what else the pattern would like to take changes nothing: only the yes or no is asked for.
    if (accepting[here.pc] === true) {
      found.push({ text, atStart, atEnd });
      continue;
    }
    const { op, out, arg, ranges } = instruction;
    if (op === OP.nop) pending.push({ ...here, pc: out });
    else if (op === OP.alt) pending.push({ ...here, pc: out }, { ...here, pc: arg });
    else if (op === OP.assertion && arg === ASSERT.textStart && text === '') pending.push({ ...here, pc: out, atStart: true });
    else if (op === OP.assertion && arg === ASSERT.textEnd) pending.push({ ...here, pc: out, atEnd: true });
    else if (op === OP.rune && !atEnd) {
      const members = membersOf(ranges);
      if (members === null) return null;
      for (const rune of members) pending.push({ ...here, pc: out, text: text + String.fromCodePoint(rune) });
    } else if (op !== OP.fail) return null;
  }
}

/** The literal that every matching input begins with ('' when there is none), and the instruction that follows it. */
export function anchoredPrefix(program: Program): { readonly text: string; readonly next: number } {
  let anchored = false;
  let text = '';
  for (let pc = program.start; ;) {
    const { op, out, arg, ranges } = program.instructions[pc] ?? { op: OP.fail, out: 0, arg: 0, ranges: [] };
    const [low = 0, high = 0] = ranges;
    if (op === OP.assertion && arg === ASSERT.textStart && text === '') anchored = true;
    else if (op === OP.rune && anchored && ranges.length === 2 && low === high && !isSurrogate(low)) text += String.fromCodePoint(low);
    else if (op !== OP.nop) return text === '' ? { text, next: program.start } : { text, next: pc };
    pc = out;
  }
}

/** For each instruction, whether a match is reached from it without taking a character or asking a condition. */
function acceptingFrom({ instructions }: Program): readonly boolean[] {
  const sources: number[][] = instructions.map(() => []);
  const pending: number[] = [];
  instructions.forEach(({ op, out, arg }, pc) => {
    if (op === OP.match) pending.push(pc);
    if (op === OP.nop || op === OP.alt) sources[out]?.push(pc);
    if (op === OP.alt) sources[arg]?.push(pc);
  });
  const accepting: boolean[] = instructions.map(() => false);
  for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
    if (accepting[pc] === true) continue;
    accepting[pc] = true;
    pending.push(...(sources[pc] ?? []));
  }
  return accepting;
}

function membersOf(ranges: readonly number[]): readonly number[] | null {
  const members: number[] = [];
  for (let i = 0; i < ranges.length; i += 2) {
    const low = ranges[i] ?? 0;
    const high = ranges[i + 1] ?? 0;
    if (high - low >= MAX_CLASS || isSurrogate(low) || isSurrogate(high)) return null;
    for (let rune = low; rune <= high; rune++) members.push(rune);
    if (members.length > MAX_CLASS) return null;
  }
  return members;
}

/** Half of a UTF-16 pair: no text has it alone, and UTF-8 cannot say it. */
function isSurrogate(rune: number): boolean {
  return rune >= 0xd800 && rune <= 0xdfff;
}
