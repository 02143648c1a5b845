// Ordinary HTTP through a tunnel: heads, bodies, trailers, failures of the origin, and the documents that decide where requests go.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { openSession, shareTunnel } from './shared.ts';
import { openVisit, originDocument, readReply, startOrigin, visit, type ConnectorKind } from './tunnel.ts';

const sha256 = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

export function httpSuite(kind: ConnectorKind): void {
  describe(`${kind.name}: requests and responses`, () => {
    const shared = shareTunnel(kind);

    test('the head arrives as it was sent', async () => {
      let seen: IncomingMessage | null = null;
      shared.origin.onRequest = (request, response) => {
        seen = request;
        response.writeHead(207, ['X-One', '1', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Umlaut', Buffer.from('ü').toString('latin1')]);
        // With a string Node would encode the head like the body, in UTF-8.
        response.end(Buffer.from('body'));
      };
      const target = '//a/../b%2Fc?q=1&q=2%20';
      const headers = { 'X-Own': ['1', '2'], cookie: 'c=3; d=4', 'user-agent': 'visitor', 'accept-encoding': 'gzip' };
      const reply = await visit(shared.tunnel, { method: 'DELETE', host: 'App.Example.com:8443', path: target, headers });
      assert.ok(seen !== null);
      const request = seen as IncomingMessage;
      assert.deepEqual([request.method, request.url, request.httpVersion], ['DELETE', target, '1.1']);
      assert.equal(request.headers.host, 'App.Example.com:8443');
      assert.equal(request.headers['x-own'], '1, 2');
      assert.equal(request.headers.cookie, 'c=3; d=4');
      assert.equal(request.headers['user-agent'], 'visitor');
      assert.equal(request.headers['transfer-encoding'], undefined);
      assert.equal(reply.status, 207);
      assert.equal(reply.text, 'body');
      assert.equal(reply.headers['x-one'], '1');
      assert.deepEqual(reply.headers['set-cookie'], ['a=1', 'b=2']);
      assert.equal(Buffer.from(reply.headers['x-umlaut'] as string, 'latin1').toString(), 'ü');
    });

    test('the edge adds what it knows and drops what it does not believe', async () => {
      let seen: IncomingMessage | null = null;
      shared.origin.onRequest = (request, response) => {
        seen = request;
        response.writeHead(200, { 'cf-cloudflared-x': '1', 'cf-int-x': '1', 'cf-proxy-x': '1', 'cf-kept': '1' });
        response.end();
      };
      const forged = {
        'cf-connecting-ip': '6.6.6.6',
        'cf-visitor': '{}',
        'cf-cloudflared-proxy-connection-upgrade': 'update-configuration',
        'x-forwarded-for': '7.7.7.7',
        'x-forwarded-proto': 'gopher',
        'x-hop': '1',
        connection: 'x-hop, keep-alive',
      };
      const reply = await visit(shared.tunnel, { headers: forged, secure: true });
      const { headers } = seen as unknown as IncomingMessage;
      assert.match(headers['cf-connecting-ip'] as string, /^127\./);
      assert.equal(headers['x-forwarded-for'], `7.7.7.7, ${String(headers['cf-connecting-ip'])}`);
      assert.equal(headers['x-forwarded-proto'], 'https');
      assert.equal(headers['cf-visitor'], '{"scheme":"https"}');
      assert.equal(headers['cdn-loop'], 'cloudflare; loops=1');
      assert.match(headers['cf-ray'] as string, /^[0-9a-f]{16}-TST$/);
      assert.equal(headers['cf-ipcountry'], 'XX');
      assert.equal(headers['cf-cloudflared-proxy-connection-upgrade'], undefined);
      assert.equal(headers['x-hop'], undefined);
      assert.equal(reply.headers['cf-ray'], headers['cf-ray']);
      assert.equal(reply.headers['server'], 'cloudflare');
      assert.equal(reply.headers['cf-kept'], '1');
      for (const name of ['cf-cloudflared-x', 'cf-int-x', 'cf-proxy-x']) assert.equal(reply.headers[name], undefined);
    });

    test('HEAD, 204 and 304 have no body and keep their headers', async () => {
      shared.origin.onRequest = (request, response) => {
        const status = Number(request.url?.slice(1));
        if (request.method === 'HEAD') response.setHeader('Content-Length', '1234');
        response.writeHead(status, { etag: '"x"' });
        response.end();
      };
      const head = await visit(shared.tunnel, { method: 'HEAD', path: '/200' });
      assert.deepEqual([head.status, head.headers['content-length'], head.headers.etag, head.text], [200, '1234', '"x"', '']);
      for (const status of [204, 304]) {
        const reply = await visit(shared.tunnel, { path: `/${status}` });
        assert.deepEqual([reply.status, reply.headers.etag, reply.text], [status, '"x"', '']);
      }
    });

    test('request bodies keep their framing', async () => {
      shared.origin.onRequest = (request, response) => {
        const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
        response.setHeader('x-framing', `${length ?? '-'} ${coding ?? '-'}`);
        request.pipe(response);
      };
      const known = await visit(shared.tunnel, { method: 'POST', body: 'hello', headers: { 'content-length': '5' } });
      assert.deepEqual([known.headers['x-framing'], known.text], ['5 -', 'hello']);
      const chunked = await visit(shared.tunnel, { method: 'PUT', body: 'hello', headers: { 'transfer-encoding': 'chunked' } });
      assert.deepEqual([chunked.headers['x-framing'], chunked.text], ['- chunked', 'hello']);
      const empty = await visit(shared.tunnel, { method: 'POST', headers: { 'content-length': '0' } });
      assert.deepEqual([empty.headers['x-framing'], empty.text], ['0 -', '']);
    });

    test('large bodies both ways at once', async () => {
      shared.origin.onRequest = (request, response) => void request.pipe(response);
      const body = randomBytes(5 << 20);
      const replies = await Promise.all([true, false].map((secure) => visit(shared.tunnel, { method: 'POST', body, secure })));
      for (const reply of replies) assert.equal(sha256(reply.body), sha256(body));
    });

    test('many requests at the same time', async () => {
      shared.origin.onRequest = (request, response) => void response.end(request.url);
      const targets = Array.from({ length: 200 }, (_, i) => `/${i}`);
      const replies = await Promise.all(targets.map((target) => visit(shared.tunnel, { path: target })));
      assert.deepEqual(
        replies.map((reply) => reply.text),
        targets,
      );
    });

    test('trailers reach HTTP/1.1 visitors, announced or not', async () => {
      shared.origin.onRequest = (_, response) => {
        response.writeHead(200, { trailer: 'x-announced' });
        response.write('body');
        response.addTrailers([
          ['X-Announced', '1'],
          ['X-Surprise', '2'],
        ]);
        response.end();
      };
      const reply = await visit(shared.tunnel);
      assert.equal(reply.text, 'body');
      const names = reply.rawTrailers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
      assert.deepEqual(names.sort(), ['x-announced', 'x-surprise']);
    });

    test('an early final answer while the visitor is still sending', async () => {
      shared.origin.onRequest = (_, response) => {
        response.writeHead(413, { connection: 'close' });
        response.end('too large');
      };
      const request = openVisit(shared.tunnel, { method: 'POST', headers: { 'transfer-encoding': 'chunked' } });
      request.on('error', () => undefined);
      request.write('first');
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      const reply = await readReply(response);
      assert.deepEqual([reply.status, reply.text], [413, 'too large']);
      request.destroy();
    });

    test('what is left of an upload after an early answer never becomes part of the next request', async () => {
      shared.origin.onRequest = (incoming, response) => {
        if (incoming.method === 'POST') response.writeHead(500).end('no');
        else response.end(`next: ${incoming.method} ${incoming.url}`);
      };
      for (const framing of [{ 'content-length': '100000' }, { 'transfer-encoding': 'chunked' }]) {
        const request = openVisit(shared.tunnel, { method: 'POST', headers: framing });
        request.on('error', () => undefined);
        request.write('first');
        const [response] = (await once(request, 'response')) as [IncomingMessage];
        assert.equal((await readReply(response)).status, 500);
        const replies = await Promise.all([visit(shared.tunnel), visit(shared.tunnel), visit(shared.tunnel)]);
        assert.deepEqual(
          replies.map(({ text }) => text),
          Array(3).fill('next: GET /'),
        );
        request.destroy();
      }
    });

    test('a large request head', async () => {
      shared.origin.onRequest = (request, response) => void response.end(String((request.headers.cookie ?? '').length));
      const reply = await visit(shared.tunnel, { headers: { cookie: 'c'.repeat(50_000) } });
      assert.equal(reply.text, '50000');
    });

    test('an HTTP/2 visitor', async () => {
      shared.origin.onRequest = (request, response) => {
        response.setHeader('set-cookie', ['a=1', 'b=2']);
        request.pipe(response);
      };
      const session = openSession(shared.tunnel);
      const stream = session.request({ ':method': 'POST', ':path': '/x', ':authority': 'app.example.com' });
      stream.end('over h2');
      const [headers] = await once(stream, 'response');
      assert.deepEqual([headers[':status'], headers['set-cookie'], headers['connection']], [200, ['a=1', 'b=2'], undefined]);
      const chunks = await stream.toArray();
      assert.equal(Buffer.concat(chunks as Buffer[]).toString(), 'over h2');
      session.close();
    });

    test('an origin that is down or breaks the protocol: 502', async (t) => {
      const broken = await startOrigin(t);
      broken.server.on('connection', (socket) => socket.end('this is not HTTP\r\n\r\n'));
      await shared.tunnel.configure(originDocument(broken));
      const garbage = await visit(shared.tunnel);
      assert.deepEqual([garbage.status, garbage.text], [502, 'error code: 502']);
      await broken.close();
      const down = await visit(shared.tunnel, { method: 'POST', body: 'x', secure: true });
      assert.deepEqual([down.status, down.text], [502, 'error code: 502']);
      await shared.tunnel.configure(originDocument(shared.origin));
      shared.origin.onRequest = (_, response) => void response.end('back');
      assert.equal((await visit(shared.tunnel)).text, 'back');
    });
  });

  describe(`${kind.name}: documents`, () => {
    const shared = shareTunnel(kind);
    const status = async (host: string, path = '/'): Promise<number> => (await visit(shared.tunnel, { host, path })).status;

    test('rules by hostname, wildcard, path and last rule', async (t) => {
      const second = await startOrigin(t, (_, response) => void response.end('second'));
      shared.origin.onRequest = (_, response) => void response.end('first');
      await shared.tunnel.configure({
        ingress: [
          { hostname: 'one.example.com', service: `http://127.0.0.1:${shared.origin.port}` },
          { hostname: 'two.example.com', path: '^/api', service: `http://127.0.0.1:${second.port}` },
          { hostname: '*.wild.example.com', service: 'http_status:418' },
          { service: 'http_status:404' },
        ],
      });
      assert.equal((await visit(shared.tunnel, { host: 'one.example.com' })).text, 'first');
      assert.equal((await visit(shared.tunnel, { host: 'one.example.com:81' })).text, 'first');
      assert.equal((await visit(shared.tunnel, { host: 'two.example.com', path: '/api/x' })).text, 'second');
      assert.equal(await status('two.example.com'), 404);
      assert.equal(await status('a.b.wild.example.com'), 418);
      assert.equal(await status('wild.example.com'), 404);
    });

    test('a request in flight finishes on the old document', async (t) => {
      const second = await startOrigin(t, (_, response) => void response.end('second'));
      await shared.tunnel.configure(originDocument(shared.origin));
      let finish = (): void => undefined;
      shared.origin.onRequest = (_, response) => {
        response.write('first ');
        finish = () => void response.end('whole');
      };
      const request = openVisit(shared.tunnel).end();
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      await shared.tunnel.configure(originDocument(second));
      assert.equal((await visit(shared.tunnel)).text, 'second');
      finish();
      assert.equal((await readReply(response)).text, 'first whole');
    });

    test('a wrong document is refused as a whole and the previous one stays', async () => {
      shared.origin.onRequest = (_, response) => void response.end('kept');
      await shared.tunnel.configure(originDocument(shared.origin));
      const { version } = shared.tunnel.record.document;
      await shared.tunnel.configure({ ingress: [{ hostname: 'x.test', service: 'http_status:201' }, { service: 'http://no/path' }] });
      const connections = shared.tunnel.edge.connections(shared.tunnel.id);
      assert.deepEqual(
        connections.map(({ appliedVersion, refusedDocument }) => [appliedVersion, refusedDocument]),
        connections.map(() => [version, true]),
      );
      assert.equal((await visit(shared.tunnel, { host: 'x.test' })).text, 'kept');
    });

    test('an empty document: 503', async () => {
      await shared.tunnel.configure({ ingress: [] });
      assert.equal(await status('x.test'), 503);
    });
  });
}
