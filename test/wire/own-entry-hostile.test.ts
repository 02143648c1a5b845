// Clients of the proxy's own entry that keep to no rule: bytes that no library would send, streams cut off, silence, floods.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { behindOwnEntry, get, h2Client, rawClient } from './own-entry.ts';
import { OK, answering, eventually } from './raw.ts';

/** A frame of HTTP/2 (RFC 9113 section 4.1). */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Literal fields without indexing (RFC 7541 section 6.2.2): any bytes at all. */
function literals(fields: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')]);
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0, Buffer.alloc(0))]);

const GOOD: readonly (readonly [string, string])[] = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'a'],
];

test('an upload that is reset, even as if nothing were wrong, never passes for a whole one', async (t) => {
  const { port, backend } = await behindOwnEntry(t);
  for (const [index, code] of [0, 8].entries()) {
    const visitor = await rawClient(t, port);
    const head = GOOD.map((field) => (field[0] === ':method' ? ([':method', 'POST'] as const) : field));
    visitor.send(Buffer.concat([PREFACE, frame(1, 4, 1, literals(head)), frame(0, 0, 1, Buffer.from('half'))]));
    const peer = await backend.peer(index);
    await peer.until(/half\r\n$/);
    visitor.send(frame(3, 0, 1, Buffer.from([0, 0, 0, code])));
    await peer.gone();
    assert.match(peer.text, /half\r\n$/);
  }
});

test('bytes that no client of HTTP/2 may send never reach a backend', async (t) => {
  const { port, backend } = await behindOwnEntry(t, answering(OK));
  const replace = (name: string, value: string) => GOOD.map((field) => (field[0] === name ? ([name, value] as const) : field));
  const malformed = [
    [...GOOD, ['X-Upper', 'a']],
    [...GOOD, ['transfer-encoding', 'chunked']],
    [...GOOD, ['connection', 'close']],
    replace(':path', '/ HTTP/1.1\r\nX-Smuggled: 1'),
    replace(':path', '/a b'),
    replace(':method', 'GET / HTTP/1.1'),
    replace(':authority', 'a\r\nX-Smuggled: 1'),
    GOOD.filter(([name]) => name !== ':path'),
    GOOD.filter(([name]) => name !== ':authority'),
  ] as const;
  for (const fields of malformed) {
    const peer = await rawClient(t, port);
    peer.send(Buffer.concat([PREFACE, frame(1, 5, 1, literals(fields as typeof GOOD))]));
    // RST_STREAM with PROTOCOL_ERROR.
    await peer.until('\0\0\x04\x03\0\0\0\0\x01\0\0\0\x01');
  }
  assert.equal(backend.peers.length, 0);
  // Fields that are no fields are left out.
  for (const field of [
    ['x', 'a\r\nX-Smuggled: 1'],
    ['x\r\ny', 'a'],
  ] as const) {
    const peer = await rawClient(t, port);
    peer.send(Buffer.concat([PREFACE, frame(1, 5, 1, literals([...GOOD, field]))]));
    await peer.until(/ok/);
    assert.doesNotMatch(backend.peers[0]!.text, /Smuggled|^x|^y/m);
  }
});

test('a client that says nothing, or nothing more, is not kept', async (t) => {
  const { port, plane } = await behindOwnEntry(t, answering(OK), { headersTimeout: 100, keepAliveTimeout: 100, lingerTime: 50 });
  const silent = await rawClient(t, port);
  const begun = await rawClient(t, port);
  begun.send('PRI * HTT');
  const slow = await rawClient(t, port);
  slow.send('GET / HTTP/1.1\r\nHost: ');
  const idle = await rawClient(t, port);
  idle.send(PREFACE);
  await Promise.all([silent.gone(), begun.gone(), idle.gone()]);
  assert.ok(idle.text.includes('\0\0\x08\x07\0\0\0\0\0'), 'GOAWAY says that it was nothing in particular');
  await slow.until(/408|^$/).catch(() => {});
  for (const peer of [silent, begun, slow, idle]) peer.close();
  await eventually(() => plane.stats().connections === 0, 'no connection is left');
});

test('fields beyond the limit are refused', async (t) => {
  const { port, backend } = await behindOwnEntry(t, answering(OK), { maxHeaderSize: 16_384 });
  const session = await h2Client(t, port);
  await assert.rejects(get(session, { 'x-large': 'x'.repeat(20_000) }));
  const peer = await rawClient(t, port);
  peer.send(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`);
  await peer.until(/^HTTP\/1\.1 431 /);
  assert.equal(backend.peers.length, 0);
});
