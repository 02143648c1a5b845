// Tells the log what people want to know of a folder, once: problems when they appear and when they are gone, kinds that are not for us.
import type { Log } from '#controller/kube/log.ts';
import type { SourceProblem } from '../source.ts';
import type { FileState } from './file-state.ts';

export class Reporter {
  readonly #log: Log;
  readonly #ignored = new Map<string, string>();
  #problems = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  report(problems: readonly SourceProblem[], files: ReadonlyMap<string, FileState>): void {
    const now = new Map(problems.map((problem) => [`${problem.where}: ${problem.message}`, problem]));
    for (const [text, { where, message }] of now)
      if (!this.#problems.has(text)) this.#log.warn({ where, problem: message }, 'something in the folder is wrong');
    if (this.#problems.size > 0 && now.size === 0) this.#log.info({}, 'everything in the folder is right again');
    this.#problems = new Set(now.keys());
    for (const [file, { content }] of files) {
      const kinds = content?.ignored.join(', ') ?? '';
      if (kinds !== '' && this.#ignored.get(file) !== kinds)
        this.#log.info({ file, kinds }, 'kinds that this controller does not read are ignored');
      this.#ignored.set(file, kinds);
    }
  }
}
