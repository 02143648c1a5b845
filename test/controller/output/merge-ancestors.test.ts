// Ancestors of a policy: merged like the parents of a route, with two differences: fewer fit, and conditions of others in our entries stay.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Condition } from '#controller/api/core.ts';
import type { StatusUpdate } from '#controller/api/plan.ts';
import { mergeStatus } from '#controller/output/merge-status.ts';

const OURS = 'cf.k8s.lex.la/tunnel-controller';
const EARLIER = '2026-01-01T00:00:00Z';
const NOW = '2026-02-02T00:00:00Z';

const condition = (type: string, status: Condition['status'] = 'True', changes: Partial<Condition> = {}): Condition => ({
  type,
  status,
  reason: 'R',
  message: 'm',
  observedGeneration: 1,
  lastTransitionTime: EARLIER,
  ...changes,
});
const ancestor = (name: string, conditions: readonly Condition[] = [condition('Accepted')], controllerName = OURS) => ({
  ancestorRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'a', name },
  controllerName,
  conditions,
});
type Ancestor = ReturnType<typeof ancestor>;
const foreign = (name: string): Ancestor => ancestor(name, [condition('Accepted')], 'other/controller');

function merge(stored: readonly object[] | undefined, desired: readonly Ancestor[], generation = 1) {
  const object = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'BackendTLSPolicy',
    metadata: { name: 'p', namespace: 'a', uid: 'u', generation, resourceVersion: '1' },
    ...(stored && { status: { ancestors: stored } }),
  };
  const update: StatusUpdate = {
    ref: { kind: 'BackendTLSPolicy', namespace: 'a', name: 'p' },
    key: 'a/p',
    uid: 'u',
    generation,
    desired: { form: 'ancestors', controllerName: OURS, ownTypes: ['Accepted', 'ResolvedRefs'], ancestors: desired },
  };
  return (mergeStatus(object, update, NOW)?.status as { readonly ancestors: readonly Ancestor[] } | undefined)?.ancestors;
}
const names = (list: readonly Ancestor[] | undefined): readonly string[] | undefined => list?.map(({ ancestorRef }) => ancestorRef.name);

test('ours are added, kept, changed and removed; entries of others stay as and where they are', () => {
  const odd = { ...foreign('x'), extra: 1 };
  assert.deepEqual(merge(undefined, [ancestor('g')]), [ancestor('g', [condition('Accepted', 'True', { lastTransitionTime: NOW })])]);
  assert.equal(merge([ancestor('g'), odd], [ancestor('g')]), undefined, 'equal: nothing is written');
  assert.deepEqual(merge([odd, ancestor('g'), ancestor('gone'), foreign('gone')], [ancestor('g')]), [odd, ancestor('g'), foreign('gone')]);
  assert.deepEqual(merge([odd, ancestor('g')], []), [odd]);
  assert.equal(merge([odd], []), undefined);
  assert.equal(merge(undefined, []), undefined, 'nobody has spoken of the policy, and neither do we');
});

test('a foreign entry about the same Gateway is another entry', () => {
  assert.deepEqual(names(merge([foreign('g')], [ancestor('g')])), ['g', 'g']);
});

test('a default spelled out is the same ancestor, and its transition time stays', () => {
  const bare = { ...ancestor('g'), ancestorRef: { name: 'g' } };
  assert.deepEqual(merge([bare], [ancestor('g')]), [ancestor('g')]);
});

test('rule 22: conditions of others in our entries stay; ours that are not desired go', () => {
  const others = condition('example.com/Audited', 'False', { observedGeneration: 9 });
  const stored = [ancestor('g', [condition('ResolvedRefs'), others, condition('Accepted')])];
  assert.deepEqual(merge(stored, [ancestor('g', [condition('Accepted', 'False')])], 9), [
    ancestor('g', [others, condition('Accepted', 'False', { lastTransitionTime: NOW })]),
  ]);
});

test('never more than 16 together, the first of ours before the others, and never at the cost of others', () => {
  const fourteen = Array.from({ length: 14 }, (_, index) => foreign(`f${index}`));
  const ours = ['a', 'b', 'c'].map((name) => ancestor(name));
  assert.deepEqual(names(merge(fourteen, ours)), ['a', 'b', ...(names(fourteen) ?? [])]);
  const sixteen = [...fourteen, foreign('f14'), foreign('f15')];
  assert.equal(merge(sixteen, ours), undefined);
  assert.deepEqual(names(merge([ancestor('c'), ...fourteen, ancestor('b')], ours)), [...(names(fourteen) ?? []), 'b', 'a']);
});

test('an entry of ours that speaks of a newer generation makes the update void', () => {
  const newer = condition('Accepted', 'True', { observedGeneration: 3 });
  const at = (entry: Ancestor, generation: number) => {
    const object = { apiVersion: 'v1', kind: 'BackendTLSPolicy', metadata: { name: 'p', generation: 3 }, status: { ancestors: [entry] } };
    const desired = { form: 'ancestors', controllerName: OURS, ownTypes: ['Accepted'], ancestors: [ancestor('new')] } as const;
    const update: StatusUpdate = { ref: { kind: 'BackendTLSPolicy', namespace: '', name: 'p' }, key: 'p', uid: '', generation, desired };
    return mergeStatus(object, update, NOW);
  };
  assert.equal(at(ancestor('g', [newer]), 2), null);
  assert.notEqual(at(ancestor('g', [newer], 'other/controller'), 2), null);
  assert.notEqual(at(ancestor('g', [condition('example.com/Audited', 'True', { observedGeneration: 3 })]), 2), null);
});
