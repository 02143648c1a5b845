// A backend that says who it is and what reached it, so that each answer can be traced to its request.
import { createHash } from 'node:crypto';
import http from 'node:http';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocketServer } from 'ws';

/** What a backend answers with. */
export interface Echo {
  readonly backend: string;
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly body: string;
}

export interface Backend {
  readonly name: string;
  readonly address: string;
  close(): Promise<void>;
}

/** Listens on every given port. A request for `…/slow/<ms>…` gets its head at once and the body in two parts, so much later. */
export async function startBackend(name: string, address: string, ports: readonly number[]): Promise<Backend> {
  const servers = ports.map(() => http.createServer((request, response) => void answer(name, request, response)));
  const sockets = servers.map((server) => new WebSocketServer({ server }));
  for (const webSockets of sockets) {
    webSockets.on('connection', (socket) => {
      socket.on('error', () => socket.terminate());
      socket.on('message', (data: Buffer) => socket.send(`${name}: ${data.toString()}`));
    });
  }
  await Promise.all(servers.map((server, index) => once(server.listen(ports[index], address), 'listening')));
  return {
    name,
    address,
    async close() {
      for (const webSockets of sockets) for (const socket of webSockets.clients) socket.terminate();
      await Promise.all(
        servers.map((server) => {
          server.closeAllConnections();
          return new Promise((resolve) => server.close(resolve));
        }),
      );
    },
  };
}

async function answer(name: string, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  request.on('error', () => response.destroy());
  const hash = createHash('sha256');
  request.on('data', (chunk: Buffer) => hash.update(chunk));
  await once(request, 'end');
  const { method = '', url = '', headers } = request;
  const echo: Echo = { backend: name, method, path: url, host: headers.host ?? '', body: hash.digest('hex') };
  const text = JSON.stringify(echo);
  response.writeHead(200, { 'content-type': 'application/json' });
  const wait = Number(/\/slow\/(\d+)/.exec(url)?.[1] ?? 0);
  if (wait > 0) {
    response.write(text.slice(0, 10));
    await pause(wait);
    response.end(text.slice(10));
  } else response.end(text);
}
