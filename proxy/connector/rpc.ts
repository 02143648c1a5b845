// The few Cap'n Proto RPC messages with which a connector registers itself at the edge, for both sides.
//
// The struct layouts (sizes in words, offsets in bytes) are those of the public rpc.capnp and of the tunnel's registration interface.
import { MessageBuilder, type StructBuilder } from './capnp/builder.ts';
import type { Message, StructReader } from './capnp/reader.ts';

const MESSAGE_ABORT = 1;
const MESSAGE_CALL = 2;
const MESSAGE_RETURN = 3;
const MESSAGE_FINISH = 4;
const MESSAGE_BOOTSTRAP = 8;
const RETURN_RESULTS = 0;
const RETURN_EXCEPTION = 1;
const TARGET_PROMISED_ANSWER = 1;
const SENDER_HOSTED = 1;
const RESPONSE_ERROR = 0;
const RESPONSE_DETAILS = 1;

const REGISTRATION_SERVER = 0xf71695ec7fe85497n;
const METHOD_REGISTER = 0;
const METHOD_UNREGISTER = 1;
const METHOD_UPDATE_LOCAL_CONFIGURATION = 2;

/** Capability id under which the edge hosts its registration interface. */
const BOOTSTRAP_CAPABILITY = 0;

/** What a connector says of itself for one connection. */
export interface Registration {
  readonly connectionIndex: number;
  readonly account: string;
  /** Secret value. */
  readonly secret: Uint8Array;
  /** 16 bytes of the tunnel's UUID. */
  readonly tunnelId: Uint8Array;
  /** 16 bytes that name the connector process, the same for all its connections. */
  readonly clientId: Uint8Array;
  readonly features: readonly string[];
  readonly version: string;
  readonly arch: string;
  readonly previousAttempts: number;
  readonly replaceExisting: boolean;
}

/** What the edge answers to a registration. */
export type ConnectionResponse =
  | { readonly kind: 'details'; readonly connectionId: Uint8Array; readonly location: string; readonly remotelyManaged: boolean }
  | { readonly kind: 'error'; readonly cause: string; readonly shouldRetry: boolean; readonly retryAfterMs: number };

export type Call =
  | { readonly method: 'register'; readonly registration: Registration }
  | { readonly method: 'unregister' }
  | { readonly method: 'updateLocalConfiguration'; readonly config: Uint8Array }
  | { readonly method: 'unknown' };

/** `payload` is read further by whoever asked the question: its content is a struct or a capability. */
export type Outcome = { readonly payload: StructReader } | { readonly exception: string };

export type RpcMessage =
  | { readonly kind: 'bootstrap'; readonly question: number }
  | { readonly kind: 'call'; readonly question: number; readonly call: Call }
  | { readonly kind: 'return'; readonly answer: number; readonly outcome: Outcome }
  | { readonly kind: 'finish'; readonly question: number }
  | { readonly kind: 'abort'; readonly reason: string }
  /** Legal, without meaning here: release and whatever the protocol gains. */
  | { readonly kind: 'other'; readonly type: number }
  | { readonly kind: 'invalid'; readonly error: string };

/** Decodes any message; bytes that make no sense end in kind `invalid`, never in a throw. */
export function decodeRpc(message: Message): RpcMessage {
  const root = message.root;
  const decoded = decodeBody(root.u16(0), root.struct(0));
  return message.error === null ? decoded : { kind: 'invalid', error: message.error };
}

function decodeBody(type: number, body: StructReader): RpcMessage {
  switch (type) {
    case MESSAGE_BOOTSTRAP:
      return { kind: 'bootstrap', question: body.u32(0) };
    case MESSAGE_CALL:
      return { kind: 'call', question: body.u32(0), call: decodeCall(body) };
    case MESSAGE_RETURN:
      return decodeReturn(body);
    case MESSAGE_FINISH:
      return { kind: 'finish', question: body.u32(0) };
    case MESSAGE_ABORT:
      return { kind: 'abort', reason: body.text(0) };
    default:
      return { kind: 'other', type };
  }
}

function decodeCall(body: StructReader): Call {
  if (body.u64(8) !== REGISTRATION_SERVER) return { method: 'unknown' };
  const content = body.struct(1).struct(0);
  switch (body.u16(4)) {
    case METHOD_REGISTER:
      return { method: 'register', registration: decodeRegistration(content) };
    case METHOD_UNREGISTER:
      return { method: 'unregister' };
    case METHOD_UPDATE_LOCAL_CONFIGURATION:
      return { method: 'updateLocalConfiguration', config: content.bytes(0) };
    default:
      return { method: 'unknown' };
  }
}

function decodeRegistration(content: StructReader): Registration {
  const auth = content.struct(0);
  const options = content.struct(2);
  const client = options.struct(0);
  return {
    connectionIndex: content.u8(0),
    account: auth.text(0),
    secret: auth.bytes(1),
    tunnelId: content.bytes(1),
    clientId: client.bytes(0),
    features: client.texts(1),
    version: client.text(2),
    arch: client.text(3),
    previousAttempts: options.u8(2),
    replaceExisting: options.bit(0),
  };
}

function decodeReturn(body: StructReader): RpcMessage {
  const answer = body.u32(0);
  const outcome = body.u16(6);
  if (outcome === RETURN_RESULTS) return { kind: 'return', answer, outcome: { payload: body.struct(0) } };
  // Cancelled and the other outcomes are never asked for, so they are failures like an exception.
  const exception = outcome === RETURN_EXCEPTION ? body.struct(0).text(0) : 'no result';
  return { kind: 'return', answer, outcome: { exception } };
}

