// A folder of YAML as a source: what a cluster would make of it with `kubectl apply`, kept up to date while files are edited.
import { printable } from '#controller/api/printable.ts';
import type { KindName, Snapshot } from '#controller/api/snapshot.ts';
import { systemClock, type Clock } from '#controller/kube/clock.ts';
import type { Log } from '#controller/kube/log.ts';
import type { Source, SourceProblem } from '../source.ts';
import { Store } from '../store.ts';
import { Ages } from './ages.ts';
import type { ContentLimits } from './content.ts';
import { Files } from './files.ts';
import { withImplicit, type Item } from './implicit.ts';
import { Keepsakes } from './keepsakes.ts';
import { folderKinds } from './kinds.ts';
import { mergeFiles, type Merged } from './merge.ts';
import { Pacer } from './pacer.ts';
import { Reporter } from './reporter.ts';
import { DirectoryWatcher } from './watcher.ts';

export interface FolderSourceOptions {
  readonly dir: string;
  /** Where ages of objects and the last good contents of files are remembered; without one they last as long as the process. */
  readonly stateDir?: string | null;
  readonly log: Log;
  readonly clock?: Clock;
  readonly limits?: Partial<ContentLimits>;
}

/** Quiet time after a hint before the folder is looked through: an editor's save is several events. */
const DEBOUNCE_MS = 25;
/** The folder is looked through this often anyway, or less often if looking takes long: at most a fiftieth of the time is spent on it. */
const POLL_MS = 500;
const POLL_SHARE = 50;

const kindNames: readonly KindName[] = [...folderKinds.map(({ kind }) => kind), 'CustomResourceDefinition'];

export function createFolderSource(options: FolderSourceOptions): Source {
  return new FolderSource(options);
}

class FolderSource implements Source {
  readonly #options: FolderSourceOptions;
  readonly #clock: Clock;
  readonly #store = new Store();
  readonly #listeners = new Set<() => void>();
  readonly #files: Files;
  readonly #ages: Ages;
  readonly #reporter: Reporter;
  readonly #pacer: Pacer;
  readonly #watcher = new DirectoryWatcher(() => this.#soon(DEBOUNCE_MS));
  #problems: readonly SourceProblem[] = [];
  #synced = false;
  #isPublished = false;
  #stopped = false;
  #cancelTimer: (() => void) | null = null;
  #dueAt = Infinity;
  /** The look at the folder that is going on. */
  #running: Promise<void> | null = null;

  constructor(options: FolderSourceOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#ages = Ages.load(options.stateDir ?? null, options.log);
    this.#reporter = new Reporter(options.log);
    this.#pacer = new Pacer(() => this.#clock.monotonic());
    this.#files = new Files({
      root: options.dir,
      now: () => this.#clock.now(),
      pause: this.#pacer.pause,
      keepsakes: new Keepsakes(options.stateDir ?? null, options.log),
      ...(options.limits ? { limits: options.limits } : {}),
    });
  }

  start(): void {
    this.#soon(0);
  }

  snapshot(): Snapshot {
    return this.#store.snapshot();
  }

  get synced(): boolean {
    return this.#synced;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** All Secrets and ConfigMaps of the folder are there already. */
  want(): void {}

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    this.#watcher.close();
    this.#pacer.stop();
    await this.#running;
    this.#listeners.clear();
  }

  problems(): readonly SourceProblem[] {
    return this.#problems;
  }

  /** Looks through the folder after `ms`, or earlier if that is planned already. */
  #soon(ms: number): void {
    if (this.#stopped) return;
    const due = this.#clock.monotonic() + ms;
    if (due >= this.#dueAt) return;
    this.#cancelTimer?.();
    this.#dueAt = due;
    this.#cancelTimer = this.#clock.after(ms, () => {
      this.#dueAt = Infinity;
      // A look that is going on may have passed the file that changed.
      this.#running = (this.#running ?? Promise.resolve()).then(() => this.#look());
    });
  }

  async #look(): Promise<void> {
    if (this.#stopped) return;
    try {
      await this.#lookOnce();
    } catch (error) {
      if (this.#stopped) return;
      // Nothing that a file says leads here; what does must not end the watching.
      this.#options.log.error({ reason: (error as Error).message }, 'the folder could not be looked through');
      this.#soon(POLL_MS);
    }
  }

  async #lookOnce(): Promise<void> {
    const started = this.#clock.monotonic();
    const { changed, unsettled, scan } = await this.#files.refresh();
    if (this.#stopped) return;
    const took = changed ? 0 : this.#clock.monotonic() - started;
    this.#watcher.follow(scan.directories.values());
    this.#isPublished &&= !changed;
    if (!unsettled && !(this.#isPublished && this.#synced)) await this.#publish(scan.directories.has(''));
    this.#soon(unsettled ? DEBOUNCE_MS : Math.max(POLL_MS, took * POLL_SHARE));
  }

  async #publish(isReadable: boolean): Promise<void> {
    const merged = await mergeFiles(this.#files.states(), this.#pacer.pause);
    const before = { revision: this.#store.snapshot().revision, synced: this.#synced, problems: this.#problems };
    const problems = [...this.#files.problems(), ...merged.problems].map(({ where, message }) => ({
      where: printable(where),
      message: printable(message),
    }));
    if (this.#synced || this.#mayBegin(merged, isReadable, problems)) await this.#fill(merged, problems.length === 0);
    this.#problems = problems;
    this.#isPublished = true;
    this.#reporter.ignored(this.#files.states());
    const isNews =
      before.revision !== this.#store.snapshot().revision ||
      before.synced !== this.#synced ||
      JSON.stringify(before.problems) !== JSON.stringify(problems);
    if (isNews && !this.#stopped) for (const listener of this.#listeners) listener();
    await this.#ages.save();
  }

  /** The first complete look counts; not one at a folder that lost everything while nobody looked. */
  #mayBegin(merged: Merged, isReadable: boolean, problems: SourceProblem[]): boolean {
    if (!isReadable) return false;
    if (merged.entries.size > 0 || problems.length > 0 || !this.#ages.hasMemories) return true;
    const message =
      'there are no objects, but an earlier run had some: waiting for them, so that nothing is removed. If that is meant, empty the state directory';
    problems.push({ where: this.#options.dir, message });
    return false;
  }

  /** Everything is made ready first, as that takes long, and put into the store at once: a snapshot is never half of a change. */
  async #fill(merged: Merged, isComplete: boolean): Promise<void> {
    const now = this.#clock.now();
    const ready: Item[] = [];
    const ids = new Set<string>();
    for (const item of withImplicit(merged.entries)) {
      ready.push({ ...item, object: this.#ages.stamp(item.id, item.object, item.counted, now) });
      ids.add(item.id);
      const rest = this.#pacer.pause();
      if (rest !== null) await rest;
    }
    if (this.#stopped) return;
    for (const kind of kindNames) this.#store.setServed(kind, true);
    const keys = new Map<KindName, Set<string>>(kindNames.map((kind) => [kind, new Set()]));
    for (const { kind, key, object } of ready) {
      keys.get(kind)?.add(key);
      this.#store.put(kind, key, object);
    }
    for (const [kind, listed] of keys) for (const key of this.#store.absentFrom(kind, listed)) this.#store.remove(kind, key);
    this.#synced = true;
    // An object that is in error is missing, not gone.
    if (isComplete) this.#ages.forgetAllBut(ids);
  }
}
