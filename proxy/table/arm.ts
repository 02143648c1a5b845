// An arm in its bucket: one match of one rule under one hostname pattern, and which of two arms comes first.
import { PATH, type Conditions } from './conditions.ts';
import type { Arm, CompiledRule } from './types.ts';

export interface RankedArm extends Arm {
  readonly conditions: Conditions;
  /** Age of the match in the whole table: by route (creation time, then `namespace/name`, then kind), rule, match. Lower wins ties. */
  readonly seniority: number;
}

export function createArm(rule: CompiledRule, conditions: Conditions, hostname: string, seniority: number): RankedArm {
  const prefix = conditions.pathType === PATH.prefix ? conditions.path : null;
  return Object.freeze({ rule, prefix, hostname, conditions, seniority });
}

/**
 * Negative if `a` is looked at before `b`. The Gateway API's order, one criterion after the other and never summed up: Exact path, then
 * RegularExpression (where it stands is left to implementations; longer patterns first), then the longest PathPrefix; a method match; the
 * number of header matches; the number of query matches; the older route; its name; the earlier rule; the earlier match.
 */
export function byPrecedence(a: RankedArm, b: RankedArm): number {
  const x = a.conditions;
  const y = b.conditions;
  return (
    x.pathType - y.pathType ||
    (x.pathType === PATH.exact ? 0 : y.path.length - x.path.length) ||
    Number(y.method !== null) - Number(x.method !== null) ||
    y.headers.length - x.headers.length ||
    y.query.length - x.query.length ||
    a.seniority - b.seniority
  );
}

/**
 * What answers when the budget was spent on this arm. Whether it matches is not known, and to pass over it could hand a request to a route
 * that its owner meant to be shadowed: so nobody gets it.
 */
export function undecided(arm: RankedArm): Arm {
  const rule: CompiledRule = { ...arm.rule, error: 500, redirect: null, choices: [], totalWeight: 0 };
  return { rule, prefix: null, hostname: arm.hostname };
}
