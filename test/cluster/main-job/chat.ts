// A WebSocket through the edge that says something all the time and checks what comes back.
import https from 'node:https';
import { WebSocket } from 'ws';
import type { Entrance } from './traffic.ts';

/** Between an answer and the next word, ms. */
const SPACING_MS = 50;
const HANDSHAKE_MS = 20_000;

export class Chat {
  /** Why it ended, or what was wrong; null while all is well. */
  broken: string | null = null;
  answers = 0;
  readonly #socket: WebSocket;
  #timer: NodeJS.Timeout | null = null;

  constructor({ ip, port, ca }: Entrance, host: string) {
    const agent = new https.Agent({ servername: host, ca });
    const headers = { host: `${host}:${port}` };
    this.#socket = new WebSocket(`wss://${ip}:${port}/chat`, { agent, headers, handshakeTimeout: HANDSHAKE_MS });
    this.#socket.on('open', () => this.#say());
    this.#socket.on('message', (data: Buffer) => this.#hear(data.toString()));
    this.#socket.on('error', (error) => (this.broken ??= error.message));
    this.#socket.on('close', (code) => (this.broken ??= `closed with ${code}`));
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#socket.terminate();
  }

  #say(): void {
    this.#socket.send(String(this.answers));
  }

  #hear(text: string): void {
    if (!text.endsWith(`: ${this.answers}`)) this.broken ??= `heard '${text}' to '${this.answers}'`;
    this.answers += 1;
    this.#timer = setTimeout(() => this.#say(), SPACING_MS);
  }
}
