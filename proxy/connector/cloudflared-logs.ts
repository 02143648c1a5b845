// What cloudflared prints, as structured log lines of ours: level and message kept, anything that looks like its token removed. Pure.
import type { ConnectorError } from './connector.ts';

export interface ConnectorLogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const LEVELS: Readonly<Record<string, ConnectorLogLine['level']>> = {
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  error: 'error',
  fatal: 'error',
  panic: 'error',
};
const MAX_LINE = 4000;

/** One line of `--output json`, or any other text (help, panics) as an error line. Empty lines are null. */
export function parseLogLine(line: string, token: string): ConnectorLogLine | null {
  const text = (token === '' ? line : line.replaceAll(token, '[redacted]')).slice(0, MAX_LINE).trim();
  if (text === '') return null;
  try {
    const { level, message, ...fields } = JSON.parse(text) as Record<string, unknown>;
    delete fields['time'];
    return { level: LEVELS[String(level)] ?? 'info', message: typeof message === 'string' ? message : text, fields };
  } catch {
    return { level: 'error', message: text, fields: {} };
  }
}

/** The address of the metrics server, which is chosen by cloudflared when it is asked for port 0. */
export function metricsAddress(message: string): string | null {
  return /Starting metrics server on ([^\s/]+:\d+)/.exec(message)?.[1] ?? null;
}

/**
 * Why a cloudflared that nobody stopped has ended. Its exit codes are few and one lies: an unknown flag prints the help and exits 0.
 * `lastError` is the last error line that it printed, '' if none.
 */
export function explainExit(code: number | null, signal: string | null, lastError: string): ConnectorError {
  const detail = lastError === '' ? '' : `: ${lastError}`;
  if (code === 255)
    return { code: 'InvalidToken', message: `cloudflared refuses its token; check the Secret with the connector token${detail}` };
  if (code === 126 || code === 127)
    return { code: 'Process', message: `cloudflared cannot be started; is CLOUDFLARED the path of the program?${detail}` };
  if (code === 0)
    return { code: 'Process', message: `cloudflared ended by itself; a flag that this version does not know ends like this${detail}` };
  if (code === 1) return { code: 'Refused', message: `the edge refused the first connection, or a setting is invalid${detail}` };
  return { code: 'Process', message: `cloudflared ended with ${signal ?? `exit code ${code}`}${detail}` };
}
