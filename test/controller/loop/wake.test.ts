// Coalescing: few runs, none missed, none beside another, and patience after failures.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { silentLog } from '#controller/kube/log.ts';
import { Waker, type WakerOptions } from '#controller/loop/wake.ts';
import { ManualClock } from './manual-clock.ts';

function start(run: () => Promise<unknown>, options: Partial<WakerOptions> = {}) {
  const clock = new ManualClock();
  const at: number[] = [];
  const waker = new Waker({
    run: () => {
      at.push(clock.monotonic());
      return run();
    },
    log: silentLog,
    clock,
    random: () => 1,
    ...options,
  });
  return { clock, waker, at };
}

const quickly = (): Promise<void> => Promise.resolve();

suite('coalescing', () => {
  test('nothing runs without a reason', async () => {
    const { clock, at } = start(quickly);
    await clock.advance(100_000);
    assert.deepEqual(at, []);
    assert.equal(clock.pending, 0);
  });

  test('one run, when it has been quiet for 50 ms', async () => {
    const { clock, waker, at } = start(quickly);
    for (let index = 0; index < 4; index++) {
      waker.wake();
      waker.wake();
      await clock.advance(30);
    }
    await clock.advance(10_000);
    assert.deepEqual(at, [140]);
    assert.equal(clock.pending, 0);
  });

  test('a steady stream of changes does not starve: every 500 ms', async () => {
    const { clock, waker, at } = start(quickly);
    for (let index = 0; index < 110; index++) {
      waker.wake();
      await clock.advance(10);
    }
    assert.deepEqual(at, [500, 1000]);
  });

  test('never two at once; what changed during a run gets one more', async () => {
    const gates: (() => void)[] = [];
    const { clock, waker, at } = start(() => new Promise<void>((resolve) => gates.push(resolve)));
    waker.wake();
    await clock.advance(50);
    for (let index = 0; index < 10; index++) {
      waker.wake();
      await clock.advance(100);
    }
    assert.deepEqual(at, [50]);
    gates[0]?.();
    await clock.advance(1_000);
    assert.equal(at.length, 2, 'the changes during the run were long quiet');
    gates[1]?.();
    await clock.advance(10_000);
    assert.equal(at.length, 2);
  });
});

suite('failures', () => {
  test('are retried with growing pauses, without any change', async () => {
    const { clock, waker, at } = start(() => Promise.reject(new Error('no')), { backoff: { firstMs: 1_000, maxMs: 4_000 } });
    waker.wake();
    await clock.advance(16_000);
    assert.deepEqual(at, [50, 1_050, 3_050, 7_050, 11_050, 15_050]);
  });

  test('a change brings the retry forward, but not into a storm', async () => {
    const { clock, waker, at } = start(() => Promise.reject(new Error('no')), { backoff: { firstMs: 60_000, maxMs: 60_000 } });
    waker.wake();
    await clock.advance(50);
    for (let index = 0; index < 300; index++) {
      waker.wake();
      await clock.advance(10);
    }
    assert.deepEqual(at, [50, 1_050, 2_050, 3_050]);
  });

  test('success starts the pauses over', async () => {
    let failures = 3;
    const { clock, waker, at } = start(() => (failures-- > 0 ? Promise.reject(new Error('no')) : Promise.resolve()), {
      backoff: { firstMs: 1_000, maxMs: 60_000 },
    });
    waker.wake();
    await clock.advance(100_000);
    assert.deepEqual(at, [50, 1_050, 3_050, 7_050]);
    failures = 1;
    waker.wake();
    await clock.advance(100_000);
    assert.deepEqual(at.slice(4), [100_050, 101_050]);
  });

  test('an exception thrown at once is a failure like any other', async () => {
    const { clock, waker, at } = start(() => {
      throw new Error('at once');
    });
    waker.wake();
    await clock.advance(1_050);
    assert.equal(at.length, 2);
    await waker.stop();
  });
});

suite('stopping', () => {
  test('ends waiting', async () => {
    const { clock, waker, at } = start(quickly);
    waker.wake();
    await waker.stop();
    waker.wake();
    await clock.advance(10_000);
    assert.deepEqual(at, []);
    assert.equal(clock.pending, 0);
  });

  test('waits for the run in progress, and starts no other', async () => {
    let end: () => void = () => {};
    const { clock, waker, at } = start(() => new Promise<void>((resolve) => (end = resolve)));
    waker.wake();
    await clock.advance(50);
    let stopped = false;
    const stopping = waker.stop().then(() => (stopped = true));
    waker.wake();
    await clock.advance(10_000);
    assert.equal(stopped, false);
    end();
    await stopping;
    await clock.advance(10_000);
    assert.equal(at.length, 1);
  });
});
