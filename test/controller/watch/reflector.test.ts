// What a reader of a snapshot may rely on while the API server cuts, compacts, refuses and stays silent.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { eventually } from '#test/kube/eventually.ts';
import { type FaultServer, refuse } from '#test/kube/fault-server.ts';
import { route, routes, startRig } from './source-rig.ts';

const fill = (count: number) => (server: FaultServer) => {
  for (let index = 0; index < count; index++) server.table.put(routes, route(`r${index}`));
};

suite('following a collection', () => {
  test('lists page by page, then watches from there', async (t) => {
    const { server, keys } = await startRig(t, { prepare: fill(1201) });
    assert.equal(keys().length, 1201);
    const lists = server.requests('httproutes', false);
    assert.deepEqual(
      lists.map((seen) => seen.query.get('limit')),
      ['500', '500', '500'],
    );
    assert.deepEqual(
      lists.map((seen) => seen.query.get('continue')),
      [null, '500', '1000'],
    );
    assert.ok(
      lists.every((seen) => !seen.query.has('resourceVersion')),
      'a list must not accept stale data',
    );
    const [watch] = server.requests('httproutes', true);
    assert.equal(watch?.query.get('resourceVersion'), String(server.table.revision));
    assert.equal(watch?.query.get('allowWatchBookmarks'), 'true');
    assert.equal(watch?.query.get('timeoutSeconds'), '60');
    assert.match(watch?.headers['user-agent'] ?? '', /^cloudflare-tunnel-gateway-controller/);
    assert.equal(watch?.headers.authorization, 'Bearer test-token');
  });

  test('is not synced before the last page', async (t) => {
    const { server, source } = await startRig(t, {
      raw: true,
      prepare: (server) => {
        fill(600)(server);
        server.intercept = (seen, response) => seen.query.has('continue') && refuse(response, 500, 'InternalError');
      },
    });
    await eventually('the second page was refused', () => server.requests('httproutes').some((seen) => seen.query.has('continue')));
    await eventually('the failure is told', () => source.problems().length > 0);
    assert.equal(source.synced, false);
    server.intercept = () => false;
    await eventually('synced', () => source.synced);
    assert.equal(source.snapshot().objects.HTTPRoute.size, 600);
  });

  test('takes over what is created, changed and deleted', async (t) => {
    const { server, source, keys } = await startRig(t, { prepare: fill(1) });
    server.table.put(routes, route('new'));
    await eventually('created', () => keys().includes('default/new'));
    server.table.put(routes, route('r0', { spec: { hostnames: ['a.example.com'] } }));
    await eventually('changed', () => source.snapshot().objects.HTTPRoute.get('default/r0')?.spec.hostnames?.[0] === 'a.example.com');
    server.table.remove(`${routes}/r0`);
    await eventually('deleted', () => !keys().includes('default/r0'));
    assert.equal(server.requests('httproutes', false).length, 1, 'events need no list');
  });

  test('shows an object recreated under its name as another object', async (t) => {
    const { server, source } = await startRig(t, { prepare: fill(1) });
    const before = source.snapshot().objects.HTTPRoute.get('default/r0');
    server.deafen('httproutes');
    server.table.remove(`${routes}/r0`);
    server.table.put(routes, route('r0'));
    server.table.compact();
    server.dropConnections();
    await eventually('replaced', () => source.snapshot().objects.HTTPRoute.get('default/r0')?.metadata.uid !== before?.metadata.uid);
  });

  test('tells listeners of each change until they leave', async (t) => {
    const { server, source, keys } = await startRig(t);
    let calls = 0;
    const leave = source.onChange(() => calls++);
    server.table.put(routes, route('a'));
    await eventually('told', () => calls > 0);
    leave();
    const before = calls;
    server.table.put(routes, route('b'));
    await eventually('changed', () => keys().includes('default/b'));
    assert.equal(calls, before);
  });
});

