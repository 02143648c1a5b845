// The controller's logger: constant messages with fields, and a last line of defence against secrets in them.
import { pino } from 'pino';
import type { Logger } from 'pino';
import { printable } from '../api/printable.ts';

/** Fields that are never printed, wherever a careless caller puts them. */
const SECRET_FIELDS = ['token', 'apiToken', 'authToken', 'tunnelToken', 'secret', 'password', 'authorization', 'data', 'stringData'];

export function createLogger(level: string, format: 'json' | 'text'): Logger {
  const redact = { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]), censor: '[redacted]' };
  const options = {
    level,
    redact,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return format === 'json' ? pino(options) : pino(options, textStream());
}

/** One readable line: time, level, message, then the fields. */
function textStream(): { write(line: string): void } {
  return {
    write(line) {
      const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const rest = Object.entries(fields).map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
      const head = `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)} ${String(msg)}`;
      process.stdout.write(`${printable(`${head}${rest.length > 0 ? `  ${rest.join(' ')}` : ''}`)}\n`);
    },
  };
}
