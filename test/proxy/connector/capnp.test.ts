// The Cap'n Proto codec: what is built reads back, known bytes, and hostile bytes of every sort.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { MessageBuilder } from '#proxy/connector/capnp/builder.ts';
import { FrameParser, type Frames } from '#proxy/connector/capnp/frames.ts';
import { MAX_MESSAGE_BYTES, Message, type StructReader } from '#proxy/connector/capnp/reader.ts';

/** Words, each as two little-endian 32-bit halves. */
function words(...halves: readonly number[]): Buffer {
  const buffer = Buffer.alloc(halves.length * 4);
  halves.forEach((half, i) => buffer.writeUInt32LE(half >>> 0, i * 4));
  return buffer;
}

function parseOne(frame: Uint8Array): Message {
  const { messages, error } = new FrameParser().push(frame);
  assert.equal(error, null);
  assert.equal(messages.length, 1);
  return messages[0] as Message;
}

/** Reads everything that can be read, a few levels deep. */
function explore(struct: StructReader, depth = 0): void {
  for (let i = 0; i < 4; i += 1) {
    struct.u8(i);
    struct.u16(i * 2);
    struct.u32(i * 4);
    struct.u64(i * 8);
    struct.bit(i * 9);
    struct.text(i);
    struct.texts(i);
    struct.capability(i);
    if (depth > 3 || struct.message.error !== null) continue;
    for (const element of struct.structs(i).slice(0, 3)) explore(element, depth + 1);
    explore(struct.struct(i), depth + 1);
  }
}

describe('capnp: round trip', () => {
  test('every kind of field', () => {
    const field = fc.record({
      a: fc.integer({ min: 0, max: 255 }),
      b: fc.integer({ min: 0, max: 0xffff }),
      c: fc.integer({ min: 0, max: 0xffff_ffff }),
      d: fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn }),
      bit: fc.boolean(),
      // A text cannot hold the NUL that ends it, and lone surrogates have no UTF-8.
      text: fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
      bytes: fc.uint8Array({ maxLength: 3000 }),
      texts: fc.array(fc.string({ unit: 'grapheme-ascii' }), { maxLength: 20 }),
      structs: fc.array(fc.integer({ min: 0, max: 0xffff_ffff }), { maxLength: 20 }),
    });
    fc.assert(
      fc.property(field, (value) => {
        const builder = new MessageBuilder();
        const root = builder.root(3, 6);
        root.u8(0, value.a);
        root.u16(2, value.b);
        root.u32(4, value.c);
        root.u64(8, value.d);
        root.bit(130, value.bit);
        root.text(0, value.text);
        root.bytes(1, value.bytes);
        root.texts(2, value.texts);
        root.struct(3, 1, 0).u32(4, value.c);
        root.structs(4, value.structs.length, { dataWords: 1, pointers: 1 }).forEach((element, i) => {
          element.u32(0, value.structs[i] as number);
          element.text(0, String(value.structs[i]));
        });
        root.capability(5, value.b);
        const read = parseOne(builder.frame());
        const back = read.root;
        assert.deepEqual(
          {
            a: back.u8(0),
            b: back.u16(2),
            c: back.u32(4),
            d: back.u64(8),
            bit: back.bit(130),
            text: back.text(0),
            bytes: Uint8Array.from(back.bytes(1)),
            texts: back.texts(2),
            structs: back.structs(4).map((element) => element.u32(0)),
          },
          { ...value },
        );
        assert.equal(back.struct(3).u32(4), value.c);
        assert.deepEqual(
          back.structs(4).map((element) => element.text(0)),
          value.structs.map(String),
        );
        assert.equal(back.capability(5), value.b);
        assert.equal(read.error, null);
      }),
    );
  });

  test('a stream may be cut anywhere', () => {
    const frames = ['one', 'two', ''].map((text) => {
      const builder = new MessageBuilder();
      builder.root(1, 1).text(0, text);
      return builder.frame();
    });
    const stream = Buffer.concat(frames);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sizes) => {
        const parser = new FrameParser();
        const texts: string[] = [];
        for (let at = 0, i = 0; at < stream.length; i += 1) {
          const size = sizes[i % sizes.length] as number;
          const result = parser.push(stream.subarray(at, at + size));
          assert.equal(result.error, null);
          texts.push(...result.messages.map((message) => message.root.text(0)));
          at += size;
        }
        assert.deepEqual(texts, ['one', 'two', '']);
      }),
    );
  });

  test('known bytes', () => {
    const builder = new MessageBuilder();
    const root = builder.root(1, 1);
    root.u16(0, 8);
    root.text(0, 'hi');
    // One segment of four words; root: struct with one data word and one pointer; a list of three bytes, one word on.
    assert.deepEqual(builder.frame(), words(0, 4, 0, 0x0001_0001, 8, 0, 1, (3 << 3) | 2, 0x0000_6968, 0));
  });
});

