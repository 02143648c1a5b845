// The first bytes of a connection, looked at before anybody takes them: the name in a ClientHello, the preface of HTTP/2. Pure.

/** `incomplete`: more bytes are needed to tell. */
export type ServerName = { readonly name: string } | 'incomplete' | 'malformed';

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
/** Larger ones are refused: with keys of every kind that is known a ClientHello has about 2 KiB. */
const MAX_HELLO = 16_384;

/** The name that a client asks for (RFC 6066 section 3), lower case without trailing dot; '' when it names none. */
export function serverName(bytes: Buffer): ServerName {
  const message = handshakeMessage(bytes);
  if (typeof message === 'string') return message;
  const hello = new Cursor(message);
  // Version, random; then session id, cipher suites, compression methods.
  hello.skip(34);
  hello.vector(1);
  hello.vector(2);
  hello.vector(1);
  if (hello.isAtEnd) return { name: '' };
  const extensions = new Cursor(hello.vector(2));
  while (!extensions.isAtEnd) {
    const type = extensions.number(2);
    const body = extensions.vector(2);
    if (type !== SERVER_NAME) continue;
    const list = new Cursor(new Cursor(body).vector(2));
    const isHost = list.number(1) === HOST_NAME;
    const name = list.vector(2).toString('latin1');
    return isHost && !list.failed ? { name: name.toLowerCase().replace(/\.$/, '') } : 'malformed';
  }
  return hello.failed || extensions.failed ? 'malformed' : { name: '' };
}

/** The body of the first handshake message, out of as many records as it takes (RFC 8446 section 5.1). */
function handshakeMessage(bytes: Buffer): Buffer | 'incomplete' | 'malformed' {
  if (bytes.length > MAX_HELLO) return 'malformed';
  const parts: Buffer[] = [];
  let at = 0;
  let have = 0;
  for (let wanted = 4; have < wanted;) {
    if (bytes.length > at && bytes[at] !== HANDSHAKE_RECORD) return 'malformed';
    if (bytes.length < at + 5) return 'incomplete';
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0) return 'malformed';
    parts.push(bytes.subarray(at + 5, at + 5 + length));
    have += Math.min(length, bytes.length - at - 5);
    if (have >= 4) {
      const start = Buffer.concat(parts);
      if (start[0] !== CLIENT_HELLO) return 'malformed';
      wanted = 4 + start.readUIntBE(1, 3);
      if (wanted > MAX_HELLO) return 'malformed';
      if (have >= wanted) return start.subarray(4, wanted);
    }
    if (bytes.length < at + 5 + length) return 'incomplete';
    at += 5 + length;
  }
  return 'incomplete';
}

/** Reads forward; what is not there reads as nothing and is remembered. */
class Cursor {
  failed = false;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.failed || this.#at >= this.#bytes.length;
  }

  skip(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) this.failed = true;
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  number(size: number): number {
    const taken = this.skip(size);
    return this.failed ? 0 : taken.readUIntBE(0, size);
  }

  /** A length of `size` bytes, and so many bytes. */
  vector(size: number): Buffer {
    return this.skip(this.number(size));
  }
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** Whether a clear-text connection speaks HTTP/2 with prior knowledge (RFC 9113 section 3.3); null: more bytes are needed to tell. */
export function speaksHttp2(bytes: Buffer): boolean | null {
  const seen = Math.min(bytes.length, PREFACE.length);
  if (!bytes.subarray(0, seen).equals(PREFACE.subarray(0, seen))) return false;
  return seen === PREFACE.length ? true : null;
}
