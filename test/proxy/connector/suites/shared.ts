// What a suite's tests share: one origin, one edge with a tunnel, one connector, started before them and ended after them.
import { after, before } from 'node:test';
import http2 from 'node:http2';
import { originDocument, startOrigin, startTunnel, type ConnectorKind, type Origin, type TestTunnel } from './tunnel.ts';

export interface Shared {
  origin: Origin;
  tunnel: TestTunnel;
}

export function shareTunnel(kind: ConnectorKind): Shared {
  const actions: (() => Promise<void> | void)[] = [];
  const cleanup = { after: (action: () => Promise<void> | void) => void actions.push(action) };
  const shared = {} as Shared;
  before(async () => {
    shared.origin = await startOrigin(cleanup);
    shared.tunnel = await startTunnel(cleanup, {}, originDocument(shared.origin));
    await kind.start(shared.tunnel, cleanup);
  });
  after(async () => {
    for (const action of actions.reverse()) await action();
  });
  return shared;
}

/** A visitor's HTTP/2 session. */
export function openSession(tunnel: TestTunnel, host = 'app.example.com'): http2.ClientHttp2Session {
  const address = tunnel.edge.address(tunnel.id);
  if (address === undefined) throw new Error('the tunnel has no address');
  return http2.connect(`https://${host}`, {
    host: address.ip,
    port: address.httpsPort,
    servername: host,
    ca: tunnel.edge.ca.pem,
  } as object);
}

/** A promise and its ends. */
export function deferred<T = void>(): PromiseWithResolvers<T> {
  return Promise.withResolvers<T>();
}
