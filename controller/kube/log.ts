// The part of a pino logger that the IO stages use: fields first, then a constant message.

type Write = (fields: Readonly<Record<string, unknown>>, message: string) => void;

export interface Log {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