suite('interruptions', () => {
  const interruptions = {
    'ended in order': (server: FaultServer) => server.endWatches('httproutes'),
    cut: (server: FaultServer) => server.dropConnections(),
  };
  for (const [how, interrupt] of Object.entries(interruptions)) {
    test(`resumes from the last event when the watch is ${how}, without a list`, async (t) => {
      const { server, keys } = await startRig(t, { prepare: fill(1) });
      server.table.put(routes, route('before'));
      await eventually('seen', () => keys().includes('default/before'));
      const position = String(server.table.revision);
      let refused = 0;
      server.intercept = (_seen, response) => {
        if (++refused > 2) return false;
        if (refused === 2) {
          server.table.remove(`${routes}/r0`);
          server.table.put(routes, route('meanwhile'));
        }
        return refuse(response, 503, 'ServiceUnavailable');
      };
      interrupt(server);
      await eventually('caught up', () => keys().join() === 'default/before,default/meanwhile');
      assert.equal(server.requests('httproutes', true).at(-1)?.query.get('resourceVersion'), position);
      assert.equal(server.requests('httproutes', false).length, 1);
    });
  }

  test('resumes from a bookmark', async (t) => {
    const { server } = await startRig(t);
    server.table.revision = 500;
    const bookmark = { type: 'BOOKMARK', object: { kind: 'HTTPRoute', metadata: { resourceVersion: '500' } } };
    server.sendRaw('httproutes', `${JSON.stringify(bookmark)}\n`);
    server.endWatches('httproutes');
    await eventually('watches again', () => server.requests('httproutes', true).length === 2 && server.openWatches === 1);
    assert.equal(server.requests('httproutes', true)[1]?.query.get('resourceVersion'), '500');
    assert.equal(server.requests('httproutes', false).length, 1);
  });

  test('drops half a line: the server sends the event again', async (t) => {
    const { server, source, keys } = await startRig(t);
    server.sendRaw('httproutes', '{"type":"ADDED","object":{"metadata":{"name":"ha');
    server.endWatches('httproutes');
    await eventually('watches again', () => server.requests('httproutes', true).length === 2 && server.openWatches === 1);
    server.table.put(routes, route('whole'));
    await eventually('goes on', () => keys().join() === 'default/whole');
    assert.deepEqual(source.problems(), []);
  });

  test('reads what was sent before the end of a watch', async (t) => {
    const { server, keys } = await startRig(t, { prepare: fill(40) });
    for (let index = 0; index < 40; index++) server.table.remove(`${routes}/r${index}`);
    server.endWatches('httproutes');
    await eventually('all deleted', () => keys().length === 0);
    assert.equal(server.requests('httproutes', false).length, 1);
  });

  test('notices a connection that is silently dead', async (t) => {
    const { server, keys } = await startRig(t, { timings: { idleMs: 60 } });
    server.deafen('httproutes');
    server.table.put(routes, route('unheard'));
    await eventually('seen by a new watch', () => keys().includes('default/unheard'));
    assert.equal(server.requests('httproutes', false).length, 1);
  });

  test('lists again after some time although nothing is wrong', async (t) => {
    const { server, keys } = await startRig(t, { timings: { relistMs: [50, 60], idleMs: 80 } });
    server.deafen('httproutes');
    await eventually('second list', () => server.requests('httproutes', false).length >= 2);
    server.table.put(routes, route('r'));
    await eventually('follows', () => keys().length === 1);
  });

  test('stops with nothing left open', async (t) => {
    const { server, source } = await startRig(t);
    await source.stop();
    await eventually('no watch', () => server.openWatches === 0);
    server.table.put(routes, route('late'));
    assert.equal(source.snapshot().objects.HTTPRoute.size, 0);
  });

  test('stops while it waits to try again', async (t) => {
    const { source } = await startRig(t, {
      raw: true,
      timings: { backoff: { firstMs: 3_600_000, maxMs: 3_600_000 } },
      prepare: (server) => void (server.intercept = (_seen, response) => refuse(response, 500, 'InternalError')),
    });
    await source.stop();
    assert.equal(source.synced, false);
  });
});