describe('capnp: what other builders may send', () => {
  test('a struct in another segment, by far pointer and by double far pointer', () => {
    const far = new Message([words((0 << 3) | 2, 1), words(0, 1, 77, 0)]);
    assert.equal(far.root.u32(0), 77);
    assert.equal(far.error, null);
    const double = new Message([words(4 | 2, 1), words(2, 2, 0, 1), words(78, 0)]);
    assert.equal(double.root.u32(0), 78);
    assert.equal(double.error, null);
  });

  test('fields beyond the sender`s struct read as zero and empty', () => {
    const message = new Message([words(0, 0)]);
    const { root } = message;
    assert.deepEqual([root.u8(0), root.u16(0), root.u32(0), root.u64(0), root.bit(3)], [0, 0, 0, 0n, false]);
    assert.deepEqual([root.text(0), root.texts(1), root.structs(2), root.capability(3)], ['', [], [], null]);
    assert.equal(root.struct(4).text(1), '');
    assert.equal(message.error, null);
  });
});

describe('capnp: hostile bytes', () => {
  const hostile: readonly (readonly [string, readonly Buffer[]])[] = [
    ['no segment', []],
    ['an empty segment', [Buffer.alloc(0)]],
    ['a struct behind the end', [words(4, 1)]],
    ['a struct before the start', [words((-5 << 2) | 0, 1)]],
    ['a struct larger than its segment', [words(0, 0xffff)]],
    ['a list where the root struct belongs', [words(1, 2)]],
    ['a far pointer to no segment', [words(2, 9)]],
    ['a far pointer to itself', [words(2, 0)]],
    ['a far pointer behind its segment', [words((1000 << 3) | 2, 0)]],
    ['a double far pointer without pad', [words(6, 0, 0, 0, 0, 0)]],
    ['a double far pointer whose tag is far', [words(6, 1), words(2, 0, 2, 0)]],
  ];
  for (const [name, segments] of hostile) {
    test(name, () => {
      const message = new Message(segments);
      explore(message.root);
      assert.notEqual(message.error, null);
    });
  }

  const hostileFields: readonly (readonly [string, Buffer, (root: StructReader) => void])[] = [
    ['bytes longer than the segment', words(0, 0x0001_0000, 1, (9000 << 3) | 2), (root) => root.bytes(0)],
    ['a list of words for bytes', words(0, 0x0001_0000, 1, (1 << 3) | 5, 0, 0), (root) => root.bytes(0)],
    ['a struct for bytes', words(0, 0x0001_0000, 0, 1, 0, 0), (root) => root.bytes(0)],
    ['bytes for a struct', words(0, 0x0001_0000, 1, (8 << 3) | 2, 0, 0), (root) => root.struct(0)],
    ['bytes for texts', words(0, 0x0001_0000, 1, (8 << 3) | 2, 0, 0), (root) => root.texts(0)],
    ['bytes for structs', words(0, 0x0001_0000, 1, (8 << 3) | 2, 0, 0), (root) => root.structs(0)],
    ['a list with more elements than words', words(0, 0x0001_0000, 1, (1 << 3) | 7, 2 << 2, 1, 0, 0), (root) => root.structs(0)],
    ['half a billion elements without content', words(0, 0x0001_0000, 1, 7, 0x7fff_fffc, 0), (root) => root.structs(0)],
    ['a list whose tag is a list', words(0, 0x0001_0000, 1, (1 << 3) | 7, (1 << 2) | 1, 1, 0, 0), (root) => root.structs(0)],
  ];
  for (const [name, segment, read] of hostileFields) {
    test(name, () => {
      const message = new Message([segment]);
      read(message.root);
      assert.notEqual(message.error, null);
    });
  }

  test('a struct that contains itself is walked only so far', () => {
    // The struct's only pointer leads back to the struct.
    const message = new Message([words(0, 0x0001_0000, (-1 << 2) | 0, 0x0001_0000)]);
    let struct = message.root;
    let steps = 0;
    while (message.error === null) {
      struct = struct.struct(0);
      steps += 1;
      assert.ok(steps < MAX_MESSAGE_BYTES);
    }
  });

  test('random segments never throw', () => {
    const segments = fc.array(
      fc.array(fc.oneof(fc.integer({ min: 0, max: 0xffff_ffff }), fc.constantFrom(0, 1, 2, 3, 6, 0x0001_0001, 0x23)), { maxLength: 40 }),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(segments, (halves) => {
        explore(new Message(halves.map((half) => words(...(half.length % 2 === 0 ? half : half.slice(1))))).root);
      }),
      { numRuns: 2000 },
    );
  });

  test('random streams never throw, and an unreadable one stays unreadable', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 }), (chunks) => {
        const parser = new FrameParser();
        let last: Frames = { messages: [], error: null };
        for (const chunk of chunks) {
          const result = parser.push(chunk);
          for (const message of result.messages) explore(message.root);
          if (last.error !== null) assert.deepEqual(result, { messages: [], error: last.error });
          last = result;
        }
      }),
    );
  });

  test('too many segments and too large messages are refused before they are stored', () => {
    assert.equal(new FrameParser().push(words(16)).error, 'a message has too many segments');
    assert.equal(new FrameParser().push(words(0xffff_ffff)).error, 'a message has too many segments');
    assert.equal(new FrameParser().push(words(0, MAX_MESSAGE_BYTES / 8 + 1)).error, 'a message is too large');
    assert.equal(new FrameParser().push(words(0, MAX_MESSAGE_BYTES / 8)).error, null);
  });
});
