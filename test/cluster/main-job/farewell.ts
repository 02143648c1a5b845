// Deletion leads back, and nothing that was printed or written on the way holds a secret.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { paths, readStatus, settled } from './status.ts';
import { TENANT, TUNNEL_ID, within, type World } from './world.ts';

const app = paths.route('app', TENANT);

export function farewell(running: () => World): void {
  suite('farewell', () => {
    test('a route that leaves its Gateway loses our status and its traffic, and gets both back', async () => {
      const { cluster, traffic, patch, documented } = running();
      for (const name of ['app', 'upload', 'slow']) traffic.expect(name, '200 blue', '404');
      await patch(app, { spec: { parentRefs: [{ name: 'another' }] } });
      await documented();
      await within('our entry is gone', async () => ((await readStatus(cluster, app)).status?.parents ?? []).length === 0);
      for (const name of ['app', 'upload', 'slow']) traffic.expect(name, '404');
      await traffic.goesOn();
      for (const name of ['app', 'upload', 'slow']) traffic.expect(name, '200 blue', '404');
      await patch(app, { spec: { parentRefs: [{ name: 'tunnel' }] } });
      await settled(cluster, app, 'tunnel Accepted=True/Accepted', 'tunnel ResolvedRefs=True/ResolvedRefs');
      await documented('app.example.com');
      for (const name of ['app', 'upload', 'slow']) traffic.expect(name, '200 blue');
      await traffic.goesOn();
    });

    test('no secret is in any output, status, event or answer', async () => {
      const world = running();
      const { cluster, api, kubelet } = world;
      const { t, s } = JSON.parse(Buffer.from(api.connectorToken(TUNNEL_ID), 'base64').toString()) as Record<string, string>;
      assert.equal(t, TUNNEL_ID);
      const secrets = [world.apiToken.value, api.connectorToken(TUNNEL_ID), s ?? '', world.authToken];
      const kinds = ['gatewayclasses', 'gatewayclassconfigs', 'gateways', 'httproutes', 'events', 'leases', 'configmaps'];
      const objects = await cluster.kubectl(['get', kinds.join(), '--all-namespaces', '--output=json']);
      assert.equal(objects.code, 0, objects.stderr);
      const texts = new Map(kubelet.programs.map(({ name, output }) => [name, output]));
      texts.set('objects', objects.stdout);
      texts.set('GET /config', JSON.stringify(await world.configs()));
      for (const [where, text] of texts) {
        assert.ok(text.length > 0, where);
        for (const secret of secrets) assert.ok(secret.length > 8 && !text.includes(secret), `a secret is in ${where}`);
      }
    });

    test('the route, the Gateway and the class go: so do rule, answers and statuses', async () => {
      const world = running();
      const { cluster, traffic, documented } = world;
      for (const name of ['app', 'upload', 'slow']) traffic.expect(name, '200 blue', '404');
      await cluster.request('DELETE', app);
      await documented();
      for (const name of ['app', 'upload', 'slow']) traffic.expect(name, '404');
      await traffic.goesOn();
      await cluster.request('DELETE', paths.gateway('tunnel', TENANT));
      await within('the proxies have no route', async () => (await world.configs()).every(({ routes }) => routes === 0));
      // Without a class there is no tunnel to serve: the connectors leave, and the edge has nobody to ask.
      for (const name of ['app', 'upload', 'slow', 'nobody', 'www']) traffic.expect(name, '404', '530');
      await cluster.request('DELETE', paths.gatewayClass);
      await within('no connector is left', () => world.edge.connections(TUNNEL_ID).length === 0);
      await traffic.sees('app', '530');
    });
  });
}
