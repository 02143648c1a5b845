// DNS records of one zone: what may stand beside what, changes as one transaction, and the filters of the list.
import { isIPv4, isIPv6 } from 'node:net';
import { fault } from './envelope.ts';
import { hexId, type DnsRecord, type Zone } from './state.ts';

type Body = Readonly<Record<string, unknown>>;
export type Records = ReadonlyMap<string, DnsRecord>;

const types = new Set(['A', 'AAAA', 'CAA', 'CNAME', 'HTTPS', 'MX', 'NS', 'PTR', 'SRV', 'SVCB', 'TXT']);
const addressTypes = new Set(['A', 'AAAA', 'CNAME']);

const invalid = (message: string): Error => fault(400, 1004, `DNS Validation Error: ${message}`);

/** `@`, a name relative to the zone, or a full one: the API answers with the full one. */
function fullName(name: string, zone: Zone): string {
  const lower = name.toLowerCase().replace(/\.$/, '');
  if (lower === '@' || lower === zone.name) return zone.name;
  return lower.endsWith(`.${zone.name}`) ? lower : `${lower}.${zone.name}`;
}

function checkContent(type: string, name: string, content: string): void {
  if (content === '') throw invalid('content is required');
  if (type === 'A' && !isIPv4(content)) throw fault(400, 9005, 'Content for A record must be a valid IPv4 address.');
  if (type === 'AAAA' && !isIPv6(content)) throw fault(400, 9006, 'Content for AAAA record must be a valid IPv6 address.');
  if (type === 'CNAME' && (content === name || !/^[a-z0-9_*.-]+$/i.test(content))) {
    throw fault(400, 9007, 'Content for CNAME record is invalid.');
  }
}

function text(body: Body, field: string, fallback: string): string {
  const value = body[field] ?? fallback;
  if (typeof value !== 'string') throw invalid(`${field} must be a string`);
  return value;
}

function makeRecord(zone: Zone, body: Body, before: DnsRecord | null, now: string): DnsRecord {
  const type = text(body, 'type', '').toUpperCase();
  if (!types.has(type)) throw invalid(`type "${type}" is not known`);
  const rawName = text(body, 'name', '');
  if (rawName === '') throw invalid('name is required');
  const name = fullName(rawName, zone);
  const content = type === 'CNAME' ? text(body, 'content', '').toLowerCase() : text(body, 'content', '');
  checkContent(type, name, content);
  const proxied = body['proxied'] ?? false;
  if (typeof proxied !== 'boolean') throw invalid('proxied must be a boolean');
  if (proxied && !addressTypes.has(type)) throw fault(400, 9004, 'This record type cannot be proxied.');
  const ttl = body['ttl'] ?? 1;
  if (typeof ttl !== 'number' || !(ttl === 1 || (ttl >= 60 && ttl <= 86_400))) throw fault(400, 9021, 'Invalid TTL.');
  const comment = body['comment'] ?? null;
  if (comment !== null && (typeof comment !== 'string' || comment.length > 100)) throw fault(400, 9300, 'DNS record comment is invalid.');
  const tags = body['tags'] ?? [];
  if (!Array.isArray(tags) || tags.some((tag) => typeof tag !== 'string')) throw invalid('tags must be a list of strings');
  return {
    id: before?.id ?? hexId(),
    name,
    type,
    content,
    proxied,
    ttl: proxied ? 1 : ttl,
    comment,
    tags: tags as readonly string[],
    created_on: before?.created_on ?? now,
    modified_on: now,
  };
}

/** A CNAME stands alone among address records; two identical records cannot exist. */
function checkNeighbours(records: Records, record: DnsRecord): void {
  for (const other of records.values()) {
    if (other.id === record.id || other.name !== record.name) continue;
    if (other.type === record.type && other.content === record.content) throw fault(400, 81058, 'An identical record already exists.');
    if (!addressTypes.has(other.type) || !addressTypes.has(record.type)) continue;
    if (record.type === 'CNAME') throw fault(400, 81053, 'An A, AAAA, or CNAME record with that host already exists.');
    if (other.type === 'CNAME') throw fault(400, 81054, 'A CNAME record with that host already exists.');
  }
}

/** Changes to the records of a zone, applied to a copy: nothing is kept unless all of them hold. */
export class Transaction {
  readonly #zone: Zone;
  readonly #records: Map<string, DnsRecord>;
  readonly #now: string;

