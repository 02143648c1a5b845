// Strict HTTP/1.1 response parser: the bytes of one connection in, the events of one exchange at a time out. Pure.
//
// It accepts less than RFC 9112 allows a lenient recipient: whatever two parsers could read differently is an error, because the next
// exchange on the connection may belong to somebody else.
import { ParsedHead, parseTrailers } from './head.ts';
import type { ResponseHead } from './job.ts';

const MAX_HEAD = 131_072;
const MAX_CHUNK_LINE = 1024;
const MAX_TRAILERS = 32_768;
const MAX_INFORMATIONS = 16;

const CHUNK_LINE = /^[0-9a-fA-F]{1,12}(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"[\t !#-[\]-~\x80-\xff]*"))?)*$/;

// Plain numbers: this is the state of the innermost loop.
const IDLE = 0;
const HEAD = 1;
const LENGTH = 2;
const CHUNK_SIZE = 3;
const CHUNK_DATA = 4;
const CHUNK_END = 5;
const TRAILERS = 6;
const UNTIL_CLOSE = 7;
const STOPPED = 8;

const NO_TRAILERS: readonly string[] = [];

export interface ResponseHandler {
  onInformation(status: number, fields: readonly string[]): void;
  onHead(head: ResponseHead): void;
  onBody(chunk: Buffer, last: boolean): void;
  /** `clean`: no byte is left behind the message. */
  onComplete(trailers: readonly string[], clean: boolean): void;
  onUpgrade(head: ResponseHead, rest: Buffer): void;
}

export class ResponseParser {
  readonly head = new ParsedHead();
  /** False when the connection ends with this message (RFC 9112 section 9.3). */
  keepAlive = false;

  private readonly handler: ResponseHandler;
  private state = IDLE;
  private pending: Buffer | null = null;
  private left = 0;
  private bodyless = false;
  private mayUpgrade = false;
  private informations = 0;

  constructor(handler: ResponseHandler) {
    this.handler = handler;
  }

  /** Expects the response to a request that has just been sent. */
  begin(method: string, mayUpgrade: boolean): void {
    this.state = HEAD;
    this.bodyless = method === 'HEAD';
    this.mayUpgrade = mayUpgrade;
    this.informations = 0;
  }

  /** No more events; bytes are ignored from now on. */
  stop(): void {
    this.state = STOPPED;
    this.pending = null;
  }

  /** Takes bytes as they come. Returns what is wrong with them, or null. */
  execute(chunk: Buffer): string | null {
    const buffer = this.pending === null ? chunk : Buffer.concat([this.pending, chunk]);
    this.pending = null;
    let at = 0;
    while (at < buffer.length && this.state !== STOPPED) {
      const next = this.step(buffer, at);
      if (typeof next === 'string') {
        this.stop();
        return next;
      }
      if (next < 0) {
        this.pending = at === 0 ? buffer : buffer.subarray(at);
        return null;
      }
      at = next;
    }
    return null;
  }

  /** The connection has ended: true when that is how the message ends. */
  finish(): boolean {
    if (this.state !== UNTIL_CLOSE) return false;
    this.complete(NO_TRAILERS, true);
    return true;
  }

  /** Consumes one element. Returns where the next begins, -1 when bytes are missing, or an error. */
  private step(buffer: Buffer, at: number): number | string {
    switch (this.state) {
      case HEAD:
        return this.readHead(buffer, at);
      case LENGTH:
        return this.readLength(buffer, at);
      case CHUNK_SIZE:
        return this.readChunkSize(buffer, at);
      case CHUNK_DATA:
        return this.readChunkData(buffer, at);
      case CHUNK_END:
        if (buffer.length - at < 2) return -1;
        if (buffer[at] !== 13 || buffer[at + 1] !== 10) return 'chunk without line end';
        this.state = CHUNK_SIZE;
        return at + 2;
      case TRAILERS:
        return this.readTrailers(buffer, at);
      case UNTIL_CLOSE:
        this.handler.onBody(at === 0 ? buffer : buffer.subarray(at), false);
        return buffer.length;
      default:
        return 'bytes that nobody asked for';
    }
  }

