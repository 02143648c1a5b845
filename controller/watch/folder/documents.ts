// Cuts the bytes of a file into YAML documents, without parsing them: an error in one says nothing about the others. Pure.

export interface DocumentBytes {
  readonly bytes: Uint8Array;
  /** Line of the file, from 1, on which the document begins. */
  readonly line: number;
}

/** Only comments, directives and blank lines: what may stand before the `---` that begins the document they belong to. */
const PREAMBLE = /^(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*$/;

const [NEWLINE, DASH, DOT] = [0x0a, 0x2d, 0x2e];

/**
 * Every `---` or `...` at the start of a line ends a document, whatever surrounds it: YAML forbids those lines inside of block scalars,
 * quotes and flow collections too.
 */
export function* splitDocuments(file: Buffer): Generator<DocumentBytes> {
  let start = 0;
  let startLine = 1;
  let line = 1;
  for (let at = 0; at < file.length; line++) {
    const newline = file.indexOf(NEWLINE, at);
    const next = newline === -1 ? file.length : newline + 1;
    if (isMarker(file, at, DASH) && at > start && !isPreamble(file, start, at)) {
      yield { bytes: file.subarray(start, at), line: startLine };
      start = at;
      startLine = line;
    } else if (isMarker(file, at, DOT)) {
      yield { bytes: file.subarray(start, next), line: startLine };
      start = next;
      startLine = line + 1;
    }
    at = next;
  }
  if (start < file.length) yield { bytes: file.subarray(start), line: startLine };
}

const AFTER_MARKER = new Set([undefined, 0x20, 0x09, 0x0d, NEWLINE]);

const isMarker = (file: Buffer, at: number, sign: number): boolean =>
  file[at] === sign && file[at + 1] === sign && file[at + 2] === sign && AFTER_MARKER.has(file[at + 3]);

const isPreamble = (file: Buffer, start: number, end: number): boolean =>
  !isMarker(file, start, DASH) && PREAMBLE.test(file.toString('latin1', start, end));
