// Statuses without a cluster: a line in the log when one changes, and one YAML file per object for people and programs to read.
import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { dump, load } from 'js-yaml';
import type { KubeObject } from '#controller/api/core.ts';
import type { StatusUpdate } from '#controller/api/plan.ts';
import { formatRef, type Key, type ObjectRef } from '#controller/api/ref.ts';
import type { KindName } from '#controller/api/snapshot.ts';
import { systemClock, type Clock } from '#controller/kube/clock.ts';
import { isRecord } from '#controller/kube/json.ts';
import { kindRows } from '#controller/kube/kinds.ts';
import type { Log } from '#controller/kube/log.ts';
import { mergeStatus } from '#controller/output/merge-status.ts';
import type { StatusSink } from './status-sink.ts';
import { isWell, storyOf } from './status-story.ts';

export interface FolderStatusOptions {
  /** `<statusDir>/<Kind>/<namespace>/<name>.yaml`, where a name of more than 200 characters is cut and gets a digest; null: nothing is written. Must not lie in the folder that objects are read from. */
  readonly statusDir: string | null;
  /** The object in the newest snapshot. */
  readonly current: (kind: KindName, key: Key) => KubeObject | undefined;
  readonly log: Log;
  readonly clock?: Clock;
}

interface Told {
  readonly ref: StatusUpdate['ref'];
  readonly key: Key;
  readonly uid: string;
  desired: StatusUpdate['desired'] | null;
  generation: number;
  status: object;
  story: string;
  isWritten: boolean;
}

/** Only files that begin like this are ever removed. */
const HEADER = '# Written by the controller; changes are not read.\n';
const RETRY_MS = 2000;

export class FolderStatusSink implements StatusSink {
  readonly #options: FolderStatusOptions;
  readonly #clock: Clock;
  readonly #told = new Map<string, Told>();
  #queue: Promise<void> = Promise.resolve();
  #isSwept = false;
  #failure = '';
  #cancelRetry: (() => void) | null = null;
  #stopped = false;

  constructor(options: FolderStatusOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  apply(updates: readonly StatusUpdate[]): Promise<void> {
    return this.#enqueue(async () => {
      for (const update of updates) await this.#take(update);
      await this.#removeVanished();
      await this.#writeAll();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelRetry?.();
    await this.#queue;
  }

  /** One after the other, so that a file is never written twice at a time. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    if (!this.#stopped) this.#queue = this.#queue.then(work).catch((error: unknown) => this.#failed(error));
    return this.#queue;
  }

  async #take(update: StatusUpdate): Promise<void> {
    const id = formatRef(update.ref);
    const object = this.#options.current(update.ref.kind, update.key);
    if (object === undefined || object.metadata.uid !== update.uid) return;
    let told = this.#told.get(id);
    if (told === undefined || told.uid !== update.uid) {
      const { ref, key, uid } = update;
      const status = await this.#statusOfEarlierRun(update, object);
      told = { ref, key, uid, desired: null, generation: 0, status, story: '', isWritten: false };
      this.#told.set(id, told);
    }
    if (told.desired === update.desired && told.generation === update.generation) return;
    const now = `${new Date(this.#clock.now()).toISOString().slice(0, 19)}Z`;
    const merged = mergeStatus({ ...object, status: told.status }, update, now);
    if (merged !== null) {
      told.status = merged.status;
      told.isWritten = false;
    }
    told.desired = update.desired;
    told.generation = update.generation;
    this.#tell(told, update);
  }

  /** Says a story once, until it becomes another one. */
  #tell(told: Told, update: StatusUpdate): void {
    const story = storyOf(update);
    if (told.story === story) return;
    told.story = story;
    if (isWell(update)) this.#options.log.info({}, story);
    else this.#options.log.warn({}, story);
  }

  async #removeVanished(): Promise<void> {
    const { current, log } = this.#options;
    for (const [id, { ref, key }] of this.#told) {
      if (current(ref.kind, key) !== undefined) continue;
      this.#told.delete(id);
      log.info({}, `${id}: is gone`);
      const file = this.#fileOf(ref);
      if (file !== null) await rm(file, { force: true });
    }
    if (!this.#isSwept) await this.#sweep();
    this.#isSwept = true;
  }

  /** One that cannot be written does not keep others from being written. */
  async #writeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const told of this.#told.values()) await this.#write(told).catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
    if (this.#failure !== '') this.#options.log.info({}, 'statuses can be written to files again');
    this.#failure = '';
  }

  async #write(told: Told): Promise<void> {
    const file = this.#fileOf(told.ref);
    const object = this.#options.current(told.ref.kind, told.key);
    if (told.isWritten || file === null || object === undefined) return;
    const { name, namespace, uid, generation } = object.metadata;
    const metadata = {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid,
      ...(generation === undefined ? {} : { generation }),
    };
    const text = dump({ apiVersion: object.apiVersion, kind: object.kind, metadata, status: told.status }, { lineWidth: -1, noRefs: true });
    await mkdir(path.dirname(file), { recursive: true });
    // A reader never meets half a file.
    await writeFile(`${file}.new`, HEADER + text);
    await rename(`${file}.new`, file);
    told.isWritten = true;
  }

  #failed(error: unknown): void {
    const { code, message } = error as NodeJS.ErrnoException;
    if (this.#failure !== message) this.#options.log.warn({ code, reason: message }, 'statuses cannot be written to files; tried again');
    this.#failure = message;
    this.#cancelRetry?.();
    if (!this.#stopped) this.#cancelRetry = this.#clock.after(RETRY_MS, () => void this.apply([]));
  }

  #fileOf({ kind, namespace, name }: ObjectRef): string | null {
    const { statusDir } = this.#options;
    return statusDir === null ? null : path.join(statusDir, kind, namespace, `${fileName(name)}.yaml`);
  }

  /** Transition times outlive a restart with the object; an object of that name which is another one starts anew. */
  async #statusOfEarlierRun({ ref, uid }: StatusUpdate, object: KubeObject): Promise<object> {
    const file = this.#fileOf(ref);
    const stored = file === null ? null : await readStored(file);
    if (stored === null || stored['apiVersion'] !== object.apiVersion) return {};
    const { metadata, status } = stored;
    return isRecord(metadata) && metadata['uid'] === uid && isRecord(status) ? status : {};
  }

  /** Removes what an earlier run wrote of objects that are gone. */
  async #sweep(): Promise<void> {
    const { statusDir } = this.#options;
    if (statusDir === null) return;
    const names = await readdir(statusDir, { recursive: true }).catch(() => []);
    const wanted = new Set([...this.#told.values()].map(({ ref }) => this.#fileOf(ref)));
    for (const name of names) {
      const [kind] = name.split(path.sep);
      const file = path.join(statusDir, name);
      const mayBeOurs = kindRows.has(kind as KindName) && (name.endsWith('.yaml') || name.endsWith('.yaml.new'));
      if (mayBeOurs && !wanted.has(file) && (await readText(file))?.startsWith(HEADER)) await rm(file, { force: true });
    }
  }
}

/** Names of objects have up to 253 characters, those of files up to 255 with all that is put behind them. */
const LONGEST_NAME = 200;

const fileName = (name: string): string =>
  name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME)}-${hash('sha256', name).slice(0, 16)}`;

const readText = (file: string): Promise<string | null> => readFile(file, 'utf8').catch(() => null);

async function readStored(file: string): Promise<Readonly<Record<string, unknown>> | null> {
  const text = await readText(file);
  if (text === null || !text.startsWith(HEADER)) return null;
  try {
    const value = load(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
