// From what came over the wire to a value or a typed error: status, envelope, and whether it is the API's answer at all.
import { z } from 'zod';
import type { CloudflareError, CloudflareErrorKind, Result } from './api.ts';

/** What a call is for: names it in messages, and names the permission that it needs. */
export interface Operation {
  /** Completes "Cloudflare refused to …". */
  readonly what: string;
  readonly method: string;
  /** Label of metrics. */
  readonly resource: string;
  /** As the dashboard writes it: `Account → Cloudflare Tunnel: Edit`. */
  readonly permission: string;
}

/** Status, headers and body of an answer whatever its status. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

const apiMessage = z.object({
  code: z.number().catch(0),
  message: z.string().catch(''),
  error_chain: z
    .array(z.object({ code: z.number().catch(0), message: z.string().catch('') }))
    .optional()
    .catch(undefined),
});

const envelope = z.object({
  success: z.boolean(),
  errors: z.array(apiMessage).nullish().catch(null),
  // Errors often come without it.
  result: z.unknown().optional(),
  result_info: z.object({ total_pages: z.number().optional(), count: z.number().optional() }).nullish().catch(null),
});

export interface Page<T> {
  readonly result: T;
  readonly totalPages: number | null;
}

/** No text of someone else's making goes into a status at full length. */
const LONGEST_QUOTE = 300;
const quote = (text: string): string => {
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > LONGEST_QUOTE ? `${line.slice(0, LONGEST_QUOTE).toWellFormed()}…` : line;
};

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value of a successful answer that has the shape it should have; everything else is an error. */
export function readAnswer<T>(operation: Operation, answer: Answer, shape: z.ZodType<T>, now: number): Result<Page<T>> {
  const parsed = envelope.safeParse(parseJson(answer.body));
  const good = answer.status >= 200 && answer.status < 300;
  if (!parsed.success) {
    return good || (answer.status >= 300 && answer.status < 400) ? notTheApi(operation, answer) : refusal(operation, answer, [], now);
  }
  const { success, errors, result, result_info: info } = parsed.data;
  // A success status with `success: false` has been seen; its result is null and would pass for "nothing there".
  if (!good || !success) return refusal(operation, answer, errors ?? [], now);
  const value = shape.safeParse(result);
  if (!value.success) {
    const issue = value.error.issues[0];
    const where = issue === undefined || issue.path.length === 0 ? 'result' : `result.${issue.path.join('.')}`;
    return failure(
      'Malformed',
      answer.status,
      0,
      `Cloudflare's answer to the attempt to ${operation.what} is not understood: ${where} is not as documented (${quote(issue?.message ?? 'unknown')}).`,
    );
  }
  return { ok: true, value: { result: value.data, totalPages: info?.total_pages ?? null } };
}

type ApiMessages = readonly z.infer<typeof apiMessage>[];

function refusal(operation: Operation, answer: Answer, errors: ApiMessages, now: number): Result<never> {
  const kind = kindOf(answer.status, errors);
  const code = errors[0]?.code ?? 0;
  const said = errors.flatMap((error) => [error, ...(error.error_chain ?? [])]).map(({ code, message }) => `${code}: ${message}`);
  const facts = [`HTTP ${answer.status}`, ...(said.length > 0 ? [`code ${quote(said.join('; '))}`] : [])].join(', ');
  const retryAfterMs = kind === 'RateLimited' || kind === 'Server' ? retryAfter(answer.headers, now) : null;
  return failure(kind, answer.status, code, sentence(kind, operation, facts), retryAfterMs);
}

function sentence(kind: CloudflareErrorKind, operation: Operation, facts: string): string {
  const refused = `Cloudflare refused to ${operation.what} (${facts}).`;
  if (kind === 'Forbidden')
    return `${refused} The API token lacks the permission "${operation.permission}", or does not cover this account.`;
  if (kind === 'Unauthorized') return `${refused} The API token is not valid: it is unknown, revoked, expired or not a token.`;
  if (kind === 'RateLimited') return `${refused} The API token's user or account has used up its calls.`;
  if (kind === 'Server' || kind === 'Malformed') return `Cloudflare failed to ${operation.what} (${facts}).`;
  return refused;
}

/** The status decides; the API's numbers are not documented and only tell apart what shares a status. */
function kindOf(status: number, errors: ApiMessages): CloudflareErrorKind {
  const codes = errors.flatMap((error) => [error.code, ...(error.error_chain ?? []).map((inner) => inner.code)]);
  const invalidToken = codes.includes(9109) && errors.some((error) => /invalid access token/i.test(error.message));
  if (status === 401 || (status === 403 && invalidToken)) return 'Unauthorized';
  // 6003 with 6111 is a malformed Authorization header, 9106 a missing one: both come as 400.
  if (status === 400 && (codes.includes(6003) || codes.includes(9106))) return 'Unauthorized';
  if (status === 403) return 'Forbidden';
  if (status === 404 || status === 410) return 'NotFound';
  if (status === 409) return 'Conflict';
  if (status === 429) return 'RateLimited';
  if (status >= 500 || status === 408) return 'Server';
  return status >= 400 ? 'Invalid' : 'Malformed';
}

function notTheApi(operation: Operation, answer: Answer): Result<never> {
  const type = answer.headers.get('content-type')?.split(';')[0] ?? 'no content type';
  return failure(
    'Malformed',
    answer.status,
    0,
    `The answer to the attempt to ${operation.what} does not come from Cloudflare's API (HTTP ${answer.status}, ${quote(type)}). ` +
      'Something between the controller and Cloudflare answers instead: check proxies, captive portals and the API base URL.',
  );
}

/** Milliseconds from `Retry-After` (seconds or a date), else from the `t` of a `Ratelimit` header with nothing left; null when neither says. */
function retryAfter(headers: Headers, now: number): number | null {
  const value = headers.get('retry-after');
  if (value !== null) {
    const seconds = Number(value);
    if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000;
    const date = Date.parse(value);
    if (!Number.isNaN(date)) return Math.max(0, date - now);
  }
  const reset = /;\s*r=0\s*;\s*t=(\d{1,9})/.exec(headers.get('ratelimit') ?? '')?.[1];
  return reset === undefined ? null : Number(reset) * 1000;
}

export function failure(
  kind: CloudflareErrorKind,
  status: number,
  code: number,
  message: string,
  retryAfterMs: number | null = null,
): Result<never> {
  const error: CloudflareError = { kind, status, code, message, retryAfterMs };
  return { ok: false, error };
}
