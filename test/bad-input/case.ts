// One bad object, and what is to be said of it.
import * as o from './objects.ts';

export interface Case {
  readonly objects: readonly o.Fields[];
  /** The folder refuses the last object with these words. */
  readonly problem?: RegExp;
  /** Conditions of the last object, as `status reason: message`. */
  readonly conditions?: Readonly<Record<string, RegExp>>;
  /** What a visitor of `<name>.example.com/x` gets. */
  readonly answer?: number;
}

export const refused = (object: o.Fields, problem: RegExp): Case => ({ objects: [object], problem });
export const closed = (object: o.Fields, message: RegExp, answer = 500): Case => ({
  objects: [object],
  conditions: { Accepted: new RegExp(`^False UnsupportedValue: spec\\.rules\\[0\\]\\.${message.source}`, 's') },
  answer,
});
export const unresolved = (reason: string, message: RegExp, answer: number, ...objects: readonly o.Fields[]): Case => ({
  objects,
  conditions: { Accepted: /^True/, ResolvedRefs: new RegExp(`^False ${reason}: ${message.source}`) },
  answer,
});
export const served = (object: o.Fields, answer = 200): Case => ({
  objects: [object],
  conditions: { Accepted: /^True/, ResolvedRefs: /^True/ },
  answer,
});

/** A list of many. */
export const repeat = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** A route to one backend. */
export const backend = (name: string, ref: o.Fields): o.Fields =>
  o.httpRoute(name, { rules: [{ backendRefs: [{ name: 'good', port: 80, ...ref }] }] });
