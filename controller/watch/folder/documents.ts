// Cuts the bytes of a file into YAML documents, without parsing them: an error in one says nothing about the others. Pure.

export interface DocumentBytes {
  readonly bytes: Uint8Array;
  /** Line of the file, from 1, on which the document begins. */
  readonly line: number;
}

const [NEWLINE, RETURN, TAB, SPACE, HASH, PERCENT, DASH] = [0x0a, 0x0d, 0x09, 0x20, 0x23, 0x25, 0x2d];

/**
 * Every `---` or `...` at the start of a line ends a document, whatever surrounds it: YAML forbids those lines inside of block scalars,
 * quotes and flow collections too.
 */
export function* splitDocuments(file: Buffer): Generator<DocumentBytes> {
  let start = 0;
  let startLine = 1;
  let line = 1;
  let counted = 0;
  for (const at of markers(file)) {
    line += countLines(file, counted, at);
    counted = at;
    if (file[at] === DASH) {
      if (isPreamble(file, start, at)) continue;
      yield { bytes: file.subarray(start, at), line: startLine };
      start = at;
      startLine = line;
    } else {
      const newline = file.indexOf(NEWLINE, at);
      const next = newline === -1 ? file.length : newline + 1;
      yield { bytes: file.subarray(start, next), line: startLine };
      start = next;
      startLine = line + 1;
    }
  }
  if (start < file.length) yield { bytes: file.subarray(start), line: startLine };
}

const AFTER_MARKER = new Set([undefined, SPACE, TAB, RETURN, NEWLINE]);

/** Where the lines of both markers begin. Searched for, not walked to line by line: a file may be nothing but line breaks. */
function* markers(file: Buffer): Generator<number> {
  let dashes = lineWith(file, '---', 0);
  let dots = lineWith(file, '...', 0);
  for (let at = Math.min(dashes, dots); at !== Infinity; at = Math.min(dashes, dots)) {
    if (AFTER_MARKER.has(file[at + 3])) yield at;
    if (at === dashes) dashes = lineWith(file, '---', at + 1);
    else dots = lineWith(file, '...', at + 1);
  }
}

/** Start of the next line from `from` on that begins with `text`; Infinity when there is none. */
function lineWith(file: Buffer, text: string, from: number): number {
  if (from === 0 && file.toString('latin1', 0, text.length) === text) return 0;
  const before = file.indexOf(`\n${text}`, Math.max(0, from - 1), 'latin1');
  return before === -1 ? Infinity : before + 1;
}

function countLines(file: Buffer, from: number, to: number): number {
  let lines = 0;
  for (let at = from; at < to; at++) if (file[at] === NEWLINE) lines++;
  return lines;
}

const hasByteOrderMark = (file: Buffer, at: number): boolean => file[at] === 0xef && file[at + 1] === 0xbb && file[at + 2] === 0xbf;

/** Only comments, directives and blank lines, or nothing at all: what may stand before the `---` that begins the document they belong to. */
function isPreamble(file: Buffer, start: number, end: number): boolean {
  let at = hasByteOrderMark(file, start) ? start + 3 : start;
  while (at < end) {
    const isDirective = file[at] === PERCENT;
    while (file[at] === SPACE || file[at] === TAB) at++;
    if (isDirective || file[at] === HASH) while (file[at] !== NEWLINE) at++;
    if (file[at] === RETURN) at++;
    if (file[at] !== NEWLINE) return false;
    at++;
  }
  return true;
}
