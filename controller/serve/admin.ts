// The controller's own HTTP endpoints: /healthz and /readyz on one port, /metrics on another, as existing probes and scrapers expect.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Registry } from 'prom-client';

export interface AdminOptions {
  readonly healthAddress: string;
  readonly metricsAddress: string;
  readonly registry: Registry;
  /** null when ready, otherwise what is missing. */
  readonly notReady: () => string | null;
}

export interface Admin {
  readonly healthPort: number;
  readonly metricsPort: number;
  close(): Promise<void>;
}

/** `:8080` or `127.0.0.1:8080`. Rejects when the port is taken, naming the flag that can change it. */
async function listen(app: express.Express, address: string, flag: string): Promise<Server> {
  const split = address.lastIndexOf(':');
  const host = address.slice(0, split).replace(/^\[|\]$/g, '');
  // Not by express: its `listen` hands errors to the callback of success.
  const server = createServer(app);
  server.listen({ port: Number(address.slice(split + 1)), host: host || undefined });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Error(`${flag}=${address}: ${(error as Error).message}`, { cause: error });
  }
  return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const health = express().disable('x-powered-by');
  health.get('/healthz', (_request, response) => void response.type('text').send('ok\n'));
  health.get('/readyz', (_request, response) => {
    const missing = options.notReady();
    response
      .status(missing === null ? 200 : 503)
      .type('text')
      .send(`${missing ?? 'ok'}\n`);
  });
  const metrics = express().disable('x-powered-by');
  metrics.get('/metrics', async (_request, response) => {
    response.type(options.registry.contentType).send(await options.registry.metrics());
  });
  const servers = [
    await listen(health, options.healthAddress, '--health-addr'),
    await listen(metrics, options.metricsAddress, '--metrics-addr'),
  ] as const;
  return {
    healthPort: portOf(servers[0]),
    metricsPort: portOf(servers[1]),
    close: async () => {
      await Promise.all(
        servers.map((server) => {
          server.closeAllConnections();
          return new Promise<void>((resolve) => server.close(() => resolve()));
        }),
      );
    },
  };
}
