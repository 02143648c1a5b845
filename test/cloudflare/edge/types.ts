// What the edge double needs to know from outside, and what it shows.
import type { CertificateAuthority } from '../certs.ts';

export interface EdgeTunnel {
  readonly accountTag: string;
  /** Base64. */
  readonly secret: string;
  /** `cloudflare`: the document is pushed to connectors. `local`: they have their own. */
  readonly configSrc: 'local' | 'cloudflare';
  /** A tunnel that was never configured has version 0 and config null. */
  readonly document: { readonly version: number; readonly config: unknown };
}

/** Owner of the tunnels, for example an API double. Only `tunnel` is needed. */
export interface EdgeAuthority {
  /** Undefined for a tunnel that does not exist. */
  tunnel(id: string): EdgeTunnel | undefined;
  /** Calls the listener with a tunnel's id when its document has changed. */
  onConfigChange?(listener: (tunnelId: string) => void): () => void;
  /** The tunnel that the DNS record of a hostname leads to. */
  resolve?(hostname: string): string | undefined;
  /** A connector's connection was registered; the returned function is called when it has ended. */
  connected?(tunnelId: string, connection: RegisteredConnection): () => void;
}

export interface RegisteredConnection {
  readonly id: string;
  readonly clientId: string;
  readonly clientVersion: string;
  readonly colo: string;
  readonly originIp: string;
  readonly openedAt: string;
}

export interface EdgeOptions {
  readonly authority: EdgeAuthority;
  /** Absent: one of its own. */
  readonly ca?: CertificateAuthority;
  /** Where connectors connect to; each port is one address for them. Four free ports by default. */
  readonly connectorHost?: string;
  readonly connectorPorts?: readonly number[];
  /** 0, the default: each tunnel gets free ports of its own. Ports below 1024 need root. */
  readonly visitorPorts?: { readonly http: number; readonly https: number };
  /** True: visitors may speak HTTP/2 without TLS, as no zone of Cloudflare lets them. */
  readonly clearHttp2?: boolean;
  /** True: a hostname that `authority.resolve` does not know is refused. False, the default: it belongs to the tunnel whose address it was sent to. */
  readonly requireDns?: boolean;
  /** How a connection is chosen among a tunnel's: in turn (default) or at random. */
  readonly choice?: 'round-robin' | 'random';
  /** Data centre and country for CF-Ray and CF-IPCountry. */
  readonly colo?: string;
  readonly country?: string;
}

/** Where visitors of a tunnel connect to. */
export interface TunnelAddress {
  readonly ip: string;
  readonly httpPort: number;
  readonly httpsPort: number;
}

/** One registered connection of a connector. */
export interface EdgeConnection {
  readonly id: string;
  /** UUID of the connector process. */
  readonly connectorId: string;
  /** Which of its connections this is. */
  readonly index: number;
  readonly version: string;
  readonly arch: string;
  readonly features: readonly string[];
  readonly originIp: string;
  readonly openedAt: string;
  /** Version of the document that the connector says it runs with; -1 before it has said so. */
  readonly appliedVersion: number;
  /** True when the connector refused the last pushed document. */
  readonly refusedDocument: boolean;
  /** True after the connector has unregistered it: no new requests go there. */
  readonly isDraining: boolean;
  /** The document that the connector of a locally managed tunnel has reported. */
  readonly localDocument: string | null;
  /** Visitors' requests on it now. */
  readonly requests: number;
}

/** How the edge fails visitors. Without tunnel, all tunnels; without hostname, all names; without count, until it is taken back. */
export type EdgeFault = FaultMode & { readonly tunnelId?: string; readonly hostname?: string; readonly count?: number };

type FaultMode =
  /** The visitor's connection is cut without an answer. */
  | { readonly mode: 'drop' }
  /** As if no connector were there. */
  | { readonly mode: 'refuse' }
  /** The request reaches the tunnel late. */
  | { readonly mode: 'slow'; readonly delayMs: number }
  /** The edge answers itself. */
  | { readonly mode: 'status'; readonly status: number };

/** What a refused registration is told. */
export interface Refusal {
  readonly cause: string;
  readonly retry: boolean;
  readonly retryAfterMs: number;
}
