// Our conditions into a list that others write to as well.
import type { Condition } from '#controller/api/core.ts';

export interface ConditionMerge {
  readonly desired: readonly Condition[];
  /** Whether a type that is not desired is ours to remove. */
  readonly isOurs: (type: string) => boolean;
  /** Generation that was looked at. */
  readonly generation: number;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

/** Limits of the Gateway API's schemas; a status beyond them would be refused as a whole. */
const MOST_CONDITIONS = 8;
const LONGEST_MESSAGE = 32_768;

/**
 * Foreign conditions stay where and as they are; ours are replaced in place, and new ones follow. A transition time moves only with the
 * status: consumers take it for "since when".
 */
export function mergeConditions(stored: unknown, merge: ConditionMerge): readonly unknown[] {
  const list: readonly unknown[] = Array.isArray(stored) ? stored : [];
  const wanted = new Map(merge.desired.map((condition) => [condition.type, condition]));
  const foreign = list.filter((condition) => !wanted.has(typeOf(condition)) && !merge.isOurs(typeOf(condition)));
  // Too many of others: the last of ours have to go, the essential ones come first.
  const kept = new Map([...wanted].slice(0, Math.max(0, MOST_CONDITIONS - foreign.length)));
  const merged: unknown[] = [];
  for (const condition of list) {
    const desired = kept.get(typeOf(condition));
    if (desired !== undefined) {
      merged.push(mergeCondition(condition as Condition, desired, merge));
      kept.delete(desired.type);
    } else if (foreign.includes(condition)) merged.push(condition);
  }
  for (const desired of kept.values()) merged.push(mergeCondition(undefined, desired, merge));
  return merged;
}

/** The newest generation that one of our stored conditions speaks of. */
export function newestGeneration(stored: unknown, isOurs: (type: string) => boolean): number {
  const list: readonly unknown[] = Array.isArray(stored) ? stored : [];
  return list.reduce<number>((newest, condition) => {
    const generation = (condition as Partial<Condition> | null)?.observedGeneration;
    return isOurs(typeOf(condition)) && typeof generation === 'number' ? Math.max(newest, generation) : newest;
  }, 0);
}

function mergeCondition(stored: Condition | undefined, desired: Condition, { generation, now }: ConditionMerge): Condition {
  return {
    type: desired.type,
    status: desired.status,
    reason: desired.reason,
    message: bounded(desired.message),
    observedGeneration: desired.observedGeneration ?? generation,
    lastTransitionTime: (stored?.status === desired.status && stored.lastTransitionTime) || now,
  };
}

/** The schema counts characters, not UTF-16 units; counting units errs on the short side, and a pair is not cut in half. */
function bounded(message: string): string {
  if (message.length <= LONGEST_MESSAGE) return message;
  return `${message.slice(0, LONGEST_MESSAGE - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

const typeOf = (condition: unknown): string => {
  const type = (condition as { readonly type?: unknown } | null)?.type;
  return typeof type === 'string' ? type : '';
};
