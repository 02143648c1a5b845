// Where connections to a Service may go, as its EndpointSlices say. Pure.
import type { Endpoint, EndpointSlice, Service } from './types.ts';

const SERVICE_NAME = 'kubernetes.io/service-name';

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** The slices of each Service, by `<namespace>/<name>` of the Service. */
export function slicesByService(slices: readonly EndpointSlice[]): ReadonlyMap<string, readonly EndpointSlice[]> {
  const ofIpv4 = slices.filter(({ addressType }) => addressType === 'IPv4');
  return Map.groupBy(ofIpv4, ({ metadata }) => `${metadata.namespace}/${metadata.labels?.[SERVICE_NAME] ?? ''}`);
}

/** Unknown readiness counts as ready (API of EndpointSlice). Slices carry what `publishNotReadyAddresses` asks for as ready. */
const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready !== false;

/** Of pods that are on their way out, those that still answer: better than none. */
const isLeaving = ({ conditions }: Endpoint): boolean => conditions?.serving === true && conditions.terminating === true;

export function readyEndpoints(slices: readonly EndpointSlice[]): readonly Endpoint[] {
  return slices.flatMap(({ endpoints }) => (endpoints ?? []).filter(isReady));
}

/** What one port of a Service leads to. An endpoint in two slices counts once. */
export function targetsOf(
  port: { readonly name?: string; readonly protocol?: string },
  slices: readonly EndpointSlice[],
): readonly Target[] {
  const choose = (wanted: (endpoint: Endpoint) => boolean): readonly Target[] => {
    const targets = slices.flatMap(({ ports, endpoints }) => {
      const number = ports?.find((candidate) => isSamePort(candidate, port))?.port;
      if (number === undefined) return [];
      return (endpoints ?? []).filter(wanted).map(({ addresses }): Target => ({ host: addresses[0] ?? '', port: number }));
    });
    return [...new Map(targets.map((target) => [`${target.host}:${target.port}`, target])).values()];
  };
  const ready = choose(isReady);
  return ready.length > 0 ? ready : choose(isLeaving);
}

type Port = { readonly name?: string; readonly protocol?: string };
const isSamePort = (one: Port, other: Port): boolean =>
  (one.name ?? '') === (other.name ?? '') && (one.protocol ?? 'TCP') === (other.protocol ?? 'TCP');

/** An entrance is a ClusterIP with a port; only those that lead somewhere are here, so that the others are refused. */
export interface Entrance {
  readonly address: string;
  readonly port: number;
  readonly targets: readonly Target[];
}

export interface ServiceTableInput {
  readonly services: readonly Service[];
  readonly slices: readonly EndpointSlice[];
  /** Services whose endpoints no slice can hold, by `<namespace>/<name>`. */
  readonly fixed: ReadonlyMap<string, readonly Target[]>;
}

/** Headless Services and names of other hosts have no address of their own. */
export const hasClusterIp = ({ spec }: Service): boolean => /^\d+(\.\d+){3}$/.test(spec.clusterIP ?? '');

export function serviceTable({ services, slices, fixed }: ServiceTableInput): ReadonlyMap<string, Entrance> {
  const bySlice = slicesByService(slices);
  const entrances = services.filter(hasClusterIp).flatMap(({ metadata, spec }) => {
    const key = `${metadata.namespace}/${metadata.name}`;
    return (spec.ports ?? [])
      .filter(({ protocol = 'TCP' }) => protocol === 'TCP')
      .map((port): Entrance => {
        const targets = fixed.get(key) ?? targetsOf(port, bySlice.get(key) ?? []);
        return { address: spec.clusterIP ?? '', port: port.port, targets };
      });
  });
  return new Map(
    entrances.filter(({ targets }) => targets.length > 0).map((entrance) => [`${entrance.address}:${entrance.port}`, entrance]),
  );
}
