// Failures that tests ask the edge for.
import type { EdgeFault, Refusal } from './types.ts';

interface Counted<T> {
  readonly what: T;
  left: number;
}

export class Faults {
  readonly #faults = new Set<Counted<EdgeFault>>();
  readonly #refusals = new Set<Counted<Refusal>>();

  add(fault: EdgeFault): () => void {
    const counted = { what: fault, left: fault.count ?? Infinity };
    this.#faults.add(counted);
    return () => this.#faults.delete(counted);
  }

  refuse(refusal: Refusal, count: number): () => void {
    const counted = { what: refusal, left: count };
    this.#refusals.add(counted);
    return () => this.#refusals.delete(counted);
  }

  /** The failure that a visitor's request meets, and one less of it. */
  request(tunnelId: string, hostname: string): EdgeFault | null {
    return takeOne(this.#faults, (fault) => (fault.tunnelId ?? tunnelId) === tunnelId && (fault.hostname ?? hostname) === hostname);
  }

  registration(): Refusal | null {
    return takeOne(this.#refusals, () => true);
  }
}

function takeOne<T>(set: Set<Counted<T>>, matches: (what: T) => boolean): T | null {
  for (const counted of set) {
    if (!matches(counted.what)) continue;
    counted.left -= 1;
    if (counted.left <= 0) set.delete(counted);
    return counted.what;
  }
  return null;
}
