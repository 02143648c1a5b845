// Which files a folder holds at this moment. Follows symbolic links, as mounted ConfigMaps are made of them.
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { BigIntStats } from 'node:fs';

export interface FoundFile {
  /** Changes whenever the file is written or replaced. */
  readonly signature: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly modified: number;
}

export interface Scan {
  /** Paths relative to the folder, with slashes. */
  readonly files: ReadonlyMap<string, FoundFile>;
  /** Directories that could be listed: relative path → absolute path and identity. The folder itself is ''. */
  readonly directories: ReadonlyMap<string, { readonly absolute: string; readonly identity: string; readonly isEmpty: boolean }>;
  /** What could not be looked at: relative path → why. */
  readonly unreadable: ReadonlyMap<string, string>;
}

const EXTENSION = /\.(ya?ml|json)$/i;
const MOST_FILES = 20_000;
const DEEPEST = 32;

/** Names that begin with a dot are skipped: editors' swap files, `.git`, and the versions inside a mounted ConfigMap. */
export async function scanFolder(root: string): Promise<Scan> {
  const files = new Map<string, FoundFile>();
  const directories = new Map<string, { absolute: string; identity: string; isEmpty: boolean }>();
  const unreadable = new Map<string, string>();

  async function visit(relative: string, ancestors: readonly string[]): Promise<void> {
    const absolute = path.join(root, relative);
    const identity = await look(relative, async () => identityOf(await stat(absolute, { bigint: true })));
    if (identity === null) return;
    if (ancestors.includes(identity)) return;
    if (ancestors.length > DEEPEST) {
      unreadable.set(relative, `is more than ${DEEPEST} directories deep`);
      return;
    }
    const names = await look(relative, () => readdir(absolute));
    if (names === null) return;
    directories.set(relative, { absolute, identity, isEmpty: names.length === 0 });
    for (const name of names.filter((name) => !name.startsWith('.')).sort()) {
      await visitEntry(relative === '' ? name : `${relative}/${name}`, [...ancestors, identity]);
    }
  }

  async function visitEntry(relative: string, ancestors: readonly string[]): Promise<void> {
    const found = await look(relative, () => stat(path.join(root, relative), { bigint: true }));
    if (found === null) return;
    if (found.isDirectory()) return visit(relative, ancestors);
    if (!EXTENSION.test(relative)) return;
    if (!found.isFile()) unreadable.set(relative, 'is no regular file');
    else if (files.size >= MOST_FILES) unreadable.set('', `holds more than ${MOST_FILES} files; the rest is not read`);
    else files.set(relative, { signature: signatureOf(found), bytes: Number(found.size), modified: Number(found.mtimeMs) });
  }

  /** null when it is not there (any more, or not yet) or cannot be read, which is noted. A link that leads nowhere counts as unreadable. */
  async function look<T>(relative: string, how: () => Promise<T>): Promise<T | null> {
    try {
      return await how();
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
      if (relative === '' || EXTENSION.test(relative) || code !== 'ENOENT') unreadable.set(relative, `cannot be read (${code})`);
      return null;
    }
  }

  await visit('', []);
  return { files, directories, unreadable };
}

const identityOf = (found: BigIntStats): string => `${found.dev}:${found.ino}`;
const signatureOf = (found: BigIntStats): string => `${identityOf(found)}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
