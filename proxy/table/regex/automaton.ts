// Runs a compiled pattern as a lazily built DFA that counts its steps and gives up when they are spent.
//
// A state is built the first time an input needs it; from then on a character costs one array access. Patterns written to explode only ever
// meet that as spent steps: nothing is built ahead of time.
import { fromBytes } from '../bytes.ts';
import type { Work } from '../work.ts';
import { ASSERT, MAX_RUNE, OP, type Program } from './program.ts';

interface StateOwner {
  /** Drops every state; they are built again when needed. */
  forget(): void;
}

/** Memory that the automata of one table share. Their states are a cache: when it is full, all of them start afresh. */
export class StatePool {
  #bytes = 0;
  readonly #owners = new Set<StateOwner>();

  reserve(owner: StateOwner, bytes: number): void {
    if (this.#bytes + bytes > MAX_POOL_BYTES) {
      for (const one of this.#owners) one.forget();
      this.#owners.clear();
      this.#bytes = 0;
    }
    this.#owners.add(owner);
    this.#bytes += bytes;
  }
}

export const MAX_POOL_BYTES = 16 * 1024 * 1024;

/** What came before the current position; only as much as the pattern's assertions ask for. */
const BEFORE = { start: 0, other: 1, newline: 2, word: 3 };

interface State {
  /** Instructions to go on from, ascending, one UTF-16 unit each: list and key of the cache in one. */
  readonly kernel: string;
  readonly before: number;
  /** Next state by class of the next character; the last entry is for the end of the input. */
  readonly next: (State | undefined)[];
}

const ACCEPT: State = { kernel: '', before: BEFORE.other, next: [] };
const DEAD: State = { kernel: '', before: BEFORE.other, next: [] };

export class Automaton implements StateOwner {
  readonly #program: Program;
  readonly #pool: StatePool;
  readonly #anchored: boolean;
  /** Assertion bits that the pattern uses. */
  readonly #asserts: number;
  /** Lowest code point of each class but the first. Characters of one class are the same to every instruction. */
  readonly #bounds: readonly number[];
  /** Class by code point, for ASCII. */
  readonly #asciiClass: Uint16Array;
  #states = new Map<string, State>();
  #start: State | null = null;
  /** What comes before the first character that the program sees. */
  readonly #before: number;
  readonly #seen: Uint32Array;
  #visit = 0;

  /** `prefix` is text that was matched at the start of the input before the program takes over. */
  constructor(program: Program, prefix: string, pool: StatePool) {
    this.#program = program;
    this.#pool = pool;
    this.#anchored = prefix !== '' || startsAtText(program);
    this.#asserts = program.instructions.reduce((bits, { op, arg }) => (op === OP.assertion ? bits | arg : bits), 0);
    this.#bounds = classBounds(program, this.#asserts);
    this.#asciiClass = Uint16Array.from({ length: 128 }, (_, rune) => this.#classOf(rune));
    this.#seen = new Uint32Array(program.instructions.length);
    this.#before = prefix === '' ? BEFORE.start : this.#beforeOf(prefix.charCodeAt(prefix.length - 1));
  }

  /** Whether the program matches from `from` on; anywhere, unless it is anchored. False with `work.left < 0` means: not decided. */
  test(bytes: string, from: number, work: Work): boolean {
    return this.#run(bytes, from, work, false);
  }

  forget(): void {
    this.#states = new Map();
    this.#start = null;
  }

  #run(text: string, from: number, work: Work, decoded: boolean): boolean {
    let state = (this.#start ??= this.#state(this.#anchored ? String.fromCharCode(this.#program.start) : '', this.#before));
    let left = work.left;
    for (let i = from; i < text.length; i++) {
      let rune = text.charCodeAt(i);
      if (rune > 0x7f) {
        // Rare on the wire: visitors' software escapes. Only the text knows where its characters begin.
        if (!decoded) {
          work.left = left - text.length;
          return this.#run(fromBytes(text.slice(from)), 0, work, true);
        }
        rune = text.codePointAt(i) ?? rune;
        if (rune > 0xffff) i++;
      }
      if (--left < 0) break;
      const charClass = rune < 128 ? this.#asciiClass[rune]! : this.#classOf(rune);
      let next = state.next[charClass];
      if (next === undefined) {
        work.left = left;
        next = this.#advance(state, charClass, rune, work);
        left = work.left;
      }
      if (next === ACCEPT) return this.#done(work, left, true);
      if (next === DEAD) return this.#done(work, left, false);
      state = next;
    }
    work.left = left;
    if (left < 0) return false;
    const end = this.#bounds.length + 1;
    return (state.next[end] ?? this.#advance(state, end, END, work)) === ACCEPT;
  }

  #done(work: Work, left: number, matched: boolean): boolean {
    work.left = left;
    return matched;
  }

