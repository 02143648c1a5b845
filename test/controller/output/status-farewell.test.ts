// What is left of our word on objects that no longer concern us.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '#controller/api/core.ts';
import type { Gateway, ListenerSet } from '#controller/api/gateway.ts';
import type { StatusUpdate } from '#controller/api/plan.ts';
import { formatRef } from '#controller/api/ref.ts';
import type { Snapshot } from '#controller/api/snapshot.ts';
import { buildGraph } from '#controller/graph/build.ts';
import { mergeStatus } from '#controller/output/merge-status.ts';
import { renderStatuses } from '#controller/output/status.ts';
import { gateway, gatewayClass, httpRoute, listener, listenerSet, platform, settings } from '#test/build/objects.ts';
import { happyFacts } from '#test/build/plan.ts';
import { snapshotOf, withObject, withoutObject } from '#test/build/snapshot.ts';

const NOW = '2026-01-01T00:00:00Z';

function updates(snapshot: Snapshot): readonly StatusUpdate[] {
  const graph = buildGraph(snapshot, settings());
  return renderStatuses(graph, happyFacts(graph), snapshot);
}

const objectOf = ({ objects }: Snapshot, { ref, key }: StatusUpdate): KubeObject => objects[ref.kind].get(key) as KubeObject;

/** A snapshot in which all that we have to say is stored, as an API server would have it. */
function told(snapshot: Snapshot): Snapshot {
  return updates(snapshot).reduce((next, update) => {
    const object = objectOf(next, update);
    const merged = mergeStatus(object, update, NOW);
    return merged === null ? next : withObject(next, { ...object, ...merged });
  }, snapshot);
}

/** What would be written. */
const writes = (snapshot: Snapshot): readonly string[] =>
  updates(snapshot)
    .filter((update) => mergeStatus(objectOf(snapshot, update), update, NOW) !== null)
    .map(({ ref }) => formatRef(ref));

const open: Gateway = gateway({ spec: { allowedListeners: { namespaces: { from: 'Same' } } } });
const set = listenerSet({ listeners: [listener({ name: 'set', hostname: 'set.test' })] });
const world = told(snapshotOf([...platform(), open, set, httpRoute({ hostnames: [] })]));

test('once all is said, nothing is written', () => {
  assert.deepEqual(writes(world), []);
});

test('a Gateway without a class loses what we told it, its address above all, and so do its sets', () => {
  const classless = withoutObject(world, 'GatewayClass', 'cloudflare-tunnel');
  const concerned = ['ListenerSet default/set', 'Gateway default/tunnel', 'HTTPRoute default/app'];
  assert.deepEqual(
    writes(classless).filter((object) => !object.startsWith('GatewayClassConfig')),
    concerned,
  );
  const after = told(classless);
  const unknown = (type: string) => ({
    type,
    status: 'Unknown',
    reason: 'Pending',
    message: 'Waiting for controller',
    observedGeneration: 1,
    lastTransitionTime: NOW,
  });
  const conditions = ['Accepted', 'Programmed'].map(unknown);
  assert.deepEqual((after.objects.Gateway.get('default/tunnel') as Gateway).status, { conditions, listeners: [], attachedListenerSets: 0 });
  assert.deepEqual((after.objects.ListenerSet.get('default/set') as ListenerSet).status, { conditions, listeners: [] });
  assert.deepEqual(writes(after), [], 'once');
});

test('a set whose Gateway goes loses what we told it', () => {
  const alone = withoutObject(world, 'Gateway', 'default/tunnel');
  assert.deepEqual(writes(alone), ['ListenerSet default/set', 'HTTPRoute default/app']);
  assert.deepEqual(writes(told(alone)), []);
});

test('where there is a class, its controller speaks: also when it is another installation of ours', () => {
  const theirs = { ...gatewayClass(), spec: { ...gatewayClass().spec, controllerName: 'example.com/second-installation' } };
  assert.deepEqual(writes(withObject(world, theirs)), ['HTTPRoute default/app']);
});

test('what others have said is not ours to take back', () => {
  const foreign = (message: string): Gateway => ({
    ...gateway({ spec: { gatewayClassName: 'gone' } }),
    status: { conditions: [{ type: 'Programmed', status: 'True', reason: 'Programmed', message }] },
  });
  assert.deepEqual(writes(snapshotOf([foreign('Gateway is programmed')])), []);
});

test('nothing is taken back while classes cannot be read', () => {
  const classless = withoutObject(world, 'GatewayClass', 'cloudflare-tunnel');
  const blind = { ...classless, served: new Set([...classless.served].filter((kind) => kind !== 'GatewayClass')) };
  assert.ok(!writes(blind).includes('Gateway default/tunnel'));
});

test('the number of ListenerSets is not written where the CRDs have none, because they would drop it', () => {
  const old = { ...world, served: new Set([...world.served].filter((kind) => kind !== 'ListenerSet')) };
  const counted = (snapshot: Snapshot) => {
    const desired = updates(snapshot).find(({ ref }) => ref.kind === 'Gateway')?.desired;
    return desired !== undefined && 'attachedListenerSets' in desired;
  };
  assert.equal(counted(world), true);
  assert.equal(counted(old), false);
});
