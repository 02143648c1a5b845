// What the node says of a pod: phase, conditions, containers. Pure.
import type { Pod } from './types.ts';

export type ContainerState =
  | { readonly waiting: { readonly reason: string; readonly message?: string } }
  | { readonly running: { readonly startedAt: string } }
  | {
      readonly terminated: {
        readonly exitCode: number;
        readonly reason: string;
        readonly startedAt: string;
        readonly finishedAt: string;
      };
    };

export interface ContainerView {
  readonly name: string;
  readonly image: string;
  readonly state: ContainerState;
  readonly lastState: ContainerState | null;
  readonly isStarted: boolean;
  readonly isReady: boolean;
  readonly restarts: number;
  /** No run of it will follow. */
  readonly isOver: boolean;
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly lastTransitionTime: string;
  readonly reason?: string;
}

export interface PodView {
  readonly pod: Pod;
  readonly node: { readonly address: string };
  /** Null until it has one. */
  readonly address: string | null;
  readonly startTime: string;
  readonly containers: readonly ContainerView[];
  /** As told before. */
  readonly conditions: readonly Condition[];
  /** It is being deleted: whatever it says of itself, nobody shall send to it. */
  readonly isEnding: boolean;
}

export interface PodStatus {
  readonly phase: string;
  readonly conditions: readonly Condition[];
  readonly [field: string]: unknown;
}

/** As metav1.Time prints it. */
export const timestamp = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, 'Z');

export function podStatus(view: PodView, now: string): PodStatus {
  const { pod, node, address, startTime, containers } = view;
  const isReady = !view.isEnding && containers.length > 0 && containers.every((container) => container.isReady);
  const notReady = isReady ? undefined : 'ContainersNotReady';
  return {
    phase: phaseOf(containers),
    hostIP: node.address,
    hostIPs: [{ ip: node.address }],
    ...(address === null ? {} : { podIP: address, podIPs: [{ ip: address }] }),
    startTime,
    conditions: [
      condition(view, 'PodScheduled', true, now),
      condition(view, 'PodReadyToStartContainers', address !== null, now),
      condition(view, 'Initialized', true, now),
      condition(view, 'ContainersReady', isReady, now, notReady),
      condition(view, 'Ready', isReady, now, notReady),
    ],
    containerStatuses: containers.map((container) => containerStatus(pod, container)),
  };
}

function phaseOf(containers: readonly ContainerView[]): string {
  const codes = containers.map(({ state, isOver }) => (isOver && 'terminated' in state ? state.terminated.exitCode : null));
  if (codes.length > 0 && codes.every((code) => code !== null)) return codes.every((code) => code === 0) ? 'Succeeded' : 'Failed';
  return containers.some(({ state, restarts }) => restarts > 0 || !('waiting' in state)) ? 'Running' : 'Pending';
}

function condition({ conditions }: PodView, type: string, holds: boolean, now: string, reason?: string): Condition {
  const status = holds ? 'True' : 'False';
  const before = conditions.find((known) => known.type === type);
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
  return { type, status, lastTransitionTime, ...(reason === undefined ? {} : { reason }) };
}

const containerStatus = ({ metadata }: Pod, { name, image, state, lastState, isStarted, isReady, restarts }: ContainerView): object => ({
  name,
  image,
  imageID: image,
  containerID: 'waiting' in state && restarts === 0 ? '' : `emulated://${metadata.uid}-${name}-${restarts}`,
  state,
  lastState: lastState ?? {},
  started: isStarted,
  ready: isReady,
  restartCount: restarts,
});