  /** The state after `rune`, built and remembered. */
  #advance(state: State, charClass: number, rune: number, work: Work): State {
    const { instructions, start } = this.#program;
    const holds = assertionsBetween(state.before, rune);
    const visit = ++this.#visit;
    const pending: number[] = this.#anchored ? [] : [start];
    for (let i = 0; i < state.kernel.length; i++) pending.push(state.kernel.charCodeAt(i));
    const taken: number[] = [];
    let accepted = false;
    let steps = 0;
    for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
      if (this.#seen[pc] === visit) continue;
      this.#seen[pc] = visit;
      steps++;
      const { op, out, arg, ranges } = instructions[pc]!;
      if (op === OP.match) accepted = true;
      else if (op === OP.nop) pending.push(out);
      else if (op === OP.alt) pending.push(out, arg);
      else if (op === OP.assertion) {
        if ((arg & ~holds) === 0) pending.push(out);
      } else if (op === OP.rune && rune !== END && contains(ranges, rune)) taken.push(out);
    }
    work.left -= BUILD_COST + steps * VISIT_COST;
    const next = accepted ? ACCEPT : this.#after(taken, rune);
    state.next[charClass] = next;
    return next;
  }

  #after(taken: readonly number[], rune: number): State {
    if (rune === END || (this.#anchored && taken.length === 0)) return DEAD;
    const kernel = [...new Set(taken)].sort((a, b) => a - b);
    return this.#state(String.fromCharCode(...kernel), this.#beforeOf(rune));
  }

  #beforeOf(rune: number): number {
    if (rune === NEWLINE && (this.#asserts & ASSERT.lineStart) !== 0) return BEFORE.newline;
    if ((this.#asserts & (ASSERT.wordBoundary | ASSERT.noWordBoundary)) !== 0 && isWord(rune)) return BEFORE.word;
    return BEFORE.other;
  }

  #state(kernel: string, before: number): State {
    const key = String.fromCharCode(before) + kernel;
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    const classes = this.#bounds.length + 2;
    this.#pool.reserve(this, STATE_BYTES + 4 * kernel.length + 8 * classes);
    const state: State = { kernel, before, next: Array.from({ length: classes }) };
    this.#states.set(key, state);
    return state;
  }

  #classOf(rune: number): number {
    let low = 0;
    let high = this.#bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#bounds[middle]! <= rune) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const END = -1;
const NEWLINE = 0x0a;
const STATE_BYTES = 150;
/** Steps that building a state counts for, and each instruction looked at on the way: about their time relative to a cached transition. */
const BUILD_COST = 40;
const VISIT_COST = 5;

function startsAtText({ start, instructions }: Program): boolean {
  let pc = start;
  let first = instructions[pc];
  while (first?.op === OP.nop) {
    pc = first.out;
    first = instructions[pc];
  }
  return first?.op === OP.assertion && (first.arg & ASSERT.textStart) !== 0;
}

function classBounds({ instructions }: Program, asserts: number): readonly number[] {
  const bounds = new Set<number>();
  const split = (low: number, high: number): void => {
    bounds.add(low);
    bounds.add(high + 1);
  };
  for (const { op, ranges } of instructions) {
    if (op !== OP.rune) continue;
    for (let i = 0; i < ranges.length; i += 2) split(ranges[i]!, ranges[i + 1]!);
  }
  if ((asserts & (ASSERT.lineStart | ASSERT.lineEnd)) !== 0) split(NEWLINE, NEWLINE);
  if ((asserts & (ASSERT.wordBoundary | ASSERT.noWordBoundary)) !== 0) {
    for (const [low, high] of ['09', 'AZ', '__', 'az']) split(low!.charCodeAt(0), high!.charCodeAt(0));
  }
  bounds.delete(0);
  bounds.delete(MAX_RUNE + 1);
  return [...bounds].sort((a, b) => a - b);
}

function assertionsBetween(before: number, rune: number): number {
  let holds = 0;
  if (before === BEFORE.start) holds |= ASSERT.textStart | ASSERT.lineStart;
  if (before === BEFORE.newline) holds |= ASSERT.lineStart;
  if (rune === END) holds |= ASSERT.textEnd | ASSERT.lineEnd;
  if (rune === NEWLINE) holds |= ASSERT.lineEnd;
  return holds | ((before === BEFORE.word) === isWord(rune) ? ASSERT.noWordBoundary : ASSERT.wordBoundary);
}

/** RE2's `\w` and `\b` know ASCII only. */
function isWord(rune: number): boolean {
  return (rune >= 0x61 && rune <= 0x7a) || (rune >= 0x41 && rune <= 0x5a) || (rune >= 0x30 && rune <= 0x39) || rune === 0x5f;
}

function contains(ranges: readonly number[], rune: number): boolean {
  let low = 0;
  let high = ranges.length >> 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[2 * middle + 1]! < rune) low = middle + 1;
    else high = middle;
  }
  return low < ranges.length >> 1 && ranges[2 * low]! <= rune;
}
