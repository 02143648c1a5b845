// Values that more than one test renders.
import type { Values } from './helm.ts';

export const classConfig: Values = {
  create: true,
  tunnelID: '00000000-0000-4000-8000-000000000000',
  cloudflareCredentialsSecretRef: { name: 'cloudflare' },
};

const spread = [
  { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: { a: 'b' } } },
];

/** Everything that can be switched on, and every list and map with something in it. */
export const everything: Values = {
  gatewayClassConfig: {
    ...classConfig,
    accountId: '0123456789abcdef0123456789abcdef',
    configPolicy: 'Merge',
    edge: { certificates: 'Ignore' },
    entry: 'Both',
    service: { type: 'LoadBalancer' },
  },
  controller: {
    clusterDomain: 'cozy.local',
    logLevel: 'debug',
    logFormat: 'text',
    tracing: { enabled: true, endpoint: 'collector.observability:4317', sampleRate: 0.25 },
  },
  leaderElection: { enabled: true },
  replicaCount: 2,
  imagePullSecrets: [{ name: 'registry' }],
  serviceAccount: { annotations: { 'example.com/role': 'tunnel' } },
  rbac: { secrets: 'ClusterWide' },
  localEntry: { enabled: true, trustedHops: 1 },
  crds: { upgrade: true },
  podAnnotations: { 'example.com/note': 'controller' },
  podLabels: { 'example.com/team': 'edge' },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'edge', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: spread,
  priorityClassName: 'system-cluster-critical',
  dnsPolicy: 'None',
  dnsConfig: { nameservers: ['10.0.0.10'], searches: ['svc.cozy.local'], options: [{ name: 'ndots', value: '2' }] },
  podDisruptionBudget: { enabled: true },
  service: { annotations: { 'example.com/scrape': 'true' } },
  serviceMonitor: { enabled: true, interval: '30s', labels: { release: 'prometheus' } },
  networkPolicy: {
    enabled: true,
    ingress: { from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }] },
    kubernetesApiIpBlocks: ['10.0.0.0/8', 'fd00::/8'],
  },
  ruleNameUniquenessPolicy: { enabled: true },
  hostnameOwnershipPolicy: {
    enabled: true,
    labelKey: 'namespace.cozystack.io/host',
    namespaceSelector: { matchExpressions: [{ key: 'cozystack.io/system', operator: 'NotIn', values: ['true'] }] },
    unlabelled: 'Ignore',
    emptyHostnames: 'Scope',
    listenerAdmissionPolicy: true,
  },
  proxy: {
    replicas: 3,
    tunnel: { protocol: 'http2' },
    gracePeriodSeconds: 60,
    accessLog: { enabled: true, samplingRate: 0.5, stripQuery: true },
    service: { annotations: { 'example.com/scrape': 'true' } },
    networkPolicy: {
      egressRestricted: true,
      ingress: { from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }] },
      monitoringNamespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } },
    },
    podDisruptionBudget: { enabled: true, maxUnavailable: '50%' },
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [{ key: 'edge', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    topologySpreadConstraints: spread,
    priorityClassName: 'system-cluster-critical',
    podAnnotations: { 'example.com/note': 'proxy' },
    podLabels: { 'example.com/team': 'edge' },
  },
};
