// All files together: which object each identity has, and which file loses when two claim the same one. Pure.
import { compareText } from '#controller/api/ref.ts';
import type { Entry } from './content.ts';
import { idOf, type FileState } from './file-state.ts';
import type { Pause } from './pacer.ts';
import type { SourceProblem } from '../source.ts';

export interface Merged {
  /** By `idOf`. */
  readonly entries: ReadonlyMap<string, Entry>;
  readonly problems: readonly SourceProblem[];
}

/** Of one file: nobody reads more. */
const MOST_DUPLICATES = 100;

/** Of two files that define the same object the first in the order of their paths wins, and within a file the first document. */
export async function mergeFiles(files: ReadonlyMap<string, FileState>, pause: Pause): Promise<Merged> {
  const entries = new Map<string, Entry>();
  const owners = new Map<string, string>();
  const problems: SourceProblem[] = [];
  const paths = [...files.keys()].sort(compareText);
  for (const path of paths) {
    const state = files.get(path);
    let duplicates = 0;
    for (const { place, message } of state?.problems ?? []) problems.push({ where: `${path}:${place.line}:${place.column}`, message });
    for (const entry of state?.content?.entries ?? []) {
      const rest = pause();
      if (rest !== null) await rest;
      const id = idOf(entry);
      const owner = owners.get(id);
      if (owner === undefined) {
        owners.set(id, `${path}:${entry.line}`);
        entries.set(id, entry);
      } else if (duplicates++ < MOST_DUPLICATES) {
        const message = `${entry.kind.kind} ${entry.key}: is defined already in ${owner}, which counts; remove one of them`;
        problems.push({ where: `${path}:${entry.line}:1`, message });
      }
    }
    if (duplicates > MOST_DUPLICATES)
      problems.push({ where: path, message: `${duplicates - MOST_DUPLICATES} more of its objects are defined already elsewhere` });
  }
  // What a broken file kept gives way to what another one says now: the object may have been moved there.
  for (const path of paths) {
    for (const [id, entry] of files.get(path)?.kept ?? []) if (!entries.has(id)) entries.set(id, entry);
  }
  return { entries, problems };
}
