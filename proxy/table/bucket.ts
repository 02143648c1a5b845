// Every arm of one hostname pattern, arranged so that a request meets few of them however many there are.
import { byPrecedence, type RankedArm } from './arm.ts';
import { ArmList } from './arm-list.ts';
import { hold, PATH } from './conditions.ts';
import { sortSteps } from './sort.ts';
import type { RequestKey } from './types.ts';
import type { Work } from './work.ts';

export interface Bucket {
  /** The winning arm for a normalised path, or null. */
  find(path: string, request: RequestKey, work: Work): RankedArm | null;
}

/** Up to this many arms are walked in order of precedence. */
const FEW = 8;

export function* bucketSteps(arms: readonly RankedArm[]): Generator<void, Bucket> {
  const sorted = yield* sortSteps(arms, byPrecedence);
  if (sorted.length <= FEW) return new SmallBucket(sorted);
  const exact = new Map<string, RankedArm[]>();
  const prefixes = new Map<string, RankedArm[]>();
  const patterns: RankedArm[] = [];
  for (const arm of sorted) {
    const { pathType, path } = arm.conditions;
    if (pathType === PATH.pattern) patterns.push(arm);
    else append(pathType === PATH.exact ? exact : prefixes, path, arm);
  }
  yield;
  return new IndexedBucket(yield* listSteps(exact), patternIndex(patterns), yield* listSteps(prefixes));
}

class SmallBucket implements Bucket {
  readonly #first: RankedArm | null;
  readonly #others: readonly RankedArm[];

  constructor(sorted: readonly RankedArm[]) {
    this.#first = sorted[0] ?? null;
    this.#others = sorted.slice(1);
  }

  find(path: string, request: RequestKey, work: Work): RankedArm | null {
    const first = this.#first;
    if (first !== null && hold(first.conditions, path, request, work)) return first;
    return firstMatching(this.#others, path, request, work, null);
  }
}

class IndexedBucket implements Bucket {
  readonly #exact: ReadonlyMap<string, ArmList>;
  readonly #patterns: readonly PatternGroup[];
  readonly #prefixes: ReadonlyMap<string, ArmList>;
  /** 1 at each length that some prefix has: most element boundaries of a path need no look-up. */
  readonly #prefixLengths: Uint8Array;

  constructor(exact: ReadonlyMap<string, ArmList>, patterns: readonly PatternGroup[], prefixes: ReadonlyMap<string, ArmList>) {
    this.#exact = exact;
    this.#patterns = patterns;
    this.#prefixes = prefixes;
    let longest = 0;
    for (const prefix of prefixes.keys()) longest = Math.max(longest, prefix.length);
    this.#prefixLengths = new Uint8Array(longest + 1);
    for (const prefix of prefixes.keys()) this.#prefixLengths[prefix.length] = 1;
  }

  find(path: string, request: RequestKey, work: Work): RankedArm | null {
    return this.#exact.get(path)?.find(request, work) ?? this.#findPattern(path, request, work) ?? this.#findPrefix(path, request, work);
  }

  #findPattern(path: string, request: RequestKey, work: Work): RankedArm | null {
    let best: RankedArm | null = null;
    for (const { length, byPrefix } of this.#patterns) {
      work.left--;
      const arms = length > path.length ? undefined : byPrefix.get(path.slice(0, length));
      if (arms !== undefined) best = firstMatching(arms, path, request, work, best);
    }
    return best;
  }

  /** From the longest whole-element prefix of the path down to ''. */
  #findPrefix(path: string, request: RequestKey, work: Work): RankedArm | null {
    const longest = this.#prefixLengths.length - 1;
    let end = path.length <= longest ? path.length : path.lastIndexOf('/', longest);
    for (; end > 0; end = path.lastIndexOf('/', end - 1)) {
      if (this.#prefixLengths[end] !== 1) continue;
      work.left--;
      const arm = this.#prefixes.get(path.slice(0, end))?.find(request, work) ?? null;
      if (arm !== null) return arm;
    }
    return this.#prefixes.get('')?.find(request, work) ?? null;
  }
}

/** Arms with expressions whose matches all begin with a literal of one length, by that literal. */
interface PatternGroup {
  readonly length: number;
  readonly byPrefix: ReadonlyMap<string, readonly RankedArm[]>;
}

/** Longer literals are cut: they set expressions apart well enough, and there is one look-up per length. */
const MAX_LITERAL = 64;

function patternIndex(arms: readonly RankedArm[]): readonly PatternGroup[] {
  const groups = new Map<number, Map<string, RankedArm[]>>();
  for (const arm of arms) {
    const literal = (arm.conditions.pattern?.prefix ?? '').slice(0, MAX_LITERAL);
    let group = groups.get(literal.length);
    if (group === undefined) groups.set(literal.length, (group = new Map()));
    append(group, literal, arm);
  }
  return [...groups].map(([length, byPrefix]) => ({ length, byPrefix }));
}

/** The first of `arms` that matches, unless `best` comes before it. */
function firstMatching(
  arms: readonly RankedArm[],
  path: string,
  request: RequestKey,
  work: Work,
  best: RankedArm | null,
): RankedArm | null {
  for (const arm of arms) {
    if (best !== null && byPrecedence(best, arm) < 0) return best;
    if (hold(arm.conditions, path, request, work)) return arm;
  }
  return best;
}

function append(lists: Map<string, RankedArm[]>, key: string, arm: RankedArm): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [arm]);
  else list.push(arm);
}

const LISTS_PER_STEP = 1000;

function* listSteps(lists: ReadonlyMap<string, readonly RankedArm[]>): Generator<void, ReadonlyMap<string, ArmList>> {
  const result = new Map<string, ArmList>();
  for (const [key, arms] of lists) {
    result.set(key, new ArmList(arms));
    if (result.size % LISTS_PER_STEP === 0) yield;
  }
  return result;
}
