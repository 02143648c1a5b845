// The connector token of this proxy: from a mounted Secret if there is one, read again when it changes, else from the environment.
import { readFileSync, unwatchFile, watchFile } from 'node:fs';

const LOOK_MS = 2000;

export class TokenFile {
  #value: string;
  readonly #file: string;
  readonly #fallback: string;

  /** `file` '' means that there is none. Mounted Secrets change by a switched link, which is seen by looking and by nothing else. */
  constructor(file: string, fallback: string, onChange: () => void) {
    this.#file = file;
    this.#fallback = fallback;
    this.#value = this.#read();
    if (file === '') return;
    watchFile(file, { interval: LOOK_MS, persistent: false }, () => {
      const next = this.#read();
      if (next === this.#value) return;
      this.#value = next;
      onChange();
    });
  }

  /** Secret; '' when there is no token. */
  get value(): string {
    return this.#value;
  }

  close(): void {
    if (this.#file !== '') unwatchFile(this.#file);
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
