// The status writer against a server with optimistic concurrency: no request without need, nobody's words lost, no failure for good.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { route, routes } from '#test/controller/watch/source-rig.ts';
import { eventually } from '#test/kube/eventually.ts';
import { refuse, type Seen } from '#test/kube/fault-server.ts';
import { startStatusRig } from './status-rig.ts';

const isWrite = (seen: Seen): boolean => seen.method === 'PUT';

suite('writing', () => {
  test('one PUT on top of the version in the snapshot, with nothing but identity and status', async (t) => {
    const { server, writer, update, stored, requests } = await startStatusRig(t, ['a']);
    await writer.apply([update('a')]);
    assert.deepEqual(requests(), ['PUT a']);
    assert.equal(server.seen.find(isWrite)?.path, `${routes}/a/status`);
    assert.equal(stored('a')?.parents?.[0]?.conditions[0]?.reason, 'Accepted');
  });

  test('what is there already costs no request, before and after the watch brings it back', async (t) => {
    const names = Array.from({ length: 300 }, (_, index) => `r${index}`);
    const { server, writer, update, requests, caughtUp } = await startStatusRig(t, names);
    server.deafen('httproutes');
    for (let round = 0; round < 2; round++) await writer.apply(names.map((name) => update(name)));
    assert.equal(requests().length, 300);
    server.dropConnections();
    await caughtUp();
    for (let round = 0; round < 3; round++) await writer.apply(names.map((name) => update(name)));
    assert.equal(requests().length, 300);
  });

  test('a few at a time', async (t) => {
    const names = Array.from({ length: 60 }, (_, index) => `r${index}`);
    const { server, writer, update, stored } = await startStatusRig(t, names, { parallel: 4 });
    let open = 0;
    let most = 0;
    server.intercept = (seen, response) => {
      if (!isWrite(seen)) return false;
      most = Math.max(most, ++open);
      response.on('finish', () => open--);
      return false;
    };
    await writer.apply(names.map((name) => update(name)));
    assert.ok(names.every((name) => stored(name) !== undefined));
    assert.ok(most <= 4, `${most} at once`);
  });

  test('the latest wins, and everybody who waits is told', async (t) => {
    const { server, writer, update, stored, requests } = await startStatusRig(t, ['a']);
    let hold: (() => void) | null = null;
    server.intercept = (seen, response) => {
      if (!isWrite(seen) || hold !== null) return false;
      hold = () => refuse(response, 500, 'InternalError');
      return true;
    };
    const first = writer.apply([update('a', 'One')]);
    await eventually('the first is on its way', () => hold !== null);
    const others = ['Two', 'Three', 'Four'].map((reason) => writer.apply([update('a', reason)]));
    hold!();
    await Promise.all([first, ...others]);
    assert.equal(stored('a')?.parents?.[0]?.conditions[0]?.reason, 'Four');
    assert.equal(requests().length, 2);
  });

  test('an object that is not in the snapshot, or another of that name, is left alone', async (t) => {
    const { writer, update, requests } = await startStatusRig(t, ['a']);
    await writer.apply([update('unknown'), { ...update('a'), uid: 'another' }]);
    assert.deepEqual(requests(), []);
  });

  test('without leadership nothing is written', async (t) => {
    let leads = false;
    const { writer, update, requests, stored } = await startStatusRig(t, ['a'], { mayWrite: () => leads });
    await writer.apply([update('a')]);
    assert.deepEqual(requests(), []);
    leads = true;
    await writer.apply([update('a')]);
    assert.notEqual(stored('a'), undefined);
  });
});

suite('others write too', () => {
  test('a conflict is read and merged again', async (t) => {
    const { server, writer, update, stored, requests } = await startStatusRig(t, ['a']);
    const foreign = { parentRef: { name: 'x' }, controllerName: 'other/controller', conditions: [] };
    server.deafen('httproutes');
    server.table.put(routes, route('a', { status: { parents: [foreign] } }));
    await writer.apply([update('a')]);
    assert.deepEqual(requests(), ['PUT a', 'GET a', 'PUT a']);
    assert.equal(stored('a')?.parents?.length, 2);
    assert.deepEqual(stored('a')?.parents?.[1], foreign);
  });

  test('a conflict after which nothing is left to say', async (t) => {
    const { server, writer, update, stored, requests } = await startStatusRig(t, ['a']);
    await writer.apply([update('a')]);
    server.table.put(routes, { ...route('a'), status: stored('a') });
    await writer.apply([update('a')]);
    assert.ok(requests().length <= 3, requests().join());
  });

  test('an object recreated meanwhile is left to the next snapshot', async (t) => {
    const { server, writer, update, stored, requests } = await startStatusRig(t, ['a']);
    const old = update('a');
    server.deafen('httproutes');
    server.table.remove(`${routes}/a`);
    server.table.put(routes, route('a'));
    await writer.apply([old]);
    assert.deepEqual(requests(), ['PUT a', 'GET a']);
    assert.equal(stored('a'), undefined);
  });

  test('an object deleted meanwhile is dropped', async (t) => {
    const { server, writer, update, requests } = await startStatusRig(t, ['a']);
    const old = update('a');
    server.deafen('httproutes');
    server.table.remove(`${routes}/a`);
    await writer.apply([old]);
    assert.deepEqual(requests(), ['PUT a', 'GET a']);
    assert.deepEqual(writer.problems(), []);
  });

  test('endless conflicts are not an endless loop', async (t) => {
    const { server, writer, update, requests } = await startStatusRig(t, ['a'], { backoff: { firstMs: 3_600_000, maxMs: 3_600_000 } });
    server.intercept = (seen, response) => isWrite(seen) && refuse(response, 409, 'Conflict');
    await writer.apply([update('a')]);
    assert.equal(requests().filter((request) => request === 'PUT a').length, 6);
  });
});

