// The envelope around every answer of the API, its errors, and its pagination.
import type { Request, Response } from 'express';

export interface ApiMessage {
  readonly code: number;
  readonly message: string;
  readonly error_chain?: readonly ApiMessage[];
}

/** Thrown by handlers; the server turns it into an envelope with `success: false`. */
export class ApiFault extends Error {
  readonly status: number;
  readonly errors: readonly ApiMessage[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, error: ApiMessage, headers: Readonly<Record<string, string>> = {}) {
    super(error.message);
    this.status = status;
    this.errors = [error];
    this.headers = headers;
  }
}

export const fault = (status: number, code: number, message: string): ApiFault => new ApiFault(status, { code, message });

export interface PageInfo {
  readonly page: number;
  readonly per_page: number;
  readonly count: number;
  readonly total_count: number;
  readonly total_pages: number;
}

export function sendResult(response: Response, result: unknown, info?: PageInfo, messages: readonly ApiMessage[] = []): void {
  response.json({ success: true, errors: [], messages, result, ...(info === undefined ? {} : { result_info: info }) });
}

export function sendFault(response: Response, error: ApiFault): void {
  response.status(error.status).set(error.headers).json({ success: false, errors: error.errors, messages: [], result: null });
}

/** One query parameter as a string; the API takes the last one when it is repeated. */
export function query(request: Request, name: string): string | undefined {
  const value = request.query[name];
  const last: unknown = Array.isArray(value) ? value.at(-1) : value;
  return typeof last === 'string' ? last : undefined;
}

function pageNumber(request: Request, name: string, fallback: number, most: number): number {
  const text = query(request, name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw fault(400, 1001, `Invalid value for ${name}`);
  return Math.min(value, most);
}

/** Sends one page of `items`. A page past the end is empty, not an error: clients ask for one more than there are. */
export function sendPage(
  request: Request,
  response: Response,
  items: readonly unknown[],
  sizes: { readonly usual: number; readonly most: number },
): void {
  const page = pageNumber(request, 'page', 1, Number.MAX_SAFE_INTEGER);
  const perPage = pageNumber(request, 'per_page', sizes.usual, sizes.most);
  const slice = items.slice((page - 1) * perPage, page * perPage);
  sendResult(response, slice, {
    page,
    per_page: perPage,
    count: slice.length,
    total_count: items.length,
    total_pages: Math.ceil(items.length / perPage),
  });
}
