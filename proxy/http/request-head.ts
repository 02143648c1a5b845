// The head of a request: read once, then written anew for the backend. Pure.
//
// One instance serves all requests in turn: a request is read, matched and serialised without a pause between, and nothing is kept.
import { listElements } from '#proxy/upstream/fields.ts';
import type { HeaderEdits } from '#proxy/table/types.ts';
import * as hop from './hop.ts';

/** More fields than this are refused by the server before. */
const MAX_FIELDS = 2048;

/** What is said about the visitor, as the backend will be told. */
export interface Visitor {
  readonly address: string;
  /** The address, and the proxies behind it that are known. */
  readonly forwardedFor: string;
  readonly scheme: 'http' | 'https';
  /** `Host` as it came. */
  readonly host: string;
  readonly port: number;
}

/** What the backend gets, apart from the client's own fields. */
export interface Destination {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly host: string;
  readonly bodyLength: number;
  readonly edits: HeaderEdits | null;
}

export class RequestHead {
  host = '';
  hostCount = 0;
  contentLength: string | null = null;
  transferEncoding: string | null = null;
  /** Values of `CF-Connecting-IP`, `CF-Visitor` and `X-Forwarded-Proto`: '' when absent, null when there are several. */
  connectingIp: string | null = '';
  visitor: string | null = '';
  forwardedProto: string | null = '';
  upgrade = '';
  /** The client takes trailers. */
  teTrailers = false;
  trailer = '';
  private raw: readonly string[] = [];
  private nominated: ReadonlySet<string> | null = null;
  private readonly codes = new Uint8Array(MAX_FIELDS);
  private dropConnectingIp = false;

  /** Reads flat name, value pairs. False when there are too many. */
  read(raw: readonly string[]): boolean {
    if (raw.length > 2 * MAX_FIELDS) return false;
    this.raw = raw;
    this.host = '';
    this.hostCount = 0;
    this.contentLength = null;
    this.transferEncoding = null;
    this.connectingIp = '';
    this.visitor = '';
    this.forwardedProto = '';
    this.upgrade = '';
    this.teTrailers = false;
    this.trailer = '';
    this.nominated = null;
    this.dropConnectingIp = false;
    const { codes } = this;
    for (let i = 0; i < raw.length; i += 2) {
      const code = hop.requestField(raw[i]!);
      codes[i >> 1] = code;
      if (code > hop.DROP) this.note(code, raw[i + 1]!);
    }
    return true;
  }

  private note(code: number, value: string): void {
    switch (code) {
      case hop.HOST:
        this.host = value;
        this.hostCount += 1;
        return;
      case hop.CONNECTION:
        if (value.length !== 10 || value !== 'keep-alive') this.nominate(value);
        return;
      case hop.CONTENT_LENGTH:
        this.contentLength = this.contentLength === null ? value : 'repeated';
        return;
      case hop.TRANSFER_ENCODING:
        this.transferEncoding = this.transferEncoding === null ? value : 'repeated';
        return;
      case hop.CONNECTING_IP:
        this.connectingIp = this.connectingIp === '' ? value : null;
        return;
      case hop.VISITOR:
        this.visitor = this.visitor === '' ? value : null;
        return;
      case hop.FORWARDED_PROTO:
        this.forwardedProto = this.forwardedProto === '' ? value : null;
        return;
      case hop.UPGRADE:
        this.upgrade = value;
        return;
      case hop.TE:
        this.teTrailers ||= listElements(value).some((element) => element.split(';')[0]?.trim() === 'trailers');
        return;
      default:
        this.trailer = value;
    }
  }

  private nominate(value: string): void {
    const names = hop.nominatedFields(value);
    if (names === null) return;
    this.nominated = this.nominated === null ? names : new Set([...this.nominated, ...names]);
  }

  /** `CF-Connecting-IP` is not what the edge would send: the backend does not see it. */
  distrustConnectingIp(): void {
    this.dropConnectingIp = true;
  }

  /** Only the edge may write these, and it has not seen this request: a visitor has made them up. */
  dropEdgeFields(): void {
    const { raw, codes } = this;
    for (let i = 0; i < raw.length; i += 2) if (hop.isEdgeField(raw[i]!)) codes[i >> 1] = hop.DROP;
  }

