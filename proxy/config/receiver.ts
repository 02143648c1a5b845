// Decides which pushed configuration wins and hands it on: one at a time, in the order of (epoch, sequence).
import { createHash } from 'node:crypto';
import { setImmediate as pause } from 'node:timers/promises';
import { parseConfig } from './parse.ts';
import type { ItemProblem } from './item.ts';
import type { ConfigHeader, ProxyConfig } from './schema.ts';

export interface Accepted {
  readonly header: ConfigHeader;
  readonly config: ProxyConfig;
  /** Items that were put aside because they cannot be read; what refers to them fails closed. */
  readonly problems: readonly ItemProblem[];
}

export interface Refusal {
  /** 400: not a configuration of this format. 409: not later than the one in force. 413: too large. 500: it could not be put into force. */
  readonly status: 400 | 409 | 413 | 500;
  readonly code: string;
  readonly message: string;
}

/** What the process does with an accepted configuration; resolves once it serves. */
export type ApplyConfig = (accepted: Accepted) => Promise<void>;

type Order = Pick<ConfigHeader, 'epoch' | 'sequence'>;

/** Positive when `a` is later. */
export const compareOrder = (a: Order, b: Order): number => a.epoch - b.epoch || a.sequence - b.sequence;

/**
 * Bodies may arrive together and are read in slices; applying waits for its turn. Whatever the order of arrival, an older configuration
 * never replaces a newer one, and the one in force stays until another has been put into force.
 */
export class ConfigReceiver {
  #current: ConfigHeader | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  readonly #apply: ApplyConfig;

  constructor(apply: ApplyConfig) {
    this.#apply = apply;
  }

  /** The header of the configuration in force. */
  get header(): ConfigHeader | null {
    return this.#current;
  }

  /** Reads, checks and applies one body; null when it is in force now. Never rejects. */
  async receive(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Refusal | null> {
    const result = await parseConfig(body, { sha256: () => createHash('sha256'), pause, admit: (header) => this.#staleness(header) });
    if ('error' in result) {
      const { code, message } = result.error;
      return { status: code === 'refused' ? 409 : code === 'too-large' ? 413 : 400, code, message };
    }
    const turn = this.#turn.then(() => this.#take(result));
    this.#turn = turn;
    return turn;
  }

  async #take(accepted: Accepted): Promise<Refusal | null> {
    const stale = this.#staleness(accepted.header);
    if (stale !== null) return { status: 409, code: 'refused', message: stale };
    try {
      await this.#apply(accepted);
    } catch (error) {
      return { status: 500, code: 'apply', message: `the configuration could not be put into force: ${(error as Error).message}` };
    }
    this.#current = accepted.header;
    return null;
  }

  /** The same configuration again is welcome: its sender may not have heard the answer. */
  #staleness(header: ConfigHeader): string | null {
    const current = this.#current;
    if (current === null) return null;
    const order = compareOrder(header, current);
    if (order > 0 || (order === 0 && header.digest === current.digest)) return null;
    return `(epoch ${header.epoch}, sequence ${header.sequence}) is not later than (${current.epoch}, ${current.sequence}), which is in force`;
  }
}
