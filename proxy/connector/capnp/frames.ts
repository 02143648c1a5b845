// Cuts a byte stream into Cap'n Proto messages: a little-endian segment count minus one, the sizes in words, padding to eight bytes, the segments.
import { MAX_MESSAGE_BYTES, Message } from './reader.ts';

/** Senders of this protocol use one segment; a few more are read, thousands are an attack. */
const MAX_SEGMENTS = 16;
const MAX_HEADER_BYTES = 8 * Math.ceil((4 + 4 * MAX_SEGMENTS) / 8);

export interface Frames {
  readonly messages: readonly Message[];
  /** Why the stream cannot be read any further; the same answer is given from then on. */
  readonly error: string | null;
}

interface FrameHead {
  readonly length: number;
  readonly segments: readonly number[];
  readonly total: number;
}

export class FrameParser {
  /** Never holds more than one message that is not complete yet. */
  #pending = Buffer.alloc(0);
  #filled = 0;
  #error: string | null = null;

  push(chunk: Uint8Array): Frames {
    const messages: Message[] = [];
    let rest = chunk;
    while (this.#error === null && rest.length > 0) {
      const taken = Math.min(rest.length, this.#wanted() - this.#filled);
      this.#append(rest.subarray(0, taken));
      rest = rest.subarray(taken);
      const message = this.#complete();
      if (message !== null) messages.push(message);
    }
    return { messages, error: this.#error };
  }

  /** Bytes from the start of the message that must be there before anything more can be decided. */
  #wanted(): number {
    const head = this.#head();
    if (head !== null) return head.length + head.total;
    return this.#filled < 4 ? 4 : headLength(this.#pending.readUInt32LE(0) + 1);
  }

  #append(bytes: Uint8Array): void {
    const needed = this.#filled + bytes.length;
    if (needed > this.#pending.length) {
      const larger = Buffer.alloc(Math.min(Math.max(needed, this.#pending.length * 2, 256), MAX_HEADER_BYTES + MAX_MESSAGE_BYTES));
      this.#pending.copy(larger, 0, 0, this.#filled);
      this.#pending = larger;
    }
    this.#pending.set(bytes, this.#filled);
    this.#filled = needed;
  }

  #complete(): Message | null {
    if (this.#filled >= 4 && this.#pending.readUInt32LE(0) >= MAX_SEGMENTS) this.#error = 'a message has too many segments';
    const head = this.#error === null ? this.#head() : null;
    if (head === null) return null;
    if (head.total > MAX_MESSAGE_BYTES) {
      this.#error = 'a message is too large';
      return null;
    }
    if (this.#filled < head.length + head.total) return null;
    let at = head.length;
    const segments = head.segments.map((size) => Buffer.from(this.#pending.subarray(at, (at += size))));
    this.#filled = 0;
    return new Message(segments);
  }

  #head(): FrameHead | null {
    if (this.#filled < 4) return null;
    const count = this.#pending.readUInt32LE(0) + 1;
    const length = headLength(count);
    if (count > MAX_SEGMENTS || this.#filled < length) return null;
    const segments = Array.from({ length: count }, (_, i) => this.#pending.readUInt32LE(4 + 4 * i) * 8);
    return { length, segments, total: segments.reduce((sum, size) => sum + size, 0) };
  }
}

function headLength(segments: number): number {
  return 8 * Math.ceil((4 + 4 * segments) / 8);
}
