// Keeps the state of every file of the folder: reads those that changed, and tells deletion from a folder that is merely not there.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { readContent, defaultLimits, formatBytes, type ContentLimits } from './content.ts';
import { count, inForce, withContent, withoutContent, type FileState } from './file-state.ts';
import { scanFolder, type FoundFile, type Scan } from './scan.ts';
import type { SourceProblem } from '../source.ts';

/** A file that was written less than this ago may still be being written. */
const SETTLE_MS = 80;
/** A file that is written all the time is read nevertheless. */
const LONGEST_SETTLE_MS = 400;

export interface RefreshResult {
  readonly changed: boolean;
  /** Something was being written: look again soon. */
  readonly unsettled: boolean;
  readonly scan: Scan;
}

export interface FilesOptions {
  readonly root: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly pause: () => Promise<void> | null;
  readonly limits?: Partial<ContentLimits>;
}

export class Files {
  readonly #options: FilesOptions;
  readonly #limits: ContentLimits;
  readonly #states = new Map<string, { readonly signature: string; readonly state: FileState }>();
  readonly #unsettledSince = new Map<string, number>();
  #problems: readonly SourceProblem[] = [];

  constructor(options: FilesOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
  }

  /** By path relative to the folder. */
  states(): ReadonlyMap<string, FileState> {
    return new Map([...this.#states].map(([file, { state }]) => [file, state]));
  }

  /** What is wrong with the folder itself; what is wrong in a file stands in its state. */
  problems(): readonly SourceProblem[] {
    return this.#problems;
  }

  /** Looks through the folder once. */
  async refresh(): Promise<RefreshResult> {
    const scan = await scanFolder(this.#options.root);
    let changed = false;
    let unsettled = false;
    for (const [file, found] of scan.files) {
      if (this.#states.get(file)?.signature === found.signature) continue;
      if (this.#isUnsettled(file, found)) {
        unsettled = true;
        continue;
      }
      await this.#read(file, found);
      changed = true;
    }
    const problems = this.#removeVanished(scan);
    changed ||= problems.removed || JSON.stringify(problems.list) !== JSON.stringify(this.#problems);
    this.#problems = problems.list;
    return { changed, unsettled, scan };
  }

  #isUnsettled(file: string, { modified }: FoundFile): boolean {
    const now = this.#options.now();
    const age = now - modified;
    // A clock that disagrees with the file system's says nothing.
    if (age < -1000 || age >= SETTLE_MS) {
      this.#unsettledSince.delete(file);
      return false;
    }
    const since = this.#unsettledSince.get(file) ?? now;
    this.#unsettledSince.set(file, since);
    if (now - since < LONGEST_SETTLE_MS) return true;
    this.#unsettledSince.delete(file);
    return false;
  }

  async #read(file: string, { signature, bytes }: FoundFile): Promise<void> {
    const previous = this.#states.get(file)?.state ?? null;
    this.#states.set(file, { signature, state: await this.#stateOf(file, bytes, previous) });
  }

  async #stateOf(file: string, bytes: number, previous: FileState | null): Promise<FileState> {
    const { fileBytes } = this.#limits;
    if (bytes > fileBytes)
      return withoutContent(previous, `has ${formatBytes(bytes)}, at most ${formatBytes(fileBytes)} are read. Split the file`);
    try {
      const text = await readFile(path.join(this.#options.root, file));
      return withContent(previous, await readContent(text, previous?.content?.documents ?? new Map(), this.#limits, this.#options.pause));
    } catch (error) {
      return withoutContent(previous, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
    }
  }

  /** Forgets files that are gone, except where what held them is gone or empty too: then it is the disk that is missing, not the wish. */
  #removeVanished(scan: Scan): { readonly removed: boolean; readonly list: readonly SourceProblem[] } {
    const problems = new Map<string, string>([...scan.unreadable].map(([where, why]) => [where, why]));
    const held = new Map<string, number>();
    let removed = false;
    for (const [file, { state }] of this.#states) {
      if (scan.files.has(file)) continue;
      const holder = scan.unreadable.has(file) ? file : missingHolder(file, scan);
      if (holder !== null) held.set(holder, (held.get(holder) ?? 0) + inForce(state).size);
      else {
        this.#states.delete(file);
        this.#unsettledSince.delete(file);
        removed = true;
      }
    }
    for (const [holder, objects] of held) {
      const why = problems.get(holder) ?? (holder === '' ? 'is empty' : 'is empty (delete the directory as well, if that is meant)');
      problems.set(holder, objects === 0 ? why : `${why}; ${count(objects)} of it ${objects === 1 ? 'stays' : 'stay'} in use`);
    }
    const list = [...problems].map(([where, message]) => ({ where: where === '' ? this.#options.root : where, message }));
    return { removed, list };
  }
}

/** The nearest directory above `file` that cannot be read or has nothing left in it; null when a directory is there that lacks only the file. */
function missingHolder(file: string, scan: Scan): string | null {
  for (let at = file; at !== '';) {
    at = at.includes('/') ? at.slice(0, at.lastIndexOf('/')) : '';
    if (scan.unreadable.has(at)) return at;
    const directory = scan.directories.get(at);
    if (directory !== undefined) return directory.isEmpty ? at : null;
  }
  return null;
}
