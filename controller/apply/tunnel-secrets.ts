// Secrets in the controller's namespace that keep the connector tokens of tunnels that it made, and say for whom.
import { OWN_GROUP } from '../api/own.ts';
import type { Key } from '../api/ref.ts';
import type { KubeClient } from '../kube/client.ts';
import { statusOf } from '../kube/errors.ts';
import { isRecord } from '../kube/json.ts';

export interface TunnelRecord {
  readonly secret: Key;
  readonly gateway: Key;
  readonly tunnelId: string;
  readonly accountId: string;
}

export interface TunnelSecrets {
  /** Those that were written here, whether their Gateways are there or not. */
  list(): Promise<readonly TunnelRecord[]>;
  write(record: TunnelRecord, connectorToken: string): Promise<void>;
  remove(secret: Key): Promise<void>;
}

const LABEL = `${OWN_GROUP}/tunnel-token`;
const GATEWAY = `${OWN_GROUP}/gateway`;
const TUNNEL = `${OWN_GROUP}/tunnel-id`;
const ACCOUNT = `${OWN_GROUP}/account-id`;
const MANAGER = 'cloudflare-tunnel-gateway-controller';

const pathOf = (key: Key): string => {
  const [namespace = '', name = ''] = key.split('/');
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;
};

export function kubeTunnelSecrets(client: KubeClient, namespace: string): TunnelSecrets {
  return {
    async list() {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
      const answer = await client.json({ method: 'GET', path, query: { labelSelector: LABEL } });
      const items: readonly unknown[] = isRecord(answer) && Array.isArray(answer['items']) ? answer['items'] : [];
      return items.flatMap((item) => readRecord(item, namespace));
    },
    async write({ secret, gateway, tunnelId, accountId }, connectorToken) {
      const [, name = ''] = secret.split('/');
      await client.json({
        method: 'PATCH',
        path: pathOf(secret),
        query: { fieldManager: MANAGER, force: 'true' },
        contentType: 'application/apply-patch+yaml',
        body: {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: {
            name,
            namespace,
            labels: { [LABEL]: 'made', 'app.kubernetes.io/managed-by': MANAGER },
            annotations: { [GATEWAY]: gateway, [TUNNEL]: tunnelId, [ACCOUNT]: accountId },
          },
          data: { 'tunnel-token': Buffer.from(connectorToken).toString('base64') },
        },
      });
    },
    async remove(secret) {
      try {
        await client.json({ method: 'DELETE', path: pathOf(secret) });
      } catch (error) {
        if (statusOf(error) !== 404) throw error;
      }
    },
  };
}

function readRecord(item: unknown, namespace: string): readonly TunnelRecord[] {
  const metadata = isRecord(item) && isRecord(item['metadata']) ? item['metadata'] : {};
  const annotations = isRecord(metadata['annotations']) ? metadata['annotations'] : {};
  const [name, gateway, tunnelId, accountId] = [metadata['name'], annotations[GATEWAY], annotations[TUNNEL], annotations[ACCOUNT]];
  if (typeof name !== 'string' || typeof gateway !== 'string' || typeof tunnelId !== 'string' || typeof accountId !== 'string') return [];
  return [{ secret: `${namespace}/${name}`, gateway, tunnelId, accountId }];
}
