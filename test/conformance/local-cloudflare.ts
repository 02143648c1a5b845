// Cloudflare, for a run through tunnels: the doubles of its API and edge on the node, and the names under which tunnels are found.
import os from 'node:os';
import path from 'node:path';
import { startCloudflareApi } from '#test/cloudflare/api/server.ts';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import { startEdge } from '#test/cloudflare/edge/edge.ts';
import type { Zone } from '#test/cluster/node/dns-server.ts';
import { NODE_ADDRESS } from '#test/cluster/network.ts';

const TUNNEL_NAME = /^([0-9a-f-]{36})\.cfargotunnel\.com$/;

export interface LocalCloudflare {
  readonly apiToken: string;
  /** What controller and proxies must be told to find it. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * The address of each tunnel that is open. On the Internet these names lead nowhere: records of a zone point to them, and the zone's own
   * addresses are those that visitors dial.
   */
  readonly zone: Zone;
  close(): Promise<void>;
}

export async function startLocalCloudflare(): Promise<LocalCloudflare> {
  const caFile = path.join(os.tmpdir(), 'edge-ca.pem');
  const ca = await createCertificateAuthority({ file: caFile });
  const api = await startCloudflareApi({ host: NODE_ADDRESS });
  api.addAccount({ name: 'Conformance' });
  const { value: apiToken } = api.addToken({ name: 'controller' });
  const visitorPorts = { http: 80, https: 443 };
  const edge = await startEdge({ authority: api.authority, ca, connectorHost: NODE_ADDRESS, visitorPorts, clearHttp2: true });
  return {
    apiToken,
    env: {
      CF_CLOUDFLARE_API_URL: api.url,
      PROXY_CONNECTOR: 'native',
      PROXY_EDGE: edge.addresses.join(),
      PROXY_EDGE_CA: caFile,
    },
    zone(name) {
      const address = edge.address(TUNNEL_NAME.exec(name)?.[1] ?? '')?.ip;
      return address === undefined ? null : [{ name, type: 'A', address }];
    },
    async close() {
      await Promise.all([edge.close(), api.close()]);
    },
  };
}
