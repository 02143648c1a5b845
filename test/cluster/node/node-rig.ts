// A cluster with a node as tests of it see both: objects in, what pods are and print out.
import assert from 'node:assert/strict';
import http from 'node:http';
import type { Cluster } from '../control-plane.ts';
import { until } from '../until.ts';
import type { Image } from './images.ts';

export const soon = (): AbortSignal => AbortSignal.timeout(60_000);

/** For what a web server does not show: a shell with the tools of this machine. */
export const shell: Image = { matches: /^shell$/, folder: '/bin', entrypoint: ['/bin/sh', '-c'] };

export interface PodObject {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly {
      readonly restartCount: number;
      readonly state: Readonly<Record<string, { readonly reason?: string; readonly message?: string; readonly exitCode?: number }>>;
    }[];
  };
}

export const isReady = ({ status }: PodObject): boolean =>
  status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

export const echo = (name: string, replicas: number, env: readonly object[] = []): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [
          {
            name,
            image: 'registry.example/echo-basic:v1',
            env: [
              { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
              { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
              ...env,
            ],
          },
        ],
      },
    },
  },
});

export const service = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default' },
  spec,
});

export const shellPod = (name: string, script: string, spec: object = {}, container: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: name } },
  spec: { containers: [{ name: 'main', image: 'shell', args: [script], ...container }], ...spec },
});

interface Answer {
  readonly pod: string;
  readonly namespace: string;
  readonly ingress: string;
}

/** One request on a connection of its own. */
export function request(host: string, port: number, path = '/'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = http.get({ host, port, path, agent: false, signal: AbortSignal.timeout(5000) }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.on('error', reject).on('end', () => resolve(JSON.parse(body) as Answer));
    });
    outgoing.on('error', reject);
  });
}

export class NodeRig {
  readonly cluster: Cluster;

  constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  async apply(...objects: readonly object[]): Promise<void> {
    const input = objects.map((object) => JSON.stringify(object)).join('\n---\n');
    const { code, stderr } = await this.cluster.kubectl(['apply', '--server-side', '--force-conflicts', '--filename=-'], { input });
    assert.equal(code, 0, stderr);
  }

  async pods(app: string): Promise<readonly PodObject[]> {
    const { body } = await this.cluster.request('GET', `/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`);
    return (body as { readonly items: readonly PodObject[] }).items;
  }

  /** The only pod of its label. */
  async pod(app: string): Promise<PodObject> {
    const [pod, ...others] = await this.pods(app);
    if (pod === undefined || others.length > 0) throw new Error(`not one pod of ${app}`);
    return pod;
  }

  ready(app: string, count: number): Promise<void> {
    return until(`${count} pods of ${app} are ready, and no other is there`, soon(), async () => {
      const all = await this.pods(app);
      return all.length === count && all.every(isReady);
    });
  }

  async clusterIp(name: string): Promise<string> {
    const { body } = await this.cluster.request('GET', `/api/v1/namespaces/default/services/${name}`);
    return (body as { readonly spec: { readonly clusterIP: string } }).spec.clusterIP;
  }

  async log(pod: string, ...flags: readonly string[]): Promise<string> {
    return (await this.cluster.kubectl(['logs', pod, ...flags])).stdout;
  }

  logHas(pod: string, text: string): Promise<void> {
    return until(`${pod} prints ${text}`, soon(), async () => (await this.log(pod)).includes(text));
  }

  async deletePod(name: string): Promise<void> {
    const { status } = await this.cluster.request('DELETE', `/api/v1/namespaces/default/pods/${name}`);
    assert.equal(status, 200);
  }
}
