// The controller's own HTTP endpoints: /healthz and /readyz on one port, /metrics on another, as existing probes and scrapers expect.
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
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

/** `:8080` or `127.0.0.1:8080`. */
function listen(app: express.Express, address: string): Promise<Server> {
  const split = address.lastIndexOf(':');
  const host = address.slice(0, split).replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const server = app.listen({ port: Number(address.slice(split + 1)), host: host || undefined }, () => resolve(server));
    server.on('error', reject);
  });
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
  const servers = [await listen(health, options.healthAddress), await listen(metrics, options.metricsAddress)] as const;
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
