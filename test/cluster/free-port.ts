// A port for a server that must come back on the same one after a restart.
import { randomInt } from 'node:crypto';
import net from 'node:net';

/**
 * Resolves with a free TCP port of `address` below the kernel's range for outgoing connections. A port of that range would be at risk
 * while the server is down: a client that keeps redialling it can be given that very port as its own, connects to itself, and holds it.
 */
export async function freeStablePort(address: string): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(10_000, 32_000);
    if (await isFree(address, port)) return port;
  }
  throw new Error(`no free port from 10000 to 32000 on ${address}`);
}

const isFree = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
