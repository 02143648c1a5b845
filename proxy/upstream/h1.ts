// One HTTP/1.1 connection to an endpoint: sends one exchange at a time and hands its response over as it arrives.
import { connect, type Socket } from 'node:net';
import type { Failure, FailureKind, Job, ResponseHead, UpstreamStream } from './job.ts';
import { ResponseParser, type ResponseHandler } from './parser.ts';

/** What a connection needs of the pool that it belongs to. */
export interface ConnectionOwner {
  readonly host: string;
  readonly port: number;
  readonly connectTimeout: number;
  /** The connection was made. */
  connected(): void;
  /** Ready for another exchange. */
  release(connection: H1Connection, keepAliveHint: number): void;
  /** It will not come back; called exactly once. */
  closed(connection: H1Connection): void;
}

const CRLF = Buffer.from('\r\n', 'latin1');

export class H1Connection implements ResponseHandler, UpstreamStream {
  readonly socket: Socket;
  /** Milliseconds on the clock of the pool after which an idle connection must not be used. */
  idleUntil = 0;

  private readonly owner: ConnectionOwner;
  private readonly parser = new ResponseParser(this);
  private job: Job | null;
  private timer: NodeJS.Timeout | null;
  private open = false;
  private gone = false;
  private reused = false;
  private answered = false;
  private chunked = false;
  /** Bytes of a request body of known length that are still to be written. */
  private unsent = 0;
  /** The whole request has been written. */
  private sent = false;

  /** Connects, then serves `job`. */
  constructor(owner: ConnectionOwner, job: Job) {
    this.owner = owner;
    this.job = job;
    this.socket = connect({
      host: owner.host,
      port: owner.port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
    });
    // Never removed: an error after an upgrade finds no job here and does nothing.
    this.socket.on('error', (error: Error) => this.fail(this.open ? 'reset' : 'connect', error.message));
    this.socket.once('connect', () => this.onConnect());
    this.socket.on('data', this.onData);
    this.socket.on('drain', this.onDrain);
    this.socket.on('end', this.onEnd);
    this.socket.on('close', this.onClose);
    this.timer = setTimeout(() => this.fail('connect-timeout', `no connection within ${owner.connectTimeout} ms`), owner.connectTimeout);
    job.onAssigned(this);
  }

  /** False when something has happened to the connection while nobody was using it. */
  get usable(): boolean {
    return !this.gone && this.socket.readable && this.socket.writable && this.socket.readableLength === 0;
  }

  /** Sends another exchange on a connection that has served before. */
  serve(job: Job): void {
    this.reused = true;
    this.job = job;
    job.onAssigned(this);
    this.send(job);
  }

  private send(job: Job): void {
    this.answered = false;
    this.chunked = job.bodyLength < 0;
    this.unsent = job.bodyLength;
    this.sent = job.bodyLength === 0;
    this.parser.begin(job.method, job.upgrade);
    this.socket.write(job.head, 'latin1');
    job.onOpen();
  }

  write(chunk: Buffer): boolean {
    const { socket } = this;
    if (!this.chunked) {
      this.unsent -= chunk.length;
      if (this.unsent === 0) this.sent = true;
      return socket.write(chunk);
    }
    // Three writes leave as one: the size line would otherwise be a packet of its own.
    socket.cork();
    socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
    socket.write(chunk);
    const flowing = socket.write(CRLF);
    socket.uncork();
    return flowing;
  }

  end(trailers: readonly string[]): void {
    this.sent = true;
    if (!this.chunked) return;
    let text = '0\r\n';
    for (let i = 0; i < trailers.length; i += 2) text += `${trailers[i]}: ${trailers[i + 1]}\r\n`;
    this.socket.write(`${text}\r\n`, 'latin1');
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  destroy(): void {
    this.job = null;
    this.discard();
  }

  onInformation(status: number, fields: readonly string[]): void {
    this.job?.onInformation(status, fields);
  }

  onHead(head: ResponseHead): void {
    this.job?.onHead(head);
  }

  onBody(chunk: Buffer, last: boolean): void {
    this.job?.onBody(chunk, last);
  }

  onComplete(trailers: readonly string[], clean: boolean): void {
    const { job } = this;
    if (job === null) return;
    this.job = null;
    // A connection with bytes left over on either side would give them to the next exchange: that is smuggling of our own making.
    if (clean && this.sent && this.parser.keepAlive && !this.gone) this.release();
    else this.discard();
    job.onEnd(trailers);
  }

  onUpgrade(head: ResponseHead, rest: Buffer): void {
    const { job, socket } = this;
    if (job === null) return;
    this.job = null;
    this.gone = true;
    socket.off('data', this.onData);
    socket.off('drain', this.onDrain);
    socket.off('end', this.onEnd);
    socket.off('close', this.onClose);
    this.owner.closed(this);
    job.onUpgrade(head, socket, rest);
  }

  private release(): void {
    // The last chunk may have paused the socket for a slow client: the next exchange would hear nothing.
    if (this.socket.isPaused()) this.socket.resume();
    this.owner.release(this, this.parser.head.keepAliveHint);
  }

  private onConnect(): void {
    this.stopTimer();
    this.open = true;
    this.owner.connected();
    if (this.job !== null) this.send(this.job);
  }

  private readonly onData = (chunk: Buffer): void => {
    if (this.job === null) {
      // Nobody asked: whatever it is, it must not become the answer to the next request.
      this.discard();
      return;
    }
    this.answered = true;
    const error = this.parser.execute(chunk);
    if (error === null) this.flush();
    else this.fail('protocol', error);
  };

  private readonly onDrain = (): void => {
    this.job?.onDrain();
  };

  private readonly onEnd = (): void => {
    if (this.job !== null && this.parser.finish()) return;
    this.fail('reset', 'connection closed by the backend');
  };

  private readonly onClose = (): void => {
    this.fail(this.open ? 'reset' : 'connect', 'connection closed');
  };

  private flush(): void {
    this.job?.onFlush();
  }

  private fail(kind: FailureKind, message: string): void {
    const { job } = this;
    this.job = null;
    this.discard();
    if (job === null) return;
    const failure: Failure = { kind, message, stale: kind === 'reset' && this.reused && !this.answered };
    job.onFailure(failure);
  }

  private discard(): void {
    if (this.gone) return;
    this.gone = true;
    this.stopTimer();
    this.parser.stop();
    this.socket.destroy();
    this.owner.closed(this);
  }

  private stopTimer(): void {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
  }
}