suite('confirming', () => {
  test('lists anew, sees what a deaf watch missed, and goes on', async (t) => {
    const { server, source, keys } = await startRig(t, { prepare: fill(2) });
    server.deafen('httproutes');
    server.table.remove(`${routes}/r0`);
    await source.confirm();
    assert.deepEqual(keys(), ['default/r1']);
    await eventually('watches', () => server.openWatches === 1);
    server.table.put(routes, route('next'));
    await eventually('follows', () => keys().includes('default/next'));
    assert.equal(server.requests('httproutes', false).length, 2);
  });

  test('waits for a list that succeeds, one that began after the question', async (t) => {
    const { server, source } = await startRig(t);
    let confirmed = 0;
    server.intercept = (seen, response) => !seen.watch && refuse(response, 503, 'ServiceUnavailable');
    const both = [source.confirm(), source.confirm()].map((one) => one.then(() => confirmed++));
    await eventually('tried', () => server.requests('httproutes', false).length >= 3);
    assert.equal(confirmed, 0);
    server.intercept = () => false;
    await Promise.all(both);
    await eventually('watches', () => server.openWatches === 1);
  });

  test('a question asked during a list is answered by the next one', async (t) => {
    const { server, source } = await startRig(t);
    let [asked, answered] = [false, false];
    server.intercept = (seen) => {
      if (!seen.watch && !asked) void source.confirm().then(() => (answered = true));
      asked ||= !seen.watch;
      return false;
    };
    await source.confirm();
    await eventually('answered, long before the watch is over', () => answered);
    assert.equal(server.requests('httproutes', false).length, 3);
  });

  test('ends when everything stops', async (t) => {
    const { server, source } = await startRig(t);
    server.intercept = () => true;
    const confirming = source.confirm();
    await source.stop();
    await confirming;
    await source.confirm();
  });
});

suite('a version that is gone', () => {
  const loseEvents = (server: FaultServer): void => {
    server.deafen('httproutes');
    server.table.remove(`${routes}/r0`);
    server.table.put(routes, route('r1', { spec: { hostnames: ['b.example.com'] } }));
    server.table.put(routes, route('new'));
    server.table.compact();
    server.dropConnections();
  };

  test('410 inside a stream: lists and finds what was deleted, changed and created', async (t) => {
    const { server, source, keys } = await startRig(t, { prepare: fill(3) });
    const unchanged = source.snapshot().objects.HTTPRoute.get('default/r2');
    let problems = 0;
    source.onChange(() => (problems += source.problems().length));
    loseEvents(server);
    await eventually('equal again', () => keys().join() === 'default/new,default/r1,default/r2');
    const { HTTPRoute } = source.snapshot().objects;
    assert.equal(HTTPRoute.get('default/r1')?.spec.hostnames?.[0], 'b.example.com');
    assert.equal(HTTPRoute.get('default/r2'), unchanged, 'what did not change is the same object');
    assert.equal(source.synced, true, 'a source that was synced stays so');
    assert.equal(problems, 0, 'it is everyday business');
  });

  test('410 as the status of the watch', async (t) => {
    const { server, keys } = await startRig(t, { prepare: fill(3) });
    server.intercept = (seen, response) =>
      seen.watch && Number(seen.query.get('resourceVersion')) < server.table.compacted && refuse(response, 410, 'Expired');
    loseEvents(server);
    await eventually('equal again', () => keys().join() === 'default/new,default/r1,default/r2');
  });

  test('410 in the middle of a list restarts it', async (t) => {
    let refused = 0;
    const { server, keys } = await startRig(t, {
      prepare: (server) => {
        fill(700)(server);
        server.intercept = (seen, response) => seen.query.has('continue') && refused++ === 0 && refuse(response, 410, 'Expired');
      },
    });
    assert.equal(keys().length, 700);
    assert.deepEqual(
      server.requests('httproutes', false).map((seen) => seen.query.get('continue')),
      [null, '500', null, '500'],
    );
  });

  test('a version from the future, after etcd was restored: lists', async (t) => {
    const { server, keys } = await startRig(t, { prepare: fill(1) });
    server.intercept = (seen, response) => {
      if (!seen.watch || server.requests('httproutes', false).length > 1) return false;
      response.writeHead(504, { 'content-type': 'application/json' });
      const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
      response.end(JSON.stringify({ kind: 'Status', code: 504, reason: 'Timeout', details: { causes } }));
      return true;
    };
    server.endWatches('httproutes');
    server.table.put(routes, route('restored'));
    await eventually('follows', () => keys().length === 2 && server.requests('httproutes', false).length === 2);
    const refused = server.requests('httproutes', true).length - 1;
    assert.ok(refused <= 2, `asked ${refused} times in vain`);
  });

  test('a server that refuses every version is not stormed', async (t) => {
    const { server, source } = await startRig(t, {
      raw: true,
      prepare: (server) => void (server.intercept = (seen, response) => seen.watch && refuse(response, 410, 'Expired')),
      timings: { backoff: { firstMs: 5, maxMs: 10_000 } },
    });
    await eventually('several rounds', () => server.requests('httproutes', false).length >= 4);
    assert.equal(source.synced, true, 'the lists are complete');
    const soFar = server.seen.length;
    assert.ok(soFar < 40, `${soFar} requests`);
  });
});
