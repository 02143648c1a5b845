// The connector's side of the control stream: registers one connection at the edge and takes it back at the end.
import type { Duplex } from 'node:stream';
import { FrameParser } from '../capnp/frames.ts';
import type { StructReader } from '../capnp/reader.ts';
import {
  decodeConnectionResponse,
  decodeRpc,
  encodeAbort,
  encodeBootstrap,
  encodeFinish,
  encodeRegister,
  encodeUnregister,
  encodeUpdateLocalConfiguration,
  type CallIds,
  type ConnectionResponse,
  type Outcome,
  type Registration,
  type RpcMessage,
} from '../rpc.ts';

const BOOTSTRAP_QUESTION = 0;

/** The edge broke the protocol, ended the control stream or kept silent. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
}

interface Question {
  resolve(outcome: Outcome): void;
  reject(error: ControlError): void;
}

export class ControlRpc {
  readonly #stream: Duplex;
  readonly #timeoutMs: number;
  readonly #parser = new FrameParser();
  readonly #questions = new Map<number, Question>();
  readonly #onFailure: (error: ControlError) => void;
  #lastQuestion = BOOTSTRAP_QUESTION;
  #failure: ControlError | null = null;

  /** `onFailure` is called once, when the stream has become useless. */
  constructor(stream: Duplex, timeoutMs: number, onFailure: (error: ControlError) => void) {
    this.#stream = stream;
    this.#timeoutMs = timeoutMs;
    this.#onFailure = onFailure;
    stream.on('data', (chunk: Buffer) => this.#receive(chunk));
    stream.on('end', () => this.#fail('the edge ended the control stream'));
    stream.on('close', () => this.#fail('the control stream was closed'));
    stream.write(encodeBootstrap(BOOTSTRAP_QUESTION));
  }

  async register(registration: Registration): Promise<ConnectionResponse> {
    const payload = await this.#ask((ids) => encodeRegister(ids, registration));
    const response = decodeConnectionResponse(payload);
    if (response === null) throw new ControlError('the edge sent a registration answer that makes no sense');
    return response;
  }

  async unregister(): Promise<void> {
    await this.#ask(encodeUnregister);
  }

  /** Tells the edge which document a locally managed tunnel runs with. */
  async updateLocalConfiguration(config: Uint8Array): Promise<void> {
    await this.#ask((ids) => encodeUpdateLocalConfiguration(ids, config));
  }

  /** Ends the stream the way the protocol does at a normal end. */
  close(): void {
    if (this.#failure !== null) return;
    this.#failure = new ControlError('closed');
    this.#stream.end(encodeAbort('rpc: shutdown'));
  }

  async #ask(encode: (ids: CallIds) => Buffer): Promise<StructReader> {
    if (this.#failure !== null) throw this.#failure;
    const question = (this.#lastQuestion += 1);
    const answered = new Promise<Outcome>((resolve, reject) => this.#questions.set(question, { resolve, reject }));
    const timer = setTimeout(() => this.#fail('the edge did not answer on the control stream'), this.#timeoutMs);
    this.#stream.write(encode({ question, bootstrapQuestion: BOOTSTRAP_QUESTION }));
    try {
      const outcome = await answered;
      if ('exception' in outcome) throw new ControlError(`the edge refused a call: ${outcome.exception}`);
      return outcome.payload;
    } finally {
      clearTimeout(timer);
    }
  }

  #receive(chunk: Buffer): void {
    if (this.#failure !== null) return;
    const { messages, error } = this.#parser.push(chunk);
    for (const message of messages) this.#take(decodeRpc(message));
    if (error !== null) this.#fail(`the control stream is unreadable: ${error}`);
  }

  #take(message: RpcMessage): void {
    switch (message.kind) {
      case 'return':
        this.#answer(message.answer, message.outcome);
        break;
      case 'abort':
        this.#fail(`the edge aborted the control stream: ${message.reason}`);
        break;
      case 'invalid':
        this.#fail(`the control stream is unreadable: ${message.error}`);
        break;
      default:
        break;
    }
  }

  #answer(id: number, outcome: Outcome): void {
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    if (question === undefined && id !== BOOTSTRAP_QUESTION) return;
    this.#stream.write(encodeFinish(id));
    if (question === undefined && 'exception' in outcome) this.#fail(`the edge has no registration interface: ${outcome.exception}`);
    question?.resolve(outcome);
  }

  #fail(reason: string): void {
    if (this.#failure !== null) return;
    this.#failure = new ControlError(reason);
    for (const question of this.#questions.values()) question.reject(this.#failure);
    this.#questions.clear();
    this.#onFailure(this.#failure);
  }
}
