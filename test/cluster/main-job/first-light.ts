// From nothing to answered requests: objects are applied, and everything that should follow from them does.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { apply, namespace } from '#test/chart/on-cluster/release.ts';
import { example, services } from './example.ts';
import { configIsFine, configPath, paths, readStatus, routeIsFine, settled } from './status.ts';
import { TENANT, TUNNEL_ID, within, type World } from './world.ts';

export const OWNER_LABEL = 'cf.k8s.lex.la/hostname-suffix';

export function firstLight(running: () => World): void {
  suite('the guide’s example', () => {
    test('a class without Gateways is accepted, its tunnel synced, and the connectors are up', async () => {
      const world = running();
      const { cluster, api } = world;
      await settled(cluster, paths.gatewayClass, 'Accepted=True/Accepted', 'SupportedVersion=True/SupportedVersion');
      await settled(cluster, await configPath(cluster), ...configIsFine);
      await within('two connectors are registered', () => world.connectors() === 2);
      assert.deepEqual((api.document(TUNNEL_ID).config as { ingress: unknown }).ingress, [{ service: 'http_status:404' }]);
    });

    test('kubectl apply leads to statuses, ingress rules, a configuration in each proxy, and answers', async () => {
      const world = running();
      const { cluster, traffic, api } = world;
      await apply(cluster, namespace(TENANT, { [OWNER_LABEL]: 'example.com' }));
      const applied = await cluster.kubectl(['apply', '--filename=-'], { input: `${services}---\n${example}` });
      assert.equal(applied.code, 0, applied.stderr);

      const gateway = await settled(
        cluster,
        paths.gateway('tunnel', TENANT),
        'Accepted=True/Accepted',
        'Programmed=True/Programmed',
        'ResolvedRefs=True/ResolvedRefs',
        'https Accepted=True/Accepted',
        'https Programmed=True/Programmed',
        'https ResolvedRefs=True/ResolvedRefs',
        'https Conflicted=False/NoConflicts',
      );
      assert.deepEqual(gateway.status?.addresses, [{ type: 'Hostname', value: `${TUNNEL_ID}.cfargotunnel.com` }]);
      await settled(cluster, paths.route('app', TENANT), ...routeIsFine);
      await within('the listener counts its route', async () => {
        const { status } = await readStatus(cluster, paths.gateway('tunnel', TENANT));
        return status?.listeners?.[0]?.attachedRoutes === 1;
      });

      await world.documented('app.example.com');
      const { ingress } = api.document(TUNNEL_ID).config as {
        readonly ingress: readonly { readonly hostname?: string; readonly service: string }[];
      };
      assert.deepEqual(
        ingress.map(({ hostname, service }) => [hostname, service]),
        [
          ['app.example.com', 'http://127.0.0.1:8080'],
          [undefined, 'http_status:404'],
        ],
      );
      for (const { routes, rules, backends, tunnels, ready } of await world.configs()) {
        assert.deepEqual({ routes, rules, backends, tunnels, ready }, { routes: 1, rules: 1, backends: 1, tunnels: 1, ready: true });
      }

      traffic.start('app', { host: 'app.example.com' }, '200 blue');
      traffic.start('upload', { host: 'app.example.com', path: '/upload', upload: 30_000 }, '200 blue');
      traffic.start('slow', { host: 'app.example.com', path: '/slow/150', parallel: 3 }, '200 blue');
      traffic.start('nobody', { host: 'nobody.example.com', parallel: 1 }, '404');
      for (let count = 0; count < 4; count += 1) world.openChat('app.example.com');
      await traffic.goesOn();
    });
  });
}
