// The registration protocol's messages: what one side encodes the other one decodes, and nothing makes the decoder fail.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { FrameParser } from '#proxy/connector/capnp/frames.ts';
import { Message } from '#proxy/connector/capnp/reader.ts';
import {
  decodeConnectionResponse,
  decodeRpc,
  encodeAbort,
  encodeBootstrap,
  encodeBootstrapReturn,
  encodeConnectionResponse,
  encodeEmptyReturn,
  encodeExceptionReturn,
  encodeFinish,
  encodeRegister,
  encodeUnregister,
  encodeUpdateLocalConfiguration,
  type ConnectionResponse,
  type Registration,
  type RpcMessage,
} from '#proxy/connector/rpc.ts';

function decode(frame: Buffer): RpcMessage {
  const { messages, error } = new FrameParser().push(frame);
  assert.equal(error, null);
  return decodeRpc(messages[0] as Message);
}

const text = fc.string({ unit: 'grapheme', maxLength: 60 }).filter((value) => !value.includes('\0'));
const uuid = fc.uint8Array({ minLength: 16, maxLength: 16 });
const registration: fc.Arbitrary<Registration> = fc.record({
  connectionIndex: fc.integer({ min: 0, max: 255 }),
  account: text,
  secret: fc.uint8Array({ maxLength: 64 }),
  tunnelId: uuid,
  clientId: uuid,
  features: fc.array(text, { maxLength: 8 }),
  version: text,
  arch: text,
  previousAttempts: fc.integer({ min: 0, max: 255 }),
  replaceExisting: fc.boolean(),
});
const response: fc.Arbitrary<ConnectionResponse> = fc.oneof(
  fc.record({ kind: fc.constant('details' as const), connectionId: uuid, location: text, remotelyManaged: fc.boolean() }),
  fc.record({
    kind: fc.constant('error' as const),
    cause: text,
    shouldRetry: fc.boolean(),
    retryAfterMs: fc.integer({ min: 0, max: 3_600_000 }),
  }),
);
const ids = { question: 7, bootstrapQuestion: 0 };

describe('rpc', () => {
  test('bootstrap, byte for byte', () => {
    const words = ['0000000005000000', '0000000001000100', '0800000000000000', '0000000001000100', '0000000000000000', '0000000000000000'];
    assert.equal(encodeBootstrap(0).toString('hex'), words.join(''));
  });

  test('registration there and back', () => {
    fc.assert(
      fc.property(registration, (value) => {
        const message = decode(encodeRegister(ids, value));
        assert.ok(message.kind === 'call' && message.call.method === 'register');
        const { secret, tunnelId, clientId, ...rest } = message.call.registration;
        const bytes = (data: Uint8Array): Uint8Array => Uint8Array.from(data);
        assert.deepEqual({ ...rest, secret: bytes(secret), tunnelId: bytes(tunnelId), clientId: bytes(clientId) }, { ...value });
        assert.equal(message.question, 7);
      }),
    );
  });

  test('the answer there and back', () => {
    fc.assert(
      fc.property(response, (value) => {
        const message = decode(encodeConnectionResponse(7, value));
        assert.ok(message.kind === 'return' && 'payload' in message.outcome);
        assert.equal(message.answer, 7);
        const read = decodeConnectionResponse(message.outcome.payload);
        assert.deepEqual(read?.kind === 'details' ? { ...read, connectionId: Uint8Array.from(read.connectionId) } : read, { ...value });
      }),
    );
  });

  test('the small messages', () => {
    assert.deepEqual(decode(encodeBootstrap(3)), { kind: 'bootstrap', question: 3 });
    assert.deepEqual(decode(encodeFinish(4)), { kind: 'finish', question: 4 });
    assert.deepEqual(decode(encodeAbort('rpc: shutdown')), { kind: 'abort', reason: 'rpc: shutdown' });
    assert.deepEqual(decode(encodeUnregister(ids)), { kind: 'call', question: 7, call: { method: 'unregister' } });
    const local = decode(encodeUpdateLocalConfiguration(ids, Buffer.from('{}')));
    assert.ok(local.kind === 'call' && local.call.method === 'updateLocalConfiguration');
    assert.equal(Buffer.from(local.call.config).toString(), '{}');
    assert.deepEqual(decode(encodeExceptionReturn(5, 'no')), { kind: 'return', answer: 5, outcome: { exception: 'no' } });
    for (const frame of [encodeBootstrapReturn(6), encodeEmptyReturn(6)]) {
      const message = decode(frame);
      assert.ok(message.kind === 'return' && 'payload' in message.outcome && message.answer === 6);
    }
  });

  test('an answer that is no answer to a registration', () => {
    for (const frame of [encodeBootstrapReturn(1), encodeConnectionResponse(1, { ...DETAILS, connectionId: new Uint8Array() })]) {
      const message = decode(frame);
      assert.ok(message.kind === 'return' && 'payload' in message.outcome);
      assert.equal(decodeConnectionResponse(message.outcome.payload), null);
    }
  });

  test('flipped bytes of real messages never throw', () => {
    const frames = fc.constantFrom(
      encodeRegister(ids, REGISTRATION),
      encodeConnectionResponse(7, DETAILS),
      encodeBootstrapReturn(0),
      encodeAbort('bye'),
      encodeUpdateLocalConfiguration(ids, Buffer.from('{}')),
    );
    const flips = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(frames, flips, (frame, changes) => {
        const broken = Buffer.from(frame);
        for (const [at, value] of changes) broken[at % broken.length] = value;
        for (const message of new FrameParser().push(broken).messages) {
          const decoded = decodeRpc(message);
          if (decoded.kind === 'return' && 'payload' in decoded.outcome) decodeConnectionResponse(decoded.outcome.payload);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

const DETAILS: ConnectionResponse & { readonly kind: 'details' } = {
  kind: 'details',
  connectionId: Buffer.alloc(16, 1),
  location: 'TST',
  remotelyManaged: true,
};
const REGISTRATION: Registration = {
  connectionIndex: 1,
  account: 'account',
  secret: Buffer.alloc(32, 7),
  tunnelId: Buffer.alloc(16, 1),
  clientId: Buffer.alloc(16, 2),
  features: ['serialized_headers'],
  version: 'test',
  arch: 'linux_x64',
  previousAttempts: 0,
  replaceExisting: false,
};
