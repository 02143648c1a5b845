// Carries TCP connections from ClusterIPs to endpoints, as kube-proxy lets the kernel do: without its rules, which need programs that few have.
import net from 'node:net';
import type { Entrance, Target } from './endpoints.ts';

const CONNECT_TIMEOUT_MS = 5000;

/**
 * One endpoint per connection for its whole life, in turn. Differences to the kernel: endpoints see the node as their client, and a
 * connection whose endpoint does not answer is reset instead of refused.
 */
export class Forwarder {
  readonly #doors = new Map<string, Door>();

  /** Makes the entrances those of the table. Connections that are open stay as they are. */
  set(table: ReadonlyMap<string, Entrance>): void {
    for (const [key, door] of this.#doors) {
      if (table.has(key)) continue;
      door.shut();
      this.#doors.delete(key);
    }
    for (const [key, entrance] of table) {
      const door = this.#doors.get(key);
      if (door === undefined) this.#doors.set(key, new Door(entrance));
      else door.targets = entrance.targets;
    }
  }

  /** Shuts everything, open connections included. */
  stop(): void {
    for (const door of this.#doors.values()) door.stop();
    this.#doors.clear();
  }
}

class Door {
  targets: readonly Target[];
  #turn = 0;
  readonly #server: net.Server;
  readonly #visitors = new Set<net.Socket>();

  constructor({ address, port, targets }: Entrance) {
    this.targets = targets;
    // Half-closed is a state of its own: a client that has said everything still waits for the answer.
    this.#server = net.createServer({ allowHalfOpen: true, noDelay: true }, (visitor) => this.#welcome(visitor));
    this.#server.on('error', (error) => console.error(`node: cannot forward ${address}:${port}: ${error.message}`));
    this.#server.listen({ host: address, port, backlog: 4096 });
  }

  shut(): void {
    this.#server.close();
  }

  stop(): void {
    this.shut();
    for (const visitor of this.#visitors) visitor.destroy();
  }

  #welcome(visitor: net.Socket): void {
    const target = this.targets[this.#turn++ % this.targets.length];
    if (target === undefined) return void visitor.resetAndDestroy();
    this.#visitors.add(visitor);
    const endpoint = net.connect({ ...target, allowHalfOpen: true, noDelay: true, timeout: CONNECT_TIMEOUT_MS });
    endpoint.once('timeout', () => endpoint.destroy(new Error('no answer')));
    endpoint.once('connect', () => endpoint.setTimeout(0));
    visitor.once('close', () => this.#visitors.delete(visitor));
    couple(visitor, endpoint);
    couple(endpoint, visitor);
  }
}

/** What ends badly here ends badly there. */
function couple(from: net.Socket, to: net.Socket): void {
  from.pipe(to);
  from.on('error', () => to.resetAndDestroy());
  from.on('close', () => to.destroySoon());
}
