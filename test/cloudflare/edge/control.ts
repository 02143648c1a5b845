// The edge's side of a control stream: answers a connector's registration calls.
import type { Duplex } from 'node:stream';
import { FrameParser } from '#proxy/connector/capnp/frames.ts';
import {
  decodeRpc,
  encodeAbort,
  encodeBootstrapReturn,
  encodeConnectionResponse,
  encodeEmptyReturn,
  encodeExceptionReturn,
  type Call,
  type ConnectionResponse,
  type Registration,
  type RpcMessage,
} from '#proxy/connector/rpc.ts';

export interface ControlHandlers {
  /** Decides about a registration. */
  readonly register: (registration: Registration) => ConnectionResponse;
  /** The connector has read the answer to its registration. */
  readonly registered: () => void;
  /** The answer that refuses the registration has been written. */
  readonly refused: () => void;
  /** The answer to the connector's farewell has been written. */
  readonly unregistered: () => void;
  readonly localDocument: (config: string) => void;
  /** The connector ended the stream, as it does after its farewell. */
  readonly ended: () => void;
  /** The connector sent bytes that make no sense; it was told so. */
  readonly broken: () => void;
}

export function serveControl(stream: Duplex, handlers: ControlHandlers): void {
  const parser = new FrameParser();
  let registrationQuestion: number | null = null;

  const call = (question: number, request: Call): void => {
    switch (request.method) {
      case 'register': {
        const response = handlers.register(request.registration);
        registrationQuestion = question;
        stream.write(encodeConnectionResponse(question, response), () => {
          if (response.kind === 'error') handlers.refused();
        });
        break;
      }
      case 'unregister':
        stream.write(encodeEmptyReturn(question), () => handlers.unregistered());
        break;
      case 'updateLocalConfiguration':
        handlers.localDocument(Buffer.from(request.config).toString('utf8'));
        stream.write(encodeEmptyReturn(question));
        break;
      default:
        stream.write(encodeExceptionReturn(question, 'this interface has no such method'));
    }
  };

  const take = (message: RpcMessage): void => {
    switch (message.kind) {
      case 'bootstrap':
        stream.write(encodeBootstrapReturn(message.question));
        break;
      case 'call':
        call(message.question, message.call);
        break;
      case 'finish':
        if (message.question === registrationQuestion) handlers.registered();
        break;
      case 'abort':
        handlers.ended();
        break;
      case 'invalid':
        refuse(message.error);
        break;
      default:
        break;
    }
  };

  const refuse = (reason: string): void => {
    stream.end(encodeAbort(reason));
    handlers.broken();
  };

  stream.on('data', (chunk: Buffer) => {
    const { messages, error } = parser.push(chunk);
    for (const message of messages) take(decodeRpc(message));
    if (error !== null) refuse(error);
  });
  stream.on('end', () => handlers.ended());
}
