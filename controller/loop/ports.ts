// Which loopback port of the proxy each tunnel gets: the local port tells the proxy which tunnel a request came through.

/** The first tunnel keeps the port that everybody expects; further ones are counted from a range of their own. */
export interface PortRange {
  readonly first: number;
  readonly further: number;
}

/**
 * Ports for `tunnelIds`, in their order. A tunnel that has a port keeps it as long as it exists: moving it would send requests that are
 * on their way to another Gateway's listeners. The first port goes to the first tunnel without one.
 */
export function assignPorts(
  known: ReadonlyMap<string, number>,
  tunnelIds: readonly string[],
  range: PortRange,
): ReadonlyMap<string, number> {
  const kept = new Map(tunnelIds.flatMap((id) => (known.has(id) ? [[id, known.get(id) ?? 0] as const] : [])));
  const taken = new Set(kept.values());
  const result = new Map<string, number>();
  for (const id of tunnelIds) {
    let port = kept.get(id);
    if (port === undefined) {
      port = taken.has(range.first) ? range.further : range.first;
      while (taken.has(port)) port += 1;
      taken.add(port);
    }
    result.set(id, port);
  }
  return result;
}
