// One change after another to a working installation: each has its effect, and until then the old answer or the new one, nothing else.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { apply, namespace } from '#test/chart/on-cluster/release.ts';
import { OWNER_LABEL } from './first-light.ts';
import type { ProxyPod } from './kubelet.ts';
import { paths, readStatus, routeIsFine, settled } from './status.ts';
import { endpointSlice, TENANT, TUNNEL_ID, within, type World } from './world.ts';

const SHARED = 'shared';
/** How long a status waits for proxies that are slow. */
const ROUND_MS = 2000;
const app = paths.route('app', TENANT);
const http = { name: 'http', port: 9000 };

const service = (name: string, inNamespace: string, port: number): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: inNamespace },
  spec: { ports: [{ name: 'http', port, protocol: 'TCP' }] },
});

export const endpointsOf = (name: string, addresses: readonly string[], port = http): object =>
  endpointSlice(
    TENANT,
    name,
    addresses.map((address) => ({ addresses: [address] })),
    port,
  );

export const backendRefs = (...refs: readonly object[]): object => ({ spec: { rules: [{ backendRefs: refs }] } });

export function changes(running: () => World): void {
  /** Everything that goes to app.example.com. */
  const expect = (...answers: readonly string[]): void => {
    for (const name of ['app', 'upload', 'slow']) running().traffic.expect(name, ...answers);
  };

  suite('changes', () => {
    test('another backend, then both by weight, then the first again', async () => {
      const { cluster, traffic, patch } = running();
      expect('200 blue', '200 green');
      await patch(app, backendRefs({ name: 'other', port: 80 }));
      await settled(cluster, app, ...routeIsFine);
      expect('200 green');
      await traffic.goesOn();

      expect('200 blue', '200 green');
      await patch(app, backendRefs({ name: 'app', port: 80, weight: 1 }, { name: 'other', port: 80, weight: 1 }));
      await settled(cluster, app, ...routeIsFine);
      await Promise.all([traffic.sees('app', '200 blue'), traffic.sees('app', '200 green')]);

      await patch(app, backendRefs({ name: 'app', port: 80 }));
      await settled(cluster, app, ...routeIsFine);
      expect('200 blue');
      await traffic.goesOn();
    });

    test('a status speaks of a change only when every proxy that answers has it', async (t) => {
      const { cluster, patch, proxies, authToken } = running();
      const [slow, other] = proxies;
      assert.ok(slow && other);
      const before = await other.config(authToken);
      slow.program.signal('SIGSTOP');
      const began = performance.now();
      try {
        expect('200 blue', '200 green');
        await patch(app, backendRefs({ name: 'other', port: 80 }));
        await within('the other proxy has it', async () => (await other.config(authToken)).digest !== before.digest);
        const { metadata, status } = await readStatus(cluster, app);
        const speaksOf = status?.parents?.[0]?.conditions?.[0]?.observedGeneration;
        // A proxy that takes too long holds nothing up, and neither does a machine.
        if (performance.now() - began < ROUND_MS) assert.notEqual(speaksOf, metadata.generation);
        else t.diagnostic('the machine was too slow to tell');
      } finally {
        slow.program.signal('SIGCONT');
      }
      await within('both have it', async () => (await slow.config(authToken)).digest === (await other.config(authToken)).digest);
      await settled(cluster, app, ...routeIsFine);
      expect('200 green');
      await patch(app, backendRefs({ name: 'app', port: 80 }));
      expect('200 blue', '200 green');
      await settled(cluster, app, ...routeIsFine);
      expect('200 blue');
    });

    test('a rule of its own for a path, and its end', async () => {
      const { cluster, traffic, patch } = running();
      traffic.expect('upload', '200 blue', '200 green');
      const rules = [
        { matches: [{ path: { type: 'PathPrefix', value: '/upload' } }], backendRefs: [{ name: 'other', port: 80 }] },
        { backendRefs: [{ name: 'app', port: 80 }] },
      ];
      await patch(app, { spec: { rules } });
      await settled(cluster, app, ...routeIsFine);
      traffic.expect('upload', '200 green');
      await traffic.goesOn();
      traffic.expect('upload', '200 blue', '200 green');
      await patch(app, backendRefs({ name: 'app', port: 80 }));
      await settled(cluster, app, ...routeIsFine);
      traffic.expect('upload', '200 blue');
      await traffic.goesOn();
    });

    test('a second hostname, and its end', async () => {
      const { traffic, patch, documented } = running();
      traffic.start('www', { host: 'www.example.com', parallel: 1 }, '404');
      await traffic.goesOn();
      traffic.expect('www', '404', '200 blue');
      await patch(app, { spec: { hostnames: ['app.example.com', 'www.example.com'] } });
      await documented('app.example.com', 'www.example.com');
      traffic.expect('www', '200 blue');
      await traffic.goesOn();
      traffic.expect('www', '404', '200 blue');
      await patch(app, { spec: { hostnames: ['app.example.com'] } });
      await documented('app.example.com');
      traffic.expect('www', '404');
      await traffic.goesOn();
    });

    test('an endpoint comes, and the one before it goes', async () => {
      const { cluster, traffic, pushed } = running();
      expect('200 blue', '200 red');
      await pushed(() => apply(cluster, endpointsOf('app', ['10.244.0.10', '10.244.0.12'])));
      await Promise.all([traffic.sees('app', '200 blue'), traffic.sees('app', '200 red')]);
      await pushed(() => apply(cluster, endpointsOf('app', ['10.244.0.12'])));
      expect('200 red');
      await traffic.goesOn();
      expect('200 blue', '200 red');
      await pushed(() => apply(cluster, endpointsOf('app', ['10.244.0.10'])));
      expect('200 blue');
      await traffic.goesOn();
    });

    test('the Service’s port moves under the route, and the target port under the Service', async () => {
      const { cluster, traffic, pushed, patch } = running();
      await pushed(() => apply(cluster, endpointsOf('app', ['10.244.0.10'], { name: 'http', port: 9001 })));
      await traffic.goesOn();
      expect('200 blue', '500');
      await patch(paths.service('app', TENANT), { spec: { ports: [{ name: 'http', port: 8000, protocol: 'TCP' }] } });
      await settled(cluster, app, 'tunnel Accepted=True/Accepted', 'tunnel ResolvedRefs=False/BackendNotFound');
      expect('500');
      await traffic.goesOn();
      expect('200 blue', '500');
      await patch(app, backendRefs({ name: 'app', port: 8000 }));
      await settled(cluster, app, ...routeIsFine);
      expect('200 blue');
      await traffic.goesOn();
      expect('200 blue', '500');
      await patch(paths.service('app', TENANT), { spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] } });
      await patch(app, backendRefs({ name: 'app', port: 80 }));
      await settled(cluster, app, ...routeIsFine);
      expect('200 blue');
    });

    test('a ReferenceGrant comes and goes', async () => {
      const { cluster, traffic, patch } = running();
      const slice = endpointSlice(SHARED, 'wiki', [{ addresses: ['10.244.0.13'] }], http);
      await apply(cluster, namespace(SHARED), service('wiki', SHARED, 80), slice);
      expect('200 blue', '500');
      await patch(app, backendRefs({ name: 'wiki', namespace: SHARED, port: 80 }));
      await settled(cluster, app, 'tunnel Accepted=True/Accepted', 'tunnel ResolvedRefs=False/RefNotPermitted');
      expect('500');
      await traffic.goesOn();
      expect('500', '200 grey');
      await apply(cluster, {
        apiVersion: 'gateway.networking.k8s.io/v1beta1',
        kind: 'ReferenceGrant',
        metadata: { name: 'tenants', namespace: SHARED },
        spec: {
          from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: TENANT }],
          to: [{ group: '', kind: 'Service' }],
        },
      });
      await settled(cluster, app, ...routeIsFine);
      expect('200 grey');
      await traffic.goesOn();
      expect('500', '200 grey');
      await cluster.request('DELETE', `/apis/gateway.networking.k8s.io/v1beta1/namespaces/${SHARED}/referencegrants/tenants`);
      await settled(cluster, app, 'tunnel Accepted=True/Accepted', 'tunnel ResolvedRefs=False/RefNotPermitted');
      expect('500');
      await traffic.goesOn();
      expect('500', '200 blue');
      await patch(app, backendRefs({ name: 'app', port: 80 }));
      await settled(cluster, app, ...routeIsFine);
      expect('200 blue');
    });

    test('the namespace loses its domain, and gets it back', async () => {
      const { cluster, traffic, documented } = running();
      expect('200 blue', '404');
      await apply(cluster, namespace(TENANT, { [OWNER_LABEL]: 'example.org' }));
      await settled(cluster, app, 'tunnel Accepted=False/HostnameNotPermitted', 'tunnel ResolvedRefs=True/ResolvedRefs');
      await documented();
      expect('404');
      await traffic.goesOn();
      const { status } = await readStatus(cluster, paths.gateway('tunnel', TENANT));
      assert.equal(status?.listeners?.[0]?.attachedRoutes, 0);
      expect('200 blue', '404');
      await apply(cluster, namespace(TENANT, { [OWNER_LABEL]: 'example.com' }));
      await settled(cluster, app, ...routeIsFine);
      await documented('app.example.com');
      expect('200 blue');
      await traffic.goesOn();
    });

    test('the API token is rotated', async () => {
      const world = running();
      const { api, traffic, patch, documented } = world;
      const former = world.apiToken;
      world.apiToken = api.addToken({ name: 'controller-2' });
      await world.writeSecret('cloudflare', { 'api-token': world.apiToken.value });
      await within('the new token is used', () => api.requests.at(-1)?.token === 'controller-2');
      api.revokeToken(former);
      traffic.expect('www', '404', '200 blue');
      await patch(app, { spec: { hostnames: ['app.example.com', 'www.example.com'] } });
      await documented('app.example.com', 'www.example.com');
      await patch(app, { spec: { hostnames: ['app.example.com'] } });
      await documented('app.example.com');
      traffic.expect('www', '404');
      await traffic.goesOn();
    });

    test('connections that were upgraded before all this have been served all along', async () => {
      const { chats } = running();
      const before = chats.map(({ answers }) => answers);
      await within('each has gone on', () =>
        chats.every(({ answers, broken }, index) => broken !== null || answers > (before[index] ?? 0)),
      );
      assert.deepEqual(
        chats.map(({ broken }) => broken),
        chats.map(() => null),
      );
    });

    test('the connector token is rotated: each proxy switches to a second connector without a gap', async () => {
      const { api, edge, proxies, traffic, writeSecret } = running();
      // The same tunnel and secret in another spelling: another token to whoever compares, a valid one to the edge.
      const { a, t, s } = JSON.parse(Buffer.from(api.connectorToken(TUNNEL_ID), 'base64').toString()) as Record<string, string>;
      const spelling = Buffer.from(JSON.stringify({ s, t, a })).toString('base64');
      const before = new Set(edge.connections(TUNNEL_ID).map(({ connectorId }) => connectorId));
      const isServed = ({ address }: ProxyPod): boolean =>
        edge.connections(TUNNEL_ID).some(({ originIp, isDraining }) => originIp === address && !isDraining);
      let gaps = 0;
      const stopListening = edge.onChange(() => (gaps += proxies.every(isServed) ? 0 : 1));
      await writeSecret('tunnel', { 'tunnel-token': spelling });
      for (const pod of proxies) pod.mountToken(spelling);
      await within('none of the former connectors is left', () => {
        const connectors = new Set(edge.connections(TUNNEL_ID).map(({ connectorId }) => connectorId));
        return connectors.size === proxies.length && [...connectors].every((id) => !before.has(id));
      });
      stopListening();
      assert.equal(gaps, 0);
      await traffic.goesOn();
    });

    test('admission refuses what the namespace does not own', async () => {
      const { cluster } = running();
      const route = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: { name: 'thief', namespace: TENANT } };
      const body = { ...route, spec: { parentRefs: [{ name: 'tunnel' }], hostnames: ['app.example.org'] } };
      const { status } = await cluster.request('POST', app.replace(/\/app$/, ''), { body });
      assert.equal(status, 403);
    });
  });
}
