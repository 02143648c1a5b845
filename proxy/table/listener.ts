// Which listener is a request for? Answers for one entry: a loopback port behind which all listeners of one tunnel stand.
import type { EntryConfig, ListenerConfig } from '#proxy/config/schema.ts';
import { undecided, type RankedArm } from './arm.ts';
import type { Bucket } from './bucket.ts';
import { HostMap, hostPattern } from './host.ts';
import { normalisePath } from './path.ts';
import type { EntryTable, RequestKey } from './types.ts';
import { WORK_PER_REQUEST, type Work } from './work.ts';

/**
 * Listeners that cannot be told apart by a request (same protocol and hostname, of Gateways that share a tunnel or on ports that it does not
 * tell) and the routes of all of them, by the routes' hostnames. The most specific hostname owns the request: what its routes do not match is
 * not found, even if routes of a broader hostname would match. The Gateway API compares hostnames before anything else.
 */
export interface ListenerTable {
  readonly listeners: readonly ListenerConfig[];
  readonly hosts: HostMap<Bucket>;
}

/** The listeners that compete for a request, by the protocol they speak. */
interface Competition {
  readonly HTTP: HostMap<ListenerTable>;
  readonly HTTPS: HostMap<ListenerTable>;
}

/** The well-known port of each protocol: the one that the edge serves, so its listener goes first. */
const DEFAULT_PORT = { HTTP: 80, HTTPS: 443 };

export interface EntryPlan {
  readonly tables: readonly ListenerTable[];
  readonly table: EntryTable;
}

/**
 * A tunnel delivers the visitor's scheme and the Host header, but no port that could be trusted to be the listener's. So the port written in
 * Host selects only among listeners if there are some on that port; otherwise all compete. Listeners of the visitor's scheme go first; those
 * of the other scheme are asked only if none of the former has the host (the edge speaks TLS for plain HTTP listeners too).
 * Then the most specific hostname wins, alone: another listener's routes are never looked at for it (listener isolation).
 */
export function* entrySteps(entry: EntryConfig): Generator<void, EntryPlan> {
  const tables = new Map<string, ListenerTable>();
  const everyPort = yield* competitionSteps(entry.listeners, tables);
  const byPort = new Map<number, Competition>();
  for (const [port, listeners] of Map.groupBy(entry.listeners, ({ port }) => port))
    byPort.set(port, yield* competitionSteps(listeners, tables));
  return { tables: [...tables.values()], table: entryTable(entry.id, byPort, everyPort) };
}

function entryTable(id: string, byPort: ReadonlyMap<number, Competition>, everyPort: Competition): EntryTable {
  const find = (request: RequestKey, work: Work): RankedArm | null => {
    const competition = (request.hostPort === 0 ? undefined : byPort.get(request.hostPort)) ?? everyPort;
    const [first, second] = request.scheme === 'https' ? [competition.HTTPS, competition.HTTP] : [competition.HTTP, competition.HTTPS];
    return findArm(first.find(request.host) ?? second.find(request.host), request, work);
  };
  return Object.freeze({ id, local: null, match: limited(find) });
}

/** The winning match among the routes of one listener. */
export function findArm(listener: ListenerTable | null, request: RequestKey, work: Work): RankedArm | null {
  const bucket = listener?.hosts.find(request.host) ?? null;
  return bucket === null ? null : bucket.find(normalisePath(request.path), request, work);
}

/** A search that ends when a request has cost too much: what it found until then is not to be relied on. */
export function limited(find: (request: RequestKey, work: Work) => RankedArm | null): EntryTable['match'] {
  const work: Work = { left: 0 };
  return (request) => {
    work.left = WORK_PER_REQUEST;
    const arm = find(request, work);
    return arm !== null && work.left < 0 ? undecided(arm) : arm;
  };
}

const LISTENERS_PER_STEP = 1000;

function* competitionSteps(listeners: readonly ListenerConfig[], tables: Map<string, ListenerTable>): Generator<void, Competition> {
  const competition: Competition = { HTTP: new HostMap(), HTTPS: new HostMap() };
  let done = 0;
  for (const alike of Map.groupBy(listeners, ({ protocol, hostname }) => `${protocol} ${hostPattern(hostname)}`).values()) {
    const onDefaultPort = alike.filter(({ protocol, port }) => port === DEFAULT_PORT[protocol]);
    const winners = onDefaultPort.length > 0 ? onDefaultPort : alike;
    // Nearly always the same listeners win with and without a port in Host: they share one table.
    const key = JSON.stringify(winners.map(({ id }) => id).sort());
    let table = tables.get(key);
    if (table === undefined) tables.set(key, (table = { listeners: winners, hosts: new HostMap() }));
    const [{ protocol, hostname }] = winners as [ListenerConfig, ...ListenerConfig[]];
    competition[protocol].set(hostPattern(hostname), table);
    if (++done % LISTENERS_PER_STEP === 0) yield;
  }
  return competition;
}
