// The process stays below Cloudflare's limit, and a token that was told to wait is left alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateLimiter } from '#controller/cloudflare/rate.ts';

const FIVE_MINUTES = 300_000;

test('never more than 1,000 calls in any five minutes, however greedy the callers', () => {
  let now = 0;
  const limiter = new RateLimiter({ now: () => now });
  const calls: number[] = [];
  while (now < 3 * FIVE_MINUTES) {
    const wait = limiter.admit('a');
    if (wait === 0) calls.push(now);
    else now += wait;
  }
  let first = 0;
  let most = 0;
  for (const [index, time] of calls.entries()) {
    while ((calls[first] ?? 0) <= time - FIVE_MINUTES) first += 1;
    most = Math.max(most, index - first + 1);
  }
  assert.ok(most <= 1000, `${most} calls in one window`);
  assert.ok(most >= 990, `only ${most} calls in one window`);
});

test('a burst is admitted at once, then the wait is as long as it says', () => {
  let now = 0;
  const limiter = new RateLimiter({ now: () => now, burst: 3, refillPerMs: 0.01 });
  assert.deepEqual([limiter.admit('a'), limiter.admit('b'), limiter.admit('a')], [0, 0, 0]);
  const wait = limiter.admit('a');
  assert.equal(wait, 100);
  now += wait;
  assert.equal(limiter.admit('a'), 0);
});

test('a hold-off is for one token, and is neither too short nor too long', () => {
  let now = 0;
  const limiter = new RateLimiter({ now: () => now });
  assert.equal(limiter.holdOff('a', 60_000), 60_000);
  assert.equal(limiter.admit('a'), 60_000);
  assert.equal(limiter.admit('b'), 0);
  // A shorter wait that arrives later does not shorten the first.
  limiter.holdOff('a', 0);
  now = 59_999.5;
  assert.equal(limiter.admit('a'), 1);
  now = 60_000;
  assert.equal(limiter.admit('a'), 0);
  assert.equal(limiter.holdOff('a', 0), 1000);
  assert.equal(limiter.holdOff('a', 86_400_000), 600_000);
});
