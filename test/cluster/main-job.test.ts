// The main job on a real API server: objects in, answers out, through changes, crashes, outages and deletion, with visitors all the time.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, suite, type TestContext } from 'node:test';
import { helmUnavailable } from '#test/chart/helm.ts';
import { clusterUnavailable } from './control-plane.ts';
import { changes } from './main-job/changes.ts';
import { crashes } from './main-job/crashes.ts';
import { farewell } from './main-job/farewell.ts';
import { firstLight } from './main-job/first-light.ts';
import { outage } from './main-job/outage.ts';
import { World } from './main-job/world.ts';
import { enterOwnNetwork, networkUnavailable } from './network.ts';

const unavailable = clusterUnavailable() ?? helmUnavailable() ?? networkUnavailable();
if (unavailable === null) enterOwnNetwork();

suite('the main job on a cluster', { skip: unavailable ?? false }, () => {
  let world: World;
  before(async () => {
    world = await World.start();
  });
  after(() => world?.stop());
  beforeEach((t) => {
    world.traffic.during = (t as TestContext).name;
  });
  afterEach((t) => {
    const failures = world.traffic.take();
    if (failures.length > 0 || !(t as TestContext).passed) console.error(world.kubelet.programs.map(({ tail }) => tail).join('\n'));
    assert.deepEqual(failures.slice(0, 10), [], `${failures.length} wrong answers of ${world.traffic.answered}`);
  });

  firstLight(() => world);
  changes(() => world);
  crashes(() => world);
  outage(() => world);
  farewell(() => world);
});
