// One ordinary request and its response: who may write to whom, and when it is over.
import type { HeaderEdits } from '#proxy/table/types.ts';
import type { ResponseHead, UpgradedSocket } from '#proxy/upstream/job.ts';
import { Attempt } from './attempt.ts';
import type { Connection } from './connection.ts';
import { isGrpc } from './framing.ts';
import { forwardableTrailers } from './hop.ts';
import type { FrontRequest, FrontResponse } from './message.ts';
import type { Plane } from './plane.ts';
import * as reply from './reply.ts';
import { editResponse } from './response-head.ts';

const NOT_LINGERING = -1;

export class Exchange extends Attempt {
  private readonly req: FrontRequest;
  private readonly res: FrontResponse;
  /** The client waits for 100 before it sends its body. */
  private expects: boolean;
  private requestEnded = false;
  private pumping = false;
  /** The head has been written but not sent: it may still leave together with the first bytes of the body. */
  private headHeld = false;
  private ended = false;
  private drainWatched = false;
  /** The response has no length of its own. */
  private streaming = false;
  /** Tick since which the rest of an answered request is only thrown away. */
  private lingeringSince = NOT_LINGERING;
  private lingered = 0;

  constructor(plane: Plane, connection: Connection, req: FrontRequest, res: FrontResponse, expects: boolean) {
    super(plane, connection, req, false);
    this.req = req;
    this.res = res;
    this.expects = expects;
    req.exchange = this;
    res.exchange = this;
    res.on('error', ignore);
  }

  protected refuse(): reply.Answer | null {
    return null;
  }

  onOpen(): void {
    if (this.bodyLength === 0) {
      this.requestEnded = true;
    } else if (this.requestEnded) {
      this.stream?.end(forwardableTrailers(this.req.rawTrailers));
    } else if (this.pumping) {
      this.req.resume();
    } else {
      this.pumping = true;
      if (this.expects) this.res.writeContinue();
      this.expects = false;
      this.req.on('data', onRequestData);
      this.req.on('end', onRequestEnd);
    }
  }

  onRequestData(chunk: Buffer): void {
    this.progress = this.plane.tick;
    if (this.lingeringSince !== NOT_LINGERING) {
      this.lingered += chunk.length;
      if (this.lingered > this.plane.options.lingerBytes) this.connection.socket.destroy();
      return;
    }
    this.requestBytes += chunk.length;
    this.bodyStarted = true;
    if (this.stream === null || !this.stream.write(chunk)) this.req.pause();
  }

  onRequestEnd(): void {
    this.requestEnded = true;
    this.stream?.end(forwardableTrailers(this.req.rawTrailers));
    if (this.done) this.leaveConnection();
  }

  onDrain(): void {
    this.progress = this.plane.tick;
    this.req.resume();
  }

  /** Only early hints mean anything to a visitor; what a client of HTTP/1.0 would take for the final response is never sent. */
  onInformation(status: number, fields: readonly string[]): void {
    this.progress = this.plane.tick;
    const { res, req } = this;
    if (status !== 103 || req.httpVersionMinor === 0 || res.headersSent || typeof res.writeInformation !== 'function') return;
    try {
      res.writeInformation(103, fields);
    } catch {
      // A hint that cannot be written is none.
    }
  }

  onHead(head: ResponseHead): void {
    this.stopTryTimer();
    this.progress = this.plane.tick;
    const { res } = this;
    this.streaming = head.length < 0;
    if (head.trailer !== '' && this.sendsChunks(head)) head.fields.push('Trailer', head.trailer);
    if (this.connection.front.closing) res.shouldKeepAlive = false;
    try {
      const fields = editResponse(head.fields, this.responseEdits);
      if (head.reason === '') res.writeHead(head.status, fields);
      else res.writeHead(head.status, head.reason, fields);
    } catch {
      // A field that may not be written: nothing has been sent yet.
      this.leaveBackend(true);
      this.answer(reply.BAD_GATEWAY, null);
      return;
    }
    this.status = head.status;
    this.headHeld = true;
  }

  private sendsChunks({ status, length }: ResponseHead): boolean {
    return length < 0 && status !== 204 && status !== 304 && this.method !== 'HEAD' && this.req.httpVersionMinor === 1;
  }

  onBody(chunk: Buffer, last: boolean): void {
    this.progress = this.plane.tick;
    this.responseBytes += chunk.length;
    this.headHeld = false;
    const { res } = this;
    if (last) {
      this.ended = true;
      res.end(chunk);
    } else if (!res.write(chunk)) {
      this.stream?.pause();
      if (this.drainWatched) return;
      this.drainWatched = true;
      res.on('drain', onResponseDrain);
    }
  }