  private readHead(buffer: Buffer, at: number): number | string {
    const end = buffer.indexOf('\r\n\r\n', at, 'latin1');
    if (end === -1) return buffer.length - at > MAX_HEAD ? 'response head too large' : -1;
    if (end - at > MAX_HEAD) return 'response head too large';
    const { head } = this;
    const error = head.parse(buffer.toString('latin1', at, end));
    if (error !== null) return error;
    const next = end + 4;
    if (head.status < 200) return this.informational(buffer, next);
    this.keepAlive = head.keepAlive;
    this.state = this.bodyState(head);
    this.handler.onHead(head);
    if (this.state === HEAD) this.complete(NO_TRAILERS, next === buffer.length);
    return next;
  }

  private informational(buffer: Buffer, next: number): number | string {
    if (this.head.status === 101) {
      if (!this.mayUpgrade) return 'switching protocols without being asked';
      this.state = STOPPED;
      this.handler.onUpgrade(this.head, buffer.subarray(next));
      return buffer.length;
    }
    this.informations += 1;
    if (this.informations > MAX_INFORMATIONS) return 'too many interim responses';
    this.handler.onInformation(this.head.status, this.head.fields);
    return next;
  }

  /** RFC 9112 section 6.3. HEAD stands for: there is no body. */
  private bodyState(head: ParsedHead): number {
    if (this.bodyless || head.status === 204 || head.status === 304) return HEAD;
    if (head.chunked) return CHUNK_SIZE;
    if (head.length > 0) {
      this.left = head.length;
      return LENGTH;
    }
    if (head.length === 0) return HEAD;
    this.keepAlive = false;
    return UNTIL_CLOSE;
  }

  private readLength(buffer: Buffer, at: number): number {
    const end = Math.min(buffer.length, at + this.left);
    this.left -= end - at;
    const last = this.left === 0;
    this.handler.onBody(at === 0 && end === buffer.length ? buffer : buffer.subarray(at, end), last);
    if (last && this.state === LENGTH) this.complete(NO_TRAILERS, end === buffer.length);
    return end;
  }

  private readChunkSize(buffer: Buffer, at: number): number | string {
    const end = buffer.indexOf('\r\n', at, 'latin1');
    if (end === -1) return buffer.length - at > MAX_CHUNK_LINE ? 'chunk size line too long' : -1;
    const line = buffer.toString('latin1', at, end);
    if (line.length > MAX_CHUNK_LINE || !CHUNK_LINE.test(line)) return 'malformed chunk size';
    this.left = Number.parseInt(line, 16);
    this.state = this.left === 0 ? TRAILERS : CHUNK_DATA;
    return end + 2;
  }

  private readChunkData(buffer: Buffer, at: number): number {
    const end = Math.min(buffer.length, at + this.left);
    this.left -= end - at;
    if (this.left === 0) this.state = CHUNK_END;
    this.handler.onBody(buffer.subarray(at, end), false);
    return end;
  }

  private readTrailers(buffer: Buffer, at: number): number | string {
    if (buffer.length - at < 2) return -1;
    if (buffer[at] === 13 && buffer[at + 1] === 10) {
      this.complete(NO_TRAILERS, at + 2 === buffer.length);
      return at + 2;
    }
    const end = buffer.indexOf('\r\n\r\n', at, 'latin1');
    if (end === -1) return buffer.length - at > MAX_TRAILERS ? 'trailers too large' : -1;
    const trailers = end - at > MAX_TRAILERS ? null : parseTrailers(buffer.toString('latin1', at, end));
    if (trailers === null) return 'malformed trailers';
    this.complete(trailers, end + 4 === buffer.length);
    return end + 4;
  }

  private complete(trailers: readonly string[], clean: boolean): void {
    this.state = clean ? IDLE : STOPPED;
    this.handler.onComplete(trailers, clean);
  }
}
