// Statuses as people find them: the files of a controller without a cluster, or what an API server has.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { load } from 'js-yaml';

export type Status = Readonly<Record<string, unknown>>;

/** By type. */
export type Conditions = Readonly<Record<string, Condition>>;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Of an object; of a route those of its first parent. */
export function conditionsOf(status: Status): Conditions {
  const parents = status['parents'] as readonly { readonly conditions: readonly Condition[] }[] | undefined;
  const conditions = (parents?.[0]?.conditions ?? status['conditions'] ?? []) as readonly Condition[];
  return Object.fromEntries(conditions.map((condition) => [condition.type, condition]));
}

/** `status reason: message`, to be compared with an expression; empty when there is none. */
export const textOf = (conditions: Conditions, type: string): string => {
  const { status = '', reason = '', message = '' } = conditions[type] ?? {};
  return `${status} ${reason}: ${message}`;
};

/** A file's name has room for so many characters of the object's. */
const CUT = 200;

/** Of an object, `name` as `namespace/name` or as `name` for kinds without namespaces; empty while it has none. */
export function readStatus(statusDir: string, kind: string, name: string): Status {
  const file = path.join(statusDir, kind, `${name}.yaml`);
  const base = path.basename(file);
  const isThis = (entry: string): boolean =>
    base.length <= CUT ? entry === base : entry.startsWith(base.slice(0, CUT)) && entry.endsWith('.yaml');
  try {
    const found = readdirSync(path.dirname(file)).find(isThis) ?? base;
    return (load(readFileSync(path.join(path.dirname(file), found), 'utf8')) as { readonly status: Status }).status;
  } catch {
    return {};
  }
}

export function filesBelow(folder: string, except = ''): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && path.basename(entry.parentPath) !== except)
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), 'utf8'));
}
