// Builds Cap'n Proto messages of one segment, as much of the encoding as the tunnel's registration protocol uses.
const WORD = 8;
const POINTER_STRUCT = 0;
const POINTER_LIST = 1;
const POINTER_OTHER = 3;
const LIST_OF_BYTES = 2;
const LIST_OF_POINTERS = 6;
const LIST_OF_STRUCTS = 7;

/** Where a value of a message under construction is written to. */
export interface StructBuilder {
  u8(offset: number, value: number): void;
  u16(offset: number, value: number): void;
  u32(offset: number, value: number): void;
  u64(offset: number, value: bigint): void;
  bit(index: number, value: boolean): void;
  struct(index: number, dataWords: number, pointers: number): StructBuilder;
  bytes(index: number, value: Uint8Array): void;
  text(index: number, value: string): void;
  texts(index: number, values: readonly string[]): void;
  structs(index: number, count: number, size: { readonly dataWords: number; readonly pointers: number }): readonly StructBuilder[];
  capability(index: number, value: number): void;
}

/** Builds one message in one segment. */
export class MessageBuilder {
  #buffer = Buffer.alloc(1024);
  /** The first word is the root pointer. */
  #words = 1;

  root(dataWords: number, pointers: number): StructBuilder {
    return this.#structAt(0, dataWords, pointers);
  }

  /** The message with its stream header, ready to be written. */
  frame(): Buffer {
    const frame = Buffer.alloc(WORD + this.#words * WORD);
    frame.writeUInt32LE(this.#words, 4);
    this.#buffer.copy(frame, WORD, 0, this.#words * WORD);
    return frame;
  }

  #allocate(words: number): number {
    const at = this.#words;
    this.#words += words;
    if (this.#words * WORD > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(this.#buffer.length * 2, this.#words * WORD));
      this.#buffer.copy(larger);
      this.#buffer = larger;
    }
    return at;
  }

  #point(pointer: number, kind: number, at: number, upper: number): void {
    this.#buffer.writeInt32LE(((at - pointer - 1) << 2) | kind, pointer * WORD);
    this.#buffer.writeUInt32LE(upper >>> 0, pointer * WORD + 4);
  }

  #structAt(pointer: number, dataWords: number, pointers: number): StructBuilder {
    const size = dataWords + pointers;
    const at = this.#allocate(size);
    // An empty struct points at itself (offset -1), so that it differs from a null pointer.
    this.#point(pointer, POINTER_STRUCT, size === 0 ? pointer : at, dataWords | (pointers << 16));
    return this.#fields(at, dataWords);
  }

  #fields(at: number, dataWords: number): StructBuilder {
    const data = at * WORD;
    const pointer = (index: number): number => at + dataWords + index;
    return {
      u8: (offset, value) => void this.#buffer.writeUInt8(value, data + offset),
      u16: (offset, value) => void this.#buffer.writeUInt16LE(value, data + offset),
      u32: (offset, value) => void this.#buffer.writeUInt32LE(value, data + offset),
      u64: (offset, value) => void this.#buffer.writeBigUInt64LE(BigInt.asUintN(64, value), data + offset),
      bit: (index, value) => {
        const byte = data + (index >> 3);
        const mask = 1 << (index & 7);
        this.#buffer.writeUInt8(value ? this.#buffer.readUInt8(byte) | mask : this.#buffer.readUInt8(byte) & ~mask, byte);
      },
      struct: (index, words, pointers) => this.#structAt(pointer(index), words, pointers),
      bytes: (index, value) => this.#bytesAt(pointer(index), value),
      text: (index, value) => this.#bytesAt(pointer(index), Buffer.from(`${value}\0`)),
      texts: (index, values) => {
        const first = this.#allocate(values.length);
        this.#point(pointer(index), POINTER_LIST, first, (values.length << 3) | LIST_OF_POINTERS);
        values.forEach((value, i) => this.#bytesAt(first + i, Buffer.from(`${value}\0`)));
      },
      structs: (index, count, size) => this.#structsAt(pointer(index), count, size),
      capability: (index, value) => this.#point(pointer(index), POINTER_OTHER, pointer(index) + 1, value),
    };
  }

  #bytesAt(pointer: number, value: Uint8Array): void {
    const at = this.#allocate(Math.ceil(value.length / WORD));
    this.#buffer.set(value, at * WORD);
    this.#point(pointer, POINTER_LIST, at, (value.length << 3) | LIST_OF_BYTES);
  }

  #structsAt(pointer: number, count: number, size: { readonly dataWords: number; readonly pointers: number }): readonly StructBuilder[] {
    const words = size.dataWords + size.pointers;
    const tag = this.#allocate(1 + count * words);
    this.#point(pointer, POINTER_LIST, tag, ((count * words) << 3) | LIST_OF_STRUCTS);
    this.#buffer.writeUInt32LE((count << 2) | POINTER_STRUCT, tag * WORD);
    this.#buffer.writeUInt32LE((size.dataWords | (size.pointers << 16)) >>> 0, tag * WORD + 4);
    return Array.from({ length: count }, (_, i) => this.#fields(tag + 1 + i * words, size.dataWords));
  }
}
