// The small parts under the client: lines, bodies, pauses, slots.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { Backoff } from '#controller/kube/backoff.ts';
import { sleep, systemClock } from '#controller/kube/clock.ts';
import { type Oversized, readBody, readLines } from '#controller/kube/lines.ts';
import { Slots } from '#controller/kube/slots.ts';

// oxlint-disable-next-line require-await -- the source of a stream is asynchronous by type
async function* chunks(pieces: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece);
}

async function lines(pieces: readonly (string | Buffer)[], maxBytes = 1000): Promise<readonly (string | Oversized)[]> {
  const found: (string | Oversized)[] = [];
  for await (const line of readLines(chunks(pieces), maxBytes)) found.push(line);
  return found;
}

suite('lines', () => {
  test('are the same however the bytes are cut', async () => {
    const text = fc.array(fc.string({ unit: fc.constantFrom('a', 'ü', '€', '😀', '"'), maxLength: 8 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(40), { maxLength: 10 }), async (expected, cuts) => {
        const bytes = Buffer.from(expected.map((line) => `${line}\n`).join(''));
        const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const pieces = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
        assert.deepEqual(
          await lines(pieces),
          expected.filter((line) => line !== ''),
        );
      }),
    );
  });

  test('an unfinished one at the end is dropped', async () => {
    assert.deepEqual(await lines(['a\nb', 'c']), ['a']);
  });

  test('too long a one is measured, not kept, and the next is read', async () => {
    assert.deepEqual(await lines(['xx', 'xxx', 'x\nok\n'], 4), [{ oversizedBytes: 6 }, 'ok']);
    assert.deepEqual(await lines(['xxxxxx\nok\n'], 4), [{ oversizedBytes: 6 }, 'ok']);
    assert.deepEqual(await lines(['xxxx\n'], 4), ['xxxx']);
  });

  test('a body is bounded', async () => {
    assert.equal((await readBody(chunks(['ab', 'cd']), 4)).toString(), 'abcd');
    await assert.rejects(readBody(chunks(['ab', 'cde']), 4), /longer than 4 bytes/);
  });
});

suite('pauses', () => {
  test('double up to the cap, are jittered from zero, and start over after health', () => {
    const backoff = new Backoff({ firstMs: 100, maxMs: 1000 }, () => 0.999);
    const bounds = Array.from({ length: 6 }, () => Math.round(backoff.next() / 0.999));
    assert.deepEqual(bounds, [100, 200, 400, 800, 1000, 1000]);
    backoff.reset();
    assert.equal(Math.round(backoff.next() / 0.999), 100);
    assert.equal(new Backoff({ firstMs: 100, maxMs: 1000 }, () => 0).next(), 0);
  });

  test('a sleep ends at once when aborted', async () => {
    const controller = new AbortController();
    const asleep = sleep(systemClock, 3_600_000, controller.signal);
    controller.abort();
    await asleep;
    await sleep(systemClock, 3_600_000, controller.signal);
  });
});

test('slots let so many run, in order, and survive failures', async () => {
  const slots = new Slots(2);
  let running = 0;
  let most = 0;
  const order: number[] = [];
  const job = (index: number) => async (): Promise<void> => {
    order.push(index);
    most = Math.max(most, ++running);
    await new Promise(setImmediate);
    running--;
    if (index === 1) throw new Error('one fails');
  };
  const results = await Promise.allSettled(Array.from({ length: 6 }, (_, index) => slots.run(job(index))));
  assert.equal(most, 2);
  assert.deepEqual(order, [0, 1, 2, 3, 4, 5]);
  assert.equal(results.filter((result) => result.status === 'rejected').length, 1);
});
