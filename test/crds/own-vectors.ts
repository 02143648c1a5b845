// Objects of our own kinds.
import { refused, taken, type Vector } from './vector.ts';

const own = (kind: string, spec: string): string =>
  `{apiVersion: cf.k8s.lex.la/v1alpha1, kind: ${kind}, metadata: {name: x}, spec: ${spec}}`;
const classConfig = (spec: string): string => own('GatewayClassConfig', spec);
const gatewayConfig = (spec: string): string => own('GatewayConfig', `{tunnelTokenSecretRef: {name: token}, ${spec}}`);
const external = (spec: string): string => own('ExternalBackend', spec);

const ID = '01234567-89ab-cdef-0123-456789abcdef';
const CREDENTIALS = 'cloudflareCredentialsSecretRef: {name: cf}';

export const ownVectors: readonly Vector[] = [
  taken('class config: tunnel', classConfig(`{${CREDENTIALS}, tunnelID: ${ID}}`)),
  taken(
    'class config: everything',
    classConfig(
      `{cloudflareCredentialsSecretRef: {name: cf, namespace: ns, key: k}, accountId: '${'a1'.repeat(16)}', tunnelID: ${ID}, configPolicy: Merge, edge: {certificates: Ignore}}`,
    ),
  ),
  taken('class config: empty account', classConfig(`{${CREDENTIALS}, accountId: '', tunnelID: ${ID}}`)),
  taken('class config: derived from the token', classConfig(`{${CREDENTIALS}, deriveFromToken: true}`)),
  taken('class config: defaults below edge', classConfig(`{${CREDENTIALS}, tunnelID: ${ID}, edge: {}}`)),
  taken('class config: null is as if absent', classConfig(`{${CREDENTIALS}, tunnelID: ${ID}, configPolicy: null, accountId: null}`)),
  taken(
    'class config: an entry at the proxies needs neither tunnel nor credentials',
    classConfig('{entry: Local, service: {type: LoadBalancer}}'),
  ),
  taken('class config: both entries', classConfig(`{${CREDENTIALS}, tunnelID: ${ID}, entry: Both, service: {}}`)),
  refused('class config: both entries without tunnel', 'spec', classConfig(`{${CREDENTIALS}, entry: Both}`)),
  refused('class config: both entries without credentials', 'spec', classConfig(`{tunnelID: ${ID}, entry: Both}`)),
  refused('class config: unknown entry', 'spec.entry', classConfig(`{${CREDENTIALS}, tunnelID: ${ID}, entry: local}`)),
  refused('class config: unknown type of Service', 'spec.service.type', classConfig('{entry: Local, service: {type: ExternalName}}')),
  refused('class config: neither tunnel nor derived', 'spec', classConfig(`{${CREDENTIALS}}`)),
  refused('class config: derived false', 'spec', classConfig(`{${CREDENTIALS}, deriveFromToken: false}`)),
  refused('class config: no credentials', 'spec', classConfig(`{tunnelID: ${ID}}`)),
  refused(
    'class config: credentials without name',
    'spec.cloudflareCredentialsSecretRef.name',
    classConfig(`{cloudflareCredentialsSecretRef: {}, tunnelID: ${ID}}`),
  ),
  refused(
    'class config: empty name',
    'spec.cloudflareCredentialsSecretRef.name',
    classConfig(`{cloudflareCredentialsSecretRef: {name: ''}, tunnelID: ${ID}}`),
  ),
  refused(
    'class config: account in capitals',
    'spec.accountId',
    classConfig(`{${CREDENTIALS}, accountId: '${'A1'.repeat(16)}', tunnelID: ${ID}}`),
  ),
  refused('class config: short account', 'spec.accountId', classConfig(`{${CREDENTIALS}, accountId: 'a1', tunnelID: ${ID}}`)),
  refused('class config: tunnel is no UUID', 'spec.tunnelID', classConfig(`{${CREDENTIALS}, tunnelID: tunnel}`)),
  refused('class config: tunnel in capitals', 'spec.tunnelID', classConfig(`{${CREDENTIALS}, tunnelID: ${ID.toUpperCase()}}`)),
  refused('class config: unknown policy', 'spec.configPolicy', classConfig(`{${CREDENTIALS}, tunnelID: ${ID}, configPolicy: merge}`)),
  refused(
    'class config: unknown certificate mode',
    'spec.edge.certificates',
    classConfig(`{${CREDENTIALS}, tunnelID: ${ID}, edge: {certificates: Never}}`),
  ),
  refused('class config: unknown field', 'spec.tunnelId', classConfig(`{${CREDENTIALS}, tunnelID: ${ID}, tunnelId: ${ID}}`)),
  refused('class config: text for a flag', 'spec.deriveFromToken', classConfig(`{${CREDENTIALS}, deriveFromToken: 'true'}`)),
  taken('class config: a tunnel per Gateway', classConfig(`{${CREDENTIALS}, tunnels: PerGateway}`)),
  refused('class config: one tunnel and one per Gateway', 'spec', classConfig(`{${CREDENTIALS}, tunnelID: ${ID}, tunnels: PerGateway}`)),
  refused('class config: tunnels of another kind', 'spec.tunnels', classConfig(`{${CREDENTIALS}, tunnelID: ${ID}, tunnels: Many}`)),
  refused('class config: no spec', 'spec', '{apiVersion: cf.k8s.lex.la/v1alpha1, kind: GatewayClassConfig, metadata: {name: x}}'),

  taken('gateway config: token only', gatewayConfig('')),
  taken(
    'gateway config: keys may be empty',
    gatewayConfig("authTokenSecretRef: {name: a, key: ''}, cloudflareCredentialsSecretRef: {name: b}"),
  ),
  taken('gateway config: replicas', gatewayConfig('replicas: 100')),
  taken(
    'gateway config: autoscaling',
    gatewayConfig('autoscaling: {minReplicas: 3, maxReplicas: 3, targetInflightPerPod: 1, metricName: m}'),
  ),
  taken(
    'gateway config: autoscaling from the implied minimum',
    gatewayConfig('autoscaling: {maxReplicas: 2, targetInflightPerPod: 2147483647}'),
  ),
  taken(
    'gateway config: resources',
    gatewayConfig(
      "resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 100m, memory: '1.5e3'}, claims: [{name: a}, {name: b, request: r}]}",
    ),
  ),
  taken('gateway config: empty resources', gatewayConfig('resources: {}')),
  taken('gateway config: image', gatewayConfig("image: 'registry.example.com:5000/a/b_c:v1@sha256:0123'")),
  taken('gateway config: the shared proxies', gatewayConfig('dataPlane: Shared')),
  refused('gateway config: other proxies', 'spec.dataPlane', gatewayConfig('dataPlane: Nobody')),
  refused('gateway config: no token', 'spec.tunnelTokenSecretRef', own('GatewayConfig', '{}')),
  refused(
    'gateway config: a Secret of another namespace',
    'spec.tunnelTokenSecretRef.namespace',
    own('GatewayConfig', '{tunnelTokenSecretRef: {name: a, namespace: b}}'),
  ),
  refused('gateway config: no replicas', 'spec.replicas', gatewayConfig('replicas: 0')),
  refused('gateway config: too many replicas', 'spec.replicas', gatewayConfig('replicas: 101')),
  refused('gateway config: half a replica', 'spec.replicas', gatewayConfig('replicas: 1.5')),
  refused(
    'gateway config: replicas and autoscaling',
    'spec',
    gatewayConfig('replicas: 2, autoscaling: {maxReplicas: 3, targetInflightPerPod: 1}'),
  ),
  refused(
    'gateway config: maximum below minimum',
    'spec.autoscaling',
    gatewayConfig('autoscaling: {minReplicas: 4, maxReplicas: 3, targetInflightPerPod: 1}'),
  ),
  refused(
    'gateway config: maximum below the implied minimum',
    'spec.autoscaling',
    gatewayConfig('autoscaling: {maxReplicas: 1, targetInflightPerPod: 1}'),
  ),
  refused(
    'gateway config: autoscaling without target',
    'spec.autoscaling.targetInflightPerPod',
    gatewayConfig('autoscaling: {maxReplicas: 3}'),
  ),
  refused(
    'gateway config: target beyond 32 bits',
    'spec.autoscaling.targetInflightPerPod',
    gatewayConfig('autoscaling: {maxReplicas: 3, targetInflightPerPod: 2147483648}'),
  ),
  refused('gateway config: no quantity', 'spec.resources.limits', gatewayConfig('resources: {limits: {memory: 1 GB}}')),
  refused('gateway config: fractions need quotes', 'spec.resources.limits', gatewayConfig('resources: {limits: {cpu: 0.5}}')),
  refused('gateway config: a claim twice', 'spec.resources.claims[1]', gatewayConfig('resources: {claims: [{name: a}, {name: a}]}')),
  refused('gateway config: image with a blank', 'spec.image', gatewayConfig("image: 'a b'")),
  refused('gateway config: empty image', 'spec.image', gatewayConfig("image: ''")),

  taken('external backend', external('{scheme: https, host: api.example.com, port: 443}')),
  taken('external backend: IPv6 and path', external("{scheme: http, host: '[2001:db8::1]', port: 65535, path: '/base?a=b'}")),
  refused('external backend: unknown scheme', 'spec.scheme', external('{scheme: ftp, host: a, port: 1}')),
  refused('external backend: no host', 'spec.host', external("{scheme: http, host: '', port: 1}")),
  refused('external backend: long host', 'spec.host', external(`{scheme: http, host: ${'a'.repeat(254)}, port: 1}`)),
  refused('external backend: host with a path', 'spec.host', external('{scheme: http, host: a/b, port: 1}')),
  refused('external backend: port 0', 'spec.port', external('{scheme: http, host: a, port: 0}')),
  refused('external backend: port beyond', 'spec.port', external('{scheme: http, host: a, port: 65536}')),
  refused('external backend: port as text', 'spec.port', external("{scheme: http, host: a, port: '80'}")),
  refused('external backend: relative path', 'spec.path', external('{scheme: http, host: a, port: 1, path: base}')),
  refused('external backend: nothing', 'spec.scheme', external('{}')),
];
