// A bare client of the test cluster's API server: one connection a call, so that nothing of it survives a restart of the server.
import https from 'node:https';

/** Who asks whom: `ca` is PEM, `server` the base URL. */
export interface ApiAccess {
  readonly server: string;
  readonly ca: string;
  readonly token: string;
}

/** `body` is the parsed JSON, or the text when it is none (`/readyz`). */
export interface ApiResponse {
  readonly status: number;
  readonly body: unknown;
}

export interface ApiRequest {
  readonly body?: unknown;
  /** JSON by default. */
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
}

const TIMEOUT_MS = 30_000;

/** Resolves with any answer, also a refusal; rejects when there is none. */
export function apiRequest(access: ApiAccess, method: string, path: string, request: ApiRequest = {}): Promise<ApiResponse> {
  const payload = request.body === undefined ? undefined : JSON.stringify(request.body);
  const headers = {
    authorization: `Bearer ${access.token}`,
    accept: 'application/json',
    ...(payload === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
  };
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  const signal = request.signal === undefined ? limit : AbortSignal.any([limit, request.signal]);
  return new Promise((resolve, reject) => {
    const outgoing = https.request(new URL(path, access.server), { method, headers, ca: access.ca, agent: false, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: parsed(text) }));
    });
    outgoing.on('error', reject);
    outgoing.end(payload);
  });
}

/** The `message` of a Kubernetes Status object, for errors. */
export function refusal({ status, body }: ApiResponse): string {
  const message = (body as { readonly message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : `HTTP ${status}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
