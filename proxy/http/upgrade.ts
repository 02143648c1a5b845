// A request that asks to leave HTTP (WebSocket): the handshake is an exchange, what follows is a tunnel.
import { STATUS_CODES } from 'node:http';
import type { HeaderEdits } from '#proxy/table/types.ts';
import type { ResponseHead, UpgradedSocket } from '#proxy/upstream/job.ts';
import { Attempt } from './attempt.ts';
import type { Connection } from './connection.ts';
import type { Plane } from './plane.ts';
import * as reply from './reply.ts';
import { editResponse } from './response-head.ts';
import type { IncomingHead } from './routing.ts';
import { join, type TunnelOwner } from './tunnel.ts';

export class UpgradeExchange extends Attempt implements TunnelOwner {
  private readonly socket: UpgradedSocket;
  private readonly early: Buffer;
  private backend: UpgradedSocket | null = null;
  private halfClosed = false;

  /** `early`: what the client sent behind its request without waiting. */
  constructor(plane: Plane, connection: Connection, incoming: IncomingHead, early: Buffer) {
    super(plane, connection, incoming, true);
    this.socket = connection.socket;
    this.early = early;
    // node:http has let go of the socket: until the tunnel takes over, its end and its errors are ours to see.
    this.socket.on('error', ignore);
    this.socket.once('end', () => this.clientEnded());
  }

  private clientEnded(): void {
    this.halfClosed = true;
    // The client has gone before the handshake was answered.
    if (this.backend === null) this.socket.destroy();
  }

  protected refuse(bodyLength: number): reply.Answer | null {
    // What one side takes for the body, the other may take for the first bytes of the tunnel: a smuggled request.
    return bodyLength === 0 ? null : reply.BODY_ON_UPGRADE;
  }

  onOpen(): void {
    // Node stops reading a socket that it has upgraded; its end must be seen all the same.
    this.socket.off('data', this.holdBack);
    this.socket.on('data', this.holdBack);
    this.socket.resume();
  }

  /** A client that does not wait for the answer: its bytes wait in its socket. */
  private readonly holdBack = (chunk: Buffer): void => {
    this.socket.pause();
    this.socket.unshift(chunk);
  };

  onInformation(): void {
    this.progress = this.plane.tick;
  }

  onDrain(): void {
    this.progress = this.plane.tick;
  }

  /** The backend refuses the upgrade: its answer goes to the client as it is, and the connection ends with it. */
  onHead(head: ResponseHead): void {
    this.stopTryTimer();
    this.progress = this.plane.tick;
    this.status = head.status;
    if (head.upgrade !== '' && head.status === 426) head.fields.push('Upgrade', head.upgrade);
    this.socket.write(headText(head.status, head.reason, editResponse(head.fields, this.responseEdits), 'Connection: close\r\n'), 'latin1');
  }

  onBody(chunk: Buffer): void {
    this.progress = this.plane.tick;
    this.responseBytes += chunk.length;
    if (this.socket.write(chunk)) return;
    this.stream?.pause();
    this.socket.once('drain', () => this.stream?.resume());
  }

  onFlush(): void {}

  onEnd(): void {
    this.leaveBackend(false);
    this.finish(false);
    this.close();
  }

  onUpgrade(head: ResponseHead, backend: UpgradedSocket, rest: Buffer): void {
    this.stopTryTimer();
    this.stream = null;
    if (head.upgrade.toLowerCase() !== 'websocket' || this.socket.destroyed) {
      backend.destroy();
      this.leaveBackend(false);
      this.answer(reply.BAD_GATEWAY, this.responseEdits);
      return;
    }
    this.status = 101;
    this.backend = backend;
    // From here on it is no exchange any more: this also ends the route's time limit.
    this.finish(false);
    this.plane.tunnelOpened();
    this.socket.off('data', this.holdBack);
    const fields = editResponse(head.fields, this.responseEdits);
    this.socket.write(headText(101, head.reason, fields, `Connection: Upgrade\r\nUpgrade: ${head.upgrade}\r\n`), 'latin1');
    join(this.socket, backend, this.early, rest, this);
  }

  moved(): void {
    this.progress = this.plane.tick;
  }

  over(): void {
    this.leaveBackend(false);
    this.plane.tunnelClosed();
    this.leaveConnection();
  }

  protected answer(answer: reply.Answer, edits: HeaderEdits | null): void {
    this.status = answer.status;
    const fields = editResponse(reply.plainFields(answer), edits);
    this.socket.write(`${headText(answer.status, '', fields, 'Connection: close\r\n')}${answer.text}\n`, 'latin1');
    this.finish(false);
    this.close();
  }

  protected redirect(status: number, location: string, edits: HeaderEdits | null): void {
    this.status = status;
    const fields = editResponse(['Location', location, 'Content-Length', '0'], edits);
    this.socket.write(headText(status, '', fields, 'Connection: close\r\n'), 'latin1');
    this.finish(false);
    this.close();
  }

  protected breakOff(): void {
    this.finish(true);
    this.connection.breakOff();
  }

  /** All has been said; what the client still sends is thrown away until it closes. */
  private close(): void {
    this.socket.off('data', this.holdBack);
    this.socket.on('data', ignore);
    this.socket.resume();
    this.socket.end();
    this.socket.destroySoon();
  }

  checkStall(tick: number): void {
    const { options } = this.plane;
    const silent = (tick - this.progress) * options.tickTime;
    if (this.backend === null) {
      if (options.stallTimeout === 0 || silent <= options.stallTimeout) return;
      if (this.done) this.socket.destroy();
      else this.onTimeout();
      return;
    }
    // A tunnel that only one side has closed is not waited for without limit.
    const limit = this.halfClosed || this.backend.readableEnded ? options.stallTimeout : options.upgradeStallTimeout;
    if (limit > 0 && silent > limit) this.socket.destroy();
  }

  override clientGone(): void {
    // The tunnel closes its other side itself, and reports when both are closed.
    if (this.backend === null) super.clientGone();
  }

  clientBroke(): 'underway' {
    return 'underway';
  }
}

function headText(status: number, reason: string, fields: readonly string[], last: string): string {
  let text = `HTTP/1.1 ${status} ${reason === '' ? (STATUS_CODES[status] ?? '') : reason}\r\n`;
  for (let i = 0; i < fields.length; i += 2) text += `${fields[i]}: ${fields[i + 1]}\r\n`;
  return `${text}${last}\r\n`;
}

function ignore(): void {}
