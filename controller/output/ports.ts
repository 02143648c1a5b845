// Which loopback port each tunnel's connector dials: it tells the proxy by which tunnel a request came.
import type { Graph } from '../graph/types.ts';

/** Tunnel id → port. Persisted by whoever calls, because the ports are written into the tunnels' documents. */
export type Ports = ReadonlyMap<string, number>;

/** Above the ports that the proxy itself listens on. */
const FURTHER = 8100;

/**
 * Ports of all tunnels of the graph. One that has a port keeps it; the first tunnel gets `firstPort` if no other has it, further ones the
 * lowest that is free. Tunnels that are gone give theirs back.
 */
export function allocatePorts(graph: Pick<Graph, 'tunnels'>, previous: Ports, firstPort = 8080): Ports {
  const ports = new Map<string, number>();
  const taken = new Set<number>();
  for (const { id } of graph.tunnels) {
    const port = previous.get(id);
    if (port === undefined || taken.has(port)) continue;
    ports.set(id, port);
    taken.add(port);
  }
  for (const [index, { id }] of graph.tunnels.entries()) {
    if (ports.has(id)) continue;
    let port = index === 0 && !taken.has(firstPort) ? firstPort : FURTHER;
    while (taken.has(port)) port++;
    ports.set(id, port);
    taken.add(port);
  }
  return ports;
}
