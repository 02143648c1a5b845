// Which proxies there are: the addresses behind each --proxy-endpoints URL. A Service's name is looked up in the snapshot's
// EndpointSlices (no DNS, no TTL: a new pod is seen with the event); any other host is taken as it is.
import { isIP } from 'node:net';
import { SERVICE_NAME_LABEL, type EndpointSlice } from '../api/core.ts';
import type { Snapshot } from '../api/snapshot.ts';
import { compareText } from '../api/ref.ts';

interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** `name.namespace.svc[.domain]` → its parts; null for anything else. */
export function serviceOf(hostname: string): ServiceName | null {
  const [name, namespace, svc] = hostname.split('.');
  return name && namespace && svc === 'svc' ? { name, namespace } : null;
}

type Endpoint = NonNullable<EndpointSlice['endpoints']>[number];

/** Endpoints of a Service that are there to stay, IPv4 first. */
function endpointsOf(service: ServiceName, snapshot: Snapshot): readonly Endpoint[] {
  const slices = [...snapshot.objects.EndpointSlice.values()].filter(
    ({ metadata }) => metadata.namespace === service.namespace && metadata.labels?.[SERVICE_NAME_LABEL] === service.name,
  );
  slices.sort((a, b) => compareText(a.addressType ?? '', b.addressType ?? ''));
  return slices.flatMap(({ endpoints = [] }) => endpoints.filter(({ conditions }) => !conditions?.terminating));
}

/**
 * One URL per proxy, sorted. Pods that are not ready count too: they become ready by getting a configuration. A dual-stack pod stands
 * in two slices and counts once.
 */
export function proxyUrls(endpoints: readonly string[], snapshot: Snapshot): readonly string[] {
  const urls = new Set<string>();
  for (const endpoint of endpoints) {
    const url = new URL(endpoint);
    const service = serviceOf(url.hostname);
    if (!service) {
      urls.add(url.href);
      continue;
    }
    const pods = new Set<string>();
    for (const item of endpointsOf(service, snapshot)) {
      const pod = item.targetRef?.name ?? item.addresses.join();
      const address = item.addresses[0];
      if (address === undefined || pods.has(pod)) continue;
      pods.add(pod);
      urls.add(withHost(url, address));
    }
  }
  return [...urls].sort(compareText);
}

/**
 * Addresses of the proxies that take visitors, of every family. Where unready pods are published as well, `serving` tells them apart. When
 * none is ready, all of them: a proxy that has lost its tunnel is not ready, and can still answer those who come to itself.
 */
export function visitorAddresses(endpoints: readonly string[], snapshot: Snapshot): readonly string[] {
  const addresses = endpoints.flatMap((endpoint): readonly string[] => {
    const { hostname } = new URL(endpoint);
    const service = serviceOf(hostname);
    const bare = hostname.replace(/^\[|\]$/g, '');
    if (service === null) return isIP(bare) === 0 ? [] : [bare];
    const all = endpointsOf(service, snapshot);
    const serving = all.filter(({ conditions }) => (conditions?.serving ?? conditions?.ready) !== false);
    return (serving.length > 0 ? serving : all).flatMap((item) => item.addresses.slice(0, 1));
  });
  return [...new Set(addresses)].sort(compareText);
}

function withHost(url: URL, address: string): string {
  const copy = new URL(url.href);
  copy.hostname = address.includes(':') ? `[${address}]` : address;
  return copy.href;
}
