// Answers that no client should have to see: refusals, malformed and huge ones. The rest works on, and the person who can mend it is told.
import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite, test } from 'node:test';
import { eventually } from '#test/kube/eventually.ts';
import { refuse } from '#test/kube/fault-server.ts';
import { route, routes, startRig } from './source-rig.ts';

suite('refusals', () => {
  test('401: credentials are read again, once, and the request repeated', async (t) => {
    let refused = 0;
    const { server, source } = await startRig(t, {
      prepare: (server) => void (server.intercept = (_seen, response) => refused++ === 0 && refuse(response, 401, 'Unauthorized')),
    });
    assert.deepEqual(source.problems(), []);
    assert.equal(server.requests('httproutes', false).length, 2);
  });

  test('401 that stays is a problem, and no storm', async (t) => {
    const { server, source } = await startRig(t, {
      raw: true,
      timings: { backoff: { firstMs: 2, maxMs: 10_000 } },
      prepare: (server) => void (server.intercept = (_seen, response) => refuse(response, 401, 'Unauthorized')),
    });
    await eventually('told', () => source.problems().length > 0);
    assert.match(source.problems()[0]?.message ?? '', /cannot read httproutes\.gateway\.networking\.k8s\.io .*HTTP 401/);
    assert.equal(source.synced, false);
    assert.ok(server.seen.length < 40);
  });

  test('403 on an essential kind: a problem that names what to grant, nothing is synced, and it heals', async (t) => {
    const { server, source, keys } = await startRig(t, {
      raw: true,
      prepare: (server) => {
        server.table.put(routes, route('a'));
        server.intercept = (_seen, response) => refuse(response, 403, 'Forbidden');
      },
    });
    await eventually('told', () => source.problems().length > 0);
    assert.equal(source.problems()[0]?.where, 'HTTPRoute');
    assert.match(
      source.problems()[0]?.message ?? '',
      /list and watch httproutes\.gateway\.networking\.k8s\.io: grant the verbs get, list and watch/,
    );
    assert.equal(source.synced, false);
    server.intercept = () => false;
    await eventually('healed', () => source.synced && source.problems().length === 0);
    assert.deepEqual(keys(), ['default/a']);
  });

  test('403 later keeps what is known: acting as if there were nothing would undo everything', async (t) => {
    const { server, source, keys } = await startRig(t, { prepare: (server) => void server.table.put(routes, route('a')) });
    server.intercept = (_seen, response) => refuse(response, 403, 'Forbidden');
    server.endWatches('httproutes');
    await eventually('told', () => source.problems().length > 0);
    assert.deepEqual(keys(), ['default/a']);
    assert.equal(source.synced, true);
  });

  test('the right to watch is missing: lists again and again, and says so', async (t) => {
    const { server, source, keys } = await startRig(t, {
      raw: true,
      prepare: (server) => void (server.intercept = (seen, response) => seen.watch && refuse(response, 403, 'Forbidden')),
    });
    await eventually('listed', () => source.synced);
    server.table.put(routes, route('a'));
    await eventually('seen by a list', () => keys().length === 1);
    await eventually('told', () => source.problems().length === 1);
  });

  test('429: waits as long as the server asks', async (t) => {
    let first = 0;
    let second = 0;
    const { server } = await startRig(t, {
      prepare: (server) => {
        server.intercept = (seen, response) => {
          if (seen.watch) return false;
          if (first !== 0) {
            second ||= performance.now();
            return false;
          }
          first = performance.now();
          return refuse(response, 429, 'TooManyRequests', { 'retry-after': '1' });
        };
      },
    });
    assert.equal(server.requests('httproutes', false).length, 2);
    assert.ok(second - first >= 990, `tried again after ${second - first} ms, far more often than the backoff of some ms allows`);
  });

  test('an answer that is not from Kubernetes is quoted in one line and never thrown', async (t) => {
    const { source } = await startRig(t, {
      raw: true,
      prepare: (server) =>
        void (server.intercept = (_seen, response) => {
          response.writeHead(502, { 'content-type': 'text/html' }).end(`<html>\n${'bad gateway '.repeat(10_000)}</html>`);
          return true;
        }),
    });
    await eventually('told', () => source.problems().length > 0);
    const message = source.problems()[0]?.message ?? '';
    assert.match(message, /HTTP 502: <html> bad gateway/);
    assert.ok(message.length < 700 && !message.includes('\n'));
  });
});

