// Generated files that are committed: write them, or say where the committed ones differ from what would be written.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface GeneratedFolder {
  readonly folder: string;
  /** Whose files are generated: others in the folder are left alone. */
  readonly extension: string;
  /** File names and their whole text. */
  readonly files: ReadonlyMap<string, string>;
}

/** The command line of a generator: writes, or with `--check` reports. Returns the exit code. */
export function runGenerator(generated: GeneratedFolder, args: readonly string[], command: string): number {
  const drift = describeDrift(generated);
  if (args.includes('--check')) {
    if (drift !== '') console.error(`${drift}\nrun: node ${command}`);
    return drift === '' ? 0 : 1;
  }
  writeGenerated(generated);
  console.log(drift === '' ? 'nothing changed' : drift);
  return 0;
}

/** Makes the folder what it should be: stale files with the extension go. */
export function writeGenerated({ folder, extension, files }: GeneratedFolder): void {
  mkdirSync(folder, { recursive: true });
  for (const name of committed(folder, extension)) if (!files.has(name)) rmSync(path.join(folder, name));
  for (const [name, text] of files) writeFileSync(path.join(folder, name), text);
}

/** What differs, as lines for people; empty when nothing does. */
export function describeDrift({ folder, extension, files }: GeneratedFolder): string {
  const there = committed(folder, extension);
  const lines: string[] = [];
  for (const name of there) if (!files.has(name)) lines.push(`${name}: should not exist`);
  for (const [name, text] of files) {
    if (!there.includes(name)) lines.push(`${name}: missing`);
    else lines.push(...difference(name, readFileSync(path.join(folder, name), 'utf8').split('\n'), text.split('\n')));
  }
  return lines.join('\n');
}

function committed(folder: string, extension: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(extension));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const SHOWN = 20;
const WIDTH = 160;

/** The lines between the common beginning and the common end of both texts: `-` as committed, `+` as generated. */
function difference(name: string, old: readonly string[], now: readonly string[]): readonly string[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  if (start === old.length && start === now.length) return [];
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  const part = (sign: string, lines: readonly string[]): readonly string[] => {
    const changed = lines.slice(start, lines.length - end);
    const shown = changed.slice(0, SHOWN).map((line) => `${sign}${line.length > WIDTH ? `${line.slice(0, WIDTH)}…` : line}`);
    return changed.length > SHOWN ? [...shown, `${sign}… ${changed.length - SHOWN} more lines`] : shown;
  };
  return [`${name}:${start + 1}:`, ...part('-', old), ...part('+', now)];
}
