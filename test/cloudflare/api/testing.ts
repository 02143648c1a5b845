// Small helpers for tests that look at the double through an unmodified client.
import assert from 'node:assert/strict';
import Cloudflare from 'cloudflare';
import { APIError } from 'cloudflare/error';
import type { CloudflareApiDouble, TokenSeed } from './server.ts';

export const clientWith = (api: CloudflareApiDouble, apiToken: string): Cloudflare =>
  new Cloudflare({ apiToken, baseURL: api.url, maxRetries: 0, timeout: 5000, logLevel: 'off' });

export const clientFor = (api: CloudflareApiDouble, seed: Partial<TokenSeed> = {}): Cloudflare =>
  clientWith(api, api.addToken({ name: 'test', ...seed }).value);

/** Asserts an API error with this status and code, and gives its text. */
export async function refused(call: PromiseLike<unknown>, status: number, code: number): Promise<string> {
  const error = await Promise.resolve(call).then(
    () => assert.fail('the call was not refused'),
    (error: unknown) => error,
  );
  assert.ok(error instanceof APIError, String(error));
  assert.equal(error.status, status);
  const [first] = error.errors as readonly { code: number; message: string }[];
  assert.equal(first?.code, code);
  return first.message;
}

export async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of list) found.push(item);
  return found;
}
