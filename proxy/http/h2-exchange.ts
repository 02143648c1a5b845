// One request over HTTP/2 and its response: the same exchange as over HTTP/1.1, on a stream instead of a connection.
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { HeaderEdits } from '#proxy/table/types.ts';
import type { ResponseHead, UpgradedSocket } from '#proxy/upstream/job.ts';
import { Attempt } from './attempt.ts';
import type { Connection } from './connection.ts';
import { isGrpc } from './framing.ts';
import { incomingHead, responseFields, trailerObject } from './h2-head.ts';
import { forwardableTrailers } from './hop.ts';
import type { Plane } from './plane.ts';
import * as reply from './reply.ts';
import { editResponse } from './response-head.ts';

export class H2Exchange extends Attempt {
  private readonly client: ServerHttp2Stream;
  private expects: boolean;
  private requestEnded = false;
  private pumping = false;
  private requestTrailers: readonly string[] = [];
  private trailers: readonly string[] = [];
  private ended = false;
  private drainWatched = false;
  /** The response has no length of its own. */
  private streaming = false;

  constructor(plane: Plane, connection: Connection, client: ServerHttp2Stream, raw: readonly string[]) {
    const head = incomingHead(raw, client.endAfterHeaders);
    super(plane, connection, head, false);
    this.client = client;
    this.expects = head.expects;
    client.on('error', ignore);
    client.on('close', () => this.clientGone());
    client.on('trailers', (_headers, _flags, fields: readonly string[]) => {
      this.requestTrailers = forwardableTrailers(fields);
    });
  }

  override start(): void {
    if (this.method === 'CONNECT') this.answer(reply.NO_CONNECT, null);
    else super.start();
  }

  protected refuse(): reply.Answer | null {
    return null;
  }

  onOpen(): void {
    if (this.bodyLength === 0) {
      this.requestEnded = true;
      this.client.resume();
    } else if (this.requestEnded) {
      this.stream?.end(this.requestTrailers);
    } else if (this.pumping) {
      this.client.resume();
    } else {
      this.pumping = true;
      if (this.expects) this.inform(100, []);
      this.client.on('data', (chunk: Buffer) => this.onRequestData(chunk));
      this.client.on('end', () => this.onRequestEnd());
    }
  }

  private onRequestData(chunk: Buffer): void {
    this.progress = this.plane.tick;
    if (this.done) return;
    this.requestBytes += chunk.length;
    this.bodyStarted = true;
    if (this.stream === null || !this.stream.write(chunk)) this.client.pause();
  }

  private onRequestEnd(): void {
    // Node lets a stream that was reset end as if it were whole.
    if (this.client.aborted || this.client.rstCode !== constants.NGHTTP2_NO_ERROR) return;
    this.requestEnded = true;
    this.stream?.end(this.requestTrailers);
  }

  onDrain(): void {
    this.progress = this.plane.tick;
    this.client.resume();
  }

  onInformation(status: number, fields: readonly string[]): void {
    this.progress = this.plane.tick;
    if (status === 103) this.inform(103, fields);
  }

  private inform(status: number, fields: readonly string[]): void {
    if (this.client.headersSent || this.client.closed) return;
    try {
      this.client.additionalHeaders({ ...trailerObject(fields), ':status': status });
    } catch {
      // A hint that cannot be written is none.
    }
  }

  onHead(head: ResponseHead): void {
    this.stopTryTimer();
    this.progress = this.plane.tick;
    this.streaming = head.length < 0;
    const isBodiless = this.method === 'HEAD' || head.status === 204 || head.status === 304 || head.length === 0;
    if (head.trailer !== '' && !isBodiless) head.fields.push('Trailer', head.trailer);
    try {
      this.client.respond(responseFields(head.status, editResponse(head.fields, this.responseEdits)), {
        endStream: isBodiless,
        waitForTrailers: !isBodiless && this.streaming,
      });
    } catch {
      // A field that may not be written: nothing has been sent yet.
      this.leaveBackend(true);
      this.answer(reply.BAD_GATEWAY, null);
      return;
    }
    this.client.on('wantTrailers', () => this.sendTrailers());
    this.ended = isBodiless;
    this.status = head.status;
  }

