// gRPC as it comes out of a tunnel (HTTP/1.1, chunked) to an unmodified gRPC server: the four kinds of calls, statuses, cancellation.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  Metadata,
  Server,
  ServerCredentials,
  status,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { startPlane } from './plane.ts';
import { eventually, type Peer } from './raw.ts';

const bytes = {
  requestSerialize: (value: Buffer) => value,
  requestDeserialize: (value: Buffer) => value,
  responseSerialize: (value: Buffer) => value,
  responseDeserialize: (value: Buffer) => value,
};
const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
  path: `/demo.Echo/${name}`,
  requestStream,
  responseStream,
  ...bytes,
});

const SERVICE = {
  unary: method('Unary', false, false),
  client: method('Client', true, false),
  server: method('Server', false, true),
  bidi: method('Bidi', true, true),
};

interface Running {
  client(): Promise<Peer>;
  readonly cancelled: string[];
}

async function running(t: TestContext): Promise<Running> {
  const cancelled: string[] = [];
  const server = new Server();
  server.addService(SERVICE, {
    unary(call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) {
      const trailers = new Metadata();
      trailers.set('x-trailer', 'yes');
      if (call.request.toString() === 'fail') callback({ code: status.NOT_FOUND, details: 'nö such thing' });
      else callback(null, Buffer.from(`${call.request.toString()} for ${String(call.metadata.get('x-name'))}`), trailers);
    },
    client(call: ServerReadableStream<Buffer, Buffer>, callback: sendUnaryData<Buffer>) {
      const words: string[] = [];
      call.on('data', (word: Buffer) => words.push(word.toString()));
      call.on('end', () => callback(null, Buffer.from(words.join('+'))));
    },
    server(call: ServerWritableStream<Buffer, Buffer>) {
      for (const letter of call.request.toString()) call.write(Buffer.from(letter));
      call.end();
    },
    bidi(call: ServerDuplexStream<Buffer, Buffer>) {
      call.on('cancelled', () => cancelled.push('bidi'));
      call.on('data', (word: Buffer) => call.write(Buffer.from(`<${word.toString()}>`)));
      call.on('end', () => call.end());
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  t.after(() => server.forceShutdown());
  const { client } = await startPlane(t, [{ prefix: '/demo.Echo', endpoints: [`127.0.0.1:${port}`], protocol: 'h2c', type: 'GRPC' }]);
  return { client, cancelled };
}

function head(name: string): string {
  return `POST /demo.Echo/${name} HTTP/1.1\r\nHost: grpc.example.com\r\nContent-Type: application/grpc\r\nTE: trailers\r\nX-Name: visitor\r\nTransfer-Encoding: chunked\r\n\r\n`;
}

/** A gRPC message as one chunk. */
function message(text: string): string {
  const body = Buffer.from(text);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(body.length, 1);
  return `${(body.length + 5).toString(16)}\r\n${frame.toString('latin1')}${body.toString('latin1')}\r\n`;
}

const END = '0\r\n\r\n';

test('unary', async (t) => {
  const { client } = await running(t);
  const peer = await client();
  for (let round = 0; round < 3; round++) {
    peer.text = '';
    peer.send(head('Unary') + message('hello') + END);
    await peer.until(/0\r\n[^]*grpc-status: 0\r\n[^]*\r\n\r\n$/);
    assert.match(peer.text, /^HTTP\/1\.1 200 OK\r\n[^]*content-type: application\/grpc[^]*hello for visitor[^]*\r\nx-trailer: yes\r\n/);
  }
});

test('an error status with its message', async (t) => {
  const { client } = await running(t);
  const peer = await client();
  peer.send(head('Unary') + message('fail') + END);
  await peer.until(/\r\n0\r\n[^]*\r\n\r\n$/);
  assert.match(peer.text, /\r\n0\r\n[^]*grpc-status: 5\r\n/);
  assert.match(peer.text, /grpc-message: n%C3%B6%20such%20thing\r\n/);
});

test('an unknown method', async (t) => {
  const { client } = await running(t);
  const peer = await client();
  peer.send(head('Nothing') + message('x') + END);
  await peer.until(/grpc-status: 12\r\n[^]*\r\n0\r\n[^]*grpc-status: 12\r\n[^]*\r\n\r\n$/);
});

test('client streaming', async (t) => {
  const { client } = await running(t);
  const peer = await client();
  peer.send(head('Client'));
  for (const word of ['a', 'b', 'c']) peer.send(message(word));
  peer.send(END);
  await peer.until(/a\+b\+c[^]*grpc-status: 0\r\n/);
});

test('server streaming', async (t) => {
  const { client } = await running(t);
  const peer = await client();
  peer.send(head('Server') + message('xyz') + END);
  await peer.until(/x[^]*y[^]*z[^]*grpc-status: 0\r\n/);
});

test('both directions, message by message', async (t) => {
  const { client } = await running(t);
  const peer = await client();
  peer.send(head('Bidi'));
  for (const word of ['one', 'two', 'six']) {
    peer.send(message(word));
    await peer.until(`<${word}>`);
  }
  peer.send(END);
  await peer.until(/grpc-status: 0\r\n/);
});

test('a client that goes away cancels the call', async (t) => {
  const { client, cancelled } = await running(t);
  const peer = await client();
  peer.send(head('Bidi') + message('one'));
  await peer.until('<one>');
  peer.reset();
  await eventually(() => cancelled.length === 1, 'the call is cancelled');
});
