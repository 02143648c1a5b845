// What a container printed, line by line, as `pods/log` asks for it.
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const LONGEST_LOG_LINES = 50_000;

export interface LogLine {
  readonly at: Date;
  readonly text: string;
}

export interface LogQuery {
  readonly since: Date;
  /** Of those, only the last ones. */
  readonly tailLines: number;
}

export class ContainerLog {
  #lines: LogLine[] = [];
  readonly #followers = new Set<(line: LogLine) => void>();
  readonly #over = Promise.withResolvers<void>();

  /** Takes the streams of a process. */
  read(...streams: readonly (Readable | null)[]): void {
    const closed = streams
      .filter((input) => input !== null)
      .map(async (input) => {
        for await (const text of createInterface({ input })) this.#add({ at: new Date(), text });
      });
    void Promise.allSettled(closed).then(() => this.#over.resolve());
  }

  /** Resolves when nothing more will come. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  lines({ since, tailLines }: LogQuery): readonly LogLine[] {
    const lines = this.#lines.filter(({ at }) => at >= since);
    return lines.slice(Math.max(0, lines.length - tailLines));
  }

  /** Hears each line from now on; gives the function that ends this. */
  follow(listener: (line: LogLine) => void): () => void {
    this.#followers.add(listener);
    return () => this.#followers.delete(listener);
  }

  #add(line: LogLine): void {
    this.#lines.push(line);
    if (this.#lines.length > LONGEST_LOG_LINES) this.#lines = this.#lines.slice(LONGEST_LOG_LINES / 2);
    for (const tell of this.#followers) tell(line);
  }
}
