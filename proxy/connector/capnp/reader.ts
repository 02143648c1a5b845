// Reads Cap'n Proto messages, as much of the encoding as the tunnel's registration protocol uses, and survives any bytes.
//
// The reader never throws. A pointer that leads outside its segment, a list that claims more than it has or a message that makes the
// reader walk too far yields empty values and sets `Message.error` for good, so that a decoder reads everything it wants and asks once.

/** Control messages are a few hundred bytes; what is larger is not ours. Bytes of all segments together. */
export const MAX_MESSAGE_BYTES = 64 * 1024;
/** Overlapping pointers let a small message describe endless content: every step is paid from this allowance, in words. */
const TRAVERSAL_WORDS = (MAX_MESSAGE_BYTES / 8) * 4;
const WORD = 8;

const POINTER_STRUCT = 0;
const POINTER_LIST = 1;
const POINTER_FAR = 2;
const POINTER_OTHER = 3;
const LIST_OF_BYTES = 2;
const LIST_OF_POINTERS = 6;
const LIST_OF_STRUCTS = 7;

/** A place in a message: segment number and word offset. */
interface Place {
  readonly segment: number;
  readonly word: number;
}

interface Target extends Place {
  readonly kind: number;
  /** Upper half of the pointer: sizes, or a capability's index. */
  readonly upper: number;
}

/** One received message. Values are read lazily from `root`. */
export class Message {
  readonly #segments: readonly Buffer[];
  #allowance = TRAVERSAL_WORDS;
  #error: string | null = null;

  constructor(segments: readonly Buffer[]) {
    this.#segments = segments;
  }

  /** Why the message cannot be trusted, or null as long as everything read was sound. */
  get error(): string | null {
    return this.#error;
  }

  get root(): StructReader {
    return this.structAt({ segment: 0, word: 0 });
  }

  structAt(pointer: Place): StructReader {
    const target = this.#follow(pointer);
    if (target === null) return this.#empty();
    if (target.kind !== POINTER_STRUCT) return this.#refuse('a pointer to something else stands where a struct belongs', this.#empty());
    const dataWords = target.upper & 0xffff;
    const pointers = target.upper >>> 16;
    if (!this.#enter(target, dataWords + pointers)) return this.#empty();
    return this.#struct(target, dataWords, pointers);
  }

  bytesAt(pointer: Place): Buffer {
    const none = Buffer.alloc(0);
    const target = this.#follow(pointer);
    if (target === null) return none;
    if (target.kind !== POINTER_LIST || (target.upper & 7) !== LIST_OF_BYTES) return this.#refuse('bytes were expected', none);
    const length = target.upper >>> 3;
    if (!this.#enter(target, Math.ceil(length / WORD))) return none;
    return this.#segment(target).subarray(target.word * WORD, target.word * WORD + length);
  }

  structsAt(pointer: Place): readonly StructReader[] {
    const target = this.#follow(pointer);
    if (target === null) return [];
    if (target.kind !== POINTER_LIST || (target.upper & 7) !== LIST_OF_STRUCTS) return this.#refuse('a list of structs was expected', []);
    const words = target.upper >>> 3;
    if (!this.#enter(target, words + 1)) return [];
    const segment = this.#segment(target);
    const tag = segment.readUInt32LE(target.word * WORD);
    const count = tag >>> 2;
    const dataWords = segment.readUInt16LE(target.word * WORD + 4);
    const pointers = segment.readUInt16LE(target.word * WORD + 6);
    const size = dataWords + pointers;
    if ((tag & 3) !== POINTER_STRUCT || count * size > words) return this.#refuse('a list claims more than it holds', []);
    // Elements without content cost nothing in the message, so they are charged here.
    if (!this.#pay(count)) return [];
    const first = target.word + 1;
    return Array.from({ length: count }, (_, i) => this.#struct({ segment: target.segment, word: first + i * size }, dataWords, pointers));
  }

  textsAt(pointer: Place): readonly string[] {
    const target = this.#follow(pointer);
    if (target === null) return [];
    if (target.kind !== POINTER_LIST || (target.upper & 7) !== LIST_OF_POINTERS) return this.#refuse('a list of texts was expected', []);
    const count = target.upper >>> 3;
    if (!this.#enter(target, count)) return [];
    return Array.from({ length: count }, (_, i) => textOf(this.bytesAt({ segment: target.segment, word: target.word + i })));
  }

  capabilityAt(pointer: Place): number | null {
    const target = this.#follow(pointer);
    return target !== null && target.kind === POINTER_OTHER ? target.upper : null;
  }

  /** Resolves a pointer, through at most one far pointer: chains of them are not legal, so there is nothing to loop over. */
  #follow(pointer: Place): Target | null {
    if (this.#error !== null || !this.#enter(pointer, 1)) return null;
    const [lower, upper] = this.#halves(pointer);
    if (lower === 0 && upper === 0) return null;
    if ((lower & 3) !== POINTER_FAR) return near(pointer, lower, upper);
    const pad = { segment: upper, word: lower >>> 3 };
    const isDouble = (lower & 4) !== 0;
    if (!this.#enter(pad, isDouble ? 2 : 1)) return null;
    const [padLower, padUpper] = this.#halves(pad);
    if (!isDouble) {
      if ((padLower & 3) === POINTER_FAR) return this.#refuse('a far pointer leads to a far pointer', null);
      return padLower === 0 && padUpper === 0 ? null : near(pad, padLower, padUpper);
    }
    if ((padLower & 7) !== POINTER_FAR) return this.#refuse('a double far pointer has no landing pad', null);
    const [tagLower, tagUpper] = this.#halves({ segment: pad.segment, word: pad.word + 1 });
    if ((tagLower & 3) === POINTER_FAR) return this.#refuse('a double far pointer has a bad tag', null);
    return { kind: tagLower & 3, segment: padUpper, word: padLower >>> 3, upper: tagUpper };
  }

  /** True when `words` words at `place` exist and may be visited. */
  #enter(place: Place, words: number): boolean {
    const segment = this.#segments[place.segment];
    if (segment === undefined || place.word < 0 || (place.word + words) * WORD > segment.length) {
      return this.#refuse('a pointer leads outside the message', false);
    }
    return this.#pay(words + 1);
  }

  #pay(words: number): boolean {
    this.#allowance -= words;
    return this.#allowance >= 0 || this.#refuse('the message refers to more than it may', false);
  }

  #refuse<T>(reason: string, value: T): T {
    this.#error ??= reason;
    return value;
  }

  #segment(place: Place): Buffer {
    return this.#segments[place.segment] ?? Buffer.alloc(0);
  }

  #halves(place: Place): readonly [number, number] {
    const segment = this.#segment(place);
    return [segment.readUInt32LE(place.word * WORD), segment.readUInt32LE(place.word * WORD + 4)];
  }

  #struct(place: Place, dataWords: number, pointers: number): StructReader {
    const start = place.word * WORD;
    const data = this.#segment(place).subarray(start, start + dataWords * WORD);
    return new StructReader(this, data, { segment: place.segment, word: place.word + dataWords }, pointers);
  }

  #empty(): StructReader {
    return new StructReader(this, Buffer.alloc(0), { segment: 0, word: 0 }, 0);
  }
}

