// One leader at a time, each with a higher epoch, whatever happens to the Lease and to the way there.
import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import { KubeClient } from '#controller/kube/client.ts';
import { silentLog } from '#controller/kube/log.ts';
import { Elector, type ElectorTimings } from '#controller/loop/leader.ts';
import { eventually } from '#test/kube/eventually.ts';
import { FaultServer, refuse, type Intercept } from '#test/kube/fault-server.ts';

const leases = '/apis/coordination.k8s.io/v1/namespaces/system/leases';
/** A busy machine is no loss. */
const calm: ElectorTimings = { leaseMs: 8_000, renewDeadlineMs: 6_000, retryMs: 20 };
/** For tests that wait for one. */
const hasty: ElectorTimings = { leaseMs: 2_000, renewDeadlineMs: 300, retryMs: 20 };

async function startServer(t: TestContext): Promise<FaultServer> {
  const server = await FaultServer.start();
  t.after(() => server.stop());
  return server;
}

interface Contender {
  readonly elector: Elector;
  readonly log: string[];
  /** Refuses its requests only. */
  readonly cut: (how: Intercept | null) => void;
}

const cuts = new Map<string, Intercept>();

function contend(t: TestContext, server: FaultServer, identity: string, timings = calm): Contender {
  const client = new KubeClient({ kubeConfig: server.kubeConfig(), userAgent: identity });
  const log: string[] = [];
  const elector = new Elector({
    client,
    namespace: 'system',
    name: 'lead',
    identity,
    log: silentLog,
    timings,
    onElected: (epoch) => log.push(`elected ${epoch}`),
    onLost: (reason) => log.push(`lost: ${reason}`),
  });
  server.intercept = (seen, response) => cuts.get(seen.headers['user-agent'] ?? '')?.(seen, response) ?? false;
  t.after(async () => {
    cuts.delete(identity);
    await elector.stop();
    client.close();
  });
  elector.start();
  return { elector, log, cut: (how) => void (how === null ? cuts.delete(identity) : cuts.set(identity, how)) };
}

const lease = (server: FaultServer) =>
  server.table.get(`${leases}/lead`) as unknown as {
    readonly metadata: { readonly annotations: Record<string, string>; readonly labels?: object };
    readonly spec: {
      readonly holderIdentity: string;
      readonly leaseTransitions: number;
      readonly leaseDurationSeconds: number;
      readonly renewTime: string;
    };
  };
const epochIn = (server: FaultServer): number => Number(lease(server).metadata.annotations['cf.k8s.lex.la/epoch']);

