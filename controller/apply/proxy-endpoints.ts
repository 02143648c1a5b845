// Which proxies there are: the addresses behind each --proxy-endpoints URL. A Service's name is looked up in the snapshot's
// EndpointSlices (no DNS, no TTL: a new pod is seen with the event); any other host is taken as it is.
import { SERVICE_NAME_LABEL } from '../api/core.ts';
import type { Snapshot } from '../api/snapshot.ts';
import { compareText } from '../api/ref.ts';

/** `name.namespace.svc[.domain]` → its parts; null for anything else. */
export function serviceOf(hostname: string): { readonly namespace: string; readonly name: string } | null {
  const [name, namespace, svc] = hostname.split('.');
  return name && namespace && svc === 'svc' ? { name, namespace } : null;
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
    const slices = [...snapshot.objects.EndpointSlice.values()].sort((a, b) => compareText(a.addressType ?? '', b.addressType ?? ''));
    const pods = new Set<string>();
    for (const slice of slices) {
      const ours = slice.metadata.namespace === service.namespace && slice.metadata.labels?.[SERVICE_NAME_LABEL] === service.name;
      if (!ours) continue;
      for (const item of slice.endpoints ?? []) {
        const pod = item.targetRef?.name ?? item.addresses.join();
        const address = item.addresses[0];
        if (item.conditions?.terminating || address === undefined || pods.has(pod)) continue;
        pods.add(pod);
        urls.add(withHost(url, address));
      }
    }
  }
  return [...urls].sort(compareText);
}

function withHost(url: URL, address: string): string {
  const copy = new URL(url.href);
  copy.hostname = address.includes(':') ? `[${address}]` : address;
  return copy.href;
}
