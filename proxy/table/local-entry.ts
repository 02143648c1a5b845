// Which listener is a request for at the proxy's own entry? Answers for one Gateway and one port of it.
import type { LocalEntryConfig } from '#proxy/config/schema.ts';
import { HostMap, hostPattern } from './host.ts';
import { findArm, limited, type EntryPlan, type ListenerTable } from './listener.ts';
import type { KeyPair, LocalListener } from './types.ts';

/**
 * The accepted socket has told Gateway, port and scheme already: the port in Host does not count, and listeners of another protocol are never
 * asked. The most specific hostname owns a request, alone (listener isolation).
 */
export function localEntryPlan(entry: LocalEntryConfig, certificates: ReadonlyMap<string, KeyPair>): EntryPlan {
  const { id, listenerPort, protocol } = entry;
  const owners = new HostMap<LocalOwner>();
  const tables: ListenerTable[] = [];
  const listeners = entry.listeners.filter((listener) => listener.protocol === protocol);
  for (const [hostname, alike] of Map.groupBy(listeners, (listener) => hostPattern(listener.hostname))) {
    const table: ListenerTable = { listeners: alike, hosts: new HostMap() };
    const ids = alike.flatMap((listener) => listener.certificates ?? []);
    const pairs = ids.flatMap((certificate) => certificates.get(certificate) ?? []);
    owners.set(hostname, { table, listener: Object.freeze({ hostname, certificates: Object.freeze(pairs) }) });
    tables.push(table);
  }
  const local = Object.freeze({
    listenerPort,
    protocol,
    listenerOf: (host: string) => owners.find(host)?.listener ?? null,
    clientValidation: entry.clientValidation ?? null,
  });
  const match = limited((request, work) => findArm(owners.find(request.host)?.table ?? null, request, work));
  return { tables, table: Object.freeze({ id, local, match }) };
}

interface LocalOwner {
  readonly table: ListenerTable;
  readonly listener: LocalListener;
}
