// A folder source on a real folder that goes away with the test.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import type { KindName, Kinds, Snapshot } from '#controller/api/snapshot.ts';
import { createFolderSource, type FolderSourceOptions } from '#controller/watch/folder/source.ts';
import type { Source } from '#controller/watch/source.ts';

const LIMIT_MS = 10_000;

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface FolderRig {
  readonly dir: string;
  readonly source: Source;
  readonly log: readonly LogLine[];
  /** Writes a file below the folder, and the directories that it needs. */
  write(file: string, text: string | Uint8Array): void;
  object<K extends KindName>(kind: K, key: string): Kinds[K] | undefined;
  keys(kind: KindName): readonly string[];
  problems(): readonly string[];
  /** Resolves when the condition holds, at once or after a change of the source. */
  until(what: string, holds: () => boolean): Promise<void>;
  synced(): Promise<void>;
  stop(): Promise<void>;
}

export function temporaryFolder(context: TestContext): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'folder-source-'));
  context.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** `files` are written before the source starts. */
export function startFolder(
  context: TestContext,
  files: Readonly<Record<string, string>> = {},
  options: Partial<FolderSourceOptions> = {},
): FolderRig {
  const dir = options.dir ?? temporaryFolder(context);
  const log: LogLine[] = [];
  const write = (file: string, text: string | Uint8Array): void => {
    mkdirSync(path.dirname(path.join(dir, file)), { recursive: true });
    writeFileSync(path.join(dir, file), text);
  };
  for (const [file, text] of Object.entries(files)) write(file, text);
  const at = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) => void log.push({ level, message, fields });
  const source = createFolderSource({
    log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    ...options,
    dir,
  });
  context.after(() => source.stop());
  void source.start();

  const objects = (): Snapshot['objects'] => source.snapshot().objects;
  const problems = (): readonly string[] => source.problems().map(({ where, message }) => `${where}: ${message}`);
  const until = (what: string, holds: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const limit = setTimeout(() => finish(() => reject(new Error(`never: ${what}; problems: ${problems().join(' | ')}`))), LIMIT_MS);
      const end = source.onChange(() => holds() && finish(resolve));
      const finish = (settle: () => void): void => {
        clearTimeout(limit);
        end();
        settle();
      };
      if (holds()) finish(resolve);
    });
  return {
    dir,
    source,
    log,
    write,
    object: (kind, key) => objects()[kind].get(key),
    keys: (kind) => [...objects()[kind].keys()],
    problems,
    until,
    synced: () => until('synced', () => source.synced),
    stop: () => source.stop(),
  };
}

/** An HTTPRoute as YAML. */
export const route = (name: string, path = '/', namespace = 'default'): string =>
  `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: ${name}
  namespace: ${namespace}
spec:
  parentRefs:
    - name: tunnel
  rules:
    - matches:
        - path:
            value: ${path}
`;

/** Where the first match of a route leads. */
export const pathOf = (object: unknown): unknown =>
  (object as { spec: { rules: { matches: { path: { value: string } }[] }[] } } | undefined)?.spec.rules[0]?.matches[0]?.path.value;
