// Cloudflare's API fails: the data plane does not need it, the status tells the truth, and everything is made good afterwards.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { backendRefs } from './changes.ts';
import { condition, configIsFine, configPath, paths, routeIsFine, settled, transitions } from './status.ts';
import { TENANT, type World } from './world.ts';

const app = paths.route('app', TENANT);
const gateway = paths.gateway('tunnel', TENANT);

const leadTo = (service: string, ...hostnames: readonly string[]): object => ({
  spec: { hostnames, rules: [{ backendRefs: [{ name: service, port: 80 }] }] },
});

export function outage(running: () => World): void {
  suite('an outage of Cloudflare’s API', () => {
    const expect = (...answers: readonly string[]): void => {
      for (const name of ['app', 'upload', 'slow']) running().traffic.expect(name, ...answers);
    };
    let answerAgain: () => void;

    test('routes are changed all the same; only a new hostname has to wait', async () => {
      const { cluster, api, traffic, patch } = running();
      const place = await configPath(cluster);
      const before = await transitions(cluster, gateway);
      answerAgain = api.fail({ answer: 503, times: Infinity });
      expect('200 blue', '200 green');
      await patch(app, leadTo('other', 'app.example.com', 'www.example.com'));
      await settled(cluster, app, ...routeIsFine);
      expect('200 green');
      await traffic.goesOn();
      await condition(cluster, place, 'TunnelSynced', (found) => found.status === 'False' && found.message.includes('503'));
      expect('200 blue', '200 green');
      await patch(app, backendRefs({ name: 'app', port: 80 }));
      await settled(cluster, app, ...routeIsFine);
      expect('200 blue');
      await traffic.goesOn();
      assert.deepEqual(await transitions(cluster, gateway), before, 'the Gateway is served as before');
    });

    test('asked to wait, it waits; then it makes good what was missed', async () => {
      const { cluster, api, traffic, patch, documented } = running();
      const place = await configPath(cluster);
      const comeBack = api.fail({ answer: 429, retryAfter: 1, times: Infinity });
      answerAgain();
      await condition(cluster, place, 'TunnelSynced', ({ status, reason }) => status === 'False' && reason === 'RateLimited');
      const calls = api.requests.length;
      traffic.expect('www', '404', '200 blue');
      comeBack();
      await documented('app.example.com', 'www.example.com');
      traffic.expect('www', '200 blue');
      await settled(cluster, place, ...configIsFine);
      await traffic.goesOn();
      assert.ok(api.requests.length - calls < 10, 'no storm of calls');
      traffic.expect('www', '404', '200 blue');
      await patch(app, leadTo('app', 'app.example.com'));
      await documented('app.example.com');
      traffic.expect('www', '404');
      await traffic.goesOn();
    });
  });
}
