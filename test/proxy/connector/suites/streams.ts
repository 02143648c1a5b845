// Streams through a tunnel: order without delay, both directions at once, WebSockets, aborts that stay visible, backpressure.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { WebSocket, WebSocketServer, type ClientOptions } from 'ws';
import { deferred, openSession, shareTunnel } from './shared.ts';
import { openVisit, visit, type ConnectorKind } from './tunnel.ts';

export function streamsSuite(kind: ConnectorKind): void {
  describe(`${kind.name}: streams`, () => {
    const shared = shareTunnel(kind);

    test('server-sent events arrive one by one', async () => {
      // The origin sends an event only after the visitor has seen the previous one, so anything that waits for more waits for ever.
      let send = (_event: number): void => undefined;
      const started = deferred();
      shared.origin.onRequest = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        send = (event) => void (event === 5 ? response.end() : response.write(`data: ${event}\n\n`));
        started.resolve();
      };
      const request = openVisit(shared.tunnel, { secure: true }).end();
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      await started.promise;
      const seen: string[] = [];
      send(0);
      for await (const chunk of response) {
        seen.push(String(chunk));
        send(seen.length);
      }
      assert.deepEqual(seen, ['data: 0\n\n', 'data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n', 'data: 4\n\n']);
    });

    test('both directions at the same time', async () => {
      shared.origin.onRequest = (request, response) => {
        response.flushHeaders();
        request.on('data', (chunk: Buffer) => response.write(`<${chunk.toString()}>`));
        request.on('end', () => response.end('.'));
      };
      const session = openSession(shared.tunnel);
      const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': 'app.example.com' });
      // The head of the answer comes before the first byte of the body was sent.
      await once(stream, 'response');
      for (const word of ['one', 'two', 'three']) {
        stream.write(word);
        const [chunk] = await once(stream, 'data');
        assert.equal(String(chunk), `<${word}>`);
      }
      stream.end();
      const [last] = await once(stream, 'data');
      assert.equal(String(last), '.');
      session.close();
    });

    for (const secure of [false, true]) {
      test(`WebSocket over ${secure ? 'HTTPS' : 'HTTP'}`, async () => {
        const sockets = new WebSocketServer({ noServer: true });
        let seen: IncomingMessage | null = null;
        shared.origin.onUpgrade = (request, socket, head) => {
          seen = request;
          sockets.handleUpgrade(request, socket, head, (webSocket) => {
            webSocket.on('message', (data, isBinary) => webSocket.send(data, { binary: isBinary }));
          });
        };
        const client = openWebSocket(shared.tunnel, secure);
        await once(client, 'open');
        assert.equal((seen as unknown as IncomingMessage).headers['cf-visitor'], JSON.stringify({ scheme: secure ? 'https' : 'http' }));
        client.send('hello');
        assert.equal(String((await once(client, 'message'))[0]), 'hello');
        const large = Buffer.alloc(1 << 20, 7);
        client.send(large);
        assert.deepEqual((await once(client, 'message'))[0], large);
        client.close(4001, 'bye');
        const [code, reason] = await once(client, 'close');
        assert.deepEqual([code, String(reason)], [4001, 'bye']);
        sockets.close();
      });
    }

    test('a WebSocket that the origin ends, and one that the visitor cuts', async () => {
      const sockets = new WebSocketServer({ noServer: true });
      const ended = deferred();
      shared.origin.onUpgrade = (request, socket, head) => {
        sockets.handleUpgrade(request, socket, head, (webSocket) => {
          if (request.url === '/end') webSocket.close(4002);
          webSocket.on('close', () => request.url === '/cut' && ended.resolve());
        });
      };
      const first = openWebSocket(shared.tunnel, true, '/end');
      assert.equal((await once(first, 'close'))[0], 4002);
      const second = openWebSocket(shared.tunnel, false, '/cut');
      await once(second, 'open');
      second.terminate();
      await ended.promise;
      sockets.close();
    });

    test('a WebSocket whose visitor is reset', async () => {
      const closed = deferred();
      shared.origin.onUpgrade = (_, socket) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n');
        socket.on('error', () => undefined);
        socket.resume();
        socket.on('end', () => {
          socket.end();
          closed.resolve();
        });
      };
      const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'eA==', 'sec-websocket-version': '13' };
      const request = openVisit(shared.tunnel, { headers }).end();
      const [, socket] = (await once(request, 'upgrade')) as [IncomingMessage, Socket];
      socket.resetAndDestroy();
      await closed.promise;
    });

    test('a refused WebSocket gets the origin`s own answer', async () => {
      shared.origin.onUpgrade = (_, socket) => {
        socket.end('HTTP/1.1 401 Unauthorized\r\nX-Why: token\r\nContent-Length: 6\r\nConnection: close\r\n\r\ndenied');
      };
      const client = openWebSocket(shared.tunnel, false);
      client.on('error', () => undefined);
      const [request, response] = (await once(client, 'unexpected-response')) as [{ destroy(): void }, IncomingMessage];
      const chunks = await response.toArray();
      assert.deepEqual(
        [response.statusCode, response.headers['x-why'], Buffer.concat(chunks as Buffer[]).toString()],
        [401, 'token', 'denied'],
      );
      request.destroy();
    });

    test('a visitor that leaves ends the origin`s request', async () => {
      const seen = deferred<IncomingMessage>();
      shared.origin.onRequest = (request, response) => {
        request.on('error', () => undefined);
        response.write('first');
        seen.resolve(request);
      };
      const request = openVisit(shared.tunnel).end();
      request.on('error', () => undefined);
      const originRequest = await seen.promise;
      await once(request, 'response');
      const closed = deferred();
      originRequest.on('close', closed.resolve);
      request.destroy();
      await closed.promise;
    });

    for (const error of [new Error('gone'), undefined]) {
      test(`a visitor that leaves in the middle of its body, ${error ? 'with' : 'without'} an error`, async () => {
        const seen = deferred<IncomingMessage>();
        shared.origin.onRequest = (request) => {
          request.on('error', () => undefined);
          request.once('data', () => seen.resolve(request));
        };
        const session = openSession(shared.tunnel);
        const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': 'app.example.com' });
        stream.on('error', () => undefined);
        stream.write('half');
        const originRequest = await seen.promise;
        const closed = deferred();
        originRequest.on('close', closed.resolve);
        stream.destroy(error);
        await closed.promise;
        assert.equal(originRequest.complete, false);
        session.close();
      });
    }

    test('a body that breaks off at the origin looks broken to HTTP/1.1 visitors', async () => {
      for (const length of [undefined, 100]) {
        shared.origin.onRequest = (request, response) => {
          if (length !== undefined) response.setHeader('content-length', length);
          response.write('half', () => request.socket.destroy());
        };
        const request = openVisit(shared.tunnel).end();
        const [response] = (await once(request, 'response')) as [IncomingMessage];
        await assert.rejects(response.toArray());
        assert.equal(response.complete, false);
      }
    });

    test('a body that breaks off at the origin looks broken to HTTP/2 visitors', async () => {
      shared.origin.onRequest = (request, response) => void response.write('half', () => request.socket.destroy());
      const session = openSession(shared.tunnel);
      const stream = session.request({ ':path': '/', ':authority': 'app.example.com' });
      await assert.rejects(stream.toArray());
      assert.notEqual(stream.rstCode, 0);
      session.close();
    });

    test('a slow visitor slows the origin down', async () => {
      const total = 128;
      const piece = Buffer.alloc(1 << 20, 65);
      let written = 0;
      shared.origin.onRequest = (request, response) => {
        const pump = (): void => {
          let canTakeMore = true;
          while (written < total && canTakeMore) {
            written += 1;
            canTakeMore = response.write(piece);
          }
          if (canTakeMore) response.end();
          else response.once('drain', pump);
        };
        if (request.url === '/ping') response.end();
        else pump();
      };
      const request = openVisit(shared.tunnel, { path: '/large' }).end();
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      // Nobody reads. Round trips of other requests are the clock: while any of them sees progress, wait on.
      for (let before = -1, quiet = 0; quiet < 20; quiet = before === written ? quiet + 1 : 0) {
        before = written;
        await visit(shared.tunnel, { path: '/ping' });
      }
      assert.ok(written < total / 2, `${written} MiB were taken although nobody reads`);
      let size = 0;
      for await (const chunk of response) size += (chunk as Buffer).length;
      assert.equal(size, total << 20);
    });

    test('a slow origin slows the visitor down', async () => {
      let read = (): void => undefined;
      shared.origin.onRequest = (request, response) => {
        if (request.url === '/ping') response.end();
        else read = () => countBody(request, (size) => void response.end(String(size)));
      };
      const total = 64;
      const piece = Buffer.alloc(1 << 20, 65);
      const session = openSession(shared.tunnel);
      const stream = session.request({ ':method': 'POST', ':path': '/large', ':authority': 'app.example.com' });
      let sent = 0;
      const pump = (): void => {
        if (sent === total) return void stream.end();
        sent += 1;
        stream.write(piece, pump);
      };
      pump();
      for (let before = -1, quiet = 0; quiet < 20; quiet = before === sent ? quiet + 1 : 0) {
        before = sent;
        await visit(shared.tunnel, { path: '/ping' });
      }
      assert.ok(sent < total / 2, `${sent} MiB were taken although the origin does not read`);
      read();
      const chunks = await stream.toArray();
      assert.equal(Buffer.concat(chunks as Buffer[]).toString(), String(total << 20));
      session.close();
    });
  });
}

function openWebSocket(tunnel: Parameters<typeof visit>[0], secure: boolean, path = '/'): WebSocket {
  const address = tunnel.edge.address(tunnel.id);
  if (address === undefined) throw new Error('the tunnel has no address');
  const port = secure ? address.httpsPort : address.httpPort;
  return new WebSocket(`${secure ? 'wss' : 'ws'}://${address.ip}:${port}${path}`, {
    headers: { host: 'app.example.com' },
    ca: tunnel.edge.ca.pem,
    servername: 'app.example.com',
  } as ClientOptions);
}

function countBody(request: IncomingMessage, done: (size: number) => void): void {
  let size = 0;
  request.on('data', (chunk: Buffer) => (size += chunk.length));
  request.on('end', () => done(size));
}
