// Statuses, events and the Lease on a real API server, with others who write at the same time.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { StatusUpdate } from '#controller/api/plan.ts';
import { EventRecorder } from '#controller/apply/events.ts';
import { silentLog } from '#controller/kube/log.ts';
import { Elector } from '#controller/loop/leader.ts';
import { eventually } from '#test/kube/eventually.ts';
import { clusterUnavailable, startControlPlane, type Cluster } from './control-plane.ts';
import * as rig from './writer-rig.ts';
import { condition, foreignCondition, gatewayStatus, group, OURS, parents, type Stored, updateOf } from './writer-rig.ts';

const LIMIT_MS = 60_000;

suite('writing to a real API server', { skip: clusterUnavailable() ?? false }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startControlPlane();
  });
  after(() => cluster?.stop());

  const read = (path: string): Promise<Stored> => rig.send(cluster, 'GET', path);

  test('every form of status is accepted, and repeating it makes no new version', async (t) => {
    const { source, writer } = await rig.open(t, cluster);
    const classPath = `/apis/${group}/v1/gatewayclasses`;
    const gatewayClass = { apiVersion: `${group}/v1`, kind: 'GatewayClass', metadata: { name: 'c' }, spec: { controllerName: OURS } };
    await rig.send(cluster, 'POST', classPath, gatewayClass);
    await eventually('seen', () => source.snapshot().objects.GatewayClass.has('c'));
    const paths = [
      await rig.create(cluster, source, 'HTTPRoute', 'first'),
      await rig.create(cluster, source, 'Gateway', 'g'),
      `${classPath}/c`,
    ];
    const updates = (): readonly StatusUpdate[] => [
      updateOf(source, 'HTTPRoute', 'default/first', parents()),
      updateOf(source, 'Gateway', 'default/g', gatewayStatus()),
      updateOf(source, 'GatewayClass', 'c', { form: 'conditions', ownTypes: ['Accepted'], conditions: [condition('Accepted')] }),
    ];
    await writer.apply(updates());
    assert.deepEqual(writer.problems(), []);
    const [route, gateway, storedClass] = await Promise.all(paths.map(read));
    assert.equal(route?.status.parents[0]?.conditions.length, 2);
    assert.deepEqual(
      gateway?.status.conditions.map(({ type, reason }) => `${type}=${reason}`),
      ['Accepted=Accepted', 'Programmed=Programmed'],
    );
    assert.equal(storedClass?.status.conditions[0]?.reason, 'Accepted');
    assert.ok((route?.metadata.managedFields.length ?? 0) > 0, 'the others’ field ownership survives');
    const versions = async (): Promise<readonly string[]> =>
      (await Promise.all(paths.map(read))).map(({ metadata }) => metadata.resourceVersion);
    const before = await versions();
    for (let round = 0; round < 3; round++) await writer.apply(updates());
    await eventually('the watch has brought them back', () => {
      const { objects } = source.snapshot();
      return [objects.HTTPRoute.get('default/first'), objects.Gateway.get('default/g')].every(
        (object, index) => object?.metadata.resourceVersion === before[index],
      );
    });
    await writer.apply(updates());
    assert.deepEqual(await versions(), before);
  });

  test('two controllers write at the same time, and nobody’s words are lost', async (t) => {
    const { source, writer } = await rig.open(t, cluster);
    const routePath = await rig.create(cluster, source, 'HTTPRoute', 'contended');
    const gatewayPath = await rig.create(cluster, source, 'Gateway', 'contended');
    let conflicts = 0;
    /** What another controller does: read, change its own, write on top of what was read, again on conflict. */
    const writeForeign = async (path: string, change: (status: Partial<Stored['status']>) => object): Promise<void> => {
      for (;;) {
        const object = await read(path);
        const answer = await cluster.request('PUT', `${path}/status`, { body: { ...object, status: change(object.status ?? {}) } });
        if (answer.status === 200) return;
        assert.equal(answer.status, 409, JSON.stringify(answer.body));
        conflicts++;
      }
    };
    const others = async (): Promise<void> => {
      for (let round = 0; round < 25; round++) {
        const controllerName = 'other/controller';
        const parentRef = { group, kind: 'Gateway', name: 'other' };
        await writeForeign(routePath, ({ parents: list = [] }) => ({
          parents: [
            { parentRef, controllerName, conditions: [foreignCondition('Accepted', `R${round}`)] },
            ...list.filter((parent) => parent.controllerName !== controllerName),
          ],
        }));
        await writeForeign(gatewayPath, ({ conditions: list = [], ...rest }) => ({
          ...rest,
          conditions: [...list.filter(({ type }) => type !== 'example.com/Audited'), foreignCondition('example.com/Audited', `R${round}`)],
        }));
      }
    };
    const ours = async (): Promise<void> => {
      for (let round = 0; round < 25; round++) {
        await writer.apply([
          updateOf(source, 'HTTPRoute', 'default/contended', parents(`Ours${round}`)),
          updateOf(source, 'Gateway', 'default/contended', gatewayStatus(`Ours${round}`)),
        ]);
      }
    };
    await Promise.all([others(), ours()]);
    const [route, gateway] = [await read(routePath), await read(gatewayPath)];
    const entries = route.status.parents.map((parent) => `${parent.controllerName} ${parent.conditions[0]?.reason}`);
    assert.deepEqual(entries.sort(), [`${OURS} Ours24`, 'other/controller R24']);
    const reasons = Object.fromEntries(gateway.status.conditions.map(({ type, reason }) => [type, reason]));
    assert.deepEqual(reasons, { Accepted: 'Ours24', Programmed: 'Programmed', 'example.com/Audited': 'R24' });
    assert.deepEqual(writer.problems(), []);
    t.diagnostic(`${conflicts} conflicts on the other side`);
  });

  test('an invalid status is reported, not repeated; a listener condition of others stays', async (t) => {
    const { source, writer } = await rig.open(t, cluster);
    const path = await rig.create(cluster, source, 'Gateway', 'listened');
    await writer.apply([updateOf(source, 'Gateway', 'default/listened', gatewayStatus('not a reason!'))]);
    assert.match(writer.problems()[0]?.message ?? '', /does not accept the status: HTTP 422: .*reason/);
    await writer.apply([updateOf(source, 'Gateway', 'default/listened', gatewayStatus())]);
    assert.deepEqual(writer.problems(), []);
    const [listener] = (await read(path)).status.listeners;
    const listeners = [{ ...listener, conditions: [...(listener?.conditions ?? []), foreignCondition('example.com/Seen', 'Seen')] }];
    await rig.send(cluster, 'PATCH', `${path}/status`, { status: { listeners } }, 'application/merge-patch+json');
    await writer.apply([updateOf(source, 'Gateway', 'default/listened', gatewayStatus('Other'))]);
    const stored = (await read(path)).status.listeners[0]?.conditions.map(({ type, reason }) => `${type}=${reason}`);
    assert.deepEqual(stored, ['Accepted=Other', 'example.com/Seen=Seen']);
  });

  test('events are found by kubectl describe, and counted when they return', async (t) => {
    const { client, source } = await rig.open(t, cluster);
    await rig.create(cluster, source, 'HTTPRoute', 'told');
    const recorder = new EventRecorder({
      client,
      current: (kind, key) => source.snapshot().objects[kind].get(key),
      mayWrite: () => true,
      controller: OURS,
      instance: 'pod-1',
      log: silentLog,
    });
    t.after(() => recorder.stop());
    const ref = { kind: 'HTTPRoute', namespace: 'default', name: 'told' };
    const told = { ref, type: 'Warning', reason: 'RouteShadowed', action: 'Sync', message: 'shadowed by default/other' } as const;
    const ofClass = { ...told, ref: { kind: 'GatewayClass', namespace: '', name: 'c' } };
    interface Listed {
      readonly items: readonly { readonly reason: string; readonly series?: { readonly count: number } }[];
    }
    const until = async (holds: (items: Listed['items']) => boolean): Promise<void> => {
      for (;;) {
        const { body } = await cluster.request('GET', '/apis/events.k8s.io/v1/namespaces/default/events');
        if (holds((body as Listed).items.filter(({ reason }) => reason === 'RouteShadowed'))) return;
      }
    };
    recorder.record([told, ofClass]);
    await until((items) => items.length === 2);
    recorder.record([]);
    recorder.record([told]);
    await until((items) => items.some(({ series }) => series?.count === 2));
    const { stdout } = await cluster.kubectl(['describe', 'httproute', 'told']);
    assert.match(stdout, /Warning +RouteShadowed .*shadowed by default\/other/);
  });

  test('the Lease passes from one elector to the next, with a higher epoch, through a restart of the API server', async (t) => {
    const client = rig.connect(t, cluster);
    const timings = { leaseMs: 4_000, renewDeadlineMs: 2_500, retryMs: 200 };
    const leading: Record<string, number> = {};
    const elect = (identity: string): Elector => {
      const elector = new Elector({
        client,
        namespace: 'default',
        name: 'lead',
        identity,
        log: silentLog,
        timings,
        onElected: (epoch) => (leading[identity] = epoch),
        onLost: () => delete leading[identity],
      });
      t.after(() => elector.stop());
      elector.start();
      return elector;
    };
    const [a, b] = [elect('a'), elect('b')];
    const leaders = (): readonly Elector[] => [a, b].filter((elector) => elector.isLeader());
    await eventually('one leads', () => leaders().length === 1);
    const [first] = leaders();
    const epoch = first?.epoch() ?? 0;
    await first?.stop();
    await eventually('the other leads', () => leaders().length === 1);
    const [second] = leaders();
    assert.notEqual(second, first);
    assert.equal(second?.epoch(), epoch + 1);
    assert.equal(await second?.adoptEpochAbove(epoch + 10), epoch + 11);
    await cluster.stopApiServer();
    await eventually('nobody leads without the API server', () => leaders().length === 0, LIMIT_MS);
    await cluster.startApiServer();
    await eventually('one leads again', () => leaders().length === 1, LIMIT_MS);
    assert.equal(second?.epoch(), epoch + 12);
    const lease = await read('/apis/coordination.k8s.io/v1/namespaces/default/leases/lead');
    assert.equal(lease.metadata.annotations?.['cf.k8s.lex.la/epoch'], String(epoch + 12));
    await second?.stop();
    assert.equal((await read('/apis/coordination.k8s.io/v1/namespaces/default/leases/lead')).spec.holderIdentity, '');
  });
});
