// What the API server asks a kubelet: the logs of containers (`pods/log`).
import https from 'node:https';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import type { ContainerLog, LogLine } from './log.ts';

export const KUBELET_PORT = 10_250;

export interface LogRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** That of the run before the last one. */
  readonly previous: boolean;
}

/** Null when there is no such container. */
export type FindLog = (request: LogRequest) => ContainerLog | null;

/** The API server of a test takes any certificate, and shows none: only the node's network reaches this. */
export async function serveKubelet(address: string, find: FindLog): Promise<https.Server> {
  const authority = await createCertificateAuthority();
  const server = https.createServer(await authority.issue(address), (request, response) => answer(find, request, response));
  server.listen(KUBELET_PORT, address);
  await once(server, 'listening');
  return server;
}

function answer(find: FindLog, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'https://node');
  const [, verb, namespace = '', pod = '', container = ''] = pathname.split('/').map(decodeURIComponent);
  const previous = searchParams.get('previous') === 'true';
  const log = verb === 'containerLogs' ? find({ namespace, pod, container, previous }) : null;
  if (log === null) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end(`nothing at ${pathname}\n`);
    return;
  }
  const text = writer(searchParams);
  response.writeHead(200, { 'content-type': 'text/plain' });
  const limit = searchParams.get('limitBytes');
  const all = Buffer.from(
    log
      .lines({ since: since(searchParams), tailLines: tailLines(searchParams) })
      .map(text)
      .join(''),
  );
  response.write(limit === null ? all : all.subarray(0, Number(limit)));
  if (searchParams.get('follow') !== 'true') {
    response.end();
    return;
  }
  const unfollow = log.follow((line) => response.write(text(line)));
  response.on('close', unfollow);
  void log.over.then(() => response.end());
}

const writer =
  (query: URLSearchParams) =>
  ({ at, text }: LogLine): string =>
    `${query.get('timestamps') === 'true' ? `${at.toISOString()} ` : ''}${text}\n`;

function since(query: URLSearchParams): Date {
  const seconds = query.get('sinceSeconds');
  if (seconds !== null) return new Date(Date.now() - Number(seconds) * 1000);
  return new Date(query.get('sinceTime') ?? 0);
}

const tailLines = (query: URLSearchParams): number => Number(query.get('tailLines') ?? Number.POSITIVE_INFINITY);
