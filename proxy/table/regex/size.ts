// How large a pattern would become, from its text alone: compiling `((a{40}){25}…){…}` to find that out is itself the attack.

/** Compiled instructions that a pattern may have. */
export const MAX_PROGRAM = 1000;

/** A Unicode class compiles to one instruction but takes hundreds of ranges to build: it weighs as much as this many plain ones. */
const UNICODE_CLASS_WEIGHT = 10;

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
  const stack: Group[] = [];
  let group: Group = { total: 0, last: 0 };
  const atom = (weight: number): void => {
    group.total += weight;
    group.last = weight;
  };
  for (let i = 0; i < source.length; i++) {
    const c = source[i];
    if (c === '\\') {
      i++;
      atom(isUnicodeClass(source, i) ? UNICODE_CLASS_WEIGHT : 1);
    } else if (c === '[') {
      const end = classEnd(source, i);
      atom(1 + UNICODE_CLASS_WEIGHT * countUnicodeClasses(source.slice(i, end)));
      i = end;
    } else if (c === '(') {
      stack.push(group);
      group = { total: 1, last: 0 };
    } else if (c === ')') {
      const inner = group.total;
      group = stack.pop() ?? { total: 0, last: 0 };
      atom(inner);
    } else if (c === '{') {
      const times = repetition(source, i);
      group.total += group.last * (times - 1);
      group.last *= times;
    } else if (c !== '*' && c !== '+' && c !== '?' && c !== '}') atom(1);
  }
  return stack.reduce((sum, open) => sum + open.total, group.total);
}

/** The larger number of `{n}`, `{n,}` or `{n,m}`, at least 1; anything else between braces is literal text. */
function repetition(source: string, at: number): number {
  const found = /^\{(\d{1,4})(?:,(\d{0,4}))?\}/.exec(source.slice(at, at + 12));
  return found === null ? 1 : Math.max(1, Number(found[1]), Number(found[2] ?? 0));
}

function isUnicodeClass(source: string, at: number): boolean {
  return source[at] === 'p' || source[at] === 'P';
}

function countUnicodeClasses(text: string): number {
  return (text.match(/\\[pP]/g) ?? []).length;
}

/** Index of the `]` that closes the class opened at `at`. A `]` right after `[` or `[^` is a member. */
function classEnd(source: string, at: number): number {
  let i = at + (source[at + 1] === '^' ? 2 : 1);
  if (source[i] === ']') i++;
  for (; i < source.length; i++) {
    if (source[i] === '\\') i++;
    else if (source.startsWith('[:', i)) {
      const end = source.indexOf(':]', i + 2);
      if (end !== -1) i = end + 1;
    } else if (source[i] === ']') return i;
  }
  return source.length;
}
