// Cuts a stream of bytes into lines, none longer than allowed, copying only lines that span chunks.

const NEWLINE = 0x0a;

export class LineSplitter {
  readonly #maxLine: number;
  /** Beginning of a line whose end has not arrived. */
  #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(maxLine: number) {
    this.#maxLine = maxLine;
  }

  /** Complete lines up to and including the end of this chunk, without line breaks; null in place of a line that is too long. */
  *push(chunk: Uint8Array): Generator<Uint8Array | null> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield this.#take(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start === chunk.length) return;
    this.#size += chunk.length - start;
    if (this.#size > this.#maxLine) yield null;
    else this.#pieces.push(chunk.subarray(start));
  }

  /** What came after the last line break. */
  rest(): Uint8Array | null {
    return this.#take(new Uint8Array(0));
  }

  #take(last: Uint8Array): Uint8Array | null {
    const size = this.#size + last.length;
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#size = 0;
    if (size > this.#maxLine) return null;
    if (pieces.length === 0) return last;
    const line = new Uint8Array(size);
    let at = 0;
    for (const piece of [...pieces, last]) {
      line.set(piece, at);
      at += piece.length;
    }
    return line;
  }
}
