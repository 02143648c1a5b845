// Restarts and outages of every part, under traffic: who is down holds nothing up, and who comes back goes on where it was.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { apply } from '#test/chart/on-cluster/release.ts';
import { backendRefs, endpointsOf } from './changes.ts';
import { paths, routeIsFine, settled, transitions } from './status.ts';
import { TENANT, TUNNEL_ID, within, type World } from './world.ts';

const app = paths.route('app', TENANT);

export function crashes(running: () => World): void {
  const expect = (...answers: readonly string[]): void => {
    for (const name of ['app', 'upload', 'slow']) running().traffic.expect(name, ...answers);
  };
  const epochOf = async (): Promise<number> => (await running().configs())[0]?.epoch ?? 0;

  suite('crashes and outages', () => {
    test('the controller is killed and comes back: a higher epoch, the same statuses, no failed request', async () => {
      const world = running();
      const { cluster, traffic } = world;
      const objects = [paths.gatewayClass, paths.gateway('tunnel', TENANT), app];
      const before = await Promise.all(objects.map((path) => transitions(cluster, path)));
      const epoch = await epochOf();
      await world.controller.end('SIGKILL');
      await traffic.goesOn();
      await apply(cluster, endpointsOf('app', ['10.244.0.11']));
      await world.startController();
      expect('200 blue', '200 green');
      await within('the new controller has pushed', async () => (await epochOf()) > epoch);
      await traffic.sees('app', '200 green');
      expect('200 green');
      await traffic.goesOn();
      assert.deepEqual(await Promise.all(objects.map((path) => transitions(cluster, path))), before);
      expect('200 blue', '200 green');
      await world.pushed(() => apply(cluster, endpointsOf('app', ['10.244.0.10'])));
      expect('200 blue');
      await traffic.goesOn();
    });

    test('a proxy is told to end: it drains, and no request fails', async () => {
      const world = running();
      const [first] = world.proxies;
      assert.ok(first);
      await world.withdrawProxy(first);
      assert.match(await first.program.end('SIGTERM'), /exit code 0/);
      await world.traffic.goesOn();
      await first.remove();
      await world.addProxy(22);
      await within('two connectors are registered', () => connectors(world) === 2);
      await world.traffic.goesOn();
    });

    test('a restarted proxy serves its last good configuration before any controller has spoken to it', async () => {
      const world = running();
      await world.controller.end('SIGKILL');
      const [pod] = world.proxies;
      assert.ok(pod);
      const config = await pod.config(world.authToken);
      assert.match(await pod.program.end('SIGTERM'), /exit code 0/);
      await pod.start();
      await within('it is ready', () => pod.isReady().catch(() => false));
      assert.equal((await pod.config(world.authToken)).digest, config.digest);
      await within('two connectors are registered', () => connectors(world) === 2);
      await world.traffic.goesOn();
      await world.startController();
      await within('the controller has pushed', async () => (await pod.config(world.authToken)).epoch > config.epoch);
    });

    test('the API server restarts while things change', async () => {
      const { cluster, traffic, patch, pushed } = running();
      await cluster.restartApiServer();
      await traffic.goesOn();
      expect('200 blue', '200 green');
      await patch(app, backendRefs({ name: 'other', port: 80 }));
      await cluster.restartApiServer();
      await settled(cluster, app, ...routeIsFine);
      await traffic.sees('app', '200 green');
      expect('200 green');
      await traffic.goesOn();
      expect('200 blue', '200 green');
      await pushed(() => patch(app, backendRefs({ name: 'app', port: 80 })));
      expect('200 blue');
      await traffic.goesOn();
    });

    test('Cloudflare’s API fails: routing converges all the same, the status says so, and recovers', async () => {
      const { cluster, api, traffic, patch, documented } = running();
      const { body } = await cluster.request('GET', paths.classConfigs);
      const [config] = (body as { readonly items: readonly { readonly metadata: { readonly name: string } }[] }).items;
      const place = `${paths.classConfigs}/${config?.metadata.name}`;
      const recover = api.fail({ answer: 503 });
      expect('200 blue', '200 green');
      await patch(app, {
        spec: { hostnames: ['app.example.com', 'www.example.com'], ...(backendRefs({ name: 'other', port: 80 }) as { spec: object }).spec },
      });
      await traffic.sees('app', '200 green');
      expect('200 green');
      await within('the status tells of the failure', async () => {
        const object = (await cluster.request('GET', place)).body as {
          readonly status?: {
            readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message: string }[];
          };
        };
        const synced = object.status?.conditions?.find(({ type }) => type === 'TunnelSynced');
        return synced?.status === 'False' && synced.message.includes('503');
      });
      recover();
      traffic.expect('www', '404', '200 green');
      await documented('app.example.com', 'www.example.com');
      await settled(cluster, place, 'Valid=True/Valid', 'SecretsResolved=True/SecretsFound', 'TunnelSynced=True/Synced');
      expect('200 blue', '200 green');
      traffic.expect('www', '404', '200 blue', '200 green');
      await patch(app, { spec: { hostnames: ['app.example.com'], ...(backendRefs({ name: 'app', port: 80 }) as { spec: object }).spec } });
      await documented('app.example.com');
      await traffic.sees('app', '200 blue');
      traffic.expect('www', '404');
      expect('200 blue');
      await traffic.goesOn();
    });
  });
}

const connectors = ({ edge }: World): number =>
  new Set(
    edge
      .connections(TUNNEL_ID)
      .filter(({ isDraining }) => !isDraining)
      .map(({ connectorId }) => connectorId),
  ).size;
