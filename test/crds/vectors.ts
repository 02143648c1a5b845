// All tables together, and the core kinds.
import { gatewayVectors } from './gateway-vectors.ts';
import { ownVectors } from './own-vectors.ts';
import { refused, taken, type Vector } from './vector.ts';

const core = (kind: string, rest: string, metadata = 'name: x'): string =>
  `{apiVersion: v1, kind: ${kind}, metadata: {${metadata}}, ${rest}}`;
const slice = (rest: string): string =>
  `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: x, labels: {kubernetes.io/service-name: x}}, ${rest}}`;

/** Of the core kinds only what we read is compared. */
const coreVectors: readonly Vector[] = [
  taken('service', core('Service', 'spec: {ports: [{port: 80}]}')),
  taken('service: two named ports', core('Service', 'spec: {ports: [{name: a, port: 80, targetPort: web}, {name: b, port: 81}]}')),
  taken('service: outside', core('Service', 'spec: {type: ExternalName, externalName: a.example.com}')),
  refused('service: no ports', 'ports', core('Service', 'spec: {}')),
  refused('service: port without name', 'spec.ports', core('Service', 'spec: {ports: [{port: 80}, {name: b, port: 81}]}')),
  refused('service: port beyond', 'spec.ports[0].port', core('Service', 'spec: {ports: [{port: 70000}]}')),
  refused('service: unknown protocol', 'spec.ports[0].protocol', core('Service', 'spec: {ports: [{port: 80, protocol: HTTP}]}')),
  refused('service: name with a dot', 'metadata.name', core('Service', 'spec: {ports: [{port: 80}]}', 'name: a.b')),
  taken('slice', slice('addressType: IPv4, endpoints: [{addresses: [10.0.0.1]}], ports: [{port: 80}]')),
  refused('slice: no address type', 'addressType', slice('endpoints: [{addresses: [10.0.0.1]}]')),
  refused('slice: no address', 'endpoints[0].addresses', slice('addressType: IPv4, endpoints: [{addresses: []}]')),
  refused('slice: a name for an address', 'endpoints', slice('addressType: IPv4, endpoints: [{addresses: [a.example.com]}]')),
  refused('slice: IPv6 for IPv4', 'endpoints', slice('addressType: IPv4, endpoints: [{addresses: ["2001:db8::1"]}]')),
  taken('secret', core('Secret', 'stringData: {a: b}, data: {c: ZA==}')),
  refused('secret: a key with a slash', 'data', core('Secret', 'data: {a/b: ZA==}')),
  taken('config map', core('ConfigMap', 'data: {a: b}')),
  refused('config map: name with a blank', 'metadata.name', core('ConfigMap', 'data: {a: b}', 'name: "a b"')),
  taken('namespace', core('Namespace', 'spec: {}', 'name: vector-a')),
  refused('namespace: name with a dot', 'metadata.name', core('Namespace', 'spec: {}', 'name: a.b')),
];

export const vectors: readonly Vector[] = [...ownVectors, ...gatewayVectors, ...coreVectors];