  constructor(zone: Zone, records: Records, now: string) {
    this.#zone = zone;
    this.#records = new Map(records);
    this.#now = now;
  }

  get records(): Records {
    return this.#records;
  }

  get(id: unknown): DnsRecord {
    const record = typeof id === 'string' ? this.#records.get(id) : undefined;
    if (record === undefined) throw fault(404, 81044, 'Record does not exist.');
    return record;
  }

  create(body: Body): DnsRecord {
    return this.#store(makeRecord(this.#zone, body, null, this.#now));
  }

  replace(id: unknown, body: Body): DnsRecord {
    return this.#store(makeRecord(this.#zone, body, this.get(id), this.#now));
  }

  edit(id: unknown, body: Body): DnsRecord {
    const before = this.get(id);
    return this.#store(makeRecord(this.#zone, { ...before, ...body }, before, this.#now));
  }

  delete(id: unknown): DnsRecord {
    const record = this.get(id);
    this.#records.delete(record.id);
    return record;
  }

  #store(record: DnsRecord): DnsRecord {
    checkNeighbours(this.#records, record);
    this.#records.set(record.id, record);
    return record;
  }
}

/** A batch runs deletes, patches, puts, posts, in this order whatever the order of its fields. */
export function applyBatch(transaction: Transaction, body: Body): Record<string, readonly DnsRecord[]> {
  const list = (field: string): readonly Body[] => {
    const value = body[field] ?? [];
    if (!Array.isArray(value)) throw invalid(`${field} must be a list`);
    return value as readonly Body[];
  };
  const [deletes, patches, puts, posts] = [list('deletes'), list('patches'), list('puts'), list('posts')];
  if (deletes.length + patches.length + puts.length + posts.length > 200) throw invalid('a batch may have at most 200 changes');
  return {
    deletes: deletes.map((change) => transaction.delete(change['id'])),
    patches: patches.map((change) => transaction.edit(change['id'], change)),
    puts: puts.map((change) => transaction.replace(change['id'], change)),
    posts: posts.map((change) => transaction.create(change)),
  };
}

type Query = Readonly<Record<string, unknown>>;

const comparisons: Readonly<Record<string, (value: string, wanted: string) => boolean>> = {
  exact: (value, wanted) => value === wanted,
  contains: (value, wanted) => value.includes(wanted),
  startswith: (value, wanted) => value.startsWith(wanted),
  endswith: (value, wanted) => value.endsWith(wanted),
};

/** Conditions of a list query: `type`, `proxied`, `search`, and `name`, `content`, `comment` with `.exact` and its siblings. */
function conditions(query: Query): readonly ((record: DnsRecord) => boolean)[] {
  const found: ((record: DnsRecord) => boolean)[] = [];
  for (const [key, raw] of Object.entries(query)) {
    if (typeof raw !== 'string') continue;
    const [field = '', how = 'exact'] = key.split('.');
    const wanted = field === 'name' ? raw.toLowerCase() : raw;
    if (key === 'type') found.push((record) => record.type === raw.toUpperCase());
    else if (key === 'proxied') found.push((record) => String(record.proxied) === raw);
    else if (key === 'search') {
      found.push((record) => [record.name, record.content, record.comment ?? ''].some((value) => value.includes(raw)));
    } else if (field === 'comment' && (how === 'present' || how === 'absent')) {
      found.push((record) => (record.comment !== null) === (how === 'present'));
    } else if (field === 'name' || field === 'content' || field === 'comment') {
      const compare = comparisons[how];
      if (compare === undefined) throw fault(400, 1001, `Unknown filter ${key}`);
      found.push((record) => compare(record[field] ?? '', wanted));
    }
  }
  return found;
}

export function listRecords(records: Records, query: Query): readonly DnsRecord[] {
  const wanted = conditions(query);
  const any = query['match'] === 'any' && wanted.length > 0;
  const found = [...records.values()].filter((record) =>
    any ? wanted.some((condition) => condition(record)) : wanted.every((condition) => condition(record)),
  );
  const order = query['order'];
  if (order === 'name' || order === 'type' || order === 'content') {
    found.sort((a, b) => (a[order] < b[order] ? -1 : a[order] > b[order] ? 1 : 0));
  }
  return query['direction'] === 'desc' ? found.reverse() : found;
}
