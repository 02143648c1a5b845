// How large a pattern would become, from its text alone: compiling `((a{40}){25}…){…}` to find that out is itself the attack.

/** Compiled instructions that a pattern may have. */
export const MAX_PROGRAM = 1000;

/**
 * Estimates above this are not compiled, so that no pattern holds up the process for more than some 10 ms. Below it the compiler tells the
 * exact size, which may be much smaller: alternatives share their beginnings.
 */
export const MAX_ESTIMATE = 5000;

/** A Unicode class compiles to one instruction but takes hundreds of ranges to build: it weighs as much as this many plain ones. */
const UNICODE_CLASS_WEIGHT = 25;
/** A range, where case is ignored, makes the compiler fold every character in it: this many of them weigh as much as an instruction. */
const FOLDED_PER_INSTRUCTION = 64;

interface Group {
  /** Weight of everything in the group so far. */
  total: number;
  /** Weight of the last atom, which a following repetition multiplies. */
  last: number;
}

/**
 * An upper bound of the pattern's instructions, short of a small constant factor. Syntax is not checked here: for a malformed pattern the
 * number means nothing, and the compiler says what is wrong.
 */
export function estimateSize(source: string): number {
  const ignoresCase = /\(\?[a-zA-Z]*i/.test(source);
  const stack: Group[] = [];
  let group: Group = { total: 0, last: 0 };
  const atom = (weight: number): void => {
    group.total += weight;
    group.last = weight;
  };
  // A quotation is as many atoms as it has characters, of which a repetition takes the last; if it is empty, the one before.
  const quote = (length: number): void => {
    if (length <= 0) return;
    atom(1);
    group.total += length - 1;
  };
  for (let i = 0; i < source.length; i++) {
    const c = source[i];
    if (c === '\\') {
      const end = escapeEnd(source, i + 1);
      if (source[i + 1] === 'Q') quote(end - i - 3);
      else atom(isUnicodeClass(source, i + 1) ? UNICODE_CLASS_WEIGHT : 1);
      i = end;
    } else if (c === '[') {
      const end = classEnd(source, i);
      atom(classWeight(source.slice(i, end), ignoresCase));
      i = end;
    } else if (c === '(') {
      stack.push(group);
      group = { total: 2, last: 0 };
    } else if (c === ')') {
      const inner = group.total;
      group = stack.pop() ?? { total: 0, last: 0 };
      atom(inner);
    } else if (c === '{') {
      const repetition = repetitionAt(source, i);
      if (repetition === null) atom(1);
      else {
        group.total += group.last * (repetition.times - 1);
        group.last *= repetition.times;
        i = repetition.end;
      }
    } else if (c !== '*' && c !== '+' && c !== '?') atom(1);
  }
  return stack.reduce((sum, open) => sum + open.total, group.total);
}

/** The larger number of `{n}`, `{n,}` or `{n,m}`, at least 1, and the index of its end; null for braces that are literal text. */
function repetitionAt(source: string, at: number): { readonly times: number; readonly end: number } | null {
  const found = /^\{(\d{1,4})(?:,(\d{0,4}))?\}/.exec(source.slice(at, at + 12));
  if (found === null) return null;
  return { times: Math.max(1, Number(found[1]), Number(found[2] ?? 0)), end: at + found[0].length - 1 };
}

/** Index of the last character of the escape whose letter is at `at`: `\x{…}`, `\p{…}` and `\Q…\E` have more than one. */
function escapeEnd(source: string, at: number): number {
  const closing = source[at] === 'Q' ? '\\E' : /^[xpP]\{/.test(source.slice(at, at + 2)) ? '}' : null;
  if (closing === null) return at;
  const end = source.indexOf(closing, at);
  return end === -1 ? source.length : end + closing.length - 1;
}

function isUnicodeClass(source: string, at: number): boolean {
  return source[at] === 'p' || source[at] === 'P';
}

function classWeight(text: string, ignoresCase: boolean): number {
  let weight = 1 + UNICODE_CLASS_WEIGHT * (text.match(/\\[pP]/g)?.length ?? 0);
  if (!ignoresCase) return weight;
  for (const [, hex, character = ''] of text.matchAll(/-(?:\\x\{([0-9a-f]{1,6})\}|([^\0-\x7f]))/giu)) {
    weight += (hex === undefined ? (character.codePointAt(0) ?? 0) : Number.parseInt(hex, 16)) / FOLDED_PER_INSTRUCTION;
  }
  return weight;
}

/**
 * Index of the `]` that closes the class opened at `at`. Goes through the members as the compiler does, or text after the class could pass for
 * a part of it and escape the count: a `]` may be the first member, `[:name:]` is one member, and the end of a range is always a character.
 */
function classEnd(source: string, at: number): number {
  let i = at + (source[at + 1] === '^' ? 2 : 1);
  for (let isFirst = true; i < source.length; isFirst = false) {
    if (source[i] === ']' && !isFirst) return i;
    const named = source.startsWith('[:', i) ? source.indexOf(':]', i + 2) : -1;
    const isSet = named !== -1 || /^\\[pPdDsSwW]/.test(source.slice(i, i + 2));
    i = named === -1 ? memberEnd(source, i) + 1 : named + 2;
    if (!isSet && source[i] === '-' && source[i + 1] !== ']') i = memberEnd(source, i + 1) + 1;
  }
  return source.length;
}

function memberEnd(source: string, at: number): number {
  return source[at] === '\\' ? escapeEnd(source, at + 1) : at;
}
