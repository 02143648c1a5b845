// Splits a byte stream into lines of bounded length: a watch is one JSON document a line, and one huge line must not fill the memory.

/** A line longer than the bound: its bytes were dropped as they came. */
export interface Oversized {
  readonly oversizedBytes: number;
}

/**
 * Yields each complete line. The last piece without a line feed is dropped: it is what a cut connection leaves of an event,
 * which the server sends again to whoever resumes before it.
 */
export async function* readLines(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string | Oversized> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of source) {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      const size = length + end - from;
      if (size > maxBytes) yield { oversizedBytes: size };
      else if (length > 0) yield Buffer.concat([...pieces, chunk.subarray(from, end)]).toString('utf8');
      else if (end > from) yield chunk.toString('utf8', from, end);
      pieces = [];
      length = 0;
      from = end + 1;
    }
    length += chunk.length - from;
    if (length > maxBytes) pieces = [];
    else if (from < chunk.length) pieces.push(from === 0 ? chunk : chunk.subarray(from));
  }
}

/** Thrown when a body is longer than its bound. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';

  constructor(maxBytes: number) {
    super(`the answer is longer than ${maxBytes} bytes`);
  }
}

export async function readBody(source: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of source) {
    length += chunk.length;
    if (length > maxBytes) throw new BodyTooLarge(maxBytes);
    pieces.push(chunk);
  }
  return Buffer.concat(pieces, length);
}
