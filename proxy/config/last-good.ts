// The last good configuration on disk, so that a restarted container serves before any controller has spoken to it.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Accepted } from './receiver.ts';
import { configItems, serializeConfig } from './serialize.ts';

const NAME = 'last-good.ndjson';
const BATCH_BYTES = 256 * 1024;

/** It may hold tunnel tokens: mode 0600, in a folder that should be memory-backed. */
export class LastGood {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Replaces the stored one as a whole, or leaves it. Rejects when the folder cannot be written; callers go on without. */
  async store({ header, config }: Accepted): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const temporary = path.join(this.#dir, `${NAME}.${process.pid}.tmp`);
    const { lines } = serializeConfig(configItems(config), header, () => createHash('sha256'));
    const file = await open(temporary, 'w', 0o600);
    try {
      let batch = '';
      for (const line of lines) {
        batch += `${line}\n`;
        if (batch.length < BATCH_BYTES) continue;
        await file.writeFile(batch);
        batch = '';
      }
      await file.writeFile(batch);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    await rename(temporary, path.join(this.#dir, NAME));
  }

  /** The stored body; reading fails (as any body that is cut off) when there is none. */
  read(): AsyncIterable<Buffer> {
    return createReadStream(path.join(this.#dir, NAME));
  }
}
