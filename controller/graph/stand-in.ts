// Listeners of one tenant that would take another's requests: Gateways that share a tunnel cannot be told apart by a visitor, so that the most
// specific listener of all of them gets a request. Where that one has no right to a route's hostname, the route's listener stands beside it.
import { isServedByTunnel } from './entry.ts';
import { lastCall, lastFor } from './memo.ts';
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

interface Scene {
  /** Places that a route might have to share, by tunnel. */
  readonly places: ReadonlyMap<string, Index<Place>>;
  readonly accepted: ReturnType<typeof createAccepted>;
  readonly ownership: Ownership;
}

interface Found {
  readonly tunnelId: string;
  readonly key: string;
  readonly standIn: StandIn;
}

const NONE: StandIns = new Map();

/** Routes are looked at one by one, and again only when they, the listeners or the owners have changed. */
export function createStandIns(): (gateways: readonly GatewayNode[], routes: readonly Served[], ownership: Ownership) => StandIns {
  const sceneOf = lastCall((gateways: readonly GatewayNode[], ownership: Ownership): Scene => {
    const places = ownership.enforced ? policedPlaces(gateways, ownership) : new Map<string, Index<Place>>();
    return { places, accepted: createAccepted(ownership), ownership };
  });
  const ofRoute = lastFor(findStandIns);
  return lastCall((gateways, routes, ownership) => {
    const scene = sceneOf(gateways, ownership);
    if (scene.places.size === 0) return NONE;
    const byTunnel = new Map<string, Map<string, StandIn>>();
    for (const { parents, namespace } of routes) {
      for (const { tunnelId, key, standIn } of ofRoute(parents, namespace, scene)) {
        let known = byTunnel.get(tunnelId);
        if (known === undefined) byTunnel.set(tunnelId, (known = new Map()));
        known.set(key, standIn);
      }
    }
    return new Map([...byTunnel].map(([tunnelId, known]) => [tunnelId, [...known].sort(byKey).map(([, standIn]) => standIn)]));
  });
}

function findStandIns(parents: readonly ParentNode[], namespace: string, { places, accepted, ownership }: Scene): readonly Found[] {
  const rank = ownership.domainOf(namespace)?.length ?? -1;
  return parents.flatMap(({ gateway, attachments }) =>
    attachments.flatMap((attachment) => {
      const { tunnelId } = attachment;
      const rivals = places.get(tunnelId ?? '');
      if (tunnelId === null || rivals === undefined) return [];
      return standInsOf(attachment, rank, rivals, accepted(gateway, namespace)).map((standIn) => {
        const { id, protocol, port, hostname } = standIn;
        return { tunnelId, key: `${id} ${protocol} ${port} ${hostname}`, standIn };
      });
    }),
  );
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

/** Hostnames that cover this one, itself included. */
const namesOver = (hostname: string): readonly string[] => (hostname === '' ? [''] : ['', ...hostnamesAbove(hostname), hostname]);

const at = <T>(index: Index<T>, names: readonly string[]): readonly T[] => names.flatMap((name) => index.get(name) ?? []);

function standInsOf({ listener, hostnames }: Attachment, rank: number, rivals: Index<Place>, own: Index<ListenerNode>): readonly StandIn[] {
  const found: StandIn[] = [];
  for (const claim of hostnames.length > 0 ? hostnames : [listener.hostname]) {
    const { protocol } = listener.spec;
    const names = namesOver(claim);
    // Listener isolation: within its Gateway another listener has this hostname, and the route nothing to lose.
    const isInert = at(own, names).some(
      (other) => other.spec.protocol === protocol && other.hostname !== listener.hostname && covers(listener.hostname, other.hostname),
    );
    if (isInert) continue;
    for (const place of [...at(rivals, names), ...(rivals.get(BELOW + claim) ?? [])]) {
      const contested = intersect(claim, place.hostname) ?? '';
      const isRightful = [...place.domains].some((domain) => isWithin(contested, domain) && domain.length >= rank);
      if (isRightful || hasPlace(at(own, contested === claim ? names : namesOver(contested)), place, protocol)) continue;
      const hostname = covers(place.hostname, listener.hostname) ? listener.hostname : contested;
      found.push({ id: listener.id, protocol: place.protocol, port: place.port, hostname });
    }
  }
  return found;
}

/** Whether the route's own Gateway decides about such requests: by a listener of the visitor's scheme, as specific and on the same port. */
const hasPlace = (own: readonly ListenerNode[], place: Place, protocol: string): boolean =>
  own.some(
    ({ spec, hostname }) =>
      spec.protocol === place.protocol && (place.protocol !== protocol || (spec.port === place.port && covers(place.hostname, hostname))),
  );
