// An HTTP server that speaks the API server's protocol (list, watch, optimistic writes) over real sockets and can be told to misbehave.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { ObjectTable, type Resource, statusBody, type StoredObject } from './object-table.ts';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: http.IncomingHttpHeaders;
  readonly watch: boolean;
  /** `httproutes` of /apis/…/v1/httproutes, whatever follows. */
  readonly resource: Resource;
}

interface Watcher {
  readonly resource: Resource;
  readonly response: http.ServerResponse;
}

/** Answers by itself and returns true, or returns false to let the server answer as it should. */
export type Intercept = (seen: Seen, response: http.ServerResponse) => boolean;

export class FaultServer {
  readonly table = new ObjectTable();
  readonly seen: Seen[] = [];
  /** Resources, as `group/version/plural`, that answer like an API server without their CRD. */
  readonly absent = new Set<string>();
  intercept: Intercept = () => false;
  /** Hears the body of each request that has one. */
  onBody: (seen: Seen, body: string) => void = () => {};
  readonly #watchers = new Set<Watcher>();
  readonly #server = http.createServer((request, response) => void this.#answer(request, response));

  static async start(): Promise<FaultServer> {
    const server = new FaultServer();
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    server.table.onEvent((resource, type, object) => {
      for (const watcher of server.#watchers) {
        if (watcher.resource.covers(resource, object)) watcher.response.write(`${JSON.stringify({ type, object })}\n`);
      }
    });
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get openWatches(): number {
    return this.#watchers.size;
  }

  kubeConfig(user: Record<string, unknown> = { token: 'test-token' }): KubeConfig {
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [{ name: 'test', server: this.url, skipTLSVerify: true }],
      users: [{ name: 'test', ...user }],
      contexts: [{ name: 'test', cluster: 'test', user: 'test' }],
      currentContext: 'test',
    });
    return config;
  }

  /** Requests that list or watch the plural, in order. */
  requests(plural: string, watch?: boolean): readonly Seen[] {
    return this.seen.filter((seen) => seen.resource.plural === plural && (watch === undefined || seen.watch === watch));
  }

  /** Writes bytes into every open watch of the plural. */
  sendRaw(plural: string, text: string | Buffer): void {
    for (const { resource, response } of this.#watchers) if (resource.plural === plural) response.write(text);
  }

  /** Ends the watches in order, or cuts their connections, after whatever was written before. */
  endWatches(plural: string, how: 'end' | 'cut' = 'end'): void {
    for (const watcher of this.#watchers) {
      if (watcher.resource.plural !== plural) continue;
      if (how === 'end') watcher.response.end();
      else watcher.response.socket?.destroy();
    }
  }

  /** The watches stay open but hear nothing more, like those behind a broken firewall. */
  deafen(plural: string): void {
    for (const watcher of this.#watchers) if (watcher.resource.plural === plural) this.#watchers.delete(watcher);
  }

  /** Cuts every connection, also of deaf watches; the server goes on. */
  dropConnections(): void {
    this.#server.closeAllConnections();
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  async #answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const resource = this.table.resourceOf(url);
    const watch = url.searchParams.get('watch') === 'true';
    const seen = { method: request.method ?? '', path: url.pathname, query: url.searchParams, headers: request.headers, watch, resource };
    this.seen.push(seen);
    request.on('error', () => {});
    response.on('error', () => {});
    let body = '';
    for await (const chunk of request) body += String(chunk);
    if (body !== '') this.onBody(seen, body);
    if (this.intercept(seen, response)) return;
    if (this.absent.has(resource.served)) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n');
    if (watch) return this.#watch(resource, url.searchParams, response);
    const answer = this.table.handle(seen.method, resource, url.searchParams, body);
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
  }

  #watch(resource: Resource, query: URLSearchParams, response: http.ServerResponse): void {
    const from = Number(query.get('resourceVersion'));
    response.writeHead(200, { 'content-type': 'application/json' });
    if (from < this.table.compacted) {
      const object = statusBody(410, 'Expired', `too old resource version: ${from}`);
      return void response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
    }
    response.flushHeaders();
    for (const event of this.table.eventsAfter(from)) {
      if (resource.covers(event.resource, event.object)) response.write(`${JSON.stringify({ type: event.type, object: event.object })}\n`);
    }
    const watcher = { resource, response };
    this.#watchers.add(watcher);
    response.on('close', () => this.#watchers.delete(watcher));
  }
}

/** Refuses with a Status object. */
export function refuse(response: http.ServerResponse, status: number, reason: string, headers: http.OutgoingHttpHeaders = {}): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(statusBody(status, reason, `refused: ${reason}`)));
  return true;
}

export type { StoredObject };
