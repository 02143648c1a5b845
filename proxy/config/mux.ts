// One port for TLS and plain HTTP: the first byte of a connection tells them apart (0x16 opens a TLS handshake, no HTTP method does).
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { RequestListener } from 'node:http';
import { pskServerOptions } from './psk.ts';

const TLS_HANDSHAKE = 0x16;

/** Milliseconds and bytes. Whoever reaches the port may connect; nobody may hold on to it without getting anywhere. */
export interface MuxLimits {
  /** From the connection to its first byte. */
  readonly silent: number;
  readonly handshake: number;
  /** From the first byte of a request to the end of its head, and to the end of its body. */
  readonly head: number;
  readonly request: number;
  /** Between requests. */
  readonly idle: number;
  /** How often connections are looked at that are beyond `head` or `request`. */
  readonly check: number;
  readonly headBytes: number;
}

const LIMITS: MuxLimits = {
  silent: 10_000,
  handshake: 10_000,
  head: 10_000,
  request: 120_000,
  idle: 30_000,
  check: 5_000,
  headBytes: 16_384,
};

export interface MuxServer {
  readonly port: number;
  /** Stops accepting, closes idle connections, ends the rest after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Plain requests to `plain`, those over the key derived from `token` to `secure`. Without a token there is no TLS. */
export async function listenMux(
  address: { readonly host: string; readonly port: number },
  listeners: { readonly plain: RequestListener; readonly secure: RequestListener },
  token: string | null,
  limits: MuxLimits = LIMITS,
): Promise<MuxServer> {
  const plain = http.createServer(serverOptions(limits), listeners.plain);
  const secureOptions = { ...serverOptions(limits), handshakeTimeout: limits.handshake };
  const secure = token === null ? null : https.createServer({ ...secureOptions, ...pskServerOptions(token) }, listeners.secure);
  const servers = secure === null ? [plain] : [plain, secure];
  // What ends slow requests begins to look when a server listens, and these get their connections from another one.
  for (const server of servers) server.emit('listening');
  const sockets = new Set<net.Socket>();
  const front = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setTimeout(limits.silent, () => socket.destroy());
    socket.once('data', (first) => {
      socket.setTimeout(0);
      socket.removeAllListeners('timeout');
      socket.pause();
      socket.unshift(first);
      const target = first[0] === TLS_HANDSHAKE ? secure : plain;
      if (target === null) socket.destroy();
      else target.emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
  secure?.on('tlsClientError', (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    front.once('error', reject);
    front.listen({ port: address.port, host: address.host || undefined }, () => {
      front.off('error', reject);
      resolve();
    });
  });
  return {
    port: (front.address() as net.AddressInfo).port,
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => front.close(() => resolve()));
      // Idle connections end, and so does the looking after slow ones.
      for (const server of servers) server.close();
      const timer = setTimeout(() => sockets.forEach((socket) => socket.destroy()), graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

function serverOptions(limits: MuxLimits): http.ServerOptions {
  return {
    headersTimeout: limits.head,
    requestTimeout: limits.request,
    connectionsCheckingInterval: limits.check,
    keepAliveTimeout: limits.idle,
    maxHeaderSize: limits.headBytes,
  };
}
