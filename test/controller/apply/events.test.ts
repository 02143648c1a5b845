// Events: once per change of what they say, counted when they return, bounded, and never a failure of anything else.
import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import type { EventPlan } from '#controller/api/plan.ts';
import { EventRecorder } from '#controller/apply/events.ts';
import { KubeClient } from '#controller/kube/client.ts';
import { silentLog } from '#controller/kube/log.ts';
import { eventually } from '#test/kube/eventually.ts';
import { FaultServer, refuse } from '#test/kube/fault-server.ts';

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
}

async function start(t: TestContext, mayWrite = true) {
  const server = await FaultServer.start();
  const sent: Sent[] = [];
  const names = new Set<string>();
  server.onBody = (seen, body) => sent.push({ method: seen.method, path: seen.path, body: JSON.parse(body) as Record<string, unknown> });
  server.intercept = (seen, response) => {
    const created = sent.at(-1)?.body['metadata'] as { readonly name: string } | undefined;
    const name = (seen.method === 'POST' ? created?.name : undefined) ?? seen.resource.name;
    if (seen.method === 'POST' && names.has(name)) return refuse(response, 409, 'AlreadyExists');
    if (seen.method === 'PATCH' && !names.has(name)) return refuse(response, 404, 'NotFound');
    names.add(name);
    response.writeHead(200).end('{}');
    return true;
  };
  const client = new KubeClient({ kubeConfig: server.kubeConfig() });
  const open = (): EventRecorder =>
    new EventRecorder({
      client,
      current: (kind, key) =>
        key === 'default/shop'
          ? { apiVersion: 'gateway.networking.k8s.io/v1', kind, metadata: { name: 'shop', namespace: 'default', uid: 'u1' } }
          : undefined,
      mayWrite: () => mayWrite,
      controller: 'cf.k8s.lex.la/tunnel-controller',
      instance: 'pod-1',
      log: silentLog,
    });
  const recorder = open();
  t.after(async () => {
    await recorder.stop();
    client.close();
    await server.stop();
  });
  return { server, sent, names, recorder, open };
}

const event = (message: string, fields: Partial<EventPlan> = {}): EventPlan => ({
  ref: { kind: 'HTTPRoute', namespace: 'default', name: 'shop' },
  type: 'Warning',
  reason: 'RouteShadowed',
  action: 'Sync',
  message,
  ...fields,
});

suite('events', () => {
  test('carry what kubectl describe looks for', async (t) => {
    const { recorder, sent } = await start(t);
    recorder.record([event('shadowed by default/other')]);
    await eventually('sent', () => sent.length === 1);
    const { method, path, body } = sent[0] ?? assert.fail();
    assert.equal(`${method} ${path}`, 'POST /apis/events.k8s.io/v1/namespaces/default/events');
    const { metadata, eventTime, ...rest } = body;
    assert.match((metadata as { readonly name: string }).name, /^shop\.[0-9a-f]{16}$/);
    assert.match(String(eventTime), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.deepEqual(rest, {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      reportingController: 'cf.k8s.lex.la/tunnel-controller',
      reportingInstance: 'pod-1',
      action: 'Sync',
      reason: 'RouteShadowed',
      type: 'Warning',
      note: 'shadowed by default/other',
      regarding: { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', namespace: 'default', name: 'shop', uid: 'u1' },
    });
  });

  test('once, as long as they say the same', async (t) => {
    const { recorder, sent } = await start(t);
    for (let round = 0; round < 5; round++) recorder.record([event('one')]);
    recorder.record([event('two')]);
    await eventually('sent', () => sent.length === 2);
    recorder.record([event('two')]);
    recorder.record([event('three')]);
    await eventually('sent', () => sent.length === 3);
    assert.deepEqual(
      sent.map(({ body }) => body['note']),
      ['one', 'two', 'three'],
    );
  });

  test('that return are counted in the series of the first', async (t) => {
    const { recorder, sent, names } = await start(t);
    recorder.record([event('one')]);
    recorder.record([]);
    recorder.record([event('one')]);
    recorder.record([]);
    recorder.record([event('one')]);
    await eventually('sent', () => sent.length === 3);
    assert.deepEqual(
      sent.map(({ method }) => method),
      ['POST', 'PATCH', 'PATCH'],
    );
    assert.deepEqual(
      sent.map(({ body }) => (body['series'] as { readonly count: number } | undefined)?.count),
      [undefined, 2, 3],
    );
    names.clear();
    recorder.record([]);
    recorder.record([event('one')]);
    await eventually('made again after it expired', () => sent.at(-1)?.method === 'POST');
  });

  test('of an instance before are counted, not repeated', async (t) => {
    const { recorder, sent, open } = await start(t);
    recorder.record([event('one')]);
    await eventually('sent', () => sent.length === 1);
    const successor = open();
    successor.record([event('one')]);
    await eventually('sent', () => sent.length === 3);
    assert.deepEqual(
      sent.map(({ method }) => method),
      ['POST', 'POST', 'PATCH'],
    );
    await successor.stop();
  });

  test('about cluster-scoped and unknown objects, with odd names and endless texts', async (t) => {
    const { recorder, sent } = await start(t);
    const ref = { kind: 'GatewayClass', namespace: '', name: `a${'-'.repeat(250)}` };
    recorder.record([event(`${'x'.repeat(1019)}😀😀`, { ref })]);
    await eventually('sent', () => sent.length === 1);
    const { path, body } = sent[0] ?? assert.fail();
    assert.match(path, /namespaces\/default\/events$/);
    assert.match((body['metadata'] as { readonly name: string }).name, /^a\.[0-9a-f]{16}$/);
    assert.deepEqual(body['regarding'], { kind: 'GatewayClass', name: ref.name });
    const note = String(body['note']);
    assert.ok(Buffer.byteLength(note) <= 1024 && note.endsWith('…') && !note.includes('\uFFFD'), note.slice(-5));
  });

  test('are bounded: a flood is cut, the rest follows when it still holds', async (t) => {
    const { recorder, sent } = await start(t);
    const flood = Array.from({ length: 500 }, (_, index) => event('x', { reason: `R${index}` }));
    recorder.record(flood);
    await eventually('sent', () => sent.length === 50);
    recorder.record(flood);
    recorder.record([event('x', { reason: 'R0' })]);
    assert.equal(sent.length, 50);
  });

  test('failures and missing rights are nobody else’s trouble', async (t) => {
    const { recorder, server, sent } = await start(t);
    const answers = [403, 403, 500];
    server.intercept = (_seen, response) => refuse(response, answers.shift() ?? 422, 'Whatever');
    for (let index = 0; index < 5; index++) recorder.record([event(`${index}`)]);
    await eventually('tried', () => sent.length === 5);
  });

  test('without leadership none is recorded', async (t) => {
    const { recorder, sent } = await start(t, false);
    recorder.record([event('one')]);
    await recorder.stop();
    recorder.record([event('two')]);
    assert.deepEqual(sent, []);
  });
});
