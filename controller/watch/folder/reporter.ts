// Tells the log once per file which of its kinds are not for us: a Deployment beside its Service is no mistake, a misspelt kind may be one.
import type { Log } from '#controller/kube/log.ts';
import type { FileState } from './file-state.ts';

export class Reporter {
  readonly #log: Log;
  readonly #ignored = new Map<string, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  ignored(files: ReadonlyMap<string, FileState>): void {
    for (const [file, { content }] of files) {
      const kinds = content?.ignored.join(', ') ?? '';
      if (kinds !== '' && this.#ignored.get(file) !== kinds)
        this.#log.info({ file, kinds }, 'kinds that this controller does not read are ignored');
      this.#ignored.set(file, kinds);
    }
  }
}
