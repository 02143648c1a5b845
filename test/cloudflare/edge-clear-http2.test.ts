// An edge that is told to understands HTTP/2 without TLS, beside HTTP/1.1 on the same port.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import { test } from 'node:test';
import { startEdge } from './edge/edge.ts';

test('both versions of HTTP are answered on the port without TLS', async (t) => {
  const edge = await startEdge({ authority: { tunnel: () => undefined }, connectorPorts: [0], clearHttp2: true });
  t.after(() => edge.close());
  const { ip, httpPort } = await edge.openTunnel(randomUUID());
  const origin = `http://${ip}:${httpPort}`;
  const session = http2.connect(origin);
  const [headers] = (await once(session.request({ ':path': '/' }).end(), 'response')) as [http2.IncomingHttpHeaders];
  session.destroy();
  const [response] = (await once(http.get(origin, { agent: false }), 'response')) as [http.IncomingMessage];
  // No connector is there.
  assert.deepEqual([headers[':status'], response.resume().statusCode], [530, 530]);
});
