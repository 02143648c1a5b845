// Graph → the Service of each Gateway with an entry of its own, and its EndpointSlices: a selector could not choose pods of another
// namespace, so that the endpoints are written by us.
import { SERVICE_NAME_LABEL, type KubeObject, type Service } from '../api/core.ts';
import type { Facts, ObjectManifest, ObjectPlan } from '../api/plan.ts';
import { OWN_GROUP } from '../api/own.ts';
import { compareText, keyOf, type Key } from '../api/ref.ts';
import { sameIp } from '../graph/address.ts';
import type { GatewayNode, Graph, LocalEntryNode } from '../graph/types.ts';
import { localPorts } from './local-entry.ts';
import { dnsLabel, labelValue } from '../api/names.ts';
import type { Ports } from './ports.ts';

/** By this label objects that are no longer wanted are found; it tells those of several controllers apart. */
export const CONTROLLER_LABEL = `${OWN_GROUP}/controller`;
/** GEP-1762. */
const GATEWAY_LABEL = 'gateway.networking.k8s.io/gateway-name';
const SLICE_MANAGER_LABEL = 'endpointslice.kubernetes.io/managed-by';

/** What the API server takes of ports in one EndpointSlice, and of endpoints. */
const MOST_PORTS = 100;
const MOST_ENDPOINTS = 1000;

/** Names of Services begin with a letter, those of Gateways need not. */
const serviceName = ({ object }: GatewayNode): string => dnsLabel(`cftunnel-${object.metadata.name}`);

export const serviceKey = (gateway: GatewayNode): Key => keyOf(gateway.object.metadata.namespace, serviceName(gateway));

export const hasService = (gateway: GatewayNode): boolean => localPorts(gateway).length > 0;

/** `proxies` are the addresses of the proxies that take visitors. There is no Service without a port. */
export function renderEntryObjects(graph: Graph, targets: Ports, proxies: readonly string[]): readonly ObjectPlan[] {
  return graph.gateways.flatMap((gateway) => {
    const ports = localPorts(gateway).flatMap(({ id, port, protocol }): readonly EntryPort[] => {
      const target = targets.get(id);
      return target === undefined ? [] : [{ name: `${protocol.toLowerCase()}-${port}`, port, target }];
    });
    if (gateway.local === null || ports.length === 0) return [];
    const frame = frameOf(gateway, graph.controllerName);
    return [renderService(gateway, gateway.local, frame, ports), ...renderSlices(gateway, frame, ports, proxies)];
  });
}

interface EntryPort {
  readonly name: string;
  readonly port: number;
  readonly target: number;
}

type Frame = Omit<ObjectManifest['metadata'], 'name'>;

/** What all objects of a Gateway have in common; labels that somebody wishes for do not replace ours. */
function frameOf({ object }: GatewayNode, controllerName: string): Frame {
  const { name, namespace, uid } = object.metadata;
  const { labels, annotations } = object.spec.infrastructure ?? {};
  return {
    ...(namespace !== undefined && { namespace }),
    labels: { ...labels, [GATEWAY_LABEL]: labelValue(name), [CONTROLLER_LABEL]: controllerLabel(controllerName) },
    ...(annotations !== undefined && { annotations }),
    ownerReferences: [{ apiVersion: object.apiVersion, kind: 'Gateway', name, uid }],
  };
}

export const controllerLabel = (controllerName: string): string => labelValue(controllerName.replaceAll('/', '_'));

function renderService(
  gateway: GatewayNode,
  { serviceType, requestedIp }: LocalEntryNode,
  frame: Frame,
  ports: readonly EntryPort[],
): ObjectPlan {
  const address = requestedIp === null ? {} : { [serviceType === 'LoadBalancer' ? 'loadBalancerIP' : 'clusterIP']: requestedIp };
  return {
    kind: 'Service',
    key: serviceKey(gateway),
    manifest: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { ...frame, name: serviceName(gateway) },
      spec: {
        type: serviceType,
        ...address,
        ports: ports.map(({ name, port, target }) => ({ name, port, protocol: 'TCP', targetPort: target })),
      },
    },
  };
}

const FAMILIES = ['IPv4', 'IPv6'] as const;
const familyOf = (address: string): (typeof FAMILIES)[number] => (address.includes(':') ? 'IPv6' : 'IPv4');

