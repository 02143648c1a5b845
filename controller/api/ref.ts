// References to objects, and the string keys by which snapshots hold them.

/** `namespace/name`, or just `name` for cluster-scoped objects. */
export type Key = string;

export interface ObjectRef {
  readonly kind: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

export const keyOf = (namespace: string | undefined, name: string): Key => (namespace ? `${namespace}/${name}` : name);

/** Kind and key as people write them: `HTTPRoute default/shop`. */
export const formatRef = (ref: ObjectRef): string => `${ref.kind} ${keyOf(ref.namespace, ref.name)}`;

/** Plain code-unit order: the same on every machine, unlike a locale's. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
