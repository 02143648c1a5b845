// Our own kinds (cf.k8s.lex.la/v1alpha1) as zod schemas: the CRDs in crds/ are generated from them, and the folder source validates with them.
import { z } from 'zod';
import type { Condition, KubeObject } from './core.ts';

export const OWN_GROUP = 'cf.k8s.lex.la';
export const OWN_VERSION = 'v1alpha1';

const UUID = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';

/** CEL rules travel as `.meta()` so that they stand beside the field that they guard. */
const cel = (rule: string, message: string) => ({ 'x-kubernetes-validations': [{ rule, message }] });

const localSecret = (key: string, what: string) =>
  z.object({
    name: z.string().min(1).describe('Name of the Secret, in the same namespace.'),
    key: z.string().optional().describe(`Key of the Secret that holds ${what}. Default: ${key}.`),
  });

/** Syntax of resource quantities as Kubernetes publishes it; a whole number may be written without quotes. */
const QUANTITY = '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';

const quantities = z.record(
  z.string(),
  z.union([z.int(), z.string().regex(new RegExp(QUANTITY))]).meta({ 'x-kubernetes-int-or-string': true, pattern: QUANTITY }),
);

/** The core type ResourceRequirements. */
const resourceRequirements = z.object({
  limits: quantities.optional().describe('The most that the container may use.'),
  requests: quantities.optional().describe('What the scheduler sets aside for the container.'),
  claims: z
    .array(
      z.object({
        name: z.string().describe('Name of an entry in the resourceClaims of the pod.'),
        request: z.string().optional().describe('Name of a request in that claim. Default: all of it.'),
      }),
    )
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] })
    .optional()
    .describe('Claims of dynamically allocated resources.'),
});

export const gatewayClassConfigSpec = z
  .object({
    cloudflareCredentialsSecretRef: z
      .object({
        name: z.string().min(1).describe('Name of the Secret with the Cloudflare API token.'),
        namespace: z.string().optional().describe("Namespace of the Secret. Default: the controller's own namespace."),
        key: z.string().optional().describe('Key that holds the API token. Default: api-token.'),
      })
      .optional()
      .describe(
        'The Cloudflare API token. The Secret may carry the account under the key account-id as well. Required unless entry is Local.',
      ),
    entry: z
      .enum(['Tunnel', 'Local', 'Both'])
      .default('Tunnel')
      .describe(
        'How visitors reach the Gateways of the class. Tunnel: through the Cloudflare Tunnel. Local: at the proxies themselves, by a Service for each Gateway in its namespace; no tunnel is needed. Both: both ways, the address of the tunnel first.',
      ),
    service: z
      .object({
        type: z
          .enum(['ClusterIP', 'LoadBalancer'])
          .default('ClusterIP')
          .describe('Type of the Services. LoadBalancer: the address of the load balancer is published, not the ClusterIP.'),
      })
      .optional()
      .describe('The Services that entry Local and Both make.'),
    accountId: z
      .string()
      .meta(cel("self == '' || self.matches('^[a-f0-9]{32}$')", 'accountId must be empty or 32 lower-case hexadecimal characters'))
      .optional()
      .describe(
        'Cloudflare account. Default: what the connector token says, then the Secret, then the only account that the API token can see.',
      ),
    tunnelID: z
      .string()
      .regex(new RegExp(UUID))
      .optional()
      .describe(
        'The Cloudflare Tunnel that serves the Gateways of the class. Required unless deriveFromToken is true, entry is Local or tunnels is PerGateway.',
      ),
    tunnels: z
      .enum(['Shared', 'PerGateway'])
      .default('Shared')
      .describe(
        'Shared: one tunnel for all Gateways of the class, whose routes then compete for hostnames. PerGateway: the controller makes a tunnel for each Gateway and deletes it with the Gateway; the API token must be allowed to edit Cloudflare Tunnels of the account.',
      ),
    deriveFromToken: z
      .boolean()
      .optional()
      .describe('Take the tunnel from the connector token that the controller can read (--proxy-token-secret).'),
    configPolicy: z
      .enum(['Exclusive', 'Merge', 'Observe'])
      .default('Exclusive')
      .describe(
        'What happens to ingress rules of the tunnel that are not ours. Exclusive: they are reported, then removed. Merge: they are kept behind ours. Observe: nothing is written, differences are reported.',
      ),
    edge: z
      .object({
        certificates: z
          .enum(['Require', 'Ignore'])
          .default('Require')
          .describe(
            'What unresolved certificateRefs of an HTTPS listener mean. Require: the listener is not programmed. Ignore: it is, because the edge serves its own certificate.',
          ),
      })
      .optional()
      .describe('Settings of what Cloudflare’s edge does with listeners.'),
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: "has(self.tunnelID) || (has(self.deriveFromToken) && self.deriveFromToken) || self.entry == 'Local' || self.tunnels == 'PerGateway'",
        message: 'tunnelID is required unless deriveFromToken is true, entry is Local or tunnels is PerGateway',
      },
      {
        rule: "self.tunnels != 'PerGateway' || !(has(self.tunnelID) || (has(self.deriveFromToken) && self.deriveFromToken))",
        message: 'tunnelID and deriveFromToken name one tunnel for all: leave them out with tunnels PerGateway',
      },
      {
        rule: "has(self.cloudflareCredentialsSecretRef) || self.entry == 'Local'",
        message: 'cloudflareCredentialsSecretRef is required unless entry is Local',
      },
    ],
  });