/** Why visitors of the Service do not get to the proxies; null when nothing is known against it. */
export function endpointsProblem(gateway: GatewayNode, objects: Facts['objects']): string | null {
  for (const family of FAMILIES) {
    const slice = `EndpointSlice ${serviceKey(gateway)}-${family.toLowerCase()}`;
    const fact = objects.get(slice);
    if (fact !== undefined && fact.state !== 'Applied') return `${slice}: ${fact.message}`;
  }
  return null;
}

/** One for each address family and hundred ports. */
function renderSlices(gateway: GatewayNode, frame: Frame, ports: readonly EntryPort[], proxies: readonly string[]): readonly ObjectPlan[] {
  const service = serviceName(gateway);
  const families = FAMILIES.map((addressType) => ({
    addressType,
    addresses: proxies.filter((address) => familyOf(address) === addressType),
  }));
  return families
    .filter(({ addresses }) => addresses.length > 0)
    .flatMap(({ addressType, addresses }) =>
      chunks(ports, MOST_PORTS).map((chunk, index) => {
        const name = `${service}-${addressType.toLowerCase()}${index === 0 ? '' : `-${index + 1}`}`;
        const manifest = {
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          metadata: { ...frame, name, labels: { ...frame.labels, [SERVICE_NAME_LABEL]: service, [SLICE_MANAGER_LABEL]: OWN_GROUP } },
          addressType,
          ports: chunk.map(({ name, target }) => ({ name, port: target, protocol: 'TCP' })),
          endpoints: [...addresses]
            .sort(compareText)
            .slice(0, MOST_ENDPOINTS)
            .map((address) => ({ addresses: [address], conditions: { ready: true } })),
        };
        return { kind: 'EndpointSlice', key: keyOf(frame.namespace, name), manifest };
      }),
    );
}

const chunks = <T>(list: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));

/** The address of a Service cannot be changed: it has to be replaced by another. */
export function mustReplace(stored: KubeObject, { kind, spec }: ObjectManifest): boolean {
  if (kind !== 'Service') return false;
  const wanted = spec?.['clusterIP'];
  const has = (stored as Service).spec?.clusterIP ?? '';
  return typeof wanted === 'string' && has !== '' && !sameIp(has, wanted);
}

export interface Address {
  readonly type: 'Hostname' | 'IPAddress';
  readonly value: string;
}

/** Addresses of a Gateway as its status lists them: that of the tunnel first, then that of the Service, if it has the one that was asked for. */
export function publishedAddresses(gateway: GatewayNode, services: ReadonlyMap<Key, Service>): readonly Address[] {
  const names = gateway.addresses.map((value): Address => ({ type: 'Hostname', value }));
  return gateway.local?.published === true && hasService(gateway)
    ? [...names, ...serviceAddresses(gateway, gateway.local, services.get(serviceKey(gateway)))]
    : names;
}

function serviceAddresses({ object }: GatewayNode, local: LocalEntryNode, service: Service | undefined): readonly Address[] {
  // Somebody else's Service may have the name; then there is none of ours.
  const labels = service?.metadata.labels ?? {};
  if (labels[GATEWAY_LABEL] !== labelValue(object.metadata.name) || labels[CONTROLLER_LABEL] === undefined) return [];
  const { requestedIp, serviceType } = local;
  const balancers = service?.status?.loadBalancer?.ingress ?? [];
  const ips =
    serviceType === 'ClusterIP'
      ? [service?.spec?.clusterIP ?? ''].filter((ip) => ip !== '' && ip !== 'None')
      : balancers.flatMap(({ ip }) => ip ?? []);
  // The value as it was asked for: IPv6 addresses can be written in many ways.
  if (requestedIp !== null) return ips.some((ip) => sameIp(ip, requestedIp)) ? [{ type: 'IPAddress', value: requestedIp }] : [];
  const hostnames = serviceType === 'ClusterIP' ? [] : balancers.flatMap(({ hostname }) => hostname ?? []);
  return [
    ...ips.map((value): Address => ({ type: 'IPAddress', value })),
    ...hostnames.map((value): Address => ({ type: 'Hostname', value })),
  ];
}