/** A struct of a received message. Fields that the sender's schema does not have yet read as zero or empty, as the format wants it. */
export class StructReader {
  readonly message: Message;
  readonly #data: Buffer;
  readonly #pointers: Place;
  readonly #pointerCount: number;

  constructor(message: Message, data: Buffer, pointers: Place, pointerCount: number) {
    this.message = message;
    this.#data = data;
    this.#pointers = pointers;
    this.#pointerCount = pointerCount;
  }

  u8(offset: number): number {
    return offset + 1 <= this.#data.length ? this.#data.readUInt8(offset) : 0;
  }
  u16(offset: number): number {
    return offset + 2 <= this.#data.length ? this.#data.readUInt16LE(offset) : 0;
  }
  u32(offset: number): number {
    return offset + 4 <= this.#data.length ? this.#data.readUInt32LE(offset) : 0;
  }
  u64(offset: number): bigint {
    return offset + 8 <= this.#data.length ? this.#data.readBigUInt64LE(offset) : 0n;
  }
  i64(offset: number): bigint {
    return BigInt.asIntN(64, this.u64(offset));
  }
  bit(index: number): boolean {
    return (this.u8(index >> 3) & (1 << (index & 7))) !== 0;
  }
  struct(index: number): StructReader {
    const pointer = this.#pointer(index);
    return pointer === null ? new StructReader(this.message, Buffer.alloc(0), this.#pointers, 0) : this.message.structAt(pointer);
  }
  bytes(index: number): Buffer {
    const pointer = this.#pointer(index);
    return pointer === null ? Buffer.alloc(0) : this.message.bytesAt(pointer);
  }
  text(index: number): string {
    return textOf(this.bytes(index));
  }
  texts(index: number): readonly string[] {
    const pointer = this.#pointer(index);
    return pointer === null ? [] : this.message.textsAt(pointer);
  }
  structs(index: number): readonly StructReader[] {
    const pointer = this.#pointer(index);
    return pointer === null ? [] : this.message.structsAt(pointer);
  }
  capability(index: number): number | null {
    const pointer = this.#pointer(index);
    return pointer === null ? null : this.message.capabilityAt(pointer);
  }

  #pointer(index: number): Place | null {
    return index < this.#pointerCount ? { segment: this.#pointers.segment, word: this.#pointers.word + index } : null;
  }
}

function near(pointer: Place, lower: number, upper: number): Target {
  return { kind: lower & 3, segment: pointer.segment, word: pointer.word + 1 + (lower >> 2), upper };
}

function textOf(bytes: Buffer): string {
  // A text ends in a NUL that is counted in its length.
  return bytes.toString('utf8', 0, Math.max(0, bytes.length - 1));
}
