// Raw bytes on real sockets: a client that says exactly what it is told, and a backend that answers exactly what it is told.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** How long anything may take before a test is told what it was waiting for. */
const PATIENCE = 10_000;

export class Peer {
  readonly socket: Socket;
  /** Everything received so far, latin1. */
  text = '';
  bytes = 0;
  /** `open`, `ended` (an orderly end), `reset`, or `closed` after a local destroy. */
  state: 'open' | 'ended' | 'reset' | 'closed' = 'open';
  private readonly keep: boolean;
  private watchers: (() => void)[] = [];

  /** `keep` false counts bytes without keeping them. */
  constructor(socket: Socket, keep = true) {
    this.socket = socket;
    this.keep = keep;
    socket.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length;
      if (this.keep) this.text += chunk.toString('latin1');
      this.changed();
    });
    socket.on('end', () => {
      this.state = 'ended';
      this.changed();
    });
    socket.on('error', () => {
      this.state = 'reset';
      this.changed();
    });
    socket.on('close', () => {
      if (this.state === 'open') this.state = 'closed';
      this.changed();
    });
  }

  static async connect(port: number, keep = true): Promise<Peer> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const peer = new Peer(socket, keep);
    await once(socket, 'connect');
    return peer;
  }

  private changed(): void {
    for (const watcher of this.watchers) watcher();
  }

  send(bytes: string | Buffer): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Waits until what was received satisfies the test. */
  async until(what: string | RegExp | (() => boolean)): Promise<string> {
    const test = typeof what === 'function' ? what : typeof what === 'string' ? () => this.text.includes(what) : () => what.test(this.text);
    await this.watch(test, String(what));
    return this.text;
  }

  /** Waits until the other side is gone. */
  async gone(): Promise<'ended' | 'reset' | 'closed'> {
    await this.watch(() => this.state !== 'open', 'the end of the connection');
    return this.state as 'ended' | 'reset' | 'closed';
  }

  private watch(test: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (error: Error | null): void => {
        clearTimeout(timer);
        this.watchers = this.watchers.filter((watcher) => watcher !== check);
        if (error === null) resolve();
        else reject(error);
      };
      const check = (): void => {
        if (test()) finish(null);
        else if (this.state !== 'open' && !what.startsWith('the end'))
          finish(new Error(`connection ${this.state} before ${what}; received ${JSON.stringify(this.text)}`));
      };
      const timer = setTimeout(
        () => finish(new Error(`waited in vain for ${what}; received ${JSON.stringify(this.text.slice(-2000))}`)),
        PATIENCE,
      );
      this.watchers.push(check);
      check();
    });
  }

  close(): void {
    this.socket.destroy();
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }
}

export interface RawBackend {
  readonly port: number;
  readonly address: string;
  /** Connections in the order they were made. */
  readonly peers: readonly Peer[];
  /** The nth connection, as soon as there is one. */
  peer(index: number): Promise<Peer>;
  close(): Promise<void>;
}

/** A TCP server; `onPeer` is told of each connection. */
export async function rawBackend(onPeer: (peer: Peer) => void = () => {}, keep = true): Promise<RawBackend> {
  const peers: Peer[] = [];
  let waiting: (() => void)[] = [];
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const peer = new Peer(socket, keep);
    peers.push(peer);
    onPeer(peer);
    for (const wake of waiting) wake();
    waiting = [];
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    address: `127.0.0.1:${port}`,
    peers,
    async peer(index) {
      while (peers.length <= index) {
        await new Promise<void>((resolve, reject) => {
          const timer = setTimeout(() => reject(new Error(`connection ${index} was not made`)), PATIENCE);
          waiting.push(() => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
      return peers[index]!;
    },
    async close() {
      for (const peer of peers) peer.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A backend that answers every request head on a connection with the same bytes. */
export function answering(response: string): (peer: Peer) => void {
  return (peer) => {
    let answered = 0;
    peer.socket.on('data', () => {
      const heads = peer.text.split('\r\n\r\n').length - 1;
      while (answered < heads) {
        answered += 1;
        peer.send(response);
      }
    });
  };
}

/** Waits for a condition that has no event of its own. */
export async function eventually(test: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!test()) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** A GET with the given extra header lines. */
export function get(path = '/', extra = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: app.example.com\r\n${extra}\r\n`;
}
