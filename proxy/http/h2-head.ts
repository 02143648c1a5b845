// Heads between HTTP/2 and HTTP/1.1: a request is read as the HTTP/1.1 message that says the same, so that one way leads on for both. Pure.
import type { IncomingHead } from './routing.ts';

export interface H2Head extends IncomingHead {
  /** The client waits for 100 before it sends its body. */
  readonly expects: boolean;
}

/** What may stand in a request line. */
const TARGET = /^[\x21-\x7e\x80-\xff]+$/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** `raw`: flat name, value pairs with pseudo-header fields. `ended`: no body follows. */
export function incomingHead(raw: readonly string[], ended: boolean): H2Head {
  let method = '';
  let url = '';
  let authority = '';
  let cookie = '';
  let hasLength = false;
  let expects = false;
  const fields: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]!;
    const value = raw[i + 1]!;
    if (name === ':method') method = value;
    else if (name === ':path') url = value;
    else if (name === ':authority') authority = value;
    // A browser may split its cookies (RFC 9113 section 8.2.3).
    else if (name === 'cookie') cookie += cookie === '' ? value : `; ${value}`;
    else if (name.charCodeAt(0) !== 58) {
      hasLength ||= name === 'content-length';
      expects ||= name === 'expect' && value.toLowerCase() === '100-continue';
      fields.push(name, value);
    }
  }
  if (cookie !== '') fields.push('cookie', cookie);
  // RFC 9113 section 8.3.1: a Host that says something else makes two of them, and that is refused.
  if (authority !== '' && !agrees(fields, authority)) fields.push('host', authority);
  if (!ended && !hasLength) fields.push('transfer-encoding', 'chunked');
  const isWritable = TOKEN.test(method) && TARGET.test(url);
  return { method, url: isWritable ? url : '', rawHeaders: fields, httpVersionMajor: 1, httpVersionMinor: 1, expects };
}

function agrees(fields: readonly string[], authority: string): boolean {
  for (let i = 0; i < fields.length; i += 2) if (fields[i] === 'host' && fields[i + 1] === authority) return true;
  return false;
}

/** RFC 9113 section 8.2.2: of one connection of HTTP/1.1 only, malformed in HTTP/2. */
const CONNECTION_SPECIFIC: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
]);

/** The head of a response; flat name, value pairs. */
export function responseFields(status: number, fields: readonly string[]): string[] {
  const result = [':status', String(status)];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i]!.toLowerCase();
    if (!CONNECTION_SPECIFIC.has(name)) result.push(name, fields[i + 1]!);
  }
  return result;
}

/** Trailers as Node takes them. */
export function trailerObject(trailers: readonly string[]): Record<string, string[]> {
  const result: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  for (let i = 0; i + 1 < trailers.length; i += 2) (result[trailers[i]!.toLowerCase()] ??= []).push(trailers[i + 1]!);
  return result;
}
