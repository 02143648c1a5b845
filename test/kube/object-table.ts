// The state behind the fault server: objects with versions and a history of events, with the API server's rules for lists and writes.

export interface StoredObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** What a test puts in; the table adds identity and version. */
export interface NewObject {
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

export interface Resource {
  /** `group/version/plural`. */
  readonly served: string;
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /** Whether an object of another path belongs to this collection. */
  covers(other: Resource, object: StoredObject): boolean;
}

export interface TableEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: Resource;
  readonly object: StoredObject;
  readonly revision: number;
}

type EventListener = (resource: Resource, type: TableEvent['type'], object: StoredObject) => void;

export interface TableAnswer {
  readonly status: number;
  readonly body: unknown;
}

export const statusBody = (code: number, reason: string, message: string): object => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  code,
  reason,
  message,
});

export class ObjectTable {
  revision = 1;
  /** Versions below can no longer be continued from. */
  compacted = 0;
  readonly #objects = new Map<string, { readonly resource: Resource; readonly object: StoredObject }>();
  #history: TableEvent[] = [];
  readonly #listeners = new Set<EventListener>();

  onEvent(listener: EventListener): void {
    this.#listeners.add(listener);
  }

  eventsAfter(revision: number): readonly TableEvent[] {
    return this.#history.filter((event) => event.revision > revision);
  }

  /** Forgets the history: who resumes from before hears 410. */
  compact(): void {
    this.revision++;
    this.compacted = this.revision;
    this.#history = [];
  }

  /** Creates or replaces the object at its collection's path, e.g. `/api/v1/namespaces/a/secrets`. */
  put(collection: string, object: NewObject): StoredObject {
    const resource = this.resourceOf(new URL(`${collection}/${object.metadata.name}`, 'http://table'));
    return this.#write(resource, object);
  }

  get(path: string): StoredObject | undefined {
    return this.#objects.get(idOf(this.resourceOf(new URL(path, 'http://table'))))?.object;
  }

  /** Deletes by the object's path. */
  remove(path: string): void {
    const id = idOf(this.resourceOf(new URL(path, 'http://table')));
    const found = this.#objects.get(id);
    if (found === undefined) return;
    this.#objects.delete(id);
    this.revision++;
    const metadata = { ...found.object.metadata, resourceVersion: String(this.revision) };
    this.#emit('DELETED', found.resource, { ...found.object, metadata });
  }

  resourceOf(url: URL): Resource {
    const [root, ...rest] = url.pathname.split('/').slice(1).map(decodeURIComponent);
    const [group = '', version = ''] = root === 'api' ? ['', ...rest.splice(0, 1)] : rest.splice(0, 2);
    let namespace = '';
    if (rest[0] === 'namespaces' && rest.length > 2) [, namespace = ''] = rest.splice(0, 2);
    const [plural = '', name = '', subresource = ''] = rest;
    const served = `${group}/${version}/${plural}`;
    const only = /^metadata\.name=(.*)$/.exec(url.searchParams.get('fieldSelector') ?? '')?.[1];
    return {
      served,
      plural,
      namespace,
      name,
      subresource,
      covers: (other, object) =>
        other.served === served &&
        (namespace === '' || object.metadata.namespace === namespace) &&
        (only === undefined || object.metadata.name === only),
    };
  }

  handle(method: string, resource: Resource, query: URLSearchParams, body: string): TableAnswer {
    if (method === 'GET' && resource.name === '') return { status: 200, body: this.#list(resource, query) };
    const found = this.#objects.get(idOf(resource))?.object;
    const sent = body === '' ? null : (JSON.parse(body) as StoredObject);
    if (method === 'POST' && sent !== null) return this.#create(resource, sent);
    if (found === undefined) return { status: 404, body: statusBody(404, 'NotFound', 'not found') };
    if (method === 'PUT' && sent !== null) return this.#update(resource, found, sent);
    return { status: 200, body: found };
  }

  #list(resource: Resource, query: URLSearchParams): object {
    const all = [...this.#objects.values()].filter((entry) => resource.covers(entry.resource, entry.object));
    const from = Number(query.get('continue') ?? 0);
    const limit = Number(query.get('limit') ?? 0) || all.length;
    const items = all.slice(from, from + limit).map((entry) => entry.object);
    const more = from + limit < all.length ? { continue: String(from + limit) } : {};
    return { kind: 'List', apiVersion: 'v1', metadata: { resourceVersion: String(this.revision), ...more }, items };
  }

  #create(resource: Resource, sent: StoredObject): TableAnswer {
    const target = this.resourceOf(new URL(`${pathOf(resource)}/${sent.metadata.name}`, 'http://table'));
    if (this.#objects.has(idOf(target))) return { status: 409, body: statusBody(409, 'AlreadyExists', 'already exists') };
    return { status: 201, body: this.#write(target, sent) };
  }

  #update(resource: Resource, found: StoredObject, sent: StoredObject): TableAnswer {
    const { uid, resourceVersion } = sent.metadata;
    const stale = resourceVersion !== undefined && resourceVersion !== found.metadata.resourceVersion;
    if (stale || (uid !== undefined && uid !== found.metadata.uid)) return { status: 409, body: statusBody(409, 'Conflict', 'conflict') };
    const next = resource.subresource === 'status' ? { ...found, status: sent['status'] } : { ...sent };
    // As the API server: what changes nothing gets no new version.
    if (JSON.stringify({ ...next, metadata: 0 }) === JSON.stringify({ ...found, metadata: 0 }) && resource.subresource === 'status') {
      return { status: 200, body: found };
    }
    return { status: 200, body: this.#write({ ...resource, subresource: '' }, next) };
  }

  #write(resource: Resource, object: NewObject): StoredObject {
    const id = idOf(resource);
    const before = this.#objects.get(id)?.object;
    this.revision++;
    const stored: StoredObject = {
      ...object,
      metadata: {
        generation: 1,
        ...object.metadata,
        ...(resource.namespace !== '' && { namespace: resource.namespace }),
        uid: before?.metadata.uid ?? `uid-${this.revision}`,
        resourceVersion: String(this.revision),
      },
    };
    this.#objects.set(id, { resource, object: stored });
    this.#emit(before === undefined ? 'ADDED' : 'MODIFIED', resource, stored);
    return stored;
  }

  #emit(type: TableEvent['type'], resource: Resource, object: StoredObject): void {
    this.#history.push({ type, resource, object, revision: this.revision });
    for (const listener of this.#listeners) listener(resource, type, object);
  }
}

const idOf = ({ served, namespace, name }: Resource): string => `${served}|${namespace}|${name}`;

function pathOf({ served, namespace }: Resource): string {
  const [group = '', version = '', plural = ''] = served.split('/');
  const place = namespace === '' ? '' : `/namespaces/${namespace}`;
  return `${group === '' ? '/api' : `/apis/${group}`}/${version}${place}/${plural}`;
}