  onBody(chunk: Buffer, last: boolean): void {
    this.progress = this.plane.tick;
    this.responseBytes += chunk.length;
    const { client } = this;
    if (this.ended) return;
    if (last) {
      this.ended = true;
      client.end(chunk);
    } else if (!client.write(chunk)) {
      this.stream?.pause();
      if (this.drainWatched) return;
      this.drainWatched = true;
      client.on('drain', () => this.onResponseDrain());
    }
  }

  /** Node sends what was written in one turn together. */
  onFlush(): void {}

  private onResponseDrain(): void {
    this.progress = this.plane.tick;
    this.stream?.resume();
  }

  onEnd(trailers: readonly string[]): void {
    this.leaveBackend(false);
    this.trailers = forwardableTrailers(trailers);
    if (!this.ended) this.client.end();
    this.ended = true;
    this.finish(false);
    this.settle();
  }

  private sendTrailers(): void {
    try {
      this.client.sendTrailers(trailerObject(this.trailers));
    } catch {
      this.client.destroy(new Error('trailers that cannot be sent'));
    }
    this.stopUpload();
  }

  onUpgrade(_head: ResponseHead, socket: UpgradedSocket): void {
    // The parser lets it happen only to those who asked, and over HTTP/2 nobody can.
    socket.destroy();
  }

  /** A gRPC status that comes with the head must be the end of it: the form without messages and trailers. */
  protected answer(answer: reply.Answer, edits: HeaderEdits | null): void {
    const grpc = isGrpc(this.incoming.rawHeaders);
    const fields = grpc ? ['content-type', 'application/grpc', ...reply.grpcStatusFields(answer)] : reply.plainFields(answer);
    this.send(grpc ? 200 : answer.status, editResponse(fields, edits), grpc ? '' : `${answer.text}\n`);
    this.status = answer.status;
    this.finish(false);
    this.settle();
  }

  protected redirect(status: number, location: string, edits: HeaderEdits | null): void {
    this.send(status, editResponse(['location', location, 'content-length', '0'], edits), '');
    this.status = status;
    this.finish(false);
    this.settle();
  }

  private send(status: number, fields: readonly string[], body: string): void {
    const { client } = this;
    const isBodiless = body === '' || this.method === 'HEAD';
    this.ended = true;
    try {
      client.respond(responseFields(status, fields), { endStream: isBodiless });
      if (!isBodiless) client.end(body, 'latin1');
    } catch {
      client.destroy(new Error('an answer that cannot be sent'));
    }
  }

  protected breakOff(): void {
    this.finish(true);
    // Not `close`, which ends a stream in an orderly way first: what was cut off would pass for a whole response.
    this.client.destroy(new Error('the backend broke off'));
  }

  /** The answer is given: what the client still sends is of no use. */
  private settle(): void {
    this.client.resume();
    if (this.client.writableFinished) this.stopUpload();
    else this.client.once('finish', () => this.stopUpload());
  }

  /** RFC 9113 section 8.1: the client need not send the rest. A turn later, because a reset overtakes what is on its way. */
  private stopUpload(): void {
    const { client } = this;
    if (client.endAfterHeaders || this.requestEnded) return;
    setImmediate(() => {
      if (!client.readableEnded && !client.closed && !client.destroyed) client.close(constants.NGHTTP2_NO_ERROR);
    });
  }

  checkStall(tick: number): void {
    const { options } = this.plane;
    const limit = this.streaming && this.status !== 0 && !this.done ? options.streamStallTimeout : options.stallTimeout;
    if (limit === 0 || (tick - this.progress) * options.tickTime <= limit) return;
    if (this.done) this.client.destroy(new Error('the client takes nothing'));
    else this.onTimeout();
  }

  clientBroke(): 'underway' {
    return 'underway';
  }
}

function ignore(): void {}
