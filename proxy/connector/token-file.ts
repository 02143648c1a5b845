// The connector token of this proxy: from a mounted Secret if there is one, read again when it changes, else from the environment.
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { decodeToken } from './token.ts';

const LOOK_MS = 2000;

export interface TokenFileOptions {
  /** '' means that there is none. */
  readonly file: string;
  /** Where there is no file, or nothing in it. */
  readonly fallback: string;
  /** The token has changed. */
  readonly onChange: () => void;
  readonly lookMs?: number;
}

/**
 * A Secret that is changed by mistake must not end what works: a token that is replaced by nonsense, or by another tunnel's, is still the
 * token of its own tunnel.
 */
export class TokenFile {
  readonly #file: string;
  readonly #fallback: string;
  /** The newest token of each tunnel. Secret. */
  readonly #byTunnel = new Map<string, string>();
  #value = '';
  #tunnelId: string | null = null;
  #problem: string | null = null;

  constructor({ file, fallback, onChange, lookMs = LOOK_MS }: TokenFileOptions) {
    this.#file = file;
    this.#fallback = fallback;
    this.#take(this.#read());
    if (file === '') return;
    // Mounted Secrets change by a switched link, which is seen by looking and by nothing else.
    watchFile(file, { interval: lookMs, persistent: false }, () => {
      if (this.#take(this.#read())) onChange();
    });
  }

  /** The tunnel that the newest usable token is for. */
  get tunnelId(): string | null {
    return this.#tunnelId;
  }

  /** What is wrong with the token that is there now; null when nothing is. Holds nothing of it. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Secret; null when no token for this tunnel has been there. */
  of(tunnelId: string): string | null {
    return this.#byTunnel.get(tunnelId) ?? null;
  }

  close(): void {
    if (this.#file !== '') unwatchFile(this.#file);
  }

  #take(value: string): boolean {
    if (value === this.#value) return false;
    this.#value = value;
    const decoded = decodeToken(value);
    this.#problem = 'error' in decoded ? decoded.error : null;
    if (!('error' in decoded)) {
      this.#tunnelId = decoded.tunnelId;
      this.#byTunnel.set(decoded.tunnelId, value);
    }
    return true;
  }

  /** An unreadable or emptied file keeps what was known: Secrets are switched in several steps. */
  #read(): string {
    if (this.#file === '') return this.#fallback;
    try {
      return readFileSync(this.#file, 'utf8').trim() || this.#value || this.#fallback;
    } catch {
      return this.#value || this.#fallback;
    }
  }
}
