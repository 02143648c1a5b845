// What a pod may learn about itself: fieldRef and resourceFieldRef. Pure.
import type { Container, FieldRef, Pod, ResourceFieldRef } from './types.ts';

export interface NodeFacts {
  readonly name: string;
  readonly address: string;
}

/** A pod that has its place and its address. */
export interface PlacedPod {
  readonly pod: Pod;
  readonly address: string;
  readonly node: NodeFacts;
}

const KEYED = /^metadata\.(labels|annotations)\['(.+)'\]$/;

export function fieldValue({ pod, address, node }: PlacedPod, { fieldPath }: FieldRef): string {
  const { metadata, spec } = pod;
  const [, map, key = ''] = KEYED.exec(fieldPath) ?? [];
  if (map === 'labels' || map === 'annotations') return metadata[map]?.[key] ?? '';
  switch (fieldPath) {
    case 'metadata.name':
    case 'metadata.namespace':
    case 'metadata.uid':
      return metadata[fieldPath.slice('metadata.'.length) as 'name' | 'namespace' | 'uid'];
    case 'metadata.labels':
      return lines(metadata.labels);
    case 'metadata.annotations':
      return lines(metadata.annotations);
    case 'spec.nodeName':
      return node.name;
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? 'default';
    case 'status.hostIP':
    case 'status.hostIPs':
      return node.address;
    case 'status.podIP':
    case 'status.podIPs':
      return address;
    default:
      throw new Error(`fieldPath ${fieldPath} is not known to the node emulator`);
  }
}

const lines = (map: Readonly<Record<string, string>> = {}): string =>
  Object.entries(map)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');

/** What the node has to give: the limit of a container that has none. */
export const nodeCapacity: Readonly<Record<string, string>> = { cpu: '64', memory: '64Gi', 'ephemeral-storage': '64Gi' };

/** In whole units of the divisor, rounded up. */
export function resourceValue(container: Container, { resource, divisor = '1' }: ResourceFieldRef): string {
  const [list, name = ''] = resource.split('.');
  const { limits, requests } = container.resources ?? {};
  const quantity = (list === 'requests' ? requests?.[name] : undefined) ?? limits?.[name] ?? nodeCapacity[name] ?? '0';
  // '0' stands for the default, which is 1.
  const unit = parseQuantity(divisor) || 1;
  return String(Math.ceil(parseQuantity(quantity) / unit));
}

const SUFFIXES: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

export function parseQuantity(text: string): number {
  const [, number = '', suffix = ''] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(text) ?? [];
  const factor = SUFFIXES[suffix];
  if (number === '' || factor === undefined) throw new Error(`not a quantity: ${text}`);
  return Number(number) * factor;
}
