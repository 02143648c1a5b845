// One line of JSON per exchange, made by hand: a logger call costs a third of what the whole exchange does.

/** What a line says, besides when. */
export interface AccessEntry {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  readonly status: number;
  readonly bytesWritten: number;
  readonly durationMs: number;
  readonly userAgent: string;
  /** The route that answered, '' when none did. */
  readonly route: string;
  /** `address:port` of the last endpoint that was tried, '' when none was. */
  readonly endpoint: string;
  readonly client: string;
}

export interface AccessLogOptions {
  /** A buffered stream; lines end with a line feed. */
  readonly sink: { write(line: string): unknown };
  /** 0 to 1; answers from 500 on are always written. */
  readonly sampleRate: number;
  /** Query strings may hold secrets: leave them out. */
  readonly omitQuery: boolean;
  readonly random: () => number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export class AccessLog {
  private readonly options: AccessLogOptions;

  constructor(options: AccessLogOptions) {
    this.options = { ...options, sampleRate: Math.min(1, Math.max(0, options.sampleRate)) };
  }

  /** Nothing is written for an exchange without an answer, or for one that left HTTP. */
  write(entry: AccessEntry): void {
    const { sink, sampleRate, omitQuery, random, now } = this.options;
    if (entry.status === 0 || entry.status === 101) return;
    if (entry.status < 500 && sampleRate < 1 && random() >= sampleRate) return;
    sink.write(
      `{"level":"INFO","time":${now()},"msg":"access","method":"${entry.method}","host":${JSON.stringify(entry.host)}` +
        `,"path":${JSON.stringify(entry.path)},"query":${omitQuery ? '""' : JSON.stringify(entry.query)},"status":${entry.status}` +
        `,"bytes_written":${entry.bytesWritten},"duration_ms":${entry.durationMs.toFixed(3)}` +
        `,"user_agent":${JSON.stringify(entry.userAgent)},"route":${JSON.stringify(entry.route)}` +
        `,"endpoint":"${entry.endpoint}","client":${JSON.stringify(entry.client)}}\n`,
    );
  }
}
