// One port for TLS and plain HTTP: the first byte of a connection tells them apart (0x16 opens a TLS handshake, no HTTP method does).
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { RequestListener } from 'node:http';
import { pskServerOptions } from './psk.ts';

const TLS_HANDSHAKE = 0x16;
/** A peer that connects and says nothing is let go. */
const SILENT_MS = 10_000;

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
): Promise<MuxServer> {
  const limits = { headersTimeout: 10_000, requestTimeout: 120_000, maxHeaderSize: 16_384, keepAliveTimeout: 30_000 };
  const plain = http.createServer(limits, listeners.plain);
  const secure = token === null ? null : https.createServer({ ...limits, ...pskServerOptions(token) }, listeners.secure);
  const sockets = new Set<net.Socket>();
  const front = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setTimeout(SILENT_MS, () => socket.destroy());
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
      plain.closeIdleConnections();
      secure?.closeIdleConnections();
      const timer = setTimeout(() => sockets.forEach((socket) => socket.destroy()), graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}
