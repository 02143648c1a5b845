// Tunnels that the controller makes: how they are called, and where their tokens are kept.
import { ACROSS_NAMESPACES, dnsLabel } from '../api/names.ts';
import type { Gateway } from '../api/gateway.ts';
import { keyOf, type Key } from '../api/ref.ts';
import type { Settings } from '../api/settings.ts';

/** Between namespace and name stands what neither may contain, so that the hash is of one Gateway alone. */
const labelOf = (gateway: Key): string => dnsLabel(gateway, ACROSS_NAMESPACES);

/** Begins the names of all tunnels that are made for a cluster. */
export const tunnelPrefix = (cluster: string): string => `k8s-${cluster.slice(0, 8)}-`;

export const madeTunnelName = (cluster: string, gateway: Key): string => `${tunnelPrefix(cluster)}${labelOf(gateway)}`;

/** In the controller's namespace, where those who write Gateways cannot read. */
export const madeTunnelSecret = ({ metadata }: Gateway, { controllerNamespace }: Pick<Settings, 'controllerNamespace'>): Key =>
  keyOf(controllerNamespace, `tunnel-${labelOf(keyOf(metadata.namespace, metadata.name))}`);