suite('taking the Lease', () => {
  test('the first takes it, with an epoch from the first day, and renews it', async (t) => {
    const server = await startServer(t);
    const { elector, log } = contend(t, server, 'a');
    assert.equal(elector.isLeader(), false);
    await eventually('leads', () => elector.isLeader());
    assert.ok(elector.epoch() > 1_700_000_000, 'a new Lease starts above whatever was counted before it was lost');
    assert.equal(epochIn(server), elector.epoch());
    assert.deepEqual(log, [`elected ${elector.epoch()}`]);
    assert.equal(lease(server).spec.holderIdentity, 'a');
    assert.equal(lease(server).spec.leaseDurationSeconds, 8);
    const { renewTime } = lease(server).spec;
    assert.match(renewTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    await eventually('renewed', () => lease(server).spec.renewTime !== renewTime);
    assert.equal(elector.problem(), null);
  });

  test('a second waits, and takes over at once when the first stops', async (t) => {
    const server = await startServer(t);
    const a = contend(t, server, 'a');
    await eventually('a leads', () => a.elector.isLeader());
    const b = contend(t, server, 'b');
    await eventually('b looked', () => server.seen.filter((seen) => seen.headers['user-agent'] === 'b').length > 3);
    assert.equal(b.elector.isLeader(), false);
    const epoch = a.elector.epoch();
    await a.elector.stop();
    assert.equal(a.elector.isLeader(), false);
    await eventually('b leads', () => b.elector.isLeader());
    assert.equal(b.elector.epoch(), epoch + 1);
    assert.equal(lease(server).spec.leaseTransitions, 1);
    assert.deepEqual(a.log, [`elected ${epoch}`], 'stopping is no loss');
  });

  test('gives the Lease back although somebody has written to it since the last renewal', async (t) => {
    const server = await startServer(t);
    const a = contend(t, server, 'a');
    await eventually('a leads', () => a.elector.isLeader());
    server.onBody = (_seen, body) => {
      if (!body.includes('"holderIdentity":""')) return;
      server.onBody = () => {};
      const { metadata, spec } = lease(server);
      server.table.put(leases, { metadata: { ...metadata, name: 'lead', labels: { touched: 'yes' } }, spec });
    };
    await a.elector.stop();
    assert.equal(lease(server).spec.holderIdentity, '');
    assert.deepEqual(lease(server).metadata.labels, { touched: 'yes' });
  });

  test('many at once: one leader', async (t) => {
    const server = await startServer(t);
    const all = ['a', 'b', 'c', 'd', 'e'].map((identity) => contend(t, server, identity));
    await eventually('somebody leads', () => all.some(({ elector }) => elector.isLeader()));
    await eventually('all looked', () => server.seen.length > 30);
    assert.equal(all.filter(({ elector }) => elector.isLeader()).length, 1);
    assert.equal(all.flatMap(({ log }) => log).length, 1);
  });

  test('what others wrote into the Lease stays', async (t) => {
    const server = await startServer(t);
    server.table.put(leases, { metadata: { name: 'lead', labels: { owned: 'by-chart' }, annotations: { other: 'x' } }, spec: {} });
    const { elector } = contend(t, server, 'a');
    await eventually('leads', () => elector.isLeader());
    assert.deepEqual(lease(server).metadata.labels, { owned: 'by-chart' });
    assert.equal(lease(server).metadata.annotations['other'], 'x');
  });

  for (const nonsense of ['', 'x', '-1', '1e9', '9'.repeat(400)]) {
    test(`an epoch of ${JSON.stringify(nonsense.slice(0, 12))} is replaced`, async (t) => {
      const server = await startServer(t);
      server.table.put(leases, {
        metadata: { name: 'lead', annotations: { 'cf.k8s.lex.la/epoch': nonsense } },
        spec: { holderIdentity: 7 },
      });
      const { elector } = contend(t, server, 'a');
      await eventually('leads', () => elector.isLeader());
      assert.ok(Number.isSafeInteger(elector.epoch()) && elector.epoch() > 1_700_000_000);
    });
  }
});

suite('losing the Lease', () => {
  test('a leader that cannot renew stops before another may start', async (t) => {
    const server = await startServer(t);
    const a = contend(t, server, 'a', hasty);
    await eventually('a leads', () => a.elector.isLeader());
    const b = contend(t, server, 'b', hasty);
    let together = false;
    const watch = setInterval(() => (together ||= a.elector.isLeader() && b.elector.isLeader()), 1);
    t.after(() => clearInterval(watch));
    a.cut((_seen, response) => refuse(response, 500, 'InternalError'));
    await eventually('a has lost', () => a.log.length === 2);
    assert.match(a.log[1] ?? '', /^lost: the Lease could not be renewed for 300 ms/);
    assert.equal(b.elector.isLeader(), false, 'the Lease has not run out yet');
    await eventually('b leads', () => b.elector.isLeader());
    assert.equal(b.elector.epoch(), a.elector.epoch() + 1);
    a.cut(null);
    await eventually('a looks again', () => a.elector.problem() === null);
    assert.equal(together, false);
    assert.equal(a.elector.isLeader(), false);
  });

  test('silence counts like a refusal', async (t) => {
    const server = await startServer(t);
    const { elector, cut, log } = contend(t, server, 'a', hasty);
    await eventually('leads', () => elector.isLeader());
    cut(() => true);
    await eventually('lost', () => !elector.isLeader() && log.length === 2);
    cut(null);
    await eventually('leads again, with a higher epoch', () => elector.isLeader());
    assert.equal(log.length, 3);
    assert.equal(Number(log[2]?.split(' ')[1]), Number(log[0]?.split(' ')[1]) + 1);
  });

  test('a stalled event loop is a loss, seen by the very next question', async (t) => {
    const server = await startServer(t);
    const { elector } = contend(t, server, 'a', hasty);
    await eventually('leads', () => elector.isLeader());
    const until = performance.now() + 320;
    while (performance.now() < until);
    assert.equal(elector.isLeader(), false);
  });

  test('a Lease taken by somebody else is a loss', async (t) => {
    const server = await startServer(t);
    const { elector, log } = contend(t, server, 'a');
    await eventually('leads', () => elector.isLeader());
    const { metadata, spec } = lease(server);
    server.table.put(leases, { metadata: { ...metadata, name: 'lead' }, spec: { ...spec, holderIdentity: 'thief' } });
    await eventually('lost', () => log.length === 2);
    assert.equal(log[1], 'lost: the Lease is held by thief');
  });

  test('a foreign edit that leaves us the holder is no loss', async (t) => {
    const server = await startServer(t);
    const { elector, log } = contend(t, server, 'a');
    await eventually('leads', () => elector.isLeader());
    const { metadata, spec } = lease(server);
    server.table.put(leases, { metadata: { ...metadata, name: 'lead', labels: { edited: 'yes' } }, spec });
    const renewals = server.seen.length;
    await eventually('renewed', () => server.seen.length > renewals + 4);
    assert.equal(log.length, 1);
    assert.deepEqual(lease(server).metadata.labels, { edited: 'yes' });
  });

  test('a deleted Lease is made again, with a higher epoch', async (t) => {
    const server = await startServer(t);
    const { elector, log } = contend(t, server, 'a');
    await eventually('leads', () => elector.isLeader());
    const epoch = elector.epoch();
    server.table.remove(`${leases}/lead`);
    await eventually('there again', () => server.table.get(`${leases}/lead`) !== undefined && elector.epoch() > epoch);
    assert.equal(log.length, 1, 'nobody else can have led in between');
  });

  test('missing rights are named', async (t) => {
    const server = await startServer(t);
    cuts.set('a', (_seen, response) => refuse(response, 403, 'Forbidden'));
    const { elector } = contend(t, server, 'a');
    await eventually('told', () => elector.problem() !== null);
    assert.match(
      elector.problem() ?? '',
      /cannot hold the Lease system\/lead: .*403.*grant get, create and update of leases\.coordination\.k8s\.io/,
    );
  });
});

suite('adopting an epoch', () => {
  test('above the one that a proxy has seen, stored before it is used', async (t) => {
    const server = await startServer(t);
    const { elector } = contend(t, server, 'a');
    await eventually('leads', () => elector.isLeader());
    const seen = elector.epoch() + 41;
    const adopted = await elector.adoptEpochAbove(seen);
    assert.equal(adopted, seen + 1);
    assert.equal(elector.epoch(), seen + 1);
    assert.equal(epochIn(server), seen + 1);
    assert.equal(await elector.adoptEpochAbove(5), seen + 1, 'one that is lower already changes nothing');
    assert.deepEqual(await Promise.all([elector.adoptEpochAbove(seen + 10), elector.adoptEpochAbove(seen + 10)]), [seen + 11, seen + 11]);
    await eventually('renewals keep it', () => server.seen.length > 12);
    assert.equal(epochIn(server), seen + 11);
  });

  test('not without the Lease', async (t) => {
    const server = await startServer(t);
    const a = contend(t, server, 'a');
    await eventually('a leads', () => a.elector.isLeader());
    const b = contend(t, server, 'b');
    assert.equal(await b.elector.adoptEpochAbove(5), null);
    a.cut((_seen, response) => refuse(response, 500, 'InternalError'));
    const epoch = a.elector.epoch();
    assert.equal(await a.elector.adoptEpochAbove(epoch + 1), null, 'it could not be stored');
    assert.equal(a.elector.epoch(), epoch);
  });

  test('not an absurd one', async (t) => {
    const server = await startServer(t);
    const { elector } = contend(t, server, 'a');
    await eventually('leads', () => elector.isLeader());
    for (const absurd of [Number.MAX_SAFE_INTEGER, Infinity, Number.NaN, 1.5]) assert.equal(await elector.adoptEpochAbove(absurd), null);
  });
});
