// Arms that one path leads to, most preferred first. A long list is divided by the header or parameter value that its arms ask for.
import { byPrecedence, type RankedArm } from './arm.ts';
import { holdBesidesPath } from './conditions.ts';
import { nextHeader } from './header.ts';
import { decodedValue, findParameter, type ValueRange } from './query.ts';
import type { RequestKey } from './types.ts';
import type { Work } from './work.ts';

/** Shorter lists are walked: looking values up would cost more. */
const SHORT = 8;

interface ValueIndex {
  readonly name: string;
  /** Arms by the exact value that they ask for, each list most preferred first. */
  readonly arms: Map<string, RankedArm[]>;
  /** One of them: it stands for all when the budget ends before they are found. */
  readonly sample: RankedArm;
}

export class ArmList {
  /** The first arm that is not filed: most lists have no other, and need not be walked. */
  readonly #first: RankedArm | null;
  readonly #others: readonly RankedArm[];
  /** Where the other arms are filed by value. */
  readonly #headers: readonly ValueIndex[];
  readonly #query: readonly ValueIndex[];

  /** `arms` in order of precedence. */
  constructor(arms: readonly RankedArm[]) {
    const headers = new Map<string, ValueIndex>();
    const query = new Map<string, ValueIndex>();
    const walked = arms.length <= SHORT ? arms : arms.filter((arm) => !isFiled(arm, headers, query));
    this.#first = walked[0] ?? null;
    this.#others = walked.length > 1 ? walked.slice(1) : none;
    this.#headers = headers.size > 0 ? [...headers.values()] : none;
    this.#query = query.size > 0 ? [...query.values()] : none;
  }

  /** The first arm whose conditions besides the path hold. */
  find(request: RequestKey, work: Work): RankedArm | null {
    const first = this.#first;
    let best = first !== null && holdBesidesPath(first.conditions, request, work) ? first : null;
    if (best === null && this.#others !== none) best = firstHolding(this.#others, request, work, null);
    if (this.#headers !== none) best = this.#findByHeader(request, work, best);
    if (this.#query !== none) best = this.#findByQuery(request, work, best);
    return best;
  }

  #findByHeader(request: RequestKey, work: Work, best: RankedArm | null): RankedArm | null {
    const { rawHeaders } = request;
    for (const { name, arms, sample } of this.#headers) {
      for (let at = nextHeader(rawHeaders, name, 0, work); at !== -1; at = nextHeader(rawHeaders, name, at + 2, work)) {
        best = firstHolding(arms.get(rawHeaders[at + 1] ?? '') ?? none, request, work, best);
        if (work.left < 0) break;
      }
      if (work.left < 0) return best ?? sample;
    }
    return best;
  }

  #findByQuery(request: RequestKey, work: Work, best: RankedArm | null): RankedArm | null {
    for (const { name, arms, sample } of this.#query) {
      if (findParameter(request.query, name, range, work)) {
        best = firstHolding(arms.get(decodedValue(request.query, range, work)) ?? none, request, work, best);
      }
      if (work.left < 0) return best ?? sample;
    }
    return best;
  }
}

const none: readonly never[] = [];
const range: ValueRange = { start: 0, end: 0 };

/** Files the arm under its first exact condition, if it has one. */
function isFiled(arm: RankedArm, headers: Map<string, ValueIndex>, query: Map<string, ValueIndex>): boolean {
  const header = arm.conditions.headers.find(({ pattern }) => pattern === null);
  const condition = header ?? arm.conditions.query.find(({ pattern }) => pattern === null);
  if (condition === undefined) return false;
  const indexes = header === undefined ? query : headers;
  let index = indexes.get(condition.name);
  if (index === undefined) indexes.set(condition.name, (index = { name: condition.name, arms: new Map(), sample: arm }));
  const list = index.arms.get(condition.value);
  if (list === undefined) index.arms.set(condition.value, [arm]);
  else list.push(arm);
  return true;
}

/** The first of `arms` that holds, unless `best` comes before it. */
function firstHolding(arms: readonly RankedArm[], request: RequestKey, work: Work, best: RankedArm | null): RankedArm | null {
  for (const arm of arms) {
    if (best !== null && byPrecedence(best, arm) < 0) return best;
    if (holdBesidesPath(arm.conditions, request, work)) return arm;
  }
  return best;
}
