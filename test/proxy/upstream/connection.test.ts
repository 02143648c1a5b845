// A connection to a backend on its own: what an exchange does to it must not be felt by the next one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Failure, Job, ResponseHead, UpstreamStream } from '#proxy/upstream/job.ts';
import { UPSTREAM_DEFAULTS } from '#proxy/upstream/options.ts';
import { H1Pool } from '#proxy/upstream/pool.ts';
import { OK, answering, rawBackend } from '#test/wire/raw.ts';

/** An exchange that collects its answer; `pauses`: it stops the flow at every piece of the body, as a slow client would. */
class CollectingJob implements Job {
  readonly method = 'GET';
  readonly bodyLength = 0;
  readonly upgrade = false;
  readonly repeatable = true;
  readonly head = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  readonly headList: readonly string[] = [];
  stream: UpstreamStream | null = null;
  body = '';
  readonly ended: Promise<string>;
  private readonly pauses: boolean;
  private settle: { resolve(body: string): void; reject(error: Error): void } = { resolve: () => {}, reject: () => {} };

  constructor(pauses: boolean) {
    this.pauses = pauses;
    this.ended = new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
    });
  }

  onAssigned(stream: UpstreamStream): void {
    this.stream = stream;
  }
  onOpen(): void {}
  onInformation(): void {}
  onHead(_head: ResponseHead): void {}
  onBody(chunk: Buffer): void {
    this.body += chunk.toString();
    if (this.pauses) this.stream?.pause();
  }
  onFlush(): void {}
  onEnd(): void {
    this.settle.resolve(this.body);
  }
  onUpgrade(): void {}
  onDrain(): void {}
  onFailure({ message }: Failure): void {
    this.settle.reject(new Error(message));
  }
}

for (const answer of [OK, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n']) {
  test('an exchange that paused its connection does not leave it deaf', async (t) => {
    const backend = await rawBackend(answering(answer));
    t.after(() => backend.close());
    const pool = new H1Pool('127.0.0.1', backend.port, UPSTREAM_DEFAULTS, () => {});
    t.after(() => pool.destroy());
    for (const pauses of [true, false]) {
      const job = new CollectingJob(pauses);
      pool.acquire(job, false);
      assert.equal(await job.ended, 'ok');
    }
    assert.equal(backend.peers.length, 1);
  });
}

test('a job that gives up while it waits is forgotten', async (t) => {
  const backend = await rawBackend();
  t.after(() => backend.close());
  const pool = new H1Pool('127.0.0.1', backend.port, { ...UPSTREAM_DEFAULTS, maxConnections: 1 }, () => {});
  t.after(() => pool.destroy());
  const [first, second, third] = [new CollectingJob(false), new CollectingJob(false), new CollectingJob(false)];
  for (const job of [first, second, third]) pool.acquire(job, false);
  pool.cancel(second);
  const at = await backend.peer(0);
  await at.until('\r\n\r\n');
  at.send(OK);
  await first.ended;
  await at.until(/\r\n\r\n[^]*\r\n\r\n/);
  at.send(OK);
  assert.equal(await third.ended, 'ok');
  assert.equal(second.stream, null);
});
