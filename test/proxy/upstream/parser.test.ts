// The response parser: what it takes, what it refuses, and that it never reads a message differently from node's own client.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { ResponseParser } from '#proxy/upstream/parser.ts';

interface Reading {
  readonly error: string | null;
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
  readonly informations: readonly number[];
  readonly complete: boolean;
  readonly clean: boolean;
  readonly keepAlive: boolean;
  readonly upgraded: string | null;
}

/** Feeds `pieces`, then the end of the connection. */
function read(pieces: readonly Buffer[], method = 'GET', mayUpgrade = false): Reading {
  const reading = {
    error: null as string | null,
    status: 0,
    fields: [] as string[],
    body: '',
    trailers: [] as readonly string[],
    informations: [] as number[],
    complete: false,
    clean: false,
    upgraded: null as string | null,
  };
  const parser = new ResponseParser({
    onInformation: (status) => reading.informations.push(status),
    onHead: (head) => {
      reading.status = head.status;
      reading.fields = head.fields;
    },
    onBody: (chunk) => (reading.body += chunk.toString('latin1')),
    onComplete: (trailers, clean) => {
      reading.complete = true;
      reading.clean = clean;
      reading.trailers = trailers;
    },
    onUpgrade: (_head, rest) => (reading.upgraded = rest.toString('latin1')),
  });
  parser.begin(method, mayUpgrade);
  for (const piece of pieces) reading.error ??= parser.execute(piece);
  if (reading.error === null && !reading.complete) parser.finish();
  return { ...reading, keepAlive: parser.keepAlive };
}

function readText(text: string, method = 'GET', mayUpgrade = false): Reading {
  return read([Buffer.from(text, 'latin1')], method, mayUpgrade);
}

