// The head of an HTTP/1.1 response: its grammar, and the fields that decide framing and connection taken out. Pure.
import { NameTable, listElements } from './fields.ts';
import type { ResponseHead } from './job.ts';

const HEAD_GRAMMAR = /^HTTP\/1\.[01] [1-5]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?(?:\r\n[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*)*$/;
const TRAILER_GRAMMAR =
  /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*(?:\r\n[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*)*$/;
const LENGTH_VALUE = /^\d{1,15}$/;

const DROP = 1;
const CONNECTION = 2;
const TRANSFER_ENCODING = 3;
const CONTENT_LENGTH = 4;
const KEEP_ALIVE = 5;
const TRAILER = 6;
const UPGRADE = 7;
const NAMES = new NameTable([
  ['connection', CONNECTION],
  ['keep-alive', KEEP_ALIVE],
  ['proxy-connection', DROP],
  ['proxy-authenticate', DROP],
  ['te', DROP],
  ['trailer', TRAILER],
  ['transfer-encoding', TRANSFER_ENCODING],
  ['upgrade', UPGRADE],
  ['content-length', CONTENT_LENGTH],
]);

export class ParsedHead implements ResponseHead {
  status = 0;
  reason = '';
  fields: string[] = [];
  length = -1;
  trailer = '';
  upgrade = '';
  chunked = false;
  /** Whether the sender is willing to keep the connection. */
  keepAlive = false;
  /** Seconds of `Keep-Alive: timeout=…`, -1 when absent. */
  keepAliveHint = -1;
  private nominated: string[] | null = null;

  /** Takes the text of a whole head, without the empty line. Returns what is wrong with it, or null. */
  parse(text: string): string | null {
    if (!HEAD_GRAMMAR.test(text)) return 'malformed response head';
    this.status = Number(text.slice(9, 12));
    const lineEnd = text.indexOf('\r\n');
    this.reason = text.slice(13, lineEnd === -1 ? text.length : lineEnd);
    this.fields = [];
    this.length = -1;
    this.trailer = '';
    this.upgrade = '';
    this.chunked = false;
    this.nominated = null;
    this.keepAlive = text.charCodeAt(7) === 49;
    this.keepAliveHint = -1;
    const error = lineEnd === -1 ? null : this.parseFields(text, lineEnd + 2);
    if (error !== null) return error;
    if (this.chunked && this.length !== -1) return 'both Content-Length and Transfer-Encoding';
    if (this.chunked && text.charCodeAt(7) === 48) return 'Transfer-Encoding in HTTP/1.0';
    if (this.nominated !== null) this.dropNominated(this.nominated);
    return null;
  }

  private parseFields(text: string, from: number): string | null {
    const { fields } = this;
    const { length } = text;
    let at = from;
    while (at < length) {
      let end = text.indexOf('\r\n', at);
      if (end === -1) end = length;
      const colon = text.indexOf(':', at);
      const name = text.slice(at, colon);
      const value = trimmed(text, colon + 1, end);
      at = end + 2;
      if (!NAMES.excludes(name)) {
        const code = NAMES.find(name);
        if (code !== 0) {
          const error = this.actOn(code, value);
          if (error !== null) return error;
          if (code !== CONTENT_LENGTH) continue;
        }
      }
      fields.push(name, value);
    }
    return null;
  }

  private actOn(code: number, value: string): string | null {
    switch (code) {
      case CONTENT_LENGTH:
        if (this.length !== -1 || !LENGTH_VALUE.test(value)) return 'ambiguous Content-Length';
        this.length = Number(value);
        return null;
      case TRANSFER_ENCODING:
        if (this.chunked || value.toLowerCase() !== 'chunked') return 'unsupported Transfer-Encoding';
        this.chunked = true;
        return null;
      case CONNECTION:
        if (value !== 'keep-alive') this.connectionOptions(value);
        return null;
      case KEEP_ALIVE:
        this.keepAliveHint = Number(/(?:^|[\s,;])timeout=(\d{1,6})(?:$|[\s,;])/i.exec(value)?.[1] ?? -1);
        return null;
      case TRAILER:
        this.trailer = this.trailer === '' ? value : `${this.trailer}, ${value}`;
        return null;
      case UPGRADE:
        this.upgrade = value;
        return null;
      default:
        return null;
    }
  }

  private connectionOptions(value: string): void {
    for (const option of listElements(value)) {
      if (option === 'close') this.keepAlive = false;
      else if (option !== 'keep-alive' && option !== 'upgrade' && option !== 'content-length') (this.nominated ??= []).push(option);
    }
  }

  /** Fields named by Connection are for us, not for the client (RFC 9110 section 7.6.1). */
  private dropNominated(names: readonly string[]): void {
    const kept: string[] = [];
    for (let i = 0; i < this.fields.length; i += 2) {
      const name = this.fields[i]!;
      if (!names.includes(name.toLowerCase())) kept.push(name, this.fields[i + 1]!);
    }
    this.fields = kept;
  }
}

/** Flat name, value pairs of a trailer section, or null when it is malformed. */
export function parseTrailers(text: string): string[] | null {
  return TRAILER_GRAMMAR.test(text) ? splitFields(text) : null;
}

function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

function splitFields(text: string): string[] {
  const fields: string[] = [];
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    fields.push(line.slice(0, colon), trimmed(line, colon + 1, line.length));
  }
  return fields;
}
