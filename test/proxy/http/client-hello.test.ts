// The first bytes of connections: names out of real and mutilated ClientHellos, the preface of HTTP/2 in any pieces.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { before, test } from 'node:test';
import tls from 'node:tls';
import * as fc from 'fast-check';
import { serverName, speaksHttp2 } from '#proxy/http/client-hello.ts';

/** What a real client sends first. */
async function clientHello(options: tls.ConnectionOptions): Promise<Buffer> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = tls.connect({ ...options, port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  client.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [net.Socket];
  socket.on('error', () => {});
  let bytes = Buffer.alloc(0);
  while (serverName(bytes) === 'incomplete') bytes = Buffer.concat([bytes, ((await once(socket, 'data')) as [Buffer])[0]]);
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

/** The same message in records of at most `size` bytes. */
function inRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(records);
}

let named: Buffer;
before(async () => {
  named = await clientHello({ servername: 'Www.Example.COM', ALPNProtocols: ['h2'] });
});

test('the name that a client asks for, in lower case', async () => {
  assert.deepEqual(serverName(named), { name: 'www.example.com' });
  assert.deepEqual(serverName(await clientHello({ servername: 'a.test', maxVersion: 'TLSv1.2' })), { name: 'a.test' });
  assert.deepEqual(serverName(await clientHello({ servername: '' })), { name: '' });
});

test('whatever the pieces it comes in', () => {
  for (let end = 0; end < named.length; end++) assert.equal(serverName(named.subarray(0, end)), 'incomplete', `${end} bytes`);
  for (const size of [1, 2, 3, 4, 5, 64, 200]) {
    const records = inRecords(named, size);
    assert.deepEqual(serverName(records), { name: 'www.example.com' }, `records of ${size}`);
    assert.equal(serverName(records.subarray(0, records.length - 1)), 'incomplete');
  }
  assert.deepEqual(serverName(Buffer.concat([named, Buffer.from('early data')])), { name: 'www.example.com' });
});

test('what is no ClientHello is told at once', () => {
  for (const bytes of ['GET / HTTP/1.1\r\n', '\x16\x03\x01\x00\x05\x02aaaa', '\x16\x03\x01\x00\x00', '\x80\x2e\x01\x03\x01'])
    assert.equal(serverName(Buffer.from(bytes, 'latin1')), 'malformed', JSON.stringify(bytes));
  assert.equal(serverName(Buffer.concat([named, Buffer.alloc(20_000)])), 'malformed');
  const endless = Buffer.from(named);
  endless.writeUIntBE(0xff_ff_ff, 6, 3);
  assert.equal(serverName(endless), 'malformed');
});

test('no byte that is changed makes it throw', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(named.length - 1), fc.nat(255)), { maxLength: 4 }), fc.nat(named.length), (changes, length) => {
      const bytes = Buffer.from(named);
      for (const [at, value] of changes) bytes[at] = value;
      const verdict = serverName(bytes.subarray(0, length));
      assert.ok(typeof verdict === 'string' || typeof verdict.name === 'string');
    }),
    { numRuns: 3000 },
  );
});

test('HTTP/2 with prior knowledge is told from HTTP/1.1 by as few bytes as that takes', () => {
  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
  for (let end = 0; end < preface.length; end++) assert.equal(speaksHttp2(Buffer.from(preface.slice(0, end))), null);
  assert.equal(speaksHttp2(Buffer.from(`${preface}\0\0\0`)), true);
  for (const other of ['G', 'PUT / HTTP/1.1\r\n', 'PRI * HTTP/1.1\r\n', 'PRI * HTTP/2.0\r\n\r\nXX'])
    assert.equal(speaksHttp2(Buffer.from(other)), false);
});
