// A node for a test cluster: runs its pods as processes, forwards its Services, answers its names and requests for logs.
//
// What a real node has and this one has not: init containers, lifecycle hooks, probes by exec or gRPC, volumes other than those from the API
// and emptyDir, securityContext and limits (programs run as root, unlimited), network policies, UDP and node ports of Services, affinity.
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { KubeClient } from '#controller/kube/client.ts';
import { loadKubeConfig } from '#controller/kube/kubeconfig.ts';
import type { Cluster } from '../control-plane.ts';
import { NODE_ADDRESS } from '../network.ts';
import { until } from '../until.ts';
import { Changes } from './changes.ts';
import { Collection } from './collection.ts';
import { clusterRecords } from './dns-names.ts';
import { DnsServer, type Zone } from './dns-server.ts';
import { serviceTable, type Target } from './endpoints.ts';
import { Forwarder } from './forwarder.ts';
import type { Image } from './images.ts';
import { KUBELET_PORT, serveKubelet } from './kubelet-server.ts';
import { Kubelet } from './kubelet.ts';
import { registerNode } from './node-object.ts';
import type { ConfigMap, EndpointSlice, Pod, Secret, Service } from './types.ts';

const NODE = { name: 'node-1', address: NODE_ADDRESS };
const API_SERVICE = 'default/kubernetes';
const START_LIMIT_MS = 30_000;

export interface NodeOptions {
  /** The first that matches the image of a container is what runs. */
  readonly images: readonly Image[];
  /** Names outside the cluster, for pods and for whoever asks `resolver`. */
  readonly zones?: readonly Zone[];
}

export interface EmulatedNode {
  readonly name: string;
  readonly address: string;
  /** Address of the DNS server, port 53. */
  readonly resolver: string;
  /** Ends all pods and servers; resolves when nothing of the node is left. The objects in the API stay. */
  stop(): Promise<void>;
}

/** Only after `enterNode`. The cluster's API server may be restarted meanwhile. */
export async function startNode(cluster: Cluster, { images, zones = [] }: NodeOptions): Promise<EmulatedNode> {
  const life = new AbortController();
  const client = new KubeClient({ kubeConfig: loadKubeConfig(cluster.kubeconfig), userAgent: 'node' });
  const folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-node-'));
  const collections = follow(client, life.signal);
  const { pods, services, slices, secrets, configMaps } = collections;
  const all = Object.values(collections);
  await until('everything was listed', AbortSignal.timeout(START_LIMIT_MS), async () => {
    return all.every(({ isRead }) => isRead) && services.get(API_SERVICE) !== undefined;
  });

  const forwarder = new Forwarder();
  const fixed = new Map([[API_SERVICE, [apiServer(cluster)]]]);
  const forward = (): void => forwarder.set(serviceTable({ services: services.values(), slices: slices.values(), fixed }));
  for (const { changes } of [services, slices]) changes.subscribe(forward, life.signal);
  forward();

  const dns = new DnsServer([(name) => clusterRecords(name, services, slices.values()), ...zones]);
  await dns.listen(NODE.address);

  const changes = new Changes();
  for (const collection of [secrets, configMaps]) collection.changes.subscribe(() => changes.notify(), life.signal);
  const env = { KUBERNETES_SERVICE_HOST: services.get(API_SERVICE)?.spec.clusterIP ?? '', KUBERNETES_SERVICE_PORT: '443' };
  const references = { secrets, configMaps, changes };
  const kubelet = new Kubelet(pods, { client, node: NODE, references, images, env, folder }, life.signal);
  const server = await serveKubelet(NODE.address, ({ namespace, pod, container, previous }) => {
    const found = kubelet.worker(namespace, pod)?.containers.find(({ spec }) => spec.name === container);
    return (previous ? found?.previousLog : found?.log) ?? null;
  });
  await registerNode(client, NODE, KUBELET_PORT);

  return {
    ...NODE,
    resolver: NODE.address,
    async stop() {
      life.abort();
      await kubelet.stop();
      forwarder.stop();
      dns.stop();
      server.close();
      server.closeAllConnections();
      await Promise.all(all.map(({ done }) => done));
      client.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const follow = (client: KubeClient, signal: AbortSignal) => ({
  pods: new Collection<Pod>(client, '/api/v1/pods', signal),
  services: new Collection<Service>(client, '/api/v1/services', signal),
  slices: new Collection<EndpointSlice>(client, '/apis/discovery.k8s.io/v1/endpointslices', signal),
  secrets: new Collection<Secret>(client, '/api/v1/secrets', signal),
  configMaps: new Collection<ConfigMap>(client, '/api/v1/configmaps', signal),
});

/** It is on loopback, an address that no EndpointSlice may hold. */
function apiServer(cluster: Cluster): Target {
  const { hostname, port } = new URL(cluster.server);
  return { host: hostname, port: Number(port) };
}
