// How the body of a request is delimited, decided before anything is sent on. Pure.

/** Bytes of body: 0 none, -1 chunked. Null: the framing is ambiguous or not supported, the request is refused. */
export function requestBodyLength(contentLength: string | null, transferEncoding: string | null, httpMinor: number): number | null {
  if (transferEncoding !== null) {
    // Only `chunked`, only once, and never beside a length: two readings of one body are a smuggled request (RFC 9112 section 6.1).
    if (contentLength !== null || httpMinor === 0 || transferEncoding.toLowerCase() !== 'chunked') return null;
    return -1;
  }
  if (contentLength === null) return 0;
  return /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : null;
}

const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE', 'PROPFIND', 'SEARCH', 'REPORT']);

/** Sent twice it does what it does once (RFC 9110 section 9.2.2), and there is no body that could have been half read. */
export function isRepeatable(method: string, bodyLength: number): boolean {
  return bodyLength === 0 && IDEMPOTENT.has(method);
}

/** gRPC over HTTP/2 or its HTTP/1.1 form; gRPC-Web reports its errors as HTTP does. */
export function isGrpc(rawHeaders: readonly string[]): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 12 && name.toLowerCase() === 'content-type') return /^application\/grpc(?:$|[+; ])/i.test(rawHeaders[i + 1]!);
  }
  return false;
}