export const gatewayConfigSpec = z
  .object({
    dataPlane: z
      .enum(['Shared'])
      .optional()
      .describe(
        'Which proxies serve the Gateway. Shared, the default: those that serve the other Gateways; they hold the token of its tunnel too.',
      ),
    tunnelTokenSecretRef: localSecret('tunnel-token', 'the connector token').describe(
      'The connector token of this Gateway’s own tunnel; the tunnel and the account are read from it.',
    ),
    cloudflareCredentialsSecretRef: localSecret('api-token', 'the API token')
      .optional()
      .describe('API token for this tunnel. Default: that of the class.'),
    authTokenSecretRef: localSecret('auth-token', 'the bearer token')
      .optional()
      .describe('Bearer token of the config API of this Gateway’s proxies. Default: a generated Secret.'),
    replicas: z.int32().min(1).max(100).optional().describe('Number of proxies. Default: 2.'),
    autoscaling: z
      .object({
        minReplicas: z.int32().min(1).max(100).optional().describe('Default: 2.'),
        maxReplicas: z.int32().min(1).max(100).describe('The most proxies.'),
        targetInflightPerPod: z.int32().min(1).describe('Requests in flight per proxy that the autoscaler aims at.'),
        metricName: z.string().optional().describe('Pods metric to scale by. Default: cftunnel_proxy_requests_in_flight.'),
      })
      .meta(
        cel(
          'has(self.minReplicas) ? self.maxReplicas >= self.minReplicas : self.maxReplicas >= 2',
          'maxReplicas must be at least minReplicas (2 when unset)',
        ),
      )
      .optional()
      .describe('Scale by requests in flight instead of a fixed number of replicas.'),
    resources: resourceRequirements
      .optional()
      .describe('Resources of the proxy container. An empty object means no requests and no limits.'),
    image: z
      .string()
      .min(1)
      .regex(/^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$/)
      .optional()
      .describe('Proxy image. Default: the controller’s --proxy-image.'),
  })
  .meta(cel('!(has(self.replicas) && has(self.autoscaling))', 'replicas and autoscaling are mutually exclusive'));

export const externalBackendSpec = z.object({
  scheme: z.enum(['http', 'https']).describe('How the origin is spoken to.'),
  host: z
    .string()
    .min(1)
    .max(253)
    .regex(/^[a-zA-Z0-9._:[\]-]+$/)
    .describe('Host name or address; IPv6 in brackets.'),
  port: z.int32().min(1).max(65535).describe('Port of the origin; the port of the backendRef is not used.'),
  path: z
    .string()
    .regex(/^\/.*$/)
    .optional()
    .describe('Base path, put before the path of each request; may carry a query.'),
});

/** One row per kind: what the CRD generator needs beyond the schema. */
export const ownKinds = [
  {
    kind: 'GatewayClassConfig',
    description:
      'Settings of a GatewayClass: the Cloudflare account, the tunnel and how its ingress rules are kept. The class refers to it by parametersRef.',
    plural: 'gatewayclassconfigs',
    singular: 'gatewayclassconfig',
    shortName: 'gcconfig',
    scope: 'Cluster',
    spec: gatewayClassConfigSpec,
    status: true,
    columns: [
      { name: 'Tunnel ID', type: 'string', jsonPath: '.spec.tunnelID' },
      { name: 'Valid', type: 'string', jsonPath: '.status.conditions[?(@.type=="Valid")].status' },
      { name: 'Synced', type: 'string', jsonPath: '.status.conditions[?(@.type=="TunnelSynced")].status' },
      { name: 'Policy', type: 'string', jsonPath: '.spec.configPolicy', priority: 1 },
      { name: 'Tunnels', type: 'string', jsonPath: '.spec.tunnels', priority: 1 },
      { name: 'Entry', type: 'string', jsonPath: '.spec.entry', priority: 1 },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
  },
  {
    kind: 'GatewayConfig',
    description:
      'Gives one Gateway its own tunnel and its own proxies. The Gateway refers to it by spec.infrastructure.parametersRef, in its own namespace.',
    plural: 'gatewayconfigs',
    singular: 'gatewayconfig',
    shortName: 'gwconfig',
    scope: 'Namespaced',
    spec: gatewayConfigSpec,
    status: true,
    columns: [
      { name: 'Tunnel Token Secret', type: 'string', jsonPath: '.spec.tunnelTokenSecretRef.name' },
      { name: 'Valid', type: 'string', jsonPath: '.status.conditions[?(@.type=="Valid")].status' },
      { name: 'Synced', type: 'string', jsonPath: '.status.conditions[?(@.type=="TunnelSynced")].status' },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
  },
  {
    kind: 'ExternalBackend',
    description: 'An HTTP or HTTPS origin outside the cluster, to be used as a backendRef of a route.',
    plural: 'externalbackends',
    singular: 'externalbackend',
    shortName: 'extbackend',
    scope: 'Namespaced',
    spec: externalBackendSpec,
    status: false,
    columns: [
      { name: 'Scheme', type: 'string', jsonPath: '.spec.scheme' },
      { name: 'Host', type: 'string', jsonPath: '.spec.host' },
      { name: 'Port', type: 'integer', jsonPath: '.spec.port' },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
  },
] as const;

interface WithConditions {
  readonly conditions?: readonly Condition[];
}

export interface GatewayClassConfig extends KubeObject {
  readonly kind: 'GatewayClassConfig';
  readonly spec: z.infer<typeof gatewayClassConfigSpec>;
  readonly status?: WithConditions;
}

/** Attaches a GatewayConfig where a platform overwrites the spec of Gateways. */
export const GATEWAY_CONFIG_ANNOTATION = `${OWN_GROUP}/gateway-config`;

export interface GatewayConfig extends KubeObject {
  readonly kind: 'GatewayConfig';
  readonly spec: z.infer<typeof gatewayConfigSpec>;
  readonly status?: WithConditions;
}

export interface ExternalBackend extends KubeObject {
  readonly kind: 'ExternalBackend';
  readonly spec: z.infer<typeof externalBackendSpec>;
}