  onFlush(): void {
    if (!this.headHeld) return;
    this.headHeld = false;
    this.res.flushHeaders();
  }

  onResponseDrain(): void {
    this.progress = this.plane.tick;
    this.stream?.resume();
  }

  onEnd(trailers: readonly string[]): void {
    this.leaveBackend(false);
    if (!this.ended) this.endResponse(forwardableTrailers(trailers));
    this.finish(false);
    this.settle();
  }

  private endResponse(trailers: readonly string[]): void {
    this.ended = true;
    const { res } = this;
    if (trailers.length > 0 && res.chunkedEncoding) {
      try {
        res.addTrailers(pairs(trailers));
      } catch {
        this.breakOff();
        return;
      }
    }
    res.end();
  }

  onUpgrade(_head: ResponseHead, socket: UpgradedSocket): void {
    // The parser lets it happen only to those who asked.
    socket.destroy();
  }

  protected answer(answer: reply.Answer, edits: HeaderEdits | null): void {
    const grpc = isGrpc(this.req.rawHeaders);
    const status = grpc ? reply.grpcStatusFields(answer) : [];
    const fields = grpc ? ['Content-Type', 'application/grpc', ...status] : reply.plainFields(answer);
    this.send(grpc ? 200 : answer.status, editResponse(fields, edits), grpc ? '' : `${answer.text}\n`, status);
    this.status = answer.status;
    this.finish(false);
    this.settle();
  }

  protected redirect(status: number, location: string, edits: HeaderEdits | null): void {
    this.send(status, editResponse(['Location', location, 'Content-Length', '0'], edits), '', []);
    this.status = status;
    this.finish(false);
    this.settle();
  }

  private send(status: number, fields: string[], body: string, trailers: readonly string[]): void {
    const { res } = this;
    this.ended = true;
    // Behind a request that is malformed nobody can tell where the next one begins.
    if (status === 400 || this.connection.front.closing) res.shouldKeepAlive = false;
    try {
      res.writeHead(status, fields);
      // A gRPC status stands in the head and once more in the trailers: an intermediary that sends the head first hides that nothing follows.
      if (trailers.length > 0 && res.chunkedEncoding) res.addTrailers(pairs(trailers));
      if (body === '' || this.method === 'HEAD') res.end();
      else res.end(body, 'latin1');
    } catch {
      this.connection.socket.destroy();
    }
  }

  protected breakOff(): void {
    this.finish(true);
    this.connection.breakOff();
  }

  /** The answer is given. What is left of the request is read for a while, so that the client gets round to reading the answer. */
  private settle(): void {
    if (this.bodyLength === 0 || this.requestEnded) {
      this.leaveConnection();
      return;
    }
    this.lingeringSince = this.plane.tick;
    if (!this.pumping) {
      this.pumping = true;
      this.req.on('data', onRequestData);
      this.req.on('end', onRequestEnd);
    }
    this.req.resume();
  }

  checkStall(tick: number): void {
    const { options } = this.plane;
    const { tickTime } = options;
    if (this.lingeringSince !== NOT_LINGERING) {
      if ((tick - this.lingeringSince) * tickTime > options.lingerTime) this.connection.socket.destroy();
      return;
    }
    const limit = this.streaming && this.status !== 0 ? options.streamStallTimeout : options.stallTimeout;
    if (limit > 0 && (tick - this.progress) * tickTime > limit) this.onTimeout();
  }

  clientBroke(): 'unanswered' | 'underway' | 'answered' {
    if (this.done) return 'answered';
    if (this.status !== 0) return 'underway';
    this.leaveBackend(true);
    this.status = 400;
    this.finish(false);
    return 'unanswered';
  }
}

function pairs(fields: readonly string[]): [string, string][] {
  const result: [string, string][] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) result.push([fields[i]!, fields[i + 1]!]);
  return result;
}

// One listener for all exchanges: a closure per request is what makes a proxy slow.
function onRequestData(this: FrontRequest, chunk: Buffer): void {
  this.exchange?.onRequestData(chunk);
}

function onRequestEnd(this: FrontRequest): void {
  this.exchange?.onRequestEnd();
}

function onResponseDrain(this: FrontResponse): void {
  this.exchange?.onResponseDrain();
}

function ignore(): void {}
