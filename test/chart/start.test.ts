// The proxy starts as the chart starts it: the program of the image with the rendered arguments and environment, and answers its probes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import { freeStablePort } from '#test/cluster/free-port.ts';
import { until } from '#test/cluster/until.ts';
import { chartFolder, containerOf, helmUnavailable, render } from './helm.ts';

/** Account, tunnel and secret of nobody, as a connector token writes them. */
const TOKEN = Buffer.from(JSON.stringify({ a: '0'.repeat(32), t: '00000000-0000-4000-8000-000000000000', s: 'c2VjcmV0' })).toString(
  'base64',
);

suite('the process of the proxy', { skip: helmUnavailable() ?? false }, () => {
  test('listens where it is probed, is alive, not ready without a configuration, and ends when it is asked to', async (t) => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-chart-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const port = await freeStablePort('127.0.0.1');
    const { args, env, livenessProbe, readinessProbe } = containerOf(await render({ proxy: { configAPIPort: port } }), 'proxy');
    const secrets: Readonly<Record<string, string>> = { TUNNEL_TOKEN: TOKEN, PROXY_AUTH_TOKEN: 'auth-token-of-the-test' };
    const rendered = Object.fromEntries(env.map(({ name, value }) => [name, value ?? secrets[name] ?? '']));
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'main.ts', ...args], {
      cwd: path.join(chartFolder, '..'),
      env: { ...rendered, PROXY_CONFIG_ADDR: `127.0.0.1${rendered['PROXY_CONFIG_ADDR'] ?? ''}`, PROXY_STATE_DIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.after(() => child.kill('SIGKILL'));
    const output = Promise.all([text(child.stdout), text(child.stderr)]);
    const probe = async (path: string | undefined): Promise<number> => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    await until('it is alive', AbortSignal.timeout(20_000), async () => (await probe(livenessProbe?.httpGet.path)) === 200);
    assert.equal(await probe(readinessProbe?.httpGet.path), 503);
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number | null];
    const log = (await output).join('');
    assert.equal(code, 0, log);
    for (const secret of Object.values(secrets)) assert.ok(!log.includes(secret));
  });
});
