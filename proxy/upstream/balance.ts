// Which backend of a rule and which endpoint of a backend takes a request, given random numbers in [0, 1). Pure.
import type { BackendChoice, CompiledRule } from '#proxy/table/types.ts';

/** What is known of an endpoint's load and health. */
export interface Candidate {
  /** Exchanges in flight. */
  readonly active: number;
  /** Milliseconds on the caller's clock until which it is left out; 0 when healthy. */
  readonly ejectedUntil: number;
}

/** The share of the rule that `drawn` falls into, or null when no backend may be chosen. */
export function pickChoice(rule: CompiledRule, drawn: number): BackendChoice | null {
  const { choices, totalWeight } = rule;
  if (totalWeight <= 0) return null;
  if (choices.length === 1) return choices[0]!;
  const point = drawn * totalWeight;
  for (const choice of choices) if (choice.upTo > point) return choice;
  return null;
}

/** Up to here all are compared; above, two drawn ones: almost as even, and it costs the same for any number. */
const COMPARE_ALL = 4;

/**
 * The endpoint with the fewest requests in flight among those that are healthy and not in `tried`; among equals a random one.
 * When all that are left are ejected, they are used all the same: a wrong guess about health must not make an outage.
 */
export function pickEndpoint<T extends Candidate>(
  candidates: readonly T[],
  tried: ReadonlySet<T> | null,
  now: number,
  random: () => number,
): T | null {
  const { length } = candidates;
  if (length === 1) return tried === null || !tried.has(candidates[0]!) ? candidates[0]! : null;
  if (length > COMPARE_ALL && tried === null) {
    const drawn = twoChoices(candidates, now, random);
    if (drawn !== null) return drawn;
  }
  return fewest(candidates, tried, now, random()) ?? fewest(candidates, tried, Infinity, random());
}

function twoChoices<T extends Candidate>(candidates: readonly T[], now: number, random: () => number): T | null {
  const { length } = candidates;
  const first = Math.floor(random() * length);
  const second = (first + 1 + Math.floor(random() * (length - 1))) % length;
  const a = candidates[first]!;
  const b = candidates[second]!;
  const aHealthy = a.ejectedUntil <= now;
  const bHealthy = b.ejectedUntil <= now;
  if (aHealthy && bHealthy) return b.active < a.active ? b : a;
  if (aHealthy) return a;
  return bHealthy ? b : null;
}

/** Starts at a drawn place, so that equals take turns. */
function fewest<T extends Candidate>(candidates: readonly T[], tried: ReadonlySet<T> | null, now: number, drawn: number): T | null {
  const { length } = candidates;
  let best: T | null = null;
  let index = Math.floor(drawn * length);
  for (let i = 0; i < length; i++) {
    const candidate = candidates[index]!;
    index = index + 1 === length ? 0 : index + 1;
    if (candidate.ejectedUntil > now || tried?.has(candidate)) continue;
    if (best === null || candidate.active < best.active) best = candidate;
  }
  return best;
}
