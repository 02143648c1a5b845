// Request headers as routes see them: names without case, each line a value of its own. Works on node:http's flat list without allocating.
import type { Work } from './work.ts';

type RawHeaders = readonly string[];

/** Whether any line called `name` (lower case) has exactly this value (a byte string). Comma lists are not taken apart. */
export function hasHeader(headers: RawHeaders, name: string, value: string, work: Work): boolean {
  work.left -= headers.length >> 1;
  for (let i = 0; i < headers.length; i += 2) {
    if (isNamed(headers[i]!, name) && headers[i + 1] === value) return true;
  }
  return false;
}

/** Index of the next line called `name` at or after `from`, or -1. The value is at the index plus 1. */
export function nextHeader(headers: RawHeaders, name: string, from: number, work: Work): number {
  for (let i = from; i < headers.length; i += 2) {
    work.left--;
    if (isNamed(headers[i]!, name)) return i;
  }
  return -1;
}

/** gRPC as GRPCRoute means it: `application/grpc`, alone or with `+proto` and the like; not `application/grpc-web`. */
export function isGrpc(method: string, headers: RawHeaders, work: Work): boolean {
  if (method !== 'POST') return false;
  const at = nextHeader(headers, 'content-type', 0, work);
  return at !== -1 && /^application\/grpc(?:$|[+;\s])/i.test(headers[at + 1] ?? '');
}

/** `lower` is in lower case. Most names differ in length, most equal ones are spelled alike. */
function isNamed(name: string, lower: string): boolean {
  if (name.length !== lower.length) return false;
  if (name === lower) return true;
  for (let i = 0; i < name.length; i++) {
    const c = name.charCodeAt(i);
    if (c !== lower.charCodeAt(i) && !(c >= 0x41 && c <= 0x5a && (c | 0x20) === lower.charCodeAt(i))) return false;
  }
  return true;
}
