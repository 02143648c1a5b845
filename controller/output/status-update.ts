// The parts that every status has in common.
import type { Finding } from '../api/condition.ts';
import type { Condition, KubeObject } from '../api/core.ts';
import type { DesiredStatus, StatusUpdate } from '../api/plan.ts';
import { keyOf } from '../api/ref.ts';
import type { KindName } from '../api/snapshot.ts';

/** Every condition carries the generation that was looked at: readers take a single stale one for "not ready". */
export const conditionsOf = (object: KubeObject, findings: readonly Finding[]): readonly Condition[] =>
  findings.map(({ type, status, reason, message }) => ({
    type,
    status,
    reason,
    message,
    observedGeneration: object.metadata.generation ?? 0,
  }));

export const updateOf = (kind: KindName, object: KubeObject, desired: DesiredStatus): StatusUpdate => ({
  ref: { kind, namespace: object.metadata.namespace ?? '', name: object.metadata.name },
  key: keyOf(object.metadata.namespace, object.metadata.name),
  uid: object.metadata.uid ?? '',
  generation: object.metadata.generation ?? 0,
  desired,
});
