// Hears of changes in a set of directories. A hint only: the file system may forget to tell (network mounts, a full watch table), so the
// folder is looked through now and then anyway.
import { watch, type FSWatcher } from 'node:fs';

export class DirectoryWatcher {
  readonly #onEvent: () => void;
  readonly #watchers = new Map<string, FSWatcher>();

  constructor(onEvent: () => void) {
    this.#onEvent = onEvent;
  }

  /** `identity` is another one when the directory was replaced by one of the same name. */
  follow(directories: Iterable<{ readonly absolute: string; readonly identity: string }>): void {
    const wanted = new Map([...directories].map(({ absolute, identity }) => [`${identity} ${absolute}`, absolute]));
    for (const [id, watcher] of this.#watchers) {
      if (wanted.has(id)) continue;
      watcher.close();
      this.#watchers.delete(id);
    }
    for (const [id, absolute] of wanted) if (!this.#watchers.has(id)) this.#add(id, absolute);
  }

  close(): void {
    this.follow([]);
  }

  #add(id: string, absolute: string): void {
    try {
      const watcher = watch(absolute, this.#onEvent);
      watcher.on('error', () => {
        watcher.close();
        this.#watchers.delete(id);
      });
      this.#watchers.set(id, watcher);
    } catch {
      // Gone again, or no watches left.
    }
  }
}
