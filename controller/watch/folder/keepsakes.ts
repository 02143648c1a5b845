// The last contents of each file that were without fault, kept over restarts: an error must not take away after one what it did not before.
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '#controller/kube/log.ts';

/** No YAML extensions in it: the state directory may lie inside of the folder that is read. */
const DIRECTORY = 'last-good';

export class Keepsakes {
  readonly #directory: string | null;
  readonly #log: Log;

  /** Without a state directory nothing outlives the process. */
  constructor(stateDir: string | null, log: Log) {
    this.#directory = stateDir === null ? null : path.join(stateDir, DIRECTORY);
    this.#log = log;
  }

  /** What was kept of a file; null when nothing was. */
  async of(file: string): Promise<Buffer | null> {
    if (this.#directory === null) return null;
    return readFile(path.join(this.#directory, nameOf(file))).catch(() => null);
  }

  /** Files may hold Secrets, so what is kept of them is for the same user only. */
  async keep(file: string, bytes: Buffer): Promise<void> {
    if (this.#directory === null || (await this.of(file))?.equals(bytes)) return;
    const target = path.join(this.#directory, nameOf(file));
    // Another source may follow the same folder for a moment.
    const temporary = `${target}.${randomUUID()}`;
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      await writeFile(temporary, bytes, { mode: 0o600 });
      await rename(temporary, target);
    } catch (error) {
      this.#log.warn(
        { file, code: (error as NodeJS.ErrnoException).code },
        'the state directory cannot be written: after a restart an error in this file takes away what it holds',
      );
    }
  }

  /** Forgets all other files. */
  async forgetAllBut(files: Iterable<string>): Promise<void> {
    if (this.#directory === null) return;
    const names = new Set([...files].map(nameOf));
    for (const name of await readdir(this.#directory).catch(() => []))
      if (!names.has(name)) await rm(path.join(this.#directory, name), { force: true });
  }
}

/** A path may be longer than the name of a file. */
const nameOf = (file: string): string => createHash('sha256').update(file).digest('hex');
