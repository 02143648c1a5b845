// Messages of DNS (RFC 1035, section 4), as much of them as a resolver in a cluster needs: one question, addresses, names, services. Pure.

export type RecordType = 'A' | 'CNAME' | 'SRV';

export type ResourceRecord =
  | { readonly name: string; readonly type: 'A'; readonly address: string }
  | { readonly name: string; readonly type: 'CNAME'; readonly target: string }
  | { readonly name: string; readonly type: 'SRV'; readonly port: number; readonly target: string };

export interface Question {
  readonly id: number;
  readonly recursionDesired: boolean;
  /** Lower case, without the last dot. */
  readonly name: string;
  /** A number: other types are asked for as well. */
  readonly type: number;
  /** The section as it was sent: an answer repeats it to the letter. */
  readonly section: Buffer;
}

export const typeNumbers: Readonly<Record<RecordType, number>> = { A: 1, CNAME: 5, SRV: 33 };
export const responseCodes = { ok: 0, noSuchName: 3 } as const;

const HEADER_BYTES = 12;
const CLASS_INTERNET = 1;
/** Names come and go with pods. */
const TTL_SECONDS = 1;

/** Null when it is no query with one question. */
export function readQuery(message: Buffer): Question | null {
  if (message.length < HEADER_BYTES || message.readUInt16BE(4) !== 1) return null;
  const flags = message.readUInt16BE(2);
  if ((flags & 0xf800) !== 0) return null; // a response, or another operation than a query
  const labels: string[] = [];
  let position = HEADER_BYTES;
  for (;;) {
    const length = message[position++];
    if (length === undefined || length > 63 || position + length > message.length) return null;
    if (length === 0) break;
    labels.push(message.toString('latin1', position, position + length).toLowerCase());
    position += length;
  }
  if (position + 4 > message.length) return null;
  return {
    id: message.readUInt16BE(0),
    recursionDesired: (flags & 0x100) !== 0,
    name: labels.join('.'),
    type: message.readUInt16BE(position),
    section: message.subarray(HEADER_BYTES, position + 4),
  };
}

/** Authoritative, and recursive if that was asked for. */
export function writeAnswer(question: Question, code: number, records: readonly ResourceRecord[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(question.id, 0);
  header.writeUInt16BE(0x8480 | (question.recursionDesired ? 0x100 : 0) | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, question.section, ...records.map(recordBytes)]);
}

function recordBytes(record: ResourceRecord): Buffer {
  const data = recordData(record);
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(typeNumbers[record.type], 0);
  fixed.writeUInt16BE(CLASS_INTERNET, 2);
  fixed.writeUInt32BE(TTL_SECONDS, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameBytes(record.name), fixed, data]);
}

function recordData(record: ResourceRecord): Buffer {
  switch (record.type) {
    case 'A':
      return Buffer.from(record.address.split('.').map(Number));
    case 'CNAME':
      return nameBytes(record.target);
    case 'SRV': {
      const fixed = Buffer.alloc(6); // priority and weight are 0
      fixed.writeUInt16BE(record.port, 4);
      return Buffer.concat([fixed, nameBytes(record.target)]);
    }
  }
}

function nameBytes(name: string): Buffer {
  const labels = name.split('.').filter((label) => label !== '');
  return Buffer.concat([...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]), Buffer.alloc(1)]);
}
