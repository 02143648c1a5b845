// Crashes and restarts of every process, under traffic: who is down holds nothing up, and who comes back goes on where it was.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { apply } from '#test/chart/on-cluster/release.ts';
import { backendRefs, endpointsOf } from './changes.ts';
import { configPath, paths, routeIsFine, settled, transitions } from './status.ts';
import { TENANT, TUNNEL_ID, within, type World } from './world.ts';

const app = paths.route('app', TENANT);

export function crashes(running: () => World): void {
  const expect = (...answers: readonly string[]): void => {
    for (const name of ['app', 'upload', 'slow']) running().traffic.expect(name, ...answers);
  };
  const epochOf = async (): Promise<number> => (await running().configs())[0]?.epoch ?? 0;
  const allTransitions = async (): Promise<readonly string[]> => {
    const { cluster } = running();
    const places = [paths.gatewayClass, await configPath(cluster), paths.gateway('tunnel', TENANT), app];
    return (await Promise.all(places.map((path) => transitions(cluster, path)))).flat();
  };

  suite('crashes', () => {
    let epoch: number;
    let statuses: readonly string[];

    // The next controller may not act before the Lease of this one has run out; meanwhile the tests after this one go on.
    test('the controller is killed: traffic goes on', async () => {
      const world = running();
      epoch = await epochOf();
      statuses = await allTransitions();
      await world.controller.end('SIGKILL');
      await apply(world.cluster, endpointsOf('app', ['10.244.0.11']));
      await world.startController();
      await world.traffic.goesOn();
      expect('200 blue', '200 green');
    });

    test('a killed proxy costs what was in flight on it, and serves its last good configuration before a controller has spoken to it', async () => {
      const { proxies, traffic, edge, connectors, authToken } = running();
      const [pod] = proxies;
      assert.ok(pod);
      const before = await pod.config(authToken);
      let lost = 0;
      const stopListening = edge.onChange(() => {
        const isConnected = edge.connections(TUNNEL_ID).some(({ originIp }) => originIp === pod.address);
        if (!isConnected && lost === 0) lost = performance.now();
      });
      const killed = performance.now();
      await pod.program.end('SIGKILL');
      await within('the edge has lost it', () => lost > 0);
      stopListening();
      await traffic.goesOn();
      const failures = traffic.take();
      assert.deepEqual(
        failures.filter(({ began, ended }) => began > lost || ended < killed),
        [],
      );

      await pod.start();
      await within('it is ready', () => pod.isReady());
      const restorations = (): readonly Readonly<Record<string, unknown>>[] =>
        pod.program.lines('serving the last good configuration until a controller answers');
      await within('its words have arrived', () => restorations().length > 0);
      const [restored] = restorations();
      assert.deepEqual([restored?.['epoch'], restored?.['digest']], [before.epoch, before.digest]);
      await within('both proxies are at the edge', () => connectors() === 2);
      await traffic.goesOn();
    });

    test('a proxy that is told to end drains, and no request fails', async () => {
      const { proxies, traffic, connectors } = running();
      const [, pod] = proxies;
      assert.match((await pod?.program.end('SIGTERM')) ?? '', /exit code 0/);
      await traffic.goesOn();
      await pod?.start();
      await within('both proxies are at the edge', () => connectors() === 2);
      await traffic.goesOn();
    });

    test('the next controller goes on: a higher epoch, the same statuses, and what changed meanwhile', async () => {
      const world = running();
      const { cluster, traffic, pushed } = world;
      await within('it has pushed', async () => (await world.configs()).every((config) => config.epoch > epoch));
      expect('200 green');
      await traffic.goesOn();
      await within('it has looked at everything', () => world.controller.lines('tunnel').some(({ state }) => state === 'Synced'));
      assert.deepEqual(await allTransitions(), statuses);
      expect('200 blue', '200 green');
      await pushed(() => apply(cluster, endpointsOf('app', ['10.244.0.10'])));
      expect('200 blue');
      await traffic.goesOn();
    });

    test('a pod is replaced: the new one has its configuration from the controller', async () => {
      const world = running();
      const [first] = world.proxies;
      assert.ok(first);
      const pod = await world.addProxy(22);
      await within('the new one is ready', () => pod.isReady());
      assert.deepEqual(pod.program.lines('serving the last good configuration until a controller answers'), []);
      await world.withdrawProxy(first);
      assert.match(await first.program.end('SIGTERM'), /exit code 0/);
      await first.remove();
      await within('two proxies are at the edge', () => world.connectors() === 2);
      await world.traffic.goesOn();
    });

    test('the API server restarts while things change', async () => {
      const { cluster, traffic, patch, pushed } = running();
      const before = await allTransitions();
      await cluster.restartApiServer();
      await traffic.goesOn();
      expect('200 blue', '200 green');
      await patch(app, backendRefs({ name: 'other', port: 80 }));
      await cluster.restartApiServer();
      await settled(cluster, app, ...routeIsFine);
      expect('200 green');
      await traffic.goesOn();
      assert.deepEqual(await allTransitions(), before);
      expect('200 blue', '200 green');
      await pushed(() => patch(app, backendRefs({ name: 'app', port: 80 })));
      expect('200 blue');
      await traffic.goesOn();
    });
  });
}