suite('kinds that come and go', () => {
  const served = 'gateway.networking.k8s.io/v1/httproutes';

  test('a kind whose CRD is absent is synced, not served, and picked up when it appears', async (t) => {
    const { server, source, keys } = await startRig(t, { raw: true, prepare: (server) => void server.absent.add(served) });
    await eventually('synced', () => source.synced);
    assert.equal(source.snapshot().served.has('HTTPRoute'), false);
    assert.deepEqual(source.problems(), []);
    server.absent.delete(served);
    server.table.put(routes, route('a'));
    await eventually('picked up', () => source.snapshot().served.has('HTTPRoute') && keys().length === 1);
  });

  test('a CRD that is deleted takes its objects with it', async (t) => {
    const { server, source, keys } = await startRig(t, { prepare: (server) => void server.table.put(routes, route('a')) });
    server.absent.add(served);
    server.endWatches('httproutes');
    await eventually('gone', () => keys().length === 0 && !source.snapshot().served.has('HTTPRoute'));
    assert.equal(source.synced, true);
  });

  test('a single 404 is not believed: an API server that starts says so of everything', async (t) => {
    const { server, source, keys } = await startRig(t, { prepare: (server) => void server.table.put(routes, route('a')) });
    const before = server.seen.length;
    let refused = 0;
    server.intercept = (_seen, response) => refused++ === 0 && refuse(response, 404, 'NotFound');
    let vanished = false;
    source.onChange(() => (vanished ||= keys().length === 0));
    server.endWatches('httproutes');
    await eventually('watches again', () => server.seen.length >= before + 3 && server.openWatches === 1);
    assert.equal(vanished, false);
    assert.deepEqual(keys(), ['default/a']);
  });

  test('an older version of a kind is used when the newer is not there, and the newer once the older is gone', async (t) => {
    const grants = '/apis/gateway.networking.k8s.io/v1beta1/namespaces/a/referencegrants';
    const grant = (name: string) => ({ metadata: { name }, spec: { from: [], to: [] } });
    const { server, source, keys } = await startRig(t, {
      kinds: ['ReferenceGrant'],
      prepare: (server) => {
        server.absent.add('gateway.networking.k8s.io/v1/referencegrants');
        server.table.put(grants, grant('g'));
      },
    });
    assert.equal(source.snapshot().objects.ReferenceGrant.get('a/g')?.apiVersion, 'gateway.networking.k8s.io/v1beta1');
    server.absent.clear();
    server.absent.add('gateway.networking.k8s.io/v1beta1/referencegrants');
    server.table.put(grants.replace('v1beta1', 'v1'), grant('h'));
    server.endWatches('referencegrants');
    await eventually('moved', () => keys('ReferenceGrant').join() === 'a/h');
    assert.equal(source.snapshot().served.has('ReferenceGrant'), true);
  });

  test('a kind that is not essential may be forbidden', async (t) => {
    const { source, server } = await startRig(t, {
      raw: true,
      kinds: ['CustomResourceDefinition'],
      prepare: (server) => void (server.intercept = (_seen, response) => refuse(response, 403, 'Forbidden')),
    });
    await eventually('synced', () => source.synced);
    assert.equal(source.problems().length, 1);
    assert.equal(server.seen[0]?.query.get('fieldSelector'), 'metadata.name=gatewayclasses.gateway.networking.k8s.io');
    assert.match(server.seen[0]?.headers.accept ?? '', /as=PartialObjectMetadataList/);
  });
});

