// A folder whose files change all at once, as those of a mounted Secret do: names are links through one link that is replaced.
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { VolumeFiles } from './volume-files.ts';

/** `<folder>/<name>` → `..data/<name>`, and `..data` → the folder of the newest files: watchers look for exactly this. */
const CURRENT = '..data';

export class AtomicFolder {
  readonly #folder: string;
  #files: VolumeFiles | null = null;
  #current = '';

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Does nothing when these are the files that are there. */
  write(files: VolumeFiles): void {
    if (this.#files !== null && isSame(this.#files, files)) return;
    const next = mkdtempSync(`${this.#folder}/..`);
    for (const [name, { data, mode }] of files) {
      const file = path.join(next, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, data, { mode });
    }
    const link = path.join(this.#folder, CURRENT);
    symlinkSync(path.basename(next), `${link}_tmp`);
    renameSync(`${link}_tmp`, link);
    this.#link(new Set([...files.keys()].map((name) => name.split('/')[0] ?? name)));
    if (this.#current !== '') rmSync(this.#current, { recursive: true });
    this.#current = next;
    this.#files = files;
  }

  #link(names: ReadonlySet<string>): void {
    const there = new Set(readdirSync(this.#folder).filter((name) => !name.startsWith('..')));
    for (const name of there) if (!names.has(name)) rmSync(path.join(this.#folder, name));
    for (const name of names) if (!there.has(name)) symlinkSync(path.join(CURRENT, name), path.join(this.#folder, name));
  }
}

function isSame(one: VolumeFiles, other: VolumeFiles): boolean {
  if (one.size !== other.size) return false;
  return [...one].every(([name, file]) => {
    const twin = other.get(name);
    return twin !== undefined && twin.mode === file.mode && twin.data.equals(file.data);
  });
}
