// The chart against a real API server, with the CRDs that most clusters have: one cluster for all of it.
import { after, before, suite } from 'node:test';
import { clusterUnavailable, startControlPlane, type Cluster } from '#test/cluster/control-plane.ts';
import { helmUnavailable } from './helm.ts';
import { accessTests } from './on-cluster/access.ts';
import { admissionTests } from './on-cluster/admission.ts';
import { objectTests } from './on-cluster/objects.ts';
import { runTests } from './on-cluster/run.ts';

suite('the chart on a cluster', { skip: clusterUnavailable() ?? helmUnavailable() ?? false }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startControlPlane({ channel: 'standard' });
  });
  after(() => cluster?.stop());
  const running = (): Cluster => cluster;

  objectTests(running);
  accessTests(running);
  runTests(running);
  admissionTests(running);
});