/** Reads the payload of the return that answers a registration; null when it makes no sense. */
export function decodeConnectionResponse(payload: StructReader): ConnectionResponse | null {
  const response = payload.struct(0).struct(0);
  const body = response.struct(0);
  const decoded = response.u16(0) === RESPONSE_DETAILS ? decodeDetails(body) : decodeError(body);
  if (payload.message.error !== null) return null;
  return decoded.kind === 'details' && decoded.connectionId.length === 0 ? null : decoded;
}

function decodeDetails(body: StructReader): ConnectionResponse {
  return { kind: 'details', connectionId: body.bytes(0), location: body.text(1), remotelyManaged: body.bit(0) };
}

function decodeError(body: StructReader): ConnectionResponse {
  const retryAfterMs = Number(body.i64(0) / 1_000_000n);
  return { kind: 'error', cause: body.text(0), shouldRetry: body.bit(64), retryAfterMs: Math.max(0, retryAfterMs) };
}

function message(type: number, write: (root: StructBuilder) => void): Buffer {
  const builder = new MessageBuilder();
  const root = builder.root(1, 1);
  root.u16(0, type);
  write(root);
  return builder.frame();
}

export function encodeBootstrap(question: number): Buffer {
  return message(MESSAGE_BOOTSTRAP, (root) => root.struct(0, 1, 1).u32(0, question));
}

/** Where a call goes: to the capability that the still unanswered bootstrap question will yield. */
export interface CallIds {
  readonly question: number;
  readonly bootstrapQuestion: number;
}

export function encodeRegister(ids: CallIds, registration: Registration): Buffer {
  return encodeCall(ids, METHOD_REGISTER, (payload) => {
    const params = payload.struct(0, 1, 3);
    params.u8(0, registration.connectionIndex);
    const auth = params.struct(0, 0, 2);
    auth.text(0, registration.account);
    auth.bytes(1, registration.secret);
    params.bytes(1, registration.tunnelId);
    const options = params.struct(2, 1, 2);
    options.bit(0, registration.replaceExisting);
    options.u8(2, Math.min(255, registration.previousAttempts));
    const client = options.struct(0, 0, 4);
    client.bytes(0, registration.clientId);
    client.texts(1, registration.features);
    client.text(2, registration.version);
    client.text(3, registration.arch);
  });
}

export function encodeUnregister(ids: CallIds): Buffer {
  return encodeCall(ids, METHOD_UNREGISTER, (payload) => void payload.struct(0, 0, 0));
}

export function encodeUpdateLocalConfiguration(ids: CallIds, config: Uint8Array): Buffer {
  return encodeCall(ids, METHOD_UPDATE_LOCAL_CONFIGURATION, (payload) => payload.struct(0, 0, 1).bytes(0, config));
}

function encodeCall(ids: CallIds, method: number, params: (payload: StructBuilder) => void): Buffer {
  return message(MESSAGE_CALL, (root) => {
    const call = root.struct(0, 3, 3);
    call.u32(0, ids.question);
    call.u16(4, method);
    call.u64(8, REGISTRATION_SERVER);
    const target = call.struct(0, 1, 1);
    target.u16(4, TARGET_PROMISED_ANSWER);
    target.struct(0, 1, 1).u32(0, ids.bootstrapQuestion);
    params(call.struct(1, 0, 2));
  });
}

export function encodeFinish(question: number): Buffer {
  return message(MESSAGE_FINISH, (root) => root.struct(0, 1, 0).u32(0, question));
}

export function encodeAbort(reason: string): Buffer {
  return message(MESSAGE_ABORT, (root) => root.struct(0, 1, 1).text(0, reason));
}

export function encodeBootstrapReturn(answer: number): Buffer {
  return encodeReturn(answer, RETURN_RESULTS, (body) => {
    const payload = body.struct(0, 0, 2);
    payload.capability(0, BOOTSTRAP_CAPABILITY);
    const [descriptor] = payload.structs(1, 1, { dataWords: 1, pointers: 1 });
    descriptor?.u16(0, SENDER_HOSTED);
    descriptor?.u32(4, BOOTSTRAP_CAPABILITY);
  });
}

export function encodeConnectionResponse(answer: number, response: ConnectionResponse): Buffer {
  return encodeReturn(answer, RETURN_RESULTS, (body) => {
    const result = body.struct(0, 0, 2).struct(0, 0, 1).struct(0, 1, 1);
    if (response.kind === 'details') {
      result.u16(0, RESPONSE_DETAILS);
      const details = result.struct(0, 1, 2);
      details.bit(0, response.remotelyManaged);
      details.bytes(0, response.connectionId);
      details.text(1, response.location);
      return;
    }
    result.u16(0, RESPONSE_ERROR);
    const error = result.struct(0, 2, 1);
    error.text(0, response.cause);
    error.u64(0, BigInt(Math.round(response.retryAfterMs)) * 1_000_000n);
    error.bit(64, response.shouldRetry);
  });
}

export function encodeEmptyReturn(answer: number): Buffer {
  return encodeReturn(answer, RETURN_RESULTS, (body) => void body.struct(0, 0, 2).struct(0, 0, 0));
}

export function encodeExceptionReturn(answer: number, reason: string): Buffer {
  return encodeReturn(answer, RETURN_EXCEPTION, (body) => body.struct(0, 1, 1).text(0, reason));
}

function encodeReturn(answer: number, outcome: number, write: (body: StructBuilder) => void): Buffer {
  return message(MESSAGE_RETURN, (root) => {
    const body = root.struct(0, 2, 1);
    body.u32(0, answer);
    body.u16(6, outcome);
    write(body);
  });
}
