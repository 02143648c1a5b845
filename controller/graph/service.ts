// Services and their EndpointSlices: joined by label, then by port name.
import { SERVICE_NAME_LABEL, type EndpointSlice, type Service, type ServicePort } from '../api/core.ts';
import { compareText, keyOf, type Key } from '../api/ref.ts';
import { forbidden, hostPort } from './address.ts';
import { sameElements } from './memo.ts';
import type { BackendNode } from './types.ts';

export interface ServiceNode {
  readonly object: Service;
  /** By name. */
  readonly slices: readonly EndpointSlice[];
}

export interface Services {
  /** The same node as in the previous build when neither the Service nor its slices changed. */
  get(key: Key): ServiceNode | undefined;
  backend(service: ServiceNode, port: ServicePort, protocol: 'http1' | 'h2c'): BackendNode;
}

const NONE: readonly EndpointSlice[] = [];

function groupSlices(objects: ReadonlyMap<Key, EndpointSlice>): ReadonlyMap<Key, readonly EndpointSlice[]> {
  const groups = new Map<Key, EndpointSlice[]>();
  for (const slice of objects.values()) {
    const service = slice.metadata.labels?.[SERVICE_NAME_LABEL];
    if (service === undefined) continue;
    const key = keyOf(slice.metadata.namespace, service);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [slice]);
    else group.push(slice);
  }
  for (const group of groups.values()) if (group.length > 1) group.sort((a, b) => compareText(a.metadata.name, b.metadata.name));
  return groups;
}

/** Services of one build after another; nodes that nobody asked for in the last build are forgotten. */
export function createServices(): (
  services: ReadonlyMap<Key, Service>,
  slices: ReadonlyMap<Key, EndpointSlice>,
  allowLoopback: boolean,
) => Services {
  let previous = new Map<Key, ServiceNode>();
  let backends = new WeakMap<ServiceNode, Map<string, BackendNode>>();
  let loopbackBefore = false;
  return (services, slices, allowLoopback) => {
    const groups = groupSlices(slices);
    const before = previous;
    const current = new Map<Key, ServiceNode>();
    previous = current;
    if (allowLoopback !== loopbackBefore) backends = new WeakMap();
    loopbackBefore = allowLoopback;
    return {
      get(key) {
        const known = current.get(key);
        if (known !== undefined) return known;
        const object = services.get(key);
        if (object === undefined) return undefined;
        const group = groups.get(key) ?? NONE;
        const old = before.get(key);
        const node = old !== undefined && old.object === object && sameElements(old.slices, group) ? old : { object, slices: group };
        current.set(key, node);
        return node;
      },
      backend(service, port, protocol) {
        let known = backends.get(service);
        if (known === undefined) backends.set(service, (known = new Map()));
        const name = `${port.port}/${port.name ?? ''}/${protocol}`;
        let backend = known.get(name);
        if (backend === undefined) known.set(name, (backend = buildBackend(service, port, protocol, allowLoopback)));
        return backend;
      },
    };
  };
}

function buildBackend(service: ServiceNode, port: ServicePort, protocol: 'http1' | 'h2c', allowLoopback: boolean): BackendNode {
  const { metadata, spec } = service.object;
  const key = keyOf(metadata.namespace, metadata.name);
  const endpoints = new Set<string>();
  const refused = new Set<string>();
  for (const slice of service.slices) {
    const targets = (slice.ports ?? []).filter(
      ({ name, protocol: transport }) => (name ?? '') === (port.name ?? '') && (transport ?? 'TCP') === 'TCP',
    );
    for (const target of targets) {
      const number = target.port ?? (typeof port.targetPort === 'number' ? port.targetPort : port.port);
      for (const address of readyAddresses(slice)) {
        const why = slice.addressType === 'FQDN' ? 'a name instead of an address' : (unfit(address, allowLoopback) ?? unfitPort(number));
        if (why === null) endpoints.add(hostPort(address, number));
        else refused.add(`${address.slice(0, 60)} (${why})`);
      }
    }
  }
  const clusterIP = spec?.clusterIP ?? '';
  const hasFallback = clusterIP !== '' && clusterIP !== 'None' && unfit(clusterIP, allowLoopback) === null;
  return {
    config: {
      kind: 'backend',
      id: `Service/${key}:${port.port}/${protocol}`,
      name: `${key}:${port.port}`,
      protocol,
      endpoints: [...endpoints].sort(compareText),
      ...(hasFallback ? { fallback: hostPort(clusterIP, port.port) } : {}),
    },
    refused: [...refused].sort(compareText),
  };
}

/**
 * Readiness that is not told counts as ready. Addresses beyond the first have no meaning that consumers agree on, and kube-proxy ignores
 * them too. A terminating endpoint may still be ready (publishNotReadyAddresses) but must not get new requests.
 */
const readyAddresses = (slice: EndpointSlice): readonly string[] =>
  (slice.endpoints ?? []).flatMap(({ addresses, conditions }) => {
    const [address] = addresses;
    return address === undefined || conditions?.ready === false || conditions?.terminating === true ? [] : [address];
  });

/** The API server takes any number. */
const unfitPort = (port: number): string | null =>
  Number.isInteger(port) && port >= 1 && port <= 65_535 ? null : `port ${port}, which there is not`;

function unfit(address: string, allowLoopback: boolean): string | null {
  const why = forbidden(address);
  return why === 'loopback' && allowLoopback ? null : why;
}
