// What is in force of one file: its newest content, and from earlier contents what an error must not take away. Pure.
import type { Content, ContentProblem, Entry } from './content.ts';

export interface FileState {
  /** Null when the file could never be read. */
  readonly content: Content | null;
  /** Good objects of earlier contents which the newest one, being in error, lacks; by `idOf`. */
  readonly kept: ReadonlyMap<string, Entry>;
  /** What is wrong with the newest content, or with reading it. */
  readonly problems: readonly ContentProblem[];
}

export const idOf = ({ kind, key }: Entry): string => `${kind.kind}/${key}`;

const WHOLE_FILE = { line: 1, column: 1 };

/**
 * While a file has errors nothing of it is taken away: an object that is missing may be the one that cannot be read. Objects that are fine
 * are in force as they are written now.
 */
export function withContent(previous: FileState | null, content: Content): FileState {
  if (content.problems.length === 0 && !isBlanked(previous, content)) return { content, kept: new Map(), problems: [] };
  const kept = inForce(previous);
  for (const entry of content.entries) kept.delete(idOf(entry));
  const stay = kept.size === 0 ? '' : `; ${count(kept.size)} of this file ${kept.size === 1 ? 'stays' : 'stay'} in use`;
  const refs = new Set([...kept.values()].map(({ kind, key }) => `${kind.kind}/${key}`));
  const problems = content.problems.map((problem) => {
    if (problem.ref === null) return { ...problem, message: problem.message + stay };
    const { kind, namespace, name } = problem.ref;
    const isKept = refs.has(`${kind}/${namespace === '' ? name : `${namespace}/${name}`}`);
    return isKept ? { ...problem, message: `${problem.message}; its last good version stays in use` } : problem;
  });
  if (problems.length > 0) return { content, kept, problems };
  // A disk that is full or a half-done save leaves an empty file; nobody empties one in order to delete what it says.
  return { content, kept, problems: [{ place: WHOLE_FILE, message: `the file is empty${stay}; delete it to delete them`, ref: null }] };
}

/** The file is there but cannot be read. */
export const withoutContent = (previous: FileState | null, message: string): FileState => ({
  content: null,
  kept: inForce(previous),
  problems: [{ place: WHOLE_FILE, message, ref: null }],
});

/** Everything of the file that counts, by `idOf`; of two entries with one identity the first. */
export function inForce(state: FileState | null): Map<string, Entry> {
  const all = new Map(state?.kept);
  for (const entry of [...(state?.content?.entries ?? [])].reverse()) all.set(idOf(entry), entry);
  return all;
}

const isBlanked = (previous: FileState | null, content: Content): boolean => content.isBlank && inForce(previous).size > 0;

export const count = (objects: number): string => (objects === 1 ? '1 object' : `${objects} objects`);
