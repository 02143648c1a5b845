// What an exchange and a connection to a backend know of each other. Types only.

/** Head of a backend's response, hop-by-hop fields already taken out. Valid during the callback; `fields` may be kept and changed. */
export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  /** Flat name, value pairs in the order they came. `Content-Length` is among them when it was sent and applies. */
  readonly fields: string[];
  /** Bytes of body that will follow; -1 when only the end of the message tells. */
  readonly length: number;
  /** Value of `Trailer`, '' when absent. */
  readonly trailer: string;
  /** Value of `Upgrade`, '' when absent. */
  readonly upgrade: string;
}

/**
 * `connect`: no connection could be made. `connect-timeout`: nor in time. `reset`: the connection ended too early.
 * `protocol`: the answer is not HTTP. `refused`: the backend says that it has not looked at the request (HTTP/2).
 * `overload`: every connection to the endpoint is taken and its queue is full, or the wait was too long.
 */
export type FailureKind = 'connect' | 'connect-timeout' | 'reset' | 'protocol' | 'refused' | 'overload';

export interface Failure {
  readonly kind: FailureKind;
  /** For logs: what was seen, without anything from the request. */
  readonly message: string;
  /**
   * The connection had served before and not one byte of an answer came: the backend most likely closed it while it was idle, so a request
   * that may be repeated can be sent again on a fresh one (RFC 9112 section 9.3.1).
   */
  readonly stale: boolean;
}

/** How a request's body is framed: none, a known number of bytes, or chunked (-1). */
export type BodyLength = number;

/** One try of one exchange at one endpoint, as the exchange sees it. */
export interface UpstreamStream {
  /** False: wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  /** Ends the request's body; trailers are flat name, value pairs. */
  end(trailers: readonly string[]): void;
  /** Stops and restarts the flow of the response. */
  pause(): void;
  resume(): void;
  /** Aborts the exchange at the backend; nothing is reported after it. */
  destroy(): void;
}

/** An exchange, as the upstream side sees it. Callbacks come in this order: open, (information)*, head, body*, end; or at any point failure. */
export interface Job {
  readonly method: string;
  /** Bytes of the request's body: 0 none, -1 chunked. */
  readonly bodyLength: BodyLength;
  /** The client asks to leave HTTP: only then may the backend answer 101. */
  readonly upgrade: boolean;
  /** May be sent twice without harm: an idempotent method (RFC 9110 section 9.2.2) without a body. */
  readonly repeatable: boolean;
  /** The head for an HTTP/1.1 connection, ready to write as latin1. */
  readonly head: string;
  /** The head for HTTP/2: flat name, value pairs, pseudo-header fields first. */
  readonly headList: readonly string[];
  /** The stream that serves this job from now on; the connection may still have to be made. */
  onAssigned(stream: UpstreamStream): void;
  /** The head is on its way: the body may flow. */
  onOpen(): void;
  onInformation(status: number, fields: readonly string[]): void;
  onHead(head: ResponseHead): void;
  /** `last`: the message has a known length and this completes it (`onEnd` follows at once). */
  onBody(chunk: Buffer, last: boolean): void;
  /** All that has arrived so far is handed over: what is kept back for one larger write should go now. */
  onFlush(): void;
  onEnd(trailers: readonly string[]): void;
  /** 101: the connection is no longer HTTP and belongs to the job, with the first bytes that came after the head. */
  onUpgrade(head: ResponseHead, socket: UpgradedSocket, rest: Buffer): void;
  onDrain(): void;
  onFailure(failure: Failure): void;
}

/** The part of a socket that a tunnel needs. */
export type UpgradedSocket = import('node:net').Socket;
