// What an API server would remember of objects: when each was first seen and how often its spec changed. Kept in a file over restarts, so
// that precedence among routes does not depend on when the program was started.
import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { KubeObject } from '#controller/api/core.ts';
import type { Log } from '#controller/kube/log.ts';

const recordSchema = z.object({ created: z.string(), generation: z.int().min(1), spec: z.string() });
const fileSchema = z.object({ version: z.literal(1), objects: z.record(z.string(), recordSchema) });

type AgeRecord = z.infer<typeof recordSchema>;

/** No YAML extension: the file may lie inside of the folder that is read. */
const FILE = 'folder-ages';

export class Ages {
  readonly #file: string | null;
  readonly #log: Log;
  readonly #records: Map<string, AgeRecord>;
  /** Versions are told apart by a keyed digest: one without a key would let others guess the values of a Secret. */
  readonly #key = randomBytes(32);
  readonly #stamped = new Map<string, { readonly from: KubeObject; readonly object: KubeObject }>();
  #dirty = false;

  private constructor(file: string | null, records: Map<string, AgeRecord>, log: Log) {
    this.#file = file;
    this.#records = records;
    this.#log = log;
  }

  /** Without a directory nothing outlives the process. */
  static load(directory: string | null, log: Log): Ages {
    const file = directory === null ? null : path.join(directory, FILE);
    return new Ages(file, file === null ? new Map() : readRecords(file, log), log);
  }

  /** True when an earlier run has seen objects, other than the CRD that is always there. */
  get hasMemories(): boolean {
    return [...this.#records.keys()].some((id) => !id.startsWith('CustomResourceDefinition/'));
  }

  /**
   * The object with uid, creationTimestamp, resourceVersion and (with `counted`) generation. `id` tells it from all others. The same object
   * gives the same (===) answer. `now` is in milliseconds since 1970.
   */
  stamp(id: string, object: KubeObject, counted: boolean, now: number): KubeObject {
    const last = this.#stamped.get(id);
    if (last?.from === object) return last.object;
    const record = this.#remember(id, counted ? digestOf(object) : '', now);
    const creationTimestamp = object.metadata.creationTimestamp ?? record.created;
    const metadata = {
      ...object.metadata,
      uid: uidOf(`${id} ${creationTimestamp}`),
      creationTimestamp,
      ...(counted ? { generation: record.generation } : {}),
    };
    const stamped = { ...object, metadata };
    const resourceVersion = createHmac('sha256', this.#key).update(JSON.stringify(stamped)).digest('hex').slice(0, 16);
    const complete = { ...stamped, metadata: { ...metadata, resourceVersion } };
    this.#stamped.set(id, { from: object, object: complete });
    return complete;
  }

  /** Drops the memory of all other objects: one that comes back later is a new one. */
  forgetAllBut(ids: ReadonlySet<string>): void {
    for (const id of this.#records.keys()) {
      if (ids.has(id)) continue;
      this.#records.delete(id);
      this.#stamped.delete(id);
      this.#dirty = true;
    }
  }

  /** Writes what changed. A directory that cannot be written is only logged. */
  async save(): Promise<void> {
    if (!this.#dirty || this.#file === null) return;
    this.#dirty = false;
    // Another source may follow the same folder for a moment.
    const temporary = `${this.#file}.${randomUUID()}`;
    const text = JSON.stringify({ version: 1, objects: Object.fromEntries(this.#records) });
    try {
      mkdirSync(path.dirname(this.#file), { recursive: true });
      await writeFile(temporary, text, { mode: 0o600 });
      await rename(temporary, this.#file);
    } catch (error) {
      this.#log.warn(
        { code: (error as NodeJS.ErrnoException).code },
        'the state directory cannot be written: ages of objects will be lost at the next start',
      );
    }
  }

  #remember(id: string, spec: string, now: number): AgeRecord {
    const known = this.#records.get(id);
    if (known?.spec === spec) return known;
    // Kubernetes counts whole seconds.
    const created = known?.created ?? `${new Date(now).toISOString().slice(0, 19)}Z`;
    const record = { created, generation: (known?.generation ?? 0) + 1, spec };
    this.#records.set(id, record);
    this.#dirty = true;
    return record;
  }
}

function readRecords(file: string, log: Log): Map<string, AgeRecord> {
  try {
    return new Map(Object.entries(fileSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).objects));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      log.warn({ file }, 'the remembered ages of objects cannot be read: all objects count as new');
    return new Map();
  }
}

/** Metadata does not count as a change of what is wanted. */
function digestOf({ metadata: _, ...rest }: KubeObject): string {
  return createHash('sha256').update(JSON.stringify(rest)).digest('base64').slice(0, 22);
}

function uidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
