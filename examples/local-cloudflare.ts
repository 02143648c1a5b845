// A Cloudflare on loopback for the quick start: the API that the controller calls, the edge that visitors and connectors meet.
import path from 'node:path';
import { startCloudflareApi } from '#test/cloudflare/api/server.ts';
import type { CloudflareApiDouble } from '#test/cloudflare/api/server.ts';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import { startEdge } from '#test/cloudflare/edge/edge.ts';
import type { Edge } from '#test/cloudflare/edge/edge.ts';
import type { Visitor } from './requests.ts';

/** What `examples/quickstart/00-class.yaml` names. */
export const TUNNEL_ID = '6ba7b810-9dad-41d1-80b4-00c04fd430c8';
const API_TOKEN = 'local-quickstart-token';

export interface LocalCloudflare {
  readonly api: CloudflareApiDouble;
  readonly edge: Edge;
  readonly connectorToken: string;
  readonly visitor: Visitor;
  readonly httpPort: number;
  close(): Promise<void>;
}

/** Files (the authority's certificate) go into `dir`. */
export async function startLocalCloudflare(dir: string): Promise<LocalCloudflare> {
  const caFile = path.join(dir, 'ca.pem');
  const ca = await createCertificateAuthority({ file: caFile });
  const api = await startCloudflareApi({});
  const account = api.addAccount({ name: 'Quick start' });
  api.addZone(account.id, 'example.com');
  api.addToken({ name: 'controller', value: API_TOKEN });
  api.addTunnel(account.id, { id: TUNNEL_ID, name: 'quickstart', configSrc: 'cloudflare' });
  const edge = await startEdge({ authority: api.authority, ca });
  const address = await edge.openTunnel(TUNNEL_ID);
  return {
    api,
    edge,
    connectorToken: api.connectorToken(TUNNEL_ID),
    visitor: { ip: address.ip, httpsPort: address.httpsPort, ca: Buffer.from(ca.pem), caFile },
    httpPort: address.httpPort,
    async close() {
      await edge.close();
      await api.close();
    },
  };
}
