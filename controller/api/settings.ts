// What the pure stages need of the configuration of the process. `controller/config.ts` makes it from flags and environment.

export interface OwnershipSettings {
  /** Off: every hostname is allowed everywhere. */
  readonly enforce: boolean;
  /** Namespace label that holds the domain. */
  readonly labelKey: string;
  /** Which namespaces are policed, kubectl selector syntax; empty means all. */
  readonly namespaceSelector: string;
  /** Policed namespaces without the label: they may publish nothing, or they are not policed. An empty label is a label. */
  readonly unlabelled: 'Deny' | 'Ignore';
  /** Routes of policed namespaces without hostnames: refused, or they serve what lies within the domain. */
  readonly emptyHostnames: 'Reject' | 'Scope';
}

export interface Settings {
  readonly controllerName: string;
  /** Where a Secret reference without namespace points to. */
  readonly controllerNamespace: string;
  readonly clusterDomain: string;
  readonly ownership: OwnershipSettings;
  /** `namespace/name` of the Secret with the connector token (key `tunnel-token`), if the controller may read it. */
  readonly tokenSecret: string | null;
  /** Whether tunnels may be made: their tokens are kept in Secrets, which a folder cannot take. */
  readonly makesTunnels: boolean;
  /** The most tunnels that the shared proxies connect: each costs every one of them a connector. Those of classes always count and always get in. */
  readonly tunnelsPerPool: number;
  readonly tunnelProtocol: 'auto' | 'http2' | 'quic';
  /** Loopback endpoints are allowed by the folder source only: in a cluster they would reach the proxy itself. */
  readonly allowLoopbackEndpoints: boolean;
  /** Whether Services may be made for entries of the proxies themselves. */
  readonly localEntry: boolean;
}
