// The config API: `/config` over TLS only, `/healthz`, `/readyz` and `/metrics` in clear on the same port.
import { timingSafeEqual, createHash } from 'node:crypto';
import express from 'express';
import type { Request, RequestHandler, Response } from 'express';
import { listenMux } from './mux.ts';
import type { MuxServer } from './mux.ts';
import type { Refusal } from './receiver.ts';
import type { ConfigState } from './schema.ts';

export interface ConfigApiOptions {
  readonly address: { readonly host: string; readonly port: number };
  /** null opens `/config` to everybody, in clear. */
  readonly token: string | null;
  readonly receive: (body: AsyncIterable<Uint8Array>) => Promise<Refusal | null>;
  readonly state: () => ConfigState;
  /** null when ready, otherwise what is missing. */
  readonly notReady: () => string | null;
  /** null: no metrics. */
  readonly metrics: (() => string) | null;
}

export function startConfigApi(options: ConfigApiOptions): Promise<MuxServer> {
  const open = options.token === null;
  const plain = open ? buildApp(options, config(options)) : buildApp(options, (_request, response) => upgradeRequired(response));
  const secure = buildApp(options, config(options));
  return listenMux(options.address, { plain, secure }, options.token);
}

function buildApp(options: ConfigApiOptions, onConfig: RequestHandler): express.Express {
  const app = express().disable('x-powered-by').disable('etag');
  app.get('/healthz', (_request, response) => void response.type('text').send('ok\n'));
  app.get('/readyz', (_request, response) => {
    const missing = options.notReady();
    response
      .status(missing === null ? 200 : 503)
      .type('text')
      .send(`${missing ?? 'ok'}\n`);
  });
  if (options.metrics !== null) {
    const { metrics } = options;
    app.get('/metrics', (_request, response) => void response.type('text/plain; version=0.0.4; charset=utf-8').send(metrics()));
  }
  app.all('/config', onConfig);
  app.use((_request, response) => void response.status(404).type('text').send('not found\n'));
  return app;
}

function upgradeRequired(response: Response): void {
  const message = 'the config API is served over TLS only, keyed from the shared auth token; its port is the same';
  response.set('connection', 'close').status(426).json({ code: 'TlsRequired', message });
}

function config(options: ConfigApiOptions): RequestHandler {
  const wanted = options.token === null ? null : fingerprint(`Bearer ${options.token}`);
  return async (request: Request, response: Response) => {
    if (wanted !== null && !timingSafeEqual(fingerprint(bearer(request)), wanted)) {
      response.set('connection', 'close').status(401).json({ code: 'Unauthorized', message: 'the bearer token is missing or wrong' });
    } else if (request.method === 'GET') {
      response.json(options.state());
    } else if (request.method === 'PUT') {
      await put(options, request, response);
    } else {
      response
        .set('allow', 'GET, PUT')
        .status(405)
        .json({ code: 'MethodNotAllowed', message: `${request.method} is not allowed here` });
    }
  };
}

async function put(options: ConfigApiOptions, request: Request, response: Response): Promise<void> {
  if (!/^application\/(x-ndjson|json)\b/i.test(request.get('content-type') ?? '')) {
    response
      .set('connection', 'close')
      .status(415)
      .json({ code: 'UnsupportedMediaType', message: 'the body must be application/x-ndjson' });
    return;
  }
  const refusal = await options.receive(request.iterator({ destroyOnReturn: false }));
  if (refusal === null) {
    response.json(options.state());
    return;
  }
  // What was not read of the body must not be taken for the next request.
  if (!request.complete) response.set('connection', 'close');
  response.status(refusal.status).json({ ...options.state(), code: refusal.code, message: refusal.message });
}

/** The scheme's letter case does not count (RFC 9110, section 11.1). */
const bearer = (request: Request): string => (request.get('authorization') ?? '').replace(/^bearer /i, 'Bearer ');

/** Equal lengths for a comparison in constant time. */
const fingerprint = (text: string): Buffer => createHash('sha256').update(text).digest();
