// The controller's own endpoints: what probes and scrapers get, and what an operator reads when a port is taken.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { startAdmin } from '#controller/serve/admin.ts';

const address = '127.0.0.1:0';

test('tells what is missing until it is ready', async (t) => {
  let missing: string | null = 'Gateway has not been read';
  const admin = await startAdmin({
    healthAddress: address,
    metricsAddress: address,
    registry: new Registry(),
    notReady: () => missing,
  });
  t.after(() => admin.close());
  const get = async (port: number, path: string): Promise<readonly [number, string]> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return [response.status, await response.text()];
  };
  assert.deepEqual(await get(admin.healthPort, '/healthz'), [200, 'ok\n']);
  assert.deepEqual(await get(admin.healthPort, '/readyz'), [503, 'Gateway has not been read\n']);
  missing = null;
  assert.deepEqual(await get(admin.healthPort, '/readyz'), [200, 'ok\n']);
  assert.equal((await get(admin.metricsPort, '/metrics'))[0], 200);
});

test('a port that is taken is an error that names the flag', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  const start = (addresses: { readonly healthAddress: string; readonly metricsAddress: string }): Promise<unknown> =>
    startAdmin({ ...addresses, registry: new Registry(), notReady: () => null });
  await assert.rejects(start({ healthAddress: taken, metricsAddress: address }), /--health-addr=.*EADDRINUSE/);
});
