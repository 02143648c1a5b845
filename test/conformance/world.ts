// What the suite is run against: a control plane with a node, the chart's release on it, and a class whose status is complete.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { apply, namespace, NAMESPACE, read, release } from '#test/chart/on-cluster/release.ts';
import { merged, type Values } from '#test/chart/helm.ts';
import { startControlPlane, type Cluster } from '#test/cluster/control-plane.ts';
import { echoBasicImage, ownImage, type Image } from '#test/cluster/node/images.ts';
import { startNode, type EmulatedNode } from '#test/cluster/node/node.ts';
import { until } from '#test/cluster/until.ts';
import type { Channel, EntryName } from './expected.ts';
import { startLocalCloudflare, type LocalCloudflare } from './local-cloudflare.ts';

/** No test of an HTTP or gRPC profile asks it anything; it only has to be there. */
const coreDns: Image = { matches: /\/coredns:/, folder: '/bin', entrypoint: ['/bin/sh', '-c', 'exec sleep infinity', 'coredns'] };

export const CLASS_NAME = 'cloudflare-tunnel';
const CREDENTIALS = 'cloudflare';
const CLASS_PATH = `/apis/gateway.networking.k8s.io/v1/gatewayclasses/${CLASS_NAME}`;
const LIMIT_MS = 90_000;

export interface WorldOptions {
  readonly channel: Channel;
  readonly entry: EntryName;
  readonly say: (step: string) => void;
  readonly signal: AbortSignal;
}

export interface World {
  readonly cluster: Cluster;
  /** What the class claims. */
  readonly features: readonly string[];
  /** Writes what every pod of ours has printed, one file each. */
  saveLogs(folder: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startWorld(options: WorldOptions): Promise<World> {
  const cluster = await startControlPlane({ channel: options.channel, say: options.say, signal: options.signal });
  let cloudflare: LocalCloudflare | null = null;
  let node: EmulatedNode | null = null;
  const stop = async (): Promise<void> => {
    await node?.stop();
    await cloudflare?.close();
    await cluster.stop();
  };
  try {
    if (options.entry === 'tunnel') cloudflare = await startLocalCloudflare();
    const images = [ownImage(/^cloudflare-tunnel-gateway-controller:/, cloudflare?.env), echoBasicImage(), coreDns];
    node = await startNode(cluster, { images, zones: cloudflare === null ? [] : [cloudflare.zone] });
    await install(cluster, cloudflare, options);
    const features = await classIsReady(cluster, options.signal);
    options.say(`class ${CLASS_NAME} accepted, claims ${features.length} features`);
    return { cluster, features, saveLogs: (folder) => saveLogs(cluster, folder), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function install(cluster: Cluster, cloudflare: LocalCloudflare | null, { say, signal }: WorldOptions): Promise<void> {
  await apply(cluster, namespace(NAMESPACE));
  if (cloudflare !== null) {
    const metadata = { name: CREDENTIALS, namespace: NAMESPACE };
    await apply(cluster, { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { 'api-token': cloudflare.apiToken } });
  }
  await release(cluster, 'install', merged(everywhere, cloudflare === null ? localEntry : tunnelPerGateway));
  say('chart installed');
  await until('controller and proxies are ready', AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]), async () => {
    const { items } = await read(cluster, `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`);
    const deployments = items as readonly {
      readonly spec: { readonly replicas: number };
      readonly status: { readonly readyReplicas?: number };
    }[];
    return deployments.length === 2 && deployments.every(({ spec, status }) => status.readyReplicas === spec.replicas);
  });
  say('controller and proxies ready');
}

/** Listeners take their certificates from any namespace; no proxy has a tunnel from the start. */
const everywhere: Values = { rbac: { secrets: 'ClusterWide' }, proxy: { tunnelTokenSecretRef: { name: '' } } };
const localEntry: Values = { localEntry: { enabled: true }, gatewayClassConfig: { create: true, entry: 'Local' } };
/** Up to 42 Gateways are there at once. */
const tunnelPerGateway: Values = {
  gatewayClassConfig: { create: true, tunnels: 'PerGateway', cloudflareCredentialsSecretRef: { name: CREDENTIALS } },
  proxy: { tunnel: { limit: 60 } },
};

interface ClassStatus {
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly observedGeneration?: number }[];
  readonly supportedFeatures?: readonly { readonly name: string }[];
}

// The suite reads the features once, before it waits for anything.
async function classIsReady(cluster: Cluster, signal: AbortSignal): Promise<readonly string[]> {
  let features: readonly string[] = [];
  await until(
    `class ${CLASS_NAME} is accepted and says what it supports`,
    AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]),
    async () => {
      const { metadata, status } = await read(cluster, CLASS_PATH);
      const { generation } = metadata as { readonly generation: number };
      const { conditions = [], supportedFeatures = [] } = (status ?? {}) as ClassStatus;
      features = supportedFeatures.map(({ name }) => name);
      const accepted = conditions.find(({ type }) => type === 'Accepted');
      return accepted?.status === 'True' && accepted.observedGeneration === generation && features.length > 0;
    },
  );
  return features;
}

async function saveLogs(cluster: Cluster, folder: string): Promise<void> {
  const { stdout } = await cluster.kubectl(['-n', NAMESPACE, 'get', 'pods', '-o', 'name']);
  await Promise.all(
    stdout
      .split('\n')
      .filter(Boolean)
      .map(async (pod) => {
        const { stdout: log, stderr } = await cluster.kubectl(['-n', NAMESPACE, 'logs', pod]);
        writeFileSync(path.join(folder, `${path.basename(pod)}.log`), log || stderr);
      }),
  );
}
