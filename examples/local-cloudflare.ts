// A Cloudflare on loopback for the quick start: the API that the controller calls, the edge that visitors and connectors meet.
import path from 'node:path';
import { startCloudflareApi } from '#test/cloudflare/api/server.ts';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import { startEdge } from '#test/cloudflare/edge/edge.ts';
import type { Lifetime } from './lifetime.ts';
import type { Visitor } from './requests.ts';

/** What `examples/quickstart/00-class.yaml` names. */
export const TUNNEL_ID = '6ba7b810-9dad-41d1-80b4-00c04fd430c8';
const API_TOKEN = 'local-quickstart-token';

export interface IngressRule {
  readonly hostname?: string;
  readonly service: string;
}

/** The tunnel's document as the API holds it. Version 0: nobody has written one. */
export interface TunnelDocument {
  readonly version: number;
  readonly rules: readonly IngressRule[];
}

export interface LocalCloudflare {
  readonly apiUrl: string;
  /** `host:port` of each place for connectors. */
  readonly edgeAddresses: readonly string[];
  readonly connectorToken: string;
  readonly visitor: Visitor;
  document(): TunnelDocument;
  /** Connections that connectors have registered for the tunnel. */
  connections(): number;
  /** Some connector serves by the newest document. */
  isDocumentInUse(): boolean;
  onChange(listener: () => void): void;
}

/** The certificate of the authority that visitors and connectors must trust goes into the lifetime's folder. */
export async function startLocalCloudflare(lifetime: Lifetime): Promise<LocalCloudflare> {
  const caFile = path.join(lifetime.folder, 'ca.pem');
  const ca = await createCertificateAuthority({ file: caFile });
  const api = await startCloudflareApi();
  lifetime.onEnd(() => api.close());
  const account = api.addAccount({ name: 'Quick start' });
  api.addZone(account.id, 'example.com');
  api.addToken({ name: 'controller', value: API_TOKEN });
  api.addTunnel(account.id, { id: TUNNEL_ID, name: 'quickstart', configSrc: 'cloudflare' });
  const edge = await startEdge({ authority: api.authority, ca });
  lifetime.onEnd(() => edge.close());
  const { ip, httpsPort } = await edge.openTunnel(TUNNEL_ID);
  const isCurrent = (version: number): boolean => version > 0 && version === api.document(TUNNEL_ID).version;
  return {
    apiUrl: api.url,
    edgeAddresses: edge.addresses,
    connectorToken: api.connectorToken(TUNNEL_ID),
    visitor: { ip, httpsPort, ca: Buffer.from(ca.pem), caFile },
    document() {
      const { version, config } = api.document(TUNNEL_ID);
      return { version, rules: (config as { readonly ingress?: readonly IngressRule[] } | null)?.ingress ?? [] };
    },
    connections: () => edge.connections(TUNNEL_ID).length,
    isDocumentInUse: () => edge.connections(TUNNEL_ID).some(({ appliedVersion }) => isCurrent(appliedVersion)),
    onChange(listener) {
      edge.onChange(listener);
      api.authority.onConfigChange(listener);
    },
  };
}
