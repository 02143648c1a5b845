// Answers of the API server other than success, as one typed error. Its text comes from the server's Status object, never from data.
import { isRecord } from './json.ts';

export class KubeError extends Error {
  override readonly name = 'KubeError';
  /** HTTP status, or the code of an ERROR event inside a watch. */
  readonly status: number;
  /** Machine-readable reason of the Status object, for instance `Expired`; empty when the answer was no Status. */
  readonly reason: string;
  /** What the server asked for with Retry-After, ms. */
  readonly retryAfterMs: number | null;
  readonly #causes: readonly string[];

  constructor(status: number, body: unknown, retryAfterMs: number | null = null) {
    const text = textOf(body, 'message');
    super(text ? `HTTP ${status}: ${text}` : `HTTP ${status}`);
    this.status = status;
    this.reason = textOf(body, 'reason');
    this.retryAfterMs = retryAfterMs;
    this.#causes = causesOf(body);
  }

  /**
   * True when the resourceVersion that was sent cannot be continued from: compacted away (410), or from the future because etcd was restored
   * (504 with the cause ResourceVersionTooLarge). Only a new list helps.
   */
  get expired(): boolean {
    return this.status === 410 || this.reason === 'Expired' || this.reason === 'Gone' || this.#causes.includes('ResourceVersionTooLarge');
  }
}

/** The status of a KubeError, 0 for anything else (no answer at all). */
export const statusOf = (error: unknown): number => (error instanceof KubeError ? error.status : 0);

/** A sentence for people: what the server said, or why it could not be reached. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0]);
  // The text of a SyntaxError quotes its input, which may be a Secret or a token.
  if (error instanceof SyntaxError) return 'not valid JSON';
  return error instanceof Error ? oneLine(error.message || error.name) : 'unknown error';
}

/** Seconds or an HTTP date (RFC 9110, section 10.2.3) as ms from now; null when absent or unreadable. */
export function parseRetryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

const LONGEST_TEXT = 500;

const oneLine = (text: string): string => {
  const flat = text.replaceAll(/\s+/g, ' ').trim();
  return flat.length > LONGEST_TEXT ? `${flat.slice(0, LONGEST_TEXT)}…` : flat;
};

function textOf(body: unknown, field: 'message' | 'reason'): string {
  if (typeof body === 'string') return field === 'message' ? oneLine(body) : '';
  const value = isRecord(body) ? body[field] : undefined;
  return typeof value === 'string' ? oneLine(value) : '';
}

function causesOf(body: unknown): readonly string[] {
  const details = isRecord(body) ? body['details'] : undefined;
  const causes = isRecord(details) ? details['causes'] : undefined;
  if (!Array.isArray(causes)) return [];
  return causes.flatMap((cause: unknown) => (isRecord(cause) && typeof cause['reason'] === 'string' ? [cause['reason']] : []));
}
