// Keeps the state of every file of the folder: reads those that changed, and tells deletion from a folder that is merely not there.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { readContent, defaultLimits, formatBytes, type Content, type ContentLimits } from './content.ts';
import { count, inForce, withContent, withoutContent, type FileState } from './file-state.ts';
import type { Keepsakes } from './keepsakes.ts';
import type { Pause } from './pacer.ts';
import { scanFolder, type FoundFile, type Scan } from './scan.ts';
import type { SourceProblem } from '../source.ts';

/** A file that was written less than this ago may still be being written. */
const SETTLE_MS = 80;
/** Where something is written all the time it is read nevertheless. */
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
  readonly pause: Pause;
  readonly keepsakes: Keepsakes;
  readonly limits?: Partial<ContentLimits>;
}

export class Files {
  readonly #options: FilesOptions;
  readonly #limits: ContentLimits;
  readonly #states = new Map<string, { readonly signature: string; readonly state: FileState }>();
  #unsettledSince: number | null = null;
  #hasLooked = false;
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
    const written = [...scan.files].filter(([file, { signature }]) => this.#states.get(file)?.signature !== signature);
    if (this.#isUnsettled(written.map(([, found]) => found))) return { changed: false, unsettled: true, scan };
    for (const [file, found] of written) await this.#read(file, found);
    const problems = this.#removeVanished(scan);
    const isFirst = !this.#hasLooked;
    this.#hasLooked = true;
    // At the first look files that are not there may be those of a disk that is missing.
    if (problems.removed || (isFirst && this.#states.size > 0 && problems.list.length === 0))
      await this.#options.keepsakes.forgetAllBut(this.#states.keys());
    const changed = written.length > 0 || problems.removed || JSON.stringify(problems.list) !== JSON.stringify(this.#problems);
    this.#problems = problems.list;
    return { changed, unsettled: false, scan };
  }

  /** What is written and deleted together is read together: as long as one file may be half written, all wait, for a limited time. */
  #isUnsettled(written: readonly FoundFile[]): boolean {
    const now = this.#options.now();
    // A clock that disagrees with the file system's says nothing.
    const isFresh = ({ modified }: FoundFile): boolean => now - modified > -1000 && now - modified < SETTLE_MS;
    const since = this.#unsettledSince ?? now;
    const mustWait = written.some(isFresh) && now - since < LONGEST_SETTLE_MS;
    this.#unsettledSince = mustWait ? since : null;
    return mustWait;
  }

  async #read(file: string, { signature, bytes }: FoundFile): Promise<void> {
    const content = await this.#contentOf(file, bytes);
    const previous = this.#states.get(file)?.state ?? (await this.#remembered(file, content));
    const state = typeof content === 'string' ? withoutContent(previous, content) : withContent(previous, content.content);
    this.#states.set(file, { signature, state });
    if (typeof content !== 'string' && state.problems.length === 0) await this.#options.keepsakes.keep(file, content.text);
  }

  /** What the file says, or why it cannot be read. */
  async #contentOf(file: string, bytes: number): Promise<{ readonly text: Buffer; readonly content: Content } | string> {
    const { fileBytes } = this.#limits;
    if (bytes > fileBytes) return `has ${formatBytes(bytes)}, at most ${formatBytes(fileBytes)} are read. Split the file`;
    try {
      const text = await readFile(path.join(this.#options.root, file));
      const known = this.#states.get(file)?.state.content?.documents ?? new Map();
      return { text, content: await readContent(text, known, this.#limits, this.#options.pause) };
    } catch (error) {
      return `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`;
    }
  }

  /** What an earlier run kept of a file that is in error, or empty, when this one sees it for the first time. */
  async #remembered(file: string, now: { readonly content: Content } | string): Promise<FileState | null> {
    if (typeof now !== 'string' && now.content.problems.length === 0 && !now.content.isBlank) return null;
    const text = await this.#options.keepsakes.of(file);
    return text === null ? null : withContent(null, await readContent(text, new Map(), this.#limits, this.#options.pause));
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
