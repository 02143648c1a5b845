// The budget of one routing decision: what bounds the time that a request can take, however a route and a visitor conspire.

/**
 * Steps that one `match()` may take. A step is the cheapest thing that is counted (one character through a cached transition of an
 * expression, one header name compared) and costs a few nanoseconds, so the whole budget is in the order of a millisecond.
 */
export const WORK_PER_REQUEST = 200_000;

/** Steps left. Below zero the decision cannot be made: the arm that was being looked at answers 500 rather than let a guess win. */
export interface Work {
  left: number;
}