const GOOD: readonly (readonly [string, string, Partial<Reading>])[] = [
  [
    'a length',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    { status: 200, body: 'ok', keepAlive: true, clean: true, fields: ['Content-Length', '2'] },
  ],
  ['no reason', 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n', { status: 200, complete: true, keepAlive: true }],
  [
    'chunks',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y;z="q"\r\nc\r\n0\r\n\r\n',
    { body: 'abc', fields: [], keepAlive: true },
  ],
  [
    'trailers',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n0\r\nA: 1\r\nB:\r\n\r\n',
    { trailers: ['A', '1', 'B', ''], clean: true },
  ],
  ['until the end', 'HTTP/1.1 200 OK\r\nX: y\r\n\r\nabc', { body: 'abc', complete: true, keepAlive: false }],
  [
    'interim answers',
    'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n',
    { status: 204, informations: [103], complete: true },
  ],
  ['blanks around values', 'HTTP/1.1 200 OK\r\nX: \t a b \t\r\nContent-Length:0\r\n\r\n', { fields: ['X', 'a b', 'Content-Length', '0'] }],
  [
    'fields for one connection',
    'HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX: y\r\nContent-Length: 0\r\n\r\n',
    { fields: ['X', 'y', 'Content-Length', '0'], keepAlive: false },
  ],
  ['a leftover', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab', { body: 'a', complete: true, clean: false }],
  ['204 with chunks', 'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', { body: '', complete: true, clean: false }],
];

for (const [name, text, expected] of GOOD) {
  test(`takes ${name}, in one piece or byte by byte`, () => {
    const whole = readText(text);
    assert.equal(whole.error, null);
    for (const [key, value] of Object.entries(expected)) assert.deepEqual(whole[key as keyof Reading], value, key);
    const bytes = read([...Buffer.from(text, 'latin1')].map((byte) => Buffer.from([byte])));
    assert.deepEqual({ ...bytes, clean: whole.clean, error: null }, whole);
  });
}

test('HEAD has no body, whatever is said of it', () => {
  for (const framing of ['Content-Length: 5', 'Transfer-Encoding: chunked', 'X: y']) {
    const { complete, body, clean } = readText(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`, 'HEAD');
    assert.deepEqual({ complete, body, clean }, { complete: true, body: '', clean: true });
  }
});

test('a switch of protocols only for who asked, with the bytes behind it', () => {
  const text = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nfirst';
  assert.equal(readText(text, 'GET', true).upgraded, 'first');
  assert.match(readText(text).error ?? '', /without being asked/);
});

const BAD: readonly (readonly [string, string])[] = [
  ['another protocol', 'ICY 200 OK\r\n\r\n'],
  ['HTTP/2.0', 'HTTP/2.0 200 OK\r\n\r\n'],
  ['lower case', 'http/1.1 200 OK\r\n\r\n'],
  ['a short status', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a status out of range', 'HTTP/1.1 600 OK\r\n\r\n'],
  ['two blanks', 'HTTP/1.1  200 OK\r\n\r\n'],
  ['a leading line end', '\r\nHTTP/1.1 200 OK\r\n\r\n'],
  ['a folded field', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n'],
  ['a bare line feed', 'HTTP/1.1 200 OK\r\nX: a\nY: b\r\n\r\n'],
  ['a bare carriage return', 'HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n'],
  ['NUL', 'HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n'],
  ['a blank before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok'],
  ['no name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n'],
  ['no colon', 'HTTP/1.1 200 OK\r\nX\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok'],
  ['a list of lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok'],
  ['a signed length', 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok'],
  ['an empty length', 'HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n'],
  ['a length beyond what is counted exactly', 'HTTP/1.1 200 OK\r\nContent-Length: 9007199254740993\r\n\r\n'],
  ['length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
  ['chunked twice', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a signed chunk size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n'],
  ['a chunk size of too many digits', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000001\r\n'],
  ['a chunk size with blanks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n'],
  ['a chunk without line end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n'],
  ['a malformed trailer', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX y: z\r\n\r\n'],
  ['a chunk line without end', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(2000)}`],
  ['trailers without end', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ${'x'.repeat(40_000)}`],
  ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(140_000)}`],
  ['a head too large', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(140_000)}\r\n\r\n`],
  ['interim answers without end', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20)],
];

for (const [name, text] of BAD) {
  test(`refuses ${name}`, () => {
    const { error, complete } = readText(text);
    assert.notEqual(error, null);
    assert.equal(complete, false);
  });
}

test('the end of the connection does not complete what has a length', () => {
  for (const text of [
    'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n',
    'HTTP/1.1 200 OK\r\n',
    '',
  ]) {
    assert.equal(readText(text).complete, false);
  }
});

// Differential: node's client reads the same bytes from a socket.

let answer: (socket: Socket) => void = () => {};
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', () => answer(socket));
});
before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());

interface NodeReading {
  readonly status: number;
  readonly body: string;
  readonly trailers: readonly string[];
}

/** How node's client reads the bytes followed by the end of the connection; null when it refuses them. */
function readByNode(bytes: Buffer): Promise<NodeReading | null> {
  answer = (socket) => socket.end(bytes);
  return new Promise((resolve) => {
    const outgoing = request(
      { host: '127.0.0.1', port: (server.address() as AddressInfo).port, agent: false, maxHeaderSize: 262_144 },
      (res) => {
        let body = '';
        res.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
        res.on('error', () => resolve(null));
        res.on('end', () => resolve(res.complete ? { status: res.statusCode ?? 0, body, trailers: res.rawTrailers } : null));
        res.on('close', () => resolve(null));
      },
    );
    outgoing.on('upgrade', (_res, socket) => {
      socket.destroy();
      resolve(null);
    });
    outgoing.on('error', () => resolve(null));
    outgoing.end();
  });
}

const fieldName = fc.constantFrom(
  'X-A',
  'Content-Length',
  'Transfer-Encoding',
  'Connection',
  'content-length',
  'X_b',
  'Content-Length ',
  ' X',
  'Trailer',
  '',
);
const fieldValue = fc.constantFrom(
  '3',
  '0',
  '5',
  'chunked',
  'Chunked',
  'gzip, chunked',
  'identity',
  'close',
  'a b',
  '\xff',
  '+3',
  '3, 3',
  '0x3',
  '',
  'a\x01',
  ' 3 ',
);
const lineEnd = fc.constantFrom('\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\r\n', '\n', '\r', '\r\n ');
const field = fc.tuple(fieldName, fc.constantFrom(':', ': ', ':', ': ', ' :'), fieldValue, lineEnd).map((parts) => parts.join(''));
const statusLine = fc.constantFrom(
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.1 204 No Content\r\n',
  'HTTP/1.0 200 OK\r\n',
  'HTTP/1.1 304 x\r\n',
  'HTTP/1.1 200\r\n',
  'HTTP/1.1 2000 OK\r\n',
  'HTTP/1.2 200 OK\r\n',
);
const chunk = fc
  .tuple(
    fc.constantFrom('3', '0', '03', '3;a=b', '3 ', '0x3', '-1', 'A'),
    fc.constantFrom('\r\n', '\r\n', '\r\n', '\n'),
    fc.constantFrom('abc', 'ab', '', '0123456789'),
    fc.constantFrom('\r\n', '\r\n', '\r\n', ''),
  )
  .map((parts) => parts.join(''));
const body = fc.oneof(
  fc.constantFrom('', 'abc', 'abcde', '3\r\nabc\r\n0\r\n\r\n', '0\r\n\r\n', '3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n'),
  fc.array(chunk, { maxLength: 4 }).map((chunks) => chunks.join('')),
);
const response = fc
  .tuple(statusLine, fc.array(field, { maxLength: 4 }), fc.constantFrom('\r\n', '\r\n', '\r\n', '\n'), body)
  .map(([status, fields, end, rest]) => Buffer.from(status + fields.join('') + end + rest, 'latin1'));

test('never reads a response differently from node, however it is cut', async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(response, fc.array(fc.nat({ max: 200 }), { maxLength: 4 }), async (bytes, cuts) => {
      const whole = read([bytes]);
      const points = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
      const cut = read(points.slice(1).map((point, index) => bytes.subarray(points[index], point)));
      // Where bytes follow a complete message, whether they came with it decides how that is reported, not what the message is.
      assert.deepEqual(
        { status: cut.status, body: cut.body, complete: cut.complete },
        { status: whole.status, body: whole.body, complete: whole.complete },
      );
      // Only what is taken whole and could be followed by another message matters: the rest ends its connection anyway.
      if (whole.error !== null || !whole.complete || !whole.clean) return;
      const theirs = await readByNode(bytes);
      taken += 1;
      assert.deepEqual(theirs, { status: whole.status, body: whole.body, trailers: whole.trailers });
    }),
    { numRuns: Number(process.env['FUZZ_RUNS'] ?? 6000) },
  );
  assert.ok(taken > 100, `only ${taken} responses were taken`);
});

test('random bytes are an error or a wait, never a crash', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), fc.boolean(), (pieces, headed) => {
      const buffers = pieces.map((piece) => Buffer.from(piece));
      read(headed ? [Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'), ...buffers] : buffers);
    }),
    { numRuns: 2000 },
  );
});
