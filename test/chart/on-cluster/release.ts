// Releases of the chart on a test cluster, by the real helm.
import assert from 'node:assert/strict';
import type { Cluster } from '#test/cluster/control-plane.ts';
import { chartFolder, helm, merged, required, type Values } from '../helm.ts';

export const NAMESPACE = 'system';
export const RELEASE = 'edge';

/** Installs or upgrades; fails the test when helm does. */
export async function release(
  cluster: Cluster,
  action: 'install' | 'upgrade',
  values: Values,
  { args = [] }: { readonly args?: readonly string[] } = {},
): Promise<void> {
  const where = ['--kubeconfig', cluster.kubeconfig, '--namespace', NAMESPACE];
  const create = action === 'install' ? ['--create-namespace'] : [];
  const command = [action, RELEASE, chartFolder, ...where, ...create, '--values', '-', ...args];
  const { code, stderr } = await helm(command, merged(required, values), cluster.folder);
  assert.equal(code, 0, stderr);
}

/** Removes the release if it is there. */
export async function uninstall(cluster: Cluster): Promise<void> {
  const where = ['--kubeconfig', cluster.kubeconfig, '--namespace', NAMESPACE];
  const { code, stderr } = await helm(['uninstall', RELEASE, ...where, '--ignore-not-found'], {}, cluster.folder);
  assert.equal(code, 0, stderr);
}

/** The body of a GET that must succeed. */
export async function read(cluster: Cluster, path: string): Promise<Values> {
  const { status, body } = await cluster.request('GET', path);
  assert.equal(status, 200, path);
  return body as Values;
}

/** Creates or replaces an object as admin; fails the test when it is refused. */
export async function apply(cluster: Cluster, ...objects: readonly object[]): Promise<void> {
  const input = objects.map((object) => JSON.stringify(object)).join('\n---\n');
  const { code, stderr } = await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '--filename=-'], { input });
  assert.equal(code, 0, stderr);
}

export const namespace = (name: string, labels: Readonly<Record<string, string>> = {}): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});
