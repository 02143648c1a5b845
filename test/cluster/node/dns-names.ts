// Which names a cluster has: those of Services and of the endpoints of headless ones, as Kubernetes' DNS specification tells them. Pure.
import { hasClusterIp, readyEndpoints, slicesByService } from './endpoints.ts';
import type { ResourceRecord } from './dns-message.ts';
import type { EndpointSlice, Service } from './types.ts';

export const CLUSTER_DOMAIN = 'cluster.local';

/** All records of a name; null when there is no such name. */
export function clusterRecords(
  name: string,
  services: { get(key: string): Service | undefined },
  slices: readonly EndpointSlice[],
): readonly ResourceRecord[] | null {
  const suffix = `.svc.${CLUSTER_DOMAIN}`;
  if (!name.endsWith(suffix)) return null;
  const labels = name.slice(0, -suffix.length).split('.');
  const key = labels.slice(-2).reverse().join('/');
  const service = services.get(key);
  if (service === undefined) return null;
  const own = slicesByService(slices).get(key) ?? [];
  const [first = '', second = ''] = labels;
  if (labels.length === 2) return serviceRecords(name, service, own);
  if (labels.length === 3) return endpointRecords(name, first, own);
  if (labels.length === 4)
    return portRecords(name, labels.slice(2).join('.') + suffix, { port: first, protocol: second }, { service, own });
  return null;
}

function serviceRecords(name: string, service: Service, slices: readonly EndpointSlice[]): readonly ResourceRecord[] {
  if (service.spec.type === 'ExternalName') return [{ name, type: 'CNAME', target: service.spec.externalName ?? '' }];
  if (hasClusterIp(service)) return [{ name, type: 'A', address: service.spec.clusterIP ?? '' }];
  return addressesOf(slices).map(({ address }) => ({ name, type: 'A', address }));
}

function endpointRecords(name: string, host: string, slices: readonly EndpointSlice[]): readonly ResourceRecord[] | null {
  const found = addressesOf(slices).filter((endpoint) => endpoint.host === host);
  return found.length === 0 ? null : found.map(({ address }) => ({ name, type: 'A', address }));
}

function portRecords(
  name: string,
  domain: string,
  { port, protocol }: { readonly port: string; readonly protocol: string },
  { service, own }: { readonly service: Service; readonly own: readonly EndpointSlice[] },
): readonly ResourceRecord[] | null {
  const isAsked = (candidate: { readonly name?: string; readonly protocol?: string }): boolean =>
    `_${candidate.name ?? ''}` === port && `_${(candidate.protocol ?? 'TCP').toLowerCase()}` === protocol;
  const srv = (number: number, target: string): ResourceRecord => ({ name, type: 'SRV', port: number, target });
  const records = hasClusterIp(service)
    ? (service.spec.ports ?? []).filter(isAsked).map((candidate) => srv(candidate.port, domain))
    : own.flatMap((slice) => {
        const number = slice.ports?.find(isAsked)?.port;
        return number === undefined ? [] : addressesOf([slice]).map(({ host }) => srv(number, `${host}.${domain}`));
      });
  return records.length === 0 ? null : records;
}

/** Each address once, with the label that its endpoint has below the Service. */
function addressesOf(slices: readonly EndpointSlice[]): readonly { readonly address: string; readonly host: string }[] {
  const all = readyEndpoints(slices).flatMap(({ addresses, hostname }) =>
    addresses.map((address) => ({ address, host: hostname ?? address.replaceAll('.', '-') })),
  );
  return [...new Map(all.map((entry) => [entry.address, entry])).values()];
}