  /** The head for HTTP/1.1, latin1. */
  text(to: Destination, visitor: Visitor): string {
    const { raw, codes } = this;
    const { edits } = to;
    const exceptional = edits !== null || this.nominated !== null;
    let text = `${to.method} ${to.target} HTTP/1.1\r\nHost: ${to.host}\r\n`;
    for (let i = 0; i < raw.length; i += 2) {
      const code = codes[i >> 1]!;
      if (code !== hop.PASS && !this.passes(code)) continue;
      const name = raw[i]!;
      if (exceptional && this.isTaken(name, edits)) continue;
      text += `${name}: ${raw[i + 1]!}\r\n`;
    }
    text += edits === null || edits.removeMask === 0 ? identityText(visitor) : editedIdentity(visitor, edits);
    if (to.bodyLength > 0 || this.contentLength !== null) text += `Content-Length: ${to.bodyLength}\r\n`;
    else if (to.bodyLength < 0) text += this.chunkedText();
    if (this.teTrailers) text += 'TE: trailers\r\nConnection: TE\r\n';
    return edits === null ? `${text}\r\n` : `${text}${edits.appendText}\r\n`;
  }

  /** The same with the fields of a WebSocket handshake, which leave HTTP/1.1 only over HTTP/1.1. */
  upgradeText(to: Destination, visitor: Visitor): string {
    this.teTrailers = false;
    const text = this.text(to, visitor);
    return `${text.slice(0, -2)}Connection: Upgrade\r\nUpgrade: ${this.upgrade}\r\n\r\n`;
  }

  /** The head for HTTP/2: flat name, value pairs with lower-case names. */
  list(to: Destination, visitor: Visitor): string[] {
    const { raw, codes } = this;
    const { edits } = to;
    const list = [':method', to.method, ':path', to.target, ':scheme', 'http', ':authority', to.host];
    for (let i = 0; i < raw.length; i += 2) {
      const code = codes[i >> 1]!;
      const name = raw[i]!;
      if ((code === hop.PASS || this.passes(code)) && !this.isTaken(name, edits)) list.push(name.toLowerCase(), raw[i + 1]!);
    }
    for (const [name, value] of identity(visitor))
      if (edits === null || !edits.remove.has(name.toLowerCase())) list.push(name.toLowerCase(), value);
    if (to.bodyLength > 0 || this.contentLength !== null) list.push('content-length', String(to.bodyLength));
    // The only value of TE that HTTP/2 knows; gRPC servers insist on it (RFC 9113 section 8.2.2).
    if (this.teTrailers) list.push('te', 'trailers');
    if (edits !== null) for (let i = 0; i < edits.append.length; i += 2) list.push(edits.append[i]!.toLowerCase(), edits.append[i + 1]!);
    return list;
  }

  private passes(code: number): boolean {
    return code === hop.VISITOR || (code === hop.CONNECTING_IP && !this.dropConnectingIp);
  }

  private isTaken(name: string, edits: HeaderEdits | null): boolean {
    if (edits !== null && ((edits.removeMask >>> (name.length & 31)) & 1) === 1 && edits.remove.has(name.toLowerCase())) return true;
    return this.nominated !== null && this.nominated.has(name.toLowerCase());
  }

  private chunkedText(): string {
    return this.trailer === '' ? 'Transfer-Encoding: chunked\r\n' : `Transfer-Encoding: chunked\r\nTrailer: ${this.trailer}\r\n`;
  }
}

function identityText({ address, forwardedFor, scheme, host, port }: Visitor): string {
  return `X-Real-IP: ${address}\r\nX-Forwarded-For: ${forwardedFor}\r\nX-Forwarded-Proto: ${scheme}\r\nX-Forwarded-Host: ${host}\r\nX-Forwarded-Port: ${port}\r\n`;
}

function identity({ address, forwardedFor, scheme, host, port }: Visitor): readonly (readonly [string, string])[] {
  return [
    ['X-Real-IP', address],
    ['X-Forwarded-For', forwardedFor],
    ['X-Forwarded-Proto', scheme],
    ['X-Forwarded-Host', host],
    ['X-Forwarded-Port', String(port)],
  ];
}

/** A route may remove or replace what we state: its owner knows the backend. */
function editedIdentity(visitor: Visitor, edits: HeaderEdits): string {
  let text = '';
  for (const [name, value] of identity(visitor)) if (!edits.remove.has(name.toLowerCase())) text += `${name}: ${value}\r\n`;
  return text;
}
