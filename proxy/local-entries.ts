// The ports of the proxy's own entry, opened and closed as configurations name them.
import { setTimeout as pause } from 'node:timers/promises';
import type { ProxyConfig } from './config/schema.ts';
import type { DataPlane } from './data-plane.ts';
import type { Log } from './http/plane.ts';

/** Every address of both families, or of the one that the machine has. */
const EVERYWHERE = ['::', '0.0.0.0'];
/** How long visitors come who have not heard yet that this proxy ends: endpoints are written, then read by every node. */
const FAREWELL_MS = 3_000;
const NO_SUCH_FAMILY: ReadonlySet<unknown> = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL']);

export class LocalEntries {
  readonly #dataPlane: DataPlane;
  readonly #hosts: readonly string[];
  readonly #log: Log;
  readonly #ports = new Set<number>();

  /** `address` '' stands for every one. */
  constructor(dataPlane: DataPlane, address: string, log: Log) {
    this.#dataPlane = dataPlane;
    this.#hosts = address === '' ? EVERYWHERE : [address];
    this.#log = log;
  }

  /** Opens what is wanted. A port that cannot be had is a problem of its own entry alone, and is tried again with the next configuration. */
  async open({ localEntries }: ProxyConfig): Promise<readonly string[]> {
    const problems: string[] = [];
    for (const { id, port } of localEntries) {
      if (this.#ports.has(port)) continue;
      const error = await this.#listen(port);
      if (error === null) {
        this.#ports.add(port);
        this.#log.info({ entry: id, port }, 'local entry opened');
      } else {
        problems.push(`${id}: port ${port} cannot be opened: ${error}`);
        this.#log.warn({ entry: id, port, error }, 'the port of a local entry cannot be opened');
      }
    }
    return problems;
  }

  async #listen(port: number): Promise<string | null> {
    let last = '';
    for (const host of this.#hosts) {
      try {
        await this.#dataPlane.listenLocal(port, host);
        return null;
      } catch (error) {
        last = (error as Error).message;
        if (!(error instanceof Error && 'code' in error && NO_SUCH_FAMILY.has(error.code))) return last;
      }
    }
    return last;
  }

  /** Goes on taking visitors for a part of the time that is left, so that none is refused. */
  async farewell(graceMs: number): Promise<void> {
    if (this.#ports.size > 0) await pause(Math.min(FAREWELL_MS, graceMs / 5));
  }

  /** Closes what is not wanted any more; requests under way are served to their end. */
  close({ localEntries }: ProxyConfig): void {
    const wanted = new Set(localEntries.map(({ port }) => port));
    for (const port of this.#ports) {
      if (wanted.has(port)) continue;
      this.#ports.delete(port);
      this.#log.info({ port }, 'local entry closed');
      void this.#dataPlane.unlisten(port);
    }
  }
}
