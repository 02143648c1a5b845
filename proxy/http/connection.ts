// One connection of a client, and the exchanges that are open on it.
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { EntryTable } from '#proxy/table/types.ts';

/** A listening port and what answers on it. */
export interface Front {
  readonly port: number;
  /** Null until a configuration has an entry for this port. */
  entry: EntryTable | null;
  /** Proxies before it whose word is taken. */
  readonly trustedHops: number;
  /** No longer accepting: every answer ends its connection. */
  closing: boolean;
}

/** What the server needs to be able to do with an exchange, whatever it is. */
export interface OpenExchange {
  nextOnConnection: OpenExchange | null;
  /** The client's connection is gone. */
  clientGone(): void;
  /** The client has sent something that is not HTTP in the middle of this request. Says whether its answer has been sent. */
  clientBroke(): 'unanswered' | 'underway' | 'answered';
  /** Called every tick: ends itself when nothing has moved for too long. */
  checkStall(tick: number): void;
}

export class Connection {
  readonly front: Front;
  readonly socket: Socket;
  /** The name that the client asked for over TLS, lower case, '' for none; null: no TLS. */
  readonly serverName: string | null;
  /** Kept: a socket forgets it when it closes. */
  readonly peer: string;
  /** A list by links: nothing is allocated for it, and nearly always it has one element. */
  private first: OpenExchange | null = null;
  private unsent = 0;
  private unsentSince = 0;

  constructor(front: Front, socket: Socket) {
    this.front = front;
    this.socket = socket;
    this.serverName = socket instanceof TLSSocket ? (socket.servername || '').toLowerCase().replace(/\.$/, '') : null;
    // A visitor by IPv4 has an address of IPv4, whatever the socket listens on.
    this.peer = (socket.remoteAddress ?? '127.0.0.1').replace(/^::ffff:(?=\d+\.)/, '');
  }

  /** Nothing is open and everything that was answered has left. */
  get idle(): boolean {
    return this.first === null && this.socket.writableLength === 0;
  }

  add(exchange: OpenExchange): void {
    exchange.nextOnConnection = this.first;
    this.first = exchange;
  }

  remove(exchange: OpenExchange): void {
    if (this.first === exchange) this.first = exchange.nextOnConnection;
    for (let at = this.first; at !== null; at = at.nextOnConnection) {
      if (at.nextOnConnection === exchange) at.nextOnConnection = exchange.nextOnConnection;
    }
    exchange.nextOnConnection = null;
  }

  exchanges(): OpenExchange[] {
    const list: OpenExchange[] = [];
    for (let at = this.first; at !== null; at = at.nextOnConnection) list.push(at);
    return list;
  }

  /** Not an orderly end: to a client that reads until the connection closes, that would be a complete response. */
  breakOff(): void {
    // Over TLS the missing farewell says it.
    if (this.serverName === null) this.socket.resetAndDestroy();
    else this.socket.destroy();
  }

  /** `limit` in ticks: a client that takes nothing of an answer which has been given in full is not waited for longer. */
  checkStall(tick: number, limit: number): void {
    for (const exchange of this.exchanges()) exchange.checkStall(tick);
    const { writableLength } = this.socket;
    if (this.first !== null || writableLength === 0 || writableLength !== this.unsent) {
      this.unsent = writableLength;
      this.unsentSince = tick;
    } else if (limit > 0 && tick - this.unsentSince > limit) {
      this.socket.destroy();
    }
  }

  /** The socket has closed. */
  closed(): void {
    for (const exchange of this.exchanges()) exchange.clientGone();
  }
}
