// Which port each entry has: it tells the proxy where a request came from. Tunnels' connectors dial loopback ports, Services target ports.
import type { Graph } from '../graph/types.ts';
import { localPorts } from './local-entry.ts';

/**
 * Tunnel id, or id of a Gateway's own entry → port. Persisted by whoever calls, because the ports are written into the tunnels' documents
 * and EndpointSlices, which outlive this process.
 */
export type Ports = ReadonlyMap<string, number>;

/** Above the ports that the proxy itself listens on. */
const FURTHER = 8100;

/** Target ports of the proxies' own entries: below the ports from which systems take those of outgoing connections. */
export const LOCAL_PORTS = { first: 20_000, last: 32_767 } as const;

type Entries = Pick<Graph, 'tunnels' | 'gateways'>;

/** Ports of all entries of the graph: who has one keeps it, others get the lowest that is free, and what is gone gives its own back. */
export function allocatePorts(graph: Entries, previous: Ports, firstPort = 8080): Ports {
  return new Map([...allocateTunnelPorts(graph, previous, firstPort), ...allocateLocalPorts(graph, previous)]);
}

/** The first tunnel of a class gets `firstPort` if no other has it: proxies that are given one token themselves expect it there. */
function allocateTunnelPorts({ tunnels }: Entries, previous: Ports, firstPort: number): Ports {
  const ports = keep(
    tunnels.map(({ id }) => id),
    previous,
  );
  const taken = new Set(ports.values());
  for (const [index, { id, connectorToken }] of tunnels.entries()) {
    if (ports.has(id)) continue;
    let port = index === 0 && connectorToken === null && !taken.has(firstPort) ? firstPort : FURTHER;
    while (taken.has(port)) port++;
    ports.set(id, port);
    taken.add(port);
  }
  return ports;
}

/** When all are given out, those who come later get none. */
function allocateLocalPorts({ gateways }: Entries, previous: Ports): Ports {
  const ids = gateways.flatMap((gateway) => localPorts(gateway).map(({ id }) => id));
  const ports = keep(ids, previous);
  const taken = new Set(ports.values());
  let port: number = LOCAL_PORTS.first;
  for (const id of ids) {
    if (ports.has(id)) continue;
    while (taken.has(port)) port++;
    if (port > LOCAL_PORTS.last) break;
    ports.set(id, port++);
  }
  return ports;
}

/** Those who have a port already; of two who have the same, the first. */
function keep(ids: readonly string[], previous: Ports): Map<string, number> {
  const ports = new Map<string, number>();
  const taken = new Set<number>();
  for (const id of ids) {
    const port = previous.get(id);
    if (port === undefined || taken.has(port)) continue;
    ports.set(id, port);
    taken.add(port);
  }
  return ports;
}
