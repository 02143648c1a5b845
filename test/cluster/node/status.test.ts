// What the node says of a pod in each of its ages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podStatus, type ContainerView, type PodView } from './status.ts';

const NOW = '2026-01-01T00:00:01Z';
const metadata = { name: 'p', namespace: 'ns', uid: 'u', resourceVersion: '1' };
const running: ContainerView = {
  name: 'main',
  image: 'i',
  state: { running: { startedAt: NOW } },
  lastState: null,
  isStarted: true,
  isReady: true,
  restarts: 0,
  isOver: false,
};
const over = (exitCode: number): ContainerView => ({
  ...running,
  state: { terminated: { exitCode, reason: 'r', startedAt: NOW, finishedAt: NOW } },
  isReady: false,
  isOver: true,
});
const view = (containers: readonly ContainerView[], rest: Partial<PodView> = {}): PodView => ({
  pod: { metadata, spec: { containers: [] } },
  node: { address: '10.244.0.1' },
  address: '10.244.1.0',
  startTime: NOW,
  containers,
  conditions: [],
  isEnding: false,
  ...rest,
});
const statusOf = (view: PodView, type: string): string | undefined =>
  podStatus(view, NOW).conditions.find((condition) => condition.type === type)?.status;

test('phases', () => {
  const waiting: ContainerView = { ...running, state: { waiting: { reason: 'r' } } };
  const phase = (...containers: readonly ContainerView[]): string => podStatus(view(containers), NOW).phase;
  assert.equal(phase(waiting), 'Pending');
  assert.equal(phase(running, waiting), 'Running');
  assert.equal(phase({ ...waiting, restarts: 1 }), 'Running');
  assert.equal(phase({ ...over(1), isOver: false }), 'Running');
  assert.equal(phase(over(0), over(0)), 'Succeeded');
  assert.equal(phase(over(0), over(1)), 'Failed');
});

test('a pod is ready when all of its containers are, and never while it is deleted', () => {
  assert.equal(statusOf(view([running]), 'Ready'), 'True');
  assert.equal(statusOf(view([running, { ...running, isReady: false }]), 'Ready'), 'False');
  assert.equal(statusOf(view([running], { isEnding: true }), 'Ready'), 'False');
});

test('the time of a condition is that of its last change', () => {
  const before = podStatus(view([{ ...running, isReady: false }]), '2026-01-01T00:00:00Z');
  const after = podStatus(view([running], { conditions: before.conditions }), NOW);
  const times = Object.fromEntries(after.conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]));
  assert.equal(times['Ready'], NOW);
  assert.equal(times['PodScheduled'], '2026-01-01T00:00:00Z');
});
