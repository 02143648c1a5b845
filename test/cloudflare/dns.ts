// A small DNS server on UDP: the names of tunnels, and whatever records the caller knows.
import dgram from 'node:dgram';
import { isIPv6 } from 'node:net';

export type DnsRecord =
  | { readonly type: 'A' | 'AAAA'; readonly address: string }
  /** `proxied`: answered with the target's addresses under the asked name, as Cloudflare does for its proxied records. */
  | { readonly type: 'CNAME'; readonly target: string; readonly proxied?: boolean };

export interface DnsOptions {
  /** Loopback address of a tunnel, by its UUID; undefined when there is no such tunnel. */
  readonly tunnel: (id: string) => string | undefined;
  /** Records of any other name, in lower case without a final dot. An empty list: the name exists without records. Undefined: it does not exist. */
  readonly records?: (name: string) => readonly DnsRecord[] | undefined;
  readonly host?: string;
  /** 0: any free one. */
  readonly port?: number;
}

export interface DnsServer {
  readonly host: string;
  readonly port: number;
  close(): Promise<void>;
}

const TYPES = { A: 1, CNAME: 5, AAAA: 28 } as const;
const CLASS_IN = 1;
const FLAG_RESPONSE = 0x8000;
const FLAG_AUTHORITATIVE = 0x0400;
const FLAG_TRUNCATED = 0x0200;
const FLAG_RECURSION_DESIRED = 0x0100;
const OPCODE_MASK = 0x7800;
const NO_ERROR = 0;
const NAME_ERROR = 3;
const NOT_IMPLEMENTED = 4;
const HEADER_BYTES = 12;
const MAX_RESPONSE_BYTES = 512;
const MAX_CHAIN = 8;
const TTL_SECONDS = 5;

export async function startDns(options: DnsOptions): Promise<DnsServer> {
  const host = options.host ?? '127.0.0.1';
  const socket = dgram.createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  socket.on('message', (packet, peer) => {
    const response = answerQuery(packet, options);
    if (response !== null) socket.send(response, peer.port, peer.address);
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(options.port ?? 0, host, () => {
      socket.off('error', reject);
      // Sending to a peer that has gone is its business, not ours.
      socket.on('error', () => undefined);
      resolve();
    });
  });
  return { host, port: socket.address().port, close: () => new Promise((resolve) => socket.close(() => resolve())) };
}

interface Query {
  readonly id: number;
  readonly flags: number;
  readonly name: string;
  readonly type: number;
  readonly class: number;
  /** The question section as it came, to be repeated in the response. */
  readonly question: Buffer;
}

interface Answer {
  readonly owner: string;
  readonly record: DnsRecord;
}

/** The response to a packet, or null when it is no query: such packets get no answer. */
export function answerQuery(packet: Buffer, options: Pick<DnsOptions, 'tunnel' | 'records'>): Buffer | null {
  const query = parseQuery(packet);
  if (query === null) return null;
  if ((query.flags & OPCODE_MASK) !== 0) return respond(query, NOT_IMPLEMENTED, []);
  const { code, answers } = resolve(query, options);
  return respond(query, code, answers);
}

function parseQuery(packet: Buffer): Query | null {
  if (packet.length < HEADER_BYTES) return null;
  const flags = packet.readUInt16BE(2);
  if ((flags & FLAG_RESPONSE) !== 0 || packet.readUInt16BE(4) !== 1) return null;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = packet[at] ?? 0xff; length !== 0; length = packet[at] ?? 0xff) {
    // A length with its upper bits set is a compression pointer, which a question has no reason to use.
    if (length > 63 || at + 1 + length > packet.length) return null;
    labels.push(packet.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 5;
  if (end > packet.length || at - HEADER_BYTES > 254) return null;
  return {
    id: packet.readUInt16BE(0),
    flags,
    name: labels.join('.').toLowerCase(),
    type: packet.readUInt16BE(at + 1),
    class: packet.readUInt16BE(at + 3),
    question: packet.subarray(HEADER_BYTES, end),
  };
}

function resolve(
  query: Query,
  options: Pick<DnsOptions, 'tunnel' | 'records'>,
): { readonly code: number; readonly answers: readonly Answer[] } {
  const answers: Answer[] = [];
  if (query.class !== CLASS_IN) return { code: NO_ERROR, answers };
  let name = query.name;
  let owner = query.name;
  for (let step = 0; step < MAX_CHAIN; step += 1) {
    const records = recordsOf(name, options);
    // The code is about the last name of a chain (RFC 6604 section 3); a proxied record exists wherever it leads.
    if (records === undefined) return { code: name === owner ? NAME_ERROR : NO_ERROR, answers };
    const alias = records.find((record) => record.type === 'CNAME');
    if (alias === undefined) {
      const wanted = records.filter((record) => TYPES[record.type] === query.type);
      return { code: NO_ERROR, answers: [...answers, ...wanted.map((record) => ({ owner, record }))] };
    }
    name = alias.target.toLowerCase().replace(/\.$/, '');
    if (alias.proxied === true) continue;
    answers.push({ owner, record: alias });
    owner = name;
    if (query.type === TYPES.CNAME) break;
  }
  return { code: NO_ERROR, answers };
}

function recordsOf(name: string, options: Pick<DnsOptions, 'tunnel' | 'records'>): readonly DnsRecord[] | undefined {
  const tunnel = /^([0-9a-f-]{36})\.cfargotunnel\.com$/.exec(name)?.[1];
  if (tunnel === undefined) return options.records?.(name);
  const address = options.tunnel(tunnel);
  return address === undefined ? undefined : [{ type: isIPv6(address) ? 'AAAA' : 'A', address }];
}

function respond(query: Query, code: number, answers: readonly Answer[]): Buffer {
  const encoded = answers.map(({ owner, record }) => encodeRecord(owner, record));
  const body = Buffer.concat([query.question, ...encoded]);
  const fits = HEADER_BYTES + body.length <= MAX_RESPONSE_BYTES;
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(query.id, 0);
  const kept = query.flags & (FLAG_RECURSION_DESIRED | OPCODE_MASK);
  header.writeUInt16BE(FLAG_RESPONSE | FLAG_AUTHORITATIVE | kept | (fits ? 0 : FLAG_TRUNCATED) | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(fits ? answers.length : 0, 6);
  return Buffer.concat([header, fits ? body : query.question]);
}

function encodeRecord(owner: string, record: DnsRecord): Buffer {
  const data = record.type === 'CNAME' ? encodeName(record.target) : encodeAddress(record.address);
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(TYPES[record.type], 0);
  fixed.writeUInt16BE(CLASS_IN, 2);
  fixed.writeUInt32BE(TTL_SECONDS, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(owner), fixed, data]);
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '');
  return Buffer.concat([...labels.map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1')), Buffer.alloc(1)]);
}

function encodeAddress(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): number[] => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  const [first, last] = [groups(head), groups(tail)];
  const all = [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}
