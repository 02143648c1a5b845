// gRPC through a tunnel: a real client over HTTP/2, an origin that speaks it over HTTP/1.1 with chunked bodies and trailers.
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import * as grpc from '@grpc/grpc-js';
import { deferred, shareTunnel } from './shared.ts';
import type { ConnectorKind } from './tunnel.ts';

const bytes = (value: Buffer): Buffer => value;
const method = (name: string, requestStream: boolean, responseStream: boolean): grpc.MethodDefinition<Buffer, Buffer> => ({
  path: `/test.Echo/${name}`,
  requestStream,
  responseStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});
const ECHO = {
  unary: method('Unary', false, false),
  client: method('Client', true, false),
  server: method('Server', false, true),
  bidi: method('Bidi', true, true),
  refused: method('Refused', false, false),
  early: method('Early', true, false),
};
const EchoClient = grpc.makeGenericClientConstructor(ECHO, 'test.Echo');

interface EchoCalls {
  unary(request: Buffer, metadata: grpc.Metadata, done: (error: grpc.ServiceError | null, reply: Buffer) => void): grpc.ClientUnaryCall;
  client(done: (error: grpc.ServiceError | null, reply: Buffer) => void): grpc.ClientWritableStream<Buffer>;
  server(request: Buffer): grpc.ClientReadableStream<Buffer>;
  bidi(): grpc.ClientDuplexStream<Buffer, Buffer>;
  refused: EchoCalls['unary'];
  early: EchoCalls['client'];
}

export function grpcSuite(kind: ConnectorKind): void {
  describe(`${kind.name}: gRPC`, () => {
    const shared = shareTunnel(kind);
    let client: grpc.Client & EchoCalls;

    before(() => {
      shared.origin.onRequest = serveEcho;
      const address = shared.tunnel.edge.address(shared.tunnel.id);
      assert.ok(address);
      client = new EchoClient(`${address.ip}:${address.httpsPort}`, grpc.credentials.createSsl(Buffer.from(shared.tunnel.edge.ca.pem)), {
        'grpc.ssl_target_name_override': 'grpc.example.com',
        'grpc.default_authority': 'grpc.example.com',
      }) as unknown as grpc.Client & EchoCalls;
    });
    after(() => client.close());

    test('unary, with metadata both ways', async () => {
      const metadata = new grpc.Metadata();
      metadata.set('x-ask', 'question');
      const reply = deferred<Buffer>();
      const call = client.unary(Buffer.from('hello'), metadata, (error, value) => (error ? reply.reject(error) : reply.resolve(value)));
      const initial = deferred<grpc.Metadata>();
      const status = deferred<grpc.StatusObject>();
      call.on('metadata', initial.resolve);
      call.on('status', status.resolve);
      assert.equal(String(await reply.promise), 'hello');
      assert.deepEqual((await initial.promise).get('x-answer'), ['question']);
      assert.deepEqual((await status.promise).metadata.get('x-trailer'), ['last']);
    });

    test('client streaming', async () => {
      const reply = deferred<Buffer>();
      const call = client.client((error, value) => (error ? reply.reject(error) : reply.resolve(value)));
      for (const word of ['a', 'b', 'c']) call.write(Buffer.from(word));
      call.end();
      assert.equal(String(await reply.promise), 'abc');
    });

    test('server streaming', async () => {
      const words: string[] = [];
      for await (const message of client.server(Buffer.from('3'))) words.push(String(message));
      assert.deepEqual(words, ['1', '2', '3']);
    });

    test('bidirectional streaming, message by message', async () => {
      const call = client.bidi();
      const replies = call[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
      for (const word of ['one', 'two', 'three']) {
        call.write(Buffer.from(word));
        assert.equal(String((await replies.next()).value), word);
      }
      const status = deferred<grpc.StatusObject>();
      call.on('status', status.resolve);
      call.end();
      assert.equal((await replies.next()).done, true);
      assert.equal((await status.promise).code, grpc.status.OK);
    });

    test('a refusal without any message', async () => {
      const failed = deferred<grpc.ServiceError | null>();
      client.refused(Buffer.from('x'), new grpc.Metadata(), (error) => failed.resolve(error));
      const error = await failed.promise;
      assert.deepEqual([error?.code, error?.details], [grpc.status.PERMISSION_DENIED, 'not you']);
    });

    test('an error while the client is still sending', async () => {
      const failed = deferred<grpc.ServiceError | null>();
      const call = client.early((error) => failed.resolve(error));
      call.write(Buffer.from('first'));
      const error = await failed.promise;
      assert.deepEqual([error?.code, error?.details], [grpc.status.RESOURCE_EXHAUSTED, 'enough']);
    });

    test('a call that the client cancels ends at the origin', async () => {
      const ended = deferred();
      shared.origin.onRequest = (request, response) => {
        response.on('close', () => ended.resolve());
        serveEcho(request, response);
      };
      const call = client.bidi();
      call.on('error', () => undefined);
      call.write(Buffer.from('x'));
      await new Promise((resolve) => call.once('data', resolve));
      call.cancel();
      await ended.promise;
      shared.origin.onRequest = serveEcho;
    });
  });
}

/** A gRPC service over HTTP/1.1. */
function serveEcho(request: IncomingMessage, response: ServerResponse): void {
  const finish = (status: number, message = ''): void => {
    response.addTrailers([
      ['grpc-status', String(status)],
      ['grpc-message', message],
      ['x-trailer', 'last'],
    ]);
    response.end();
  };
  const begin = (): void => {
    const answer = request.headers['x-ask'];
    response.writeHead(200, { 'content-type': 'application/grpc', ...(answer === undefined ? {} : { 'x-answer': answer }) });
    response.flushHeaders();
  };
  const collected: Buffer[] = [];
  const received = (message: Buffer): void => {
    collected.push(message);
    if (request.url === '/test.Echo/Bidi') response.write(frame(message));
    if (request.url === '/test.Echo/Early') finish(grpc.status.RESOURCE_EXHAUSTED, 'enough');
  };
  const ended = (): void => {
    if (request.url === '/test.Echo/Early') return;
    const all = Buffer.concat(collected);
    if (request.url === '/test.Echo/Server') {
      for (let i = 1; i <= Number(all); i += 1) response.write(frame(Buffer.from(String(i))));
    } else if (request.url !== '/test.Echo/Bidi') response.write(frame(all));
    finish(grpc.status.OK);
  };
  if (request.url === '/test.Echo/Refused') {
    response.writeHead(200, {
      'content-type': 'application/grpc',
      'grpc-status': String(grpc.status.PERMISSION_DENIED),
      'grpc-message': 'not you',
    });
    return void response.end();
  }
  begin();
  readFrames(request, received, ended);
}

function frame(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function readFrames(request: IncomingMessage, onMessage: (message: Buffer) => void, onEnd: () => void): void {
  let pending = Buffer.alloc(0);
  request.on('error', () => undefined);
  request.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 5 && pending.length >= 5 + pending.readUInt32BE(1)) {
      const end = 5 + pending.readUInt32BE(1);
      onMessage(pending.subarray(5, end));
      pending = pending.subarray(end);
    }
  });
  request.on('end', onEnd);
}