suite('failures', () => {
  test('are retried in the background until the status is written', async (t) => {
    const { server, writer, update, stored } = await startStatusRig(t, ['a', 'b']);
    server.intercept = (seen, response) => isWrite(seen) && seen.resource.name === 'a' && refuse(response, 500, 'InternalError');
    await writer.apply([update('a'), update('b')]);
    assert.notEqual(stored('b'), undefined, 'one failure holds nobody up');
    assert.equal(stored('a'), undefined);
    server.intercept = () => false;
    await eventually('written', () => stored('a') !== undefined);
  });

  test('a server without patience is left alone by all', async (t) => {
    const { server, writer, update, stored } = await startStatusRig(t, ['a', 'b', 'c'], { parallel: 1 });
    let refusedAt = 0;
    const writes: number[] = [];
    server.intercept = (seen, response) => {
      if (!isWrite(seen)) return false;
      if (refusedAt === 0) {
        refusedAt = performance.now();
        return refuse(response, 429, 'TooManyRequests', { 'retry-after': '1' });
      }
      writes.push(performance.now() - refusedAt);
      return false;
    };
    await writer.apply([update('a'), update('b'), update('c')]);
    await eventually('written', () => ['a', 'b', 'c'].every((name) => stored(name) !== undefined));
    assert.ok(
      writes.every((after) => after >= 990),
      `written ${writes.map(Math.round).join()} ms after`,
    );
  });

  test('a refused status is reported once and not sent again unchanged', async (t) => {
    const { server, writer, update, requests, stored } = await startStatusRig(t, ['a']);
    server.intercept = (seen, response) => isWrite(seen) && refuse(response, 422, 'Invalid');
    const bad = update('a');
    for (let round = 0; round < 3; round++) await writer.apply([bad]);
    assert.deepEqual(requests(), ['PUT a']);
    assert.deepEqual(writer.problems(), [
      { where: 'HTTPRoute default/a', message: 'the API server does not accept the status: HTTP 422: refused: Invalid' },
    ]);
    server.intercept = () => false;
    await writer.apply([update('a', 'Better')]);
    assert.notEqual(stored('a'), undefined);
    assert.deepEqual(writer.problems(), []);
  });

  test('a missing right is named, and the status written once it is granted', async (t) => {
    const { server, writer, update, stored } = await startStatusRig(t, ['a']);
    server.intercept = (seen, response) => isWrite(seen) && refuse(response, 403, 'Forbidden');
    await writer.apply([update('a')]);
    assert.match(
      writer.problems()[0]?.message ?? '',
      /may not write httproutes\.gateway\.networking\.k8s\.io\/status: grant the verb update/,
    );
    server.intercept = () => false;
    await eventually('written', () => stored('a') !== undefined && writer.problems().length === 0);
  });

  test('a field that the server prunes does not lead to endless writes', async (t) => {
    const { server, writer, update, requests, caughtUp } = await startStatusRig(t, ['a']);
    server.intercept = (seen, response) => {
      if (!isWrite(seen)) return false;
      const pruned = server.table.get(`${routes}/a`);
      response.writeHead(200).end(JSON.stringify({ ...pruned, status: { parents: [] } }));
      return true;
    };
    for (let round = 0; round < 3; round++) await writer.apply([update('a')]);
    assert.deepEqual(requests(), ['PUT a']);
    server.table.put(routes, route('a'));
    await caughtUp();
    await writer.apply([update('a')]);
    assert.equal(requests().length, 2, 'a new version is tried once more');
  });

  test('stopping ends retries and waits for writes in flight', async (t) => {
    const { server, writer, update, requests, stored } = await startStatusRig(t, ['a', 'b']);
    server.intercept = (seen, response) => {
      if (isWrite(seen) && seen.resource.name === 'a') return refuse(response, 500, 'InternalError');
      if (!isWrite(seen)) return false;
      setTimeout(() => {
        server.table.put(routes, route('b', { status: {} }));
        response.writeHead(200).end(JSON.stringify(server.table.get(`${routes}/b`)));
      }, 30);
      return true;
    };
    await writer.apply([update('a')]);
    void writer.apply([update('b')]);
    await eventually('in flight', () => requests().includes('PUT b'));
    await writer.stop();
    assert.notEqual(stored('b'), undefined);
    const count = requests().length;
    await writer.apply([update('a')]);
    assert.equal(requests().length, count);
  });
});

test('ten thousand unchanged routes are looked at without stalling the loop', async (t) => {
  const names = Array.from({ length: 10_000 }, (_, index) => `r${index}`);
  const { writer, update, requests, server, source } = await startStatusRig(t, []);
  const conditions = [
    {
      type: 'Accepted',
      status: 'True',
      reason: 'Accepted',
      message: 'm',
      observedGeneration: 1,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ];
  const parentRef = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' };
  const status = { parents: [{ parentRef, controllerName: 'cf.k8s.lex.la/tunnel-controller', conditions }] };
  for (const name of names) server.table.put(routes, route(name, { status }));
  await eventually('read', () => source.snapshot().objects.HTTPRoute.size === 10_000, 30_000);
  let turns = 0;
  const count = (): void => void (turns++, (turning = setImmediate(count)));
  let turning = setImmediate(count);
  await writer.apply(names.map((name) => update(name)));
  clearImmediate(turning);
  assert.deepEqual(requests(), []);
  assert.ok(turns >= 1, 'others got their turn');
});
