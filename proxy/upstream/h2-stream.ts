// One exchange on an HTTP/2 connection.
import { constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { FailureKind, Job, ResponseHead, UpstreamStream } from './job.ts';

export interface StreamOwner {
  /** Something has arrived. */
  received(): void;
  /** The stream no longer counts. Called exactly once. */
  released(): void;
  readonly ended: { readonly kind: FailureKind; readonly message: string } | null;
}

/** RFC 9113 section 8.2.2: these have no meaning in HTTP/2 and would gain one in HTTP/1.1. */
const CONNECTION_SPECIFIC: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'te',
]);
const LENGTH_VALUE = /^\d{1,15}$/;

export class H2Stream implements UpstreamStream {
  private readonly owner: StreamOwner;
  private job: Job | null;
  private stream: ClientHttp2Stream | null = null;
  private reused = false;
  private answered = false;
  private left = -1;
  private trailers: readonly string[] = [];
  private requestTrailers: readonly string[] = [];

  constructor(owner: StreamOwner, job: Job) {
    this.owner = owner;
    this.job = job;
  }

  start(session: ClientHttp2Session, reused: boolean): void {
    const { job } = this;
    if (job === null) return;
    this.reused = reused;
    job.onAssigned(this);
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(job.headList, { endStream: job.bodyLength === 0, waitForTrailers: job.bodyLength < 0 });
    } catch (error) {
      this.notSent(error);
      return;
    }
    this.stream = stream;
    stream.on('error', (error: Error) => this.fail(error.message));
    stream.on('close', () => this.fail('stream closed'));
    stream.on('response', (_headers, flags, raw) => this.onResponse(flags, raw as readonly string[]));
    stream.on('headers', (_headers, _flags, raw) => this.onInformation(raw as readonly string[]));
    stream.on('trailers', (_headers, _flags, raw) => {
      this.trailers = regularFields(raw);
    });
    stream.on('data', (chunk: Buffer) => this.onData(chunk));
    stream.on('end', () => this.onEnd());
    stream.on('drain', () => this.job?.onDrain());
    stream.on('wantTrailers', () => this.sendTrailers(stream));
    job.onOpen();
  }

  /** Node refuses to send what nghttp2 would refuse, and any request on a connection that is closing; both before a byte has left. */
  private notSent(error: unknown): void {
    const { job } = this;
    this.job = null;
    this.owner.released();
    const code = error instanceof Error && 'code' in error ? error.code : '';
    const closing = code === 'ERR_HTTP2_INVALID_SESSION' || code === 'ERR_HTTP2_GOAWAY_SESSION' || code === 'ERR_HTTP2_OUT_OF_STREAMS';
    job?.onFailure({ kind: closing ? 'refused' : 'protocol', message: 'request cannot be sent over HTTP/2', stale: false });
  }

  write(chunk: Buffer): boolean {
    return this.stream?.write(chunk) ?? true;
  }

  end(trailers: readonly string[]): void {
    this.requestTrailers = trailers;
    this.stream?.end();
  }

  private sendTrailers(stream: ClientHttp2Stream): void {
    const trailers: Record<string, string[]> = {};
    for (let i = 0; i < this.requestTrailers.length; i += 2) {
      (trailers[this.requestTrailers[i]!.toLowerCase()] ??= []).push(this.requestTrailers[i + 1]!);
    }
    try {
      stream.sendTrailers(trailers);
    } catch {
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  }

  pause(): void {
    this.stream?.pause();
  }

  resume(): void {
    this.stream?.resume();
  }

  destroy(): void {
    if (this.job === null) return;
    this.job = null;
    this.owner.released();
    const { stream } = this;
    // Closing a stream of Node ends it cleanly first: a request that is cut off would pass for a whole one.
    if (stream?.writableEnded === false) stream.destroy(new Error('cancelled'));
    else stream?.close(constants.NGHTTP2_CANCEL);
  }

  private onInformation(raw: readonly string[]): void {
    this.owner.received();
    this.job?.onInformation(statusOf(raw), regularFields(raw));
  }

  private onResponse(flags: number, raw: readonly string[]): void {
    const { job } = this;
    if (job === null) return;
    this.owner.received();
    this.answered = true;
    const head = responseHead(raw);
    this.left = head.length;
    // A client behind HTTP/1.1 cannot see that the stream ended with its head: a gRPC status there must come as trailers as well.
    if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) this.trailers = grpcStatus(head.fields);
    job.onHead(head);
    // Head and first message mostly arrive together: one write for both, but never wait for the message.
    setImmediate(() => this.job?.onFlush());
  }

  private onData(chunk: Buffer): void {
    this.owner.received();
    if (this.left >= 0) this.left -= chunk.length;
    this.job?.onBody(chunk, this.left === 0);
    this.job?.onFlush();
  }

  private onEnd(): void {
    const { job } = this;
    if (job === null || !this.answered) return;
    // Node lets a stream that was reset end as if it were whole.
    if (this.stream?.rstCode !== constants.NGHTTP2_NO_ERROR) {
      this.fail('the response was cut off');
      return;
    }
    this.job = null;
    this.owner.released();
    // An answer that came before the whole request was read: what is left of the request is of no use.
    if (this.stream !== null && !this.stream.writableEnded) this.stream.close(constants.NGHTTP2_NO_ERROR);
    job.onEnd(this.trailers);
  }

  private fail(message: string): void {
    const { job } = this;
    if (job === null) return;
    this.job = null;
    this.owner.released();
    const { ended } = this.owner;
    if (this.stream?.rstCode === constants.NGHTTP2_REFUSED_STREAM) {
      job.onFailure({ kind: 'refused', message, stale: false });
      return;
    }
    const kind = ended?.kind ?? 'reset';
    job.onFailure({ kind, message: ended?.message ?? message, stale: kind === 'reset' && ended !== null && this.reused && !this.answered });
  }
}

function statusOf(raw: readonly string[]): number {
  return Number(raw[raw.indexOf(':status') + 1]);
}

/** Without pseudo-header and connection-specific fields. */
function regularFields(raw: readonly string[]): string[] {
  const fields: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]!;
    if (name.charCodeAt(0) !== 58 && !CONNECTION_SPECIFIC.has(name)) fields.push(name, raw[i + 1]!);
  }
  return fields;
}

function responseHead(raw: readonly string[]): ResponseHead {
  const fields = regularFields(raw);
  let length = -1;
  let trailer = '';
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    const value = fields[i + 1]!;
    if (name === 'trailer') trailer = value;
    else kept.push(name, value);
    if (name === 'content-length' && LENGTH_VALUE.test(value)) length = Number(value);
  }
  return { status: statusOf(raw), reason: '', fields: kept, length, trailer, upgrade: '' };
}

const GRPC_STATUS: ReadonlySet<string> = new Set(['grpc-status', 'grpc-message', 'grpc-status-details-bin']);

function grpcStatus(fields: readonly string[]): string[] {
  const status: string[] = [];
  for (let i = 0; i < fields.length; i += 2) if (GRPC_STATUS.has(fields[i]!)) status.push(fields[i]!, fields[i + 1]!);
  return status;
}
