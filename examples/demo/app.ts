// The demo web application: says what reached it, streams events, echoes WebSocket messages.
import http from 'node:http';
import { WebSocketServer } from 'ws';

/** First message of every WebSocket. */
export const WELCOME = 'welcome: every message comes back';

/**
 * Serves until closed; rejects when the port is taken. Endpoints: /events (SSE), /upload (counts bytes), anything else answers with the
 * request as JSON.
 */
export async function startApp(port: number): Promise<http.Server> {
  const server = http.createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0];
    if (path === '/events') return events(response);
    if (path === '/upload') return upload(request, response);
    response.setHeader('content-type', 'application/json');
    response.end(
      `${JSON.stringify({ method: request.method, path: request.url, host: request.headers.host, headers: request.headers }, null, 2)}\n`,
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => {
    socket.on('error', () => socket.terminate());
    socket.send(WELCOME);
    socket.on('message', (data, isBinary) => socket.send(isBinary || !Buffer.isBuffer(data) ? data : `you said: ${data.toString()}`));
  });
  return server;
}

function events(response: http.ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let count = 0;
  const tick = (): void => {
    count += 1;
    response.write(`data: event ${count}\n\n`);
    if (count === 5) response.end();
  };
  tick();
  const timer = setInterval(tick, 200);
  response.on('close', () => clearInterval(timer));
}

function upload(request: http.IncomingMessage, response: http.ServerResponse): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => (bytes += chunk.length));
  request.on('end', () => response.end(`received ${bytes} bytes\n`));
}
