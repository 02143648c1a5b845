// Statuses as lines that can be compared: `Accepted=True/Accepted`, with the part of the object in front where it is not the object itself.
import assert from 'node:assert/strict';
import type { Cluster } from '../control-plane.ts';
import { within } from './world.ts';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

interface Part {
  readonly name?: string;
  readonly parentRef?: { readonly name: string };
  readonly controllerName?: string;
  readonly attachedRoutes?: number;
  readonly conditions?: readonly Condition[];
}

interface StatusObject {
  readonly metadata: { readonly generation?: number };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly listeners?: readonly Part[];
    readonly parents?: readonly Part[];
    readonly addresses?: readonly { readonly type: string; readonly value: string }[];
  };
}

const gatewayApi = '/apis/gateway.networking.k8s.io/v1';

/** Where the objects of the scenario are. */
export const paths = {
  gatewayClass: `${gatewayApi}/gatewayclasses/cloudflare-tunnel`,
  gateway: (name: string, namespace: string) => `${gatewayApi}/namespaces/${namespace}/gateways/${name}`,
  route: (name: string, namespace: string) => `${gatewayApi}/namespaces/${namespace}/httproutes/${name}`,
  service: (name: string, namespace: string) => `/api/v1/namespaces/${namespace}/services/${name}`,
};

const classConfigs = '/apis/cf.k8s.lex.la/v1alpha1/gatewayclassconfigs';

/** Path of the only GatewayClassConfig, which the release has made. */
export async function configPath(cluster: Cluster): Promise<string> {
  const { body } = await cluster.request('GET', classConfigs);
  const [config] = (body as { readonly items: readonly { readonly metadata: { readonly name: string } }[] }).items;
  return `${classConfigs}/${config?.metadata.name}`;
}

export async function readStatus(cluster: Cluster, path: string): Promise<StatusObject> {
  const { status, body } = await cluster.request('GET', path);
  assert.equal(status, 200, path);
  return body as StatusObject;
}

interface Placed {
  readonly at: string;
  readonly condition: Condition;
}

function placed({ status }: StatusObject): readonly Placed[] {
  const parts = [...(status?.listeners ?? []), ...(status?.parents ?? [])];
  const of = (at: string, conditions: readonly Condition[] = []): readonly Placed[] => conditions.map((condition) => ({ at, condition }));
  return [...of('', status?.conditions), ...parts.flatMap((part) => of(`${part.name ?? part.parentRef?.name} `, part.conditions))];
}

const line = ({ at, condition: { type, status, reason } }: Placed): string => `${at}${type}=${status}/${reason}`;

/** Waits until the object has exactly these conditions, each about its present generation. */
export async function settled(cluster: Cluster, path: string, ...wanted: readonly string[]): Promise<StatusObject> {
  const lines = [...wanted].sort();
  let object: StatusObject = { metadata: {} };
  let found: readonly string[] = [];
  try {
    await within(`${path} has its status`, async () => {
      object = await readStatus(cluster, path);
      found = placed(object)
        .map((each) => `${line(each)}${each.condition.observedGeneration === object.metadata.generation ? '' : ' (of another generation)'}`)
        .sort();
      return found.join() === lines.join();
    });
  } catch (error) {
    const messages = placed(object).map((each) => `${line(each)}: ${each.condition.message}`);
    assert.deepEqual(found, lines, `${(error as Error).message}\n${messages.join('\n')}`);
  }
  return object;
}

/** Every condition of the object with the time of its last change. */
export async function transitions(cluster: Cluster, path: string): Promise<readonly string[]> {
  return placed(await readStatus(cluster, path)).map((each) => `${path} ${line(each)} since ${each.condition.lastTransitionTime}`);
}

/** Waits until a condition of the object itself is as wanted. */
export async function condition(cluster: Cluster, path: string, type: string, holds: (condition: Condition) => boolean): Promise<void> {
  await within(`${type} of ${path} is as wanted`, async () => {
    const found = (await readStatus(cluster, path)).status?.conditions?.find((each) => each.type === type);
    return found !== undefined && holds(found);
  });
}

export const configIsFine: readonly string[] = ['Valid=True/Valid', 'SecretsResolved=True/SecretsFound', 'TunnelSynced=True/Synced'];
export const routeIsFine: readonly string[] = ['tunnel Accepted=True/Accepted', 'tunnel ResolvedRefs=True/ResolvedRefs'];
