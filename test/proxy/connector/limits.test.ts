// Where the native connector and the edge double reach what HTTP/2 in Node can carry: the request fails, the tunnel does not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { describe, test } from 'node:test';
import { shareTunnel } from './suites/shared.ts';
import { NATIVE, openVisit, visit } from './suites/tunnel.ts';

describe('limits', () => {
  const shared = shareTunnel(NATIVE);
  const isAlive = async (): Promise<void> => {
    const [before] = shared.tunnel.edge.connections(shared.tunnel.id);
    shared.origin.onRequest = (_, response) => void response.end('alive');
    assert.equal((await visit(shared.tunnel)).text, 'alive');
    assert.equal(shared.tunnel.edge.connections(shared.tunnel.id)[0]?.id, before?.id);
    assert.equal(shared.tunnel.edge.connections(shared.tunnel.id).length, shared.tunnel.edge.addresses.length);
  };

  test('a request header of 100 KB: 431', async () => {
    assert.equal((await visit(shared.tunnel, { headers: { cookie: 'c'.repeat(100_000) } })).status, 431);
    await isAlive();
  });

  test('many request headers of 100 KB together', async () => {
    shared.origin.onRequest = (request, response) => void response.end(String(Object.keys(request.headers).length > 900));
    const headers = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`x-header-${i}`, 'v'.repeat(90)]));
    assert.equal((await visit(shared.tunnel, { headers })).text, 'true');
    await isAlive();
  });

  test('response headers of 40 KB arrive, of 60 KB are a 502', async () => {
    shared.origin.onRequest = (request, response) => {
      response.setHeader('x-large', 'v'.repeat(Number(request.url?.slice(1))));
      response.end();
    };
    assert.equal((await visit(shared.tunnel, { path: '/40000' })).headers['x-large']?.length, 40_000);
    assert.equal((await visit(shared.tunnel, { path: '/60000' })).status, 502);
    await isAlive();
  });

  test('an origin that never stops sending headers', async () => {
    shared.origin.onRequest = (request) => {
      const { socket } = request;
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 200 OK\r\n');
      const flood = (): void => void (socket.destroyed || socket.write(`x-flood: ${'v'.repeat(10_000)}\r\n`, flood));
      flood();
    };
    assert.equal((await visit(shared.tunnel)).status, 502);
    await isAlive();
  });

  test('methods and targets that are unusual', async () => {
    shared.origin.onRequest = (request, response) => void response.end(`${request.method} ${request.url}`);
    for (const [method, path] of [
      ['PROPFIND', '/x'],
      ['OPTIONS', '*'],
      ['GET', '/{"a":[1]}|\\^`'],
      ['GET', `/${'a'.repeat(30_000)}`],
    ] as const) {
      assert.equal((await visit(shared.tunnel, { method, path })).text, `${method} ${path}`);
    }
    const absolute = await visit(shared.tunnel, { path: 'http://other.example.com?x' });
    assert.equal(absolute.text, 'GET /?x');
  });

  test('hundreds of requests that are given up at once', async () => {
    shared.origin.onRequest = () => undefined;
    const requests = Array.from({ length: 300 }, () => openVisit(shared.tunnel).end());
    for (const request of requests) request.on('error', () => undefined);
    await Promise.all(
      requests.map(async (request) => {
        await new Promise((resolve) => request.once('finish', resolve));
        request.destroy();
      }),
    );
    await isAlive();
  });

  test('a request that only HTTP/2 forbids does not reach the tunnel', async () => {
    let seen: http.IncomingHttpHeaders = {};
    shared.origin.onRequest = ({ headers }, response) => {
      seen = headers;
      response.end();
    };
    const request = openVisit(shared.tunnel, { headers: { te: 'gzip, trailers;q=0.5', 'keep-alive': '1', 'proxy-connection': 'x' } }).end();
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    response.resume();
    assert.deepEqual(
      [response.statusCode, seen['te'], seen['keep-alive'], seen['proxy-connection']],
      [200, 'trailers', undefined, undefined],
    );
  });
});
