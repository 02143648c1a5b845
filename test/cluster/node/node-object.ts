// The Node object: where the API server finds the kubelet, and what a pod can be bound to.
import type { KubeClient } from '#controller/kube/client.ts';
import { nodeCapacity, type NodeFacts } from './fields.ts';
import { timestamp } from './status.ts';

/** Nobody of the control plane of a test waits for heartbeats, so saying once that the node is ready is enough. */
export async function registerNode(client: KubeClient, { name, address }: NodeFacts, kubeletPort: number): Promise<void> {
  const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' };
  await client.json({ method: 'POST', path: '/api/v1/nodes', body: { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } } });
  const now = timestamp(new Date());
  const resources = { ...nodeCapacity, pods: '5000' };
  const status = {
    addresses: [
      { type: 'InternalIP', address },
      { type: 'Hostname', address: name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
    capacity: resources,
    allocatable: resources,
    conditions: [{ type: 'Ready', status: 'True', reason: 'Emulated', message: '', lastHeartbeatTime: now, lastTransitionTime: now }],
  };
  const contentType = 'application/merge-patch+json';
  await client.json({ method: 'PATCH', path: `/api/v1/nodes/${name}/status`, contentType, body: { status } });
}
