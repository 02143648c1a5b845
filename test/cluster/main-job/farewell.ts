// Deletion leads back, and nothing that was printed or written on the way holds a secret.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { configPath, paths, readStatus, routeIsFine, settled } from './status.ts';
import { TENANT, TUNNEL_ID, within, type World } from './world.ts';

const app = paths.route('app', TENANT);
const all = ['app', 'upload', 'slow'];

export function farewell(running: () => World): void {
  const expect = (...answers: readonly string[]): void => {
    for (const name of all) running().traffic.expect(name, ...answers);
  };
  const ourEntryIsGone = (): Promise<void> =>
    within('our entry is gone', async () => ((await readStatus(running().cluster, app)).status?.parents ?? []).length === 0);

  suite('farewell', () => {
    test('a route that leaves its Gateway loses our status and its traffic, and gets both back', async () => {
      const { cluster, traffic, patch, documented } = running();
      expect('200 blue', '404');
      await patch(app, { spec: { parentRefs: [{ name: 'another' }] } });
      await documented();
      await ourEntryIsGone();
      expect('404');
      await traffic.goesOn();
      expect('200 blue', '404');
      await patch(app, { spec: { parentRefs: [{ name: 'tunnel' }] } });
      await settled(cluster, app, ...routeIsFine);
      await documented('app.example.com');
      expect('200 blue');
      await traffic.goesOn();
    });

    test('the route goes: so do its rule and its answers, and the Gateway stays as it is', async () => {
      const { cluster, traffic, documented } = running();
      const { body: route } = await cluster.request('GET', app);
      expect('200 blue', '404');
      await cluster.request('DELETE', app);
      await documented();
      expect('404');
      await traffic.goesOn();
      const { status } = await readStatus(cluster, paths.gateway('tunnel', TENANT));
      assert.equal(status?.listeners?.[0]?.attachedRoutes, 0);
      assert.equal(status?.conditions?.find(({ type }) => type === 'Programmed')?.status, 'True');

      expect('200 blue', '404');
      const { apiVersion, kind, spec } = route as { readonly apiVersion: string; readonly kind: string; readonly spec: object };
      const body = { apiVersion, kind, metadata: { name: 'app', namespace: TENANT }, spec };
      assert.equal((await cluster.request('POST', app.replace(/\/app$/, ''), { body })).status, 201);
      await settled(cluster, app, ...routeIsFine);
      await documented('app.example.com');
      expect('200 blue');
      await traffic.goesOn();
    });

    test('the Gateway goes: its routes lose our status and their answers', async () => {
      const world = running();
      expect('200 blue', '404');
      await world.cluster.request('DELETE', paths.gateway('tunnel', TENANT));
      await world.documented();
      await ourEntryIsGone();
      expect('404');
      assert.ok((await world.configs()).every(({ routes }) => routes === 0));
      await world.traffic.goesOn();
    });

    test('the class goes: without it there is no tunnel to serve', async () => {
      const { cluster, edge, traffic } = running();
      // 503: the connector is leaving, and the tunnel is nobody's any more.
      for (const name of [...all, 'nobody', 'www']) traffic.expect(name, '404', '503', '530');
      await cluster.request('DELETE', paths.gatewayClass);
      await within('no connector is left', () => edge.connections(TUNNEL_ID).length === 0);
      // The edge has nobody to ask.
      for (const name of [...all, 'nobody', 'www']) traffic.expect(name, '530');
      await traffic.goesOn();
      await settled(cluster, await configPath(cluster), 'Valid=True/Valid', 'SecretsResolved=True/SecretsFound');
    });

    test('no secret is in any output, status, event or answer', async () => {
      const { cluster, kubelet, secrets, configs } = running();
      const kinds = ['gatewayclasses', 'gatewayclassconfigs', 'gateways', 'httproutes', 'events', 'leases', 'configmaps'];
      const objects = await cluster.kubectl(['get', kinds.join(), '--all-namespaces', '--output=json']);
      assert.equal(objects.code, 0, objects.stderr);
      const texts = new Map(kubelet.programs.map(({ name, output }) => [name, output]));
      texts.set('objects', objects.stdout);
      texts.set('GET /config', JSON.stringify(await configs()));
      assert.ok(secrets.size >= 6);
      for (const [where, text] of texts) {
        assert.ok(text.length > 0, where);
        for (const secret of secrets) {
          const forms = [secret, Buffer.from(secret).toString('base64')];
          assert.ok(secret.length > 8 && !forms.some((form) => text.includes(form)), `a secret is in ${where}`);
        }
      }
    });
  });
}
