// The volumes of one pod as folders of the node, kept equal to what the API has.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { AtomicFolder } from './atomic-folder.ts';
import type { Mount } from './container-root.ts';
import type { Container, Volume } from './types.ts';
import { volumeFiles, type VolumeContext } from './volume-files.ts';

export class PodVolumes {
  readonly #folder: string;
  readonly #context: VolumeContext;
  readonly #volumes: readonly Volume[];
  readonly #written = new Map<string, AtomicFolder>();

  constructor(folder: string, context: VolumeContext) {
    this.#folder = folder;
    this.#context = context;
    this.#volumes = context.placed.pod.spec.volumes ?? [];
  }

  /** Writes what changed. Rejects with MissingReference, and keeps what was there, when something is not there (yet or any more). */
  async write(): Promise<void> {
    for (const volume of this.#volumes) {
      const files = await volumeFiles(this.#context, volume);
      if (files === null) this.#makeEmpty(volume);
      else this.#atomic(volume.name).write(files);
    }
  }

  mountsOf({ name: container, volumeMounts = [] }: Container): readonly Mount[] {
    return volumeMounts.map(({ name, mountPath, subPath = '' }) => {
      if (!this.#volumes.some((volume) => volume.name === name)) throw new Error(`container ${container} mounts an unknown volume ${name}`);
      return { source: path.join(this.#folder, name, subPath), target: mountPath };
    });
  }

  #makeEmpty(volume: Volume): void {
    if (volume.emptyDir === undefined) throw new Error(`volume ${volume.name} is of a kind that the node emulator does not know`);
    mkdirSync(path.join(this.#folder, volume.name), { recursive: true, mode: 0o777 });
  }

  #atomic(name: string): AtomicFolder {
    const known = this.#written.get(name);
    if (known !== undefined) return known;
    const fresh = new AtomicFolder(path.join(this.#folder, name));
    this.#written.set(name, fresh);
    return fresh;
  }
}
