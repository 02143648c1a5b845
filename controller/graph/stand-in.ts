// Listeners of one tenant that would take another's requests: Gateways that share a tunnel cannot be told apart by a visitor, so that the most
// specific listener of all of them gets a request. Where that one has no right to a route's hostname, the route's listener stands beside it.
import { isServedByTunnel } from './entry.ts';
import type { Ownership } from './ownership.ts';
import { covers, hostnamesAbove, intersect, isWithin } from './hostname.ts';
import type { Attachment, GatewayNode, ListenerNode, ParentNode } from './types.ts';

/** A place in the entry of a tunnel that a listener has besides its own. */
export interface StandIn {
  readonly id: string;
  readonly protocol: 'HTTP' | 'HTTPS';
  readonly port: number;
  /** Empty for every host. */
  readonly hostname: string;
}

/** By tunnel. */
export type StandIns = ReadonlyMap<string, readonly StandIn[]>;

export interface Served {
  readonly namespace: string;
  readonly parents: readonly ParentNode[];
}

/** Listeners that no request tells apart. */
interface Place extends Omit<StandIn, 'id'> {
  /** Domains of those that put a listener there. */
  readonly domains: Set<string>;
}

type Index<T> = ReadonlyMap<string, readonly T[]>;

const NONE: StandIns = new Map();

export function placeStandIns(gateways: readonly GatewayNode[], routes: readonly Served[], ownership: Ownership): StandIns {
  const places = ownership.enforced ? policedPlaces(gateways, ownership) : new Map<string, Index<Place>>();
  if (places.size === 0) return NONE;
  const standIns = new Map<string, Map<string, StandIn>>();
  const accepted = createAccepted(ownership);
  for (const { namespace, parents } of routes) {
    const rank = ownership.domainOf(namespace)?.length ?? -1;
    for (const { gateway, attachments } of parents) {
      for (const attachment of attachments) {
        const { tunnelId } = attachment;
        const rivals = places.get(tunnelId ?? '');
        if (tunnelId === null || rivals === undefined) continue;
        let found = standIns.get(tunnelId);
        if (found === undefined) standIns.set(tunnelId, (found = new Map()));
        for (const one of standInsOf(attachment, rank, rivals, accepted(gateway, namespace)))
          found.set(`${one.id} ${one.protocol} ${one.port} ${one.hostname}`, one);
      }
    }
  }
  return new Map([...standIns].map(([tunnelId, found]) => [tunnelId, [...found].sort(byKey).map(([, standIn]) => standIn)]));
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

/** Whoever is not policed may place listeners as they like: that is the platform. */
function policedPlaces(gateways: readonly GatewayNode[], ownership: Ownership): ReadonlyMap<string, Index<Place>> {
  const byTunnel = new Map<string, Map<string, Place>>();
  const trusted = new Set<string>();
  for (const gateway of gateways) {
    if (gateway.tunnelId === null) continue;
    let places = byTunnel.get(gateway.tunnelId);
    if (places === undefined) byTunnel.set(gateway.tunnelId, (places = new Map()));
    for (const { spec, hostname, namespace } of servedBy(gateway)) {
      const key = `${spec.protocol} ${spec.port} ${hostname}`;
      const domain = ownership.domainOf(namespace);
      if (domain === null) trusted.add(`${gateway.tunnelId} ${key}`);
      const place = places.get(key) ?? { protocol: spec.protocol as Place['protocol'], port: spec.port, hostname, domains: new Set() };
      place.domains.add(domain ?? '');
      places.set(key, place);
    }
  }
  const indexes = [...byTunnel].map(([tunnelId, places]) => {
    const policed = [...places].filter(([key]) => !trusted.has(`${tunnelId} ${key}`)).map(([, place]) => place);
    return [tunnelId, indexPlaces(policed)] as const;
  });
  return new Map(indexes.filter(([, index]) => index.size > 0));
}

const servedBy = ({ listeners, sets }: GatewayNode): readonly ListenerNode[] =>
  [...listeners, ...sets.flatMap((set) => set.listeners)].filter(isServedByTunnel);

function add<T>(index: Map<string, T[]>, key: string, value: T): void {
  const list = index.get(key);
  if (list === undefined) index.set(key, [value]);
  else list.push(value);
}

const BELOW = 'below ';

/** Places by their hostname, and once more by every wildcard that covers it. */
function indexPlaces(places: readonly Place[]): Index<Place> {
  const index = new Map<string, Place[]>();
  for (const place of places) {
    add(index, place.hostname, place);
    for (const above of hostnamesAbove(place.hostname)) add(index, BELOW + above, place);
  }
  return index;
}

/** By Gateway and namespace: the listeners whose say a route of that namespace accepts: the Gateway's, its own and the platform's. */
function createAccepted(ownership: Ownership): (gateway: GatewayNode, namespace: string) => Index<ListenerNode> {
  const known = new Map<string, Index<ListenerNode>>();
  return (gateway, namespace) => {
    const key = `${gateway.key} ${namespace}`;
    let index = known.get(key);
    if (index === undefined) {
      const accepted = new Map<string, ListenerNode[]>();
      const said = new Set([namespace, gateway.object.metadata.namespace]);
      for (const listener of servedBy(gateway)) {
        if (said.has(listener.namespace) || ownership.domainOf(listener.namespace) === null) add(accepted, listener.hostname, listener);
      }
      known.set(key, (index = accepted));
    }
    return index;
  };
}

/** Everything at hostnames that cover this one, itself included. */
const covering = <T>(index: Index<T>, hostname: string): readonly T[] =>
  [...new Set(['', ...hostnamesAbove(hostname), hostname])].flatMap((above) => index.get(above) ?? []);

function standInsOf({ listener, hostnames }: Attachment, rank: number, rivals: Index<Place>, own: Index<ListenerNode>): readonly StandIn[] {
  const found: StandIn[] = [];
  for (const claim of hostnames.length > 0 ? hostnames : [listener.hostname]) {
    const { protocol } = listener.spec;
    // Listener isolation: within its Gateway another listener has this hostname, and the route nothing to lose.
    const isInert = covering(own, claim).some(
      (other) => other.spec.protocol === protocol && other.hostname !== listener.hostname && covers(listener.hostname, other.hostname),
    );
    if (isInert) continue;
    for (const place of [...covering(rivals, claim), ...(rivals.get(BELOW + claim) ?? [])]) {
      const contested = intersect(claim, place.hostname) ?? '';
      const isRightful = [...place.domains].some((domain) => isWithin(contested, domain) && domain.length >= rank);
      if (isRightful || hasPlace(own, contested, place, protocol)) continue;
      const hostname = covers(place.hostname, listener.hostname) ? listener.hostname : contested;
      found.push({ id: listener.id, protocol: place.protocol, port: place.port, hostname });
    }
  }
  return found;
}

/** Whether the route's own Gateway decides about such requests: by a listener of the visitor's scheme, as specific and on the same port. */
const hasPlace = (own: Index<ListenerNode>, contested: string, place: Place, protocol: string): boolean =>
  covering(own, contested).some(
    ({ spec, hostname }) =>
      spec.protocol === place.protocol && (place.protocol !== protocol || (spec.port === place.port && covers(place.hostname, hostname))),
  );