suite('malformed and huge input', () => {
  const event = (object: unknown): string => `${JSON.stringify({ type: 'ADDED', object })}\n`;

  test('a line that is no JSON: told, and the truth is listed', async (t) => {
    const { server, source, keys } = await startRig(t);
    const told: string[] = [];
    source.onChange(() => told.push(...source.problems().map((problem) => problem.message)));
    server.deafen('httproutes');
    server.table.put(routes, route('a'));
    server.dropConnections();
    await eventually('watches', () => keys().length === 1 && server.openWatches === 1);
    for (const line of [
      '{"type":"ADDED","object":{"data":"hunter2',
      '[]',
      'null',
      '{"type":"SURPRISE"}',
      '{"type":"BOOKMARK","object":{}}',
    ]) {
      const lists = server.requests('httproutes', false).length;
      server.sendRaw('httproutes', `${line}\n`);
      await eventually('listed', () => server.requests('httproutes', false).length > lists && server.openWatches === 1);
    }
    assert.ok(told.some((message) => message.includes('not valid JSON')));
    assert.ok(
      told.every((message) => !message.includes('hunter2')),
      'the content of a line may be secret',
    );
    await eventually('no problem stays', () => source.problems().length === 0);
    assert.deepEqual(keys(), ['default/a']);
  });

  test('an object of the wrong shape is skipped with its field, the others work on, and its last good version stays', async (t) => {
    const { server, source, keys } = await startRig(t, { prepare: (server) => void server.table.put(routes, route('a')) });
    server.table.put(routes, route('a', { spec: { rules: [{ matches: [{ path: 7 }] }] } }));
    server.table.put(routes, route('b', { spec: 5 }));
    server.table.put(routes, route('c'));
    await eventually('goes on', () => keys().includes('default/c'));
    assert.deepEqual(keys(), ['default/a', 'default/c']);
    assert.deepEqual(source.snapshot().objects.HTTPRoute.get('default/a')?.spec, {});
    const messages = source.problems().map(({ where, message }) => `${where}: ${message}`);
    assert.match(messages[0] ?? '', /^HTTPRoute default\/a: spec\.rules\[0\]\.matches\[0\]\.path must be an object/);
    assert.match(messages[1] ?? '', /^HTTPRoute default\/b: spec must be an object/);
    server.table.put(routes, route('a', { spec: { hostnames: ['ok.example.com'] } }));
    server.table.remove(`${routes}/b`);
    await eventually('forgiven', () => source.problems().length === 0);
  });

  test('objects without identity never throw', async (t) => {
    const { server, source, keys } = await startRig(t);
    const broken = [
      null,
      1,
      [],
      {},
      { metadata: null },
      { metadata: {} },
      { metadata: { name: 7 } },
      { metadata: { name: 'a', namespace: 'default' } },
    ];
    for (const object of broken) server.sendRaw('httproutes', event(object));
    let deep: unknown = {};
    for (let level = 0; level < 20_000; level++) deep = [deep];
    server.sendRaw('httproutes', event(route('deep', { spec: { rules: deep } }, { namespace: 'default', uid: 'u', resourceVersion: '9' })));
    server.table.put(routes, route('fine'));
    await eventually('goes on', () => keys().join() === 'default/fine');
    assert.ok(source.problems().some((problem) => /nested deeper/.test(problem.message)));
    assert.equal(server.requests('httproutes').length, 2);
  });

  test('an event of 10 MiB is taken, in pieces of any size', async (t) => {
    const { server, source, keys } = await startRig(t);
    const huge = route('huge', {}, { namespace: 'default', uid: 'u', resourceVersion: '9', annotations: { text: 'x'.repeat(10 << 20) } });
    server.sendRaw('httproutes', event(huge));
    await eventually('taken', () => keys().join() === 'default/huge');
    assert.equal(source.snapshot().objects.HTTPRoute.get('default/huge')?.metadata.annotations?.['text']?.length, 10 << 20);
  });

  test('an endless line does not fill the memory', async (t) => {
    const { server } = await startRig(t);
    const piece = Buffer.alloc(4 << 20, 'x');
    const before = process.memoryUsage().arrayBuffers;
    for (let index = 0; index < 40; index++) server.sendRaw('httproutes', piece);
    server.sendRaw('httproutes', '\n');
    await eventually('listed again', () => server.requests('httproutes', false).length === 2);
    // What nobody holds is counted until it is collected, which an idle process may put off for long.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await eventually('bounded', () => {
      collect();
      return process.memoryUsage().arrayBuffers - before < 100 << 20;
    });
  });

  test('pages of huge objects are asked for in smaller ones', async (t) => {
    const { server, keys } = await startRig(t, {
      listLimits: { pageSize: 500, pageBytes: 1 << 20, idleMs: 10_000 },
      prepare: (server) => {
        for (let index = 0; index < 12; index++)
          server.table.put(routes, route(`r${index}`, {}, { annotations: { text: 'x'.repeat(200_000) } }));
      },
    });
    assert.equal(keys().length, 12);
    const limits = server.requests('httproutes', false).map((seen) => Number(seen.query.get('limit')));
    assert.deepEqual([...new Set(limits)], [500, 125, 31, 7, 1]);
  });

  test('a list without items or version is a failure, not an empty cluster', async (t) => {
    const answers = ['{}', '[]', 'null', 'no json', '{"metadata":{"resourceVersion":"5"},"items":7}', '{"metadata":{},"items":[]}'];
    let answered = 0;
    const { source } = await startRig(t, {
      raw: true,
      prepare: (server) =>
        void (server.intercept = (_seen, response) => {
          response.writeHead(200).end(answers[answered++ % answers.length]);
          return true;
        }),
    });
    await eventually('all were tried', () => answered >= answers.length);
    assert.equal(source.synced, false);
    assert.equal(source.problems().length, 1);
  });
});
