// The controller as the chart starts it: the program of the image with the rendered arguments, as the ServiceAccount of the release.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { suite, test } from 'node:test';
import type { Cluster } from '#test/cluster/control-plane.ts';
import { freeStablePort } from '#test/cluster/free-port.ts';
import { until } from '#test/cluster/until.ts';
import { CHART_NAME, chartFolder, containerOf, render, type Values } from '../helm.ts';
import { classConfig } from '../values.ts';
import { NAMESPACE, read, RELEASE, release, uninstall } from './release.ts';

const FULLNAME = `${RELEASE}-${CHART_NAME}`;

interface Condition {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

export function runTests(running: () => Cluster): void {
  suite('the process of the controller', () => {
    test('makes the auth token, takes the Lease, becomes ready, writes statuses, is refused nothing that it needs', async (t) => {
      const cluster = running();
      const [metricsPort, healthPort] = [await freeStablePort('127.0.0.1'), await freeStablePort('127.0.0.1')];
      const values = { gatewayClassConfig: classConfig, service: { metricsPort, healthPort } };
      t.after(() => uninstall(cluster));
      await release(cluster, 'install', values);
      const { args, livenessProbe, readinessProbe } = containerOf(
        await render(values, { release: RELEASE, namespace: NAMESPACE }),
        'controller',
      );
      // The processes of tests listen on loopback only, and there is no Cloudflare here.
      const rendered = args.map((arg) => arg.replace(/^(--(?:metrics|health)-addr=):/, '$1127.0.0.1:'));
      const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, FULLNAME);
      const local = [`--kubeconfig=${kubeconfig}`, '--cloudflare-api-url=http://127.0.0.1:9'];
      const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'main.ts', ...rendered, ...local], {
        cwd: path.join(chartFolder, '..'),
        env: { CONTROLLER_NAMESPACE: NAMESPACE },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      t.after(() => child.kill('SIGKILL'));
      let log = '';
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (log += chunk));

      const within = async (what: string, holds: () => Promise<boolean>): Promise<void> =>
        until(what, AbortSignal.timeout(20_000), async () => {
          if (child.exitCode === null) return holds();
          return true;
        }).catch((error: unknown) => assert.fail(`${(error as Error).message}\n${log}`));
      const probe = async (path: string | undefined): Promise<boolean> =>
        (await fetch(`http://127.0.0.1:${healthPort}${path}`)).status === 200;
      await within('it is alive', () => probe(livenessProbe?.httpGet.path));
      await within('it is ready', () => probe(readinessProbe?.httpGet.path));
      assert.equal(child.exitCode, null, log);

      const secret = (await read(cluster, `/api/v1/namespaces/${NAMESPACE}/secrets/${FULLNAME}-proxy-auth-token`))['data'] as Values;
      const token = Buffer.from(String(secret['auth-token']), 'base64').toString();
      assert.match(token, /^[0-9a-f]{64}$/);
      const conditions = async (): Promise<readonly Condition[]> => {
        const { status } = await read(cluster, '/apis/gateway.networking.k8s.io/v1/gatewayclasses/cloudflare-tunnel');
        return (status as { readonly conditions: readonly Condition[] }).conditions;
      };
      // The Secret with the API token is not there, and that is what the class says.
      await within('the class has a status of ours', async () =>
        (await conditions()).some(({ message }) => message.includes('system/cloudflare')),
      );

      child.kill('SIGTERM');
      await once(child, 'exit');
      assert.equal(child.exitCode, 0, log);
      assert.doesNotMatch(log, /forbidden|may not|grant /i);
      assert.ok(!log.includes(token));
    });
  });
}
