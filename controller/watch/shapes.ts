// The structure that each kind must have to be let in. The API server checks far more; this holds when the CRDs installed are not the ones we know.
import type { KindName } from '#controller/api/snapshot.ts';
import type { Shape } from './shape.ts';

const reference = { name: 'string', 'group?': 'string', 'kind?': 'string', 'namespace?': 'string' } as const;
const objectReference = { ...reference, 'port?': 'number' } as const;
const selector = {
  'matchLabels?': 'map',
  'matchExpressions?': [{ key: 'string', operator: 'string', 'values?': ['string'] }],
} as const;
const fromNamespaces = { 'from?': 'string', 'selector?': selector } as const;

const listener = {
  name: 'string',
  port: 'number',
  protocol: 'string',
  'hostname?': 'string',
  'tls?': { 'mode?': 'string', 'certificateRefs?': [reference], 'options?': 'map' },
  'allowedRoutes?': { 'namespaces?': fromNamespaces, 'kinds?': [{ kind: 'string', 'group?': 'string' }] },
} as const;

const caReference = { ...reference, group: 'string', kind: 'string' } as const;
const frontendTls = { 'validation?': { 'caCertificateRefs?': [caReference], 'mode?': 'string' } } as const;
const gatewayTls = {
  'backend?': { 'clientCertificateRef?': reference },
  'frontend?': { 'default?': frontendTls, 'perPort?': [{ port: 'number', 'tls?': frontendTls }] },
} as const;

const header = { name: 'string', value: 'string' } as const;
const headerFilter = { 'set?': [header], 'add?': [header], 'remove?': ['string'] } as const;
const pathModifier = { type: 'string', 'replaceFullPath?': 'string', 'replacePrefixMatch?': 'string' } as const;

const filter = {
  type: 'string',
  'requestHeaderModifier?': headerFilter,
  'responseHeaderModifier?': headerFilter,
  'requestRedirect?': {
    'scheme?': 'string',
    'hostname?': 'string',
    'path?': pathModifier,
    'port?': 'number',
    'statusCode?': 'number',
  },
  'urlRewrite?': { 'hostname?': 'string', 'path?': pathModifier },
  'requestMirror?': { backendRef: objectReference },
  'extensionRef?': { group: 'string', kind: 'string', name: 'string' },
} as const;

const valueMatch = { name: 'string', value: 'string', 'type?': 'string' } as const;
const httpMatch = {
  'path?': { 'type?': 'string', 'value?': 'string' },
  'headers?': [valueMatch],
  'queryParams?': [valueMatch],
  'method?': 'string',
} as const;
const grpcMatch = {
  'method?': { 'type?': 'string', 'service?': 'string', 'method?': 'string' },
  'headers?': [valueMatch],
} as const;

const routeSpec = (match: Shape): Shape => ({
  'parentRefs?': [{ ...objectReference, 'sectionName?': 'string' }],
  'hostnames?': ['string'],
  'rules?': [
    {
      'name?': 'string',
      'matches?': [match],
      'filters?': [filter],
      'backendRefs?': [{ ...objectReference, 'weight?': 'number', 'filters?': [filter] }],
      'timeouts?': { 'request?': 'string', 'backendRequest?': 'string' },
    },
  ],
});

const secretKey = { name: 'string', 'key?': 'string' } as const;

/** Shape of everything but metadata and status. */
export const kindShapes: { readonly [K in KindName]: Shape } = {
  GatewayClass: { spec: { controllerName: 'string', 'parametersRef?': { ...reference, group: 'string', kind: 'string' } } },
  Gateway: {
    spec: {
      gatewayClassName: 'string',
      listeners: [listener],
      'tls?': gatewayTls,
      'addresses?': [{ 'type?': 'string', 'value?': 'string' }],
      'infrastructure?': {
        'labels?': 'map',
        'annotations?': 'map',
        'parametersRef?': { group: 'string', kind: 'string', name: 'string' },
      },
      'allowedListeners?': { 'namespaces?': fromNamespaces },
    },
  },
  ListenerSet: { spec: { parentRef: reference, listeners: [listener] } },
  HTTPRoute: { spec: routeSpec(httpMatch) },
  GRPCRoute: { spec: routeSpec(grpcMatch) },
  ReferenceGrant: {
    spec: {
      from: [{ group: 'string', kind: 'string', namespace: 'string' }],
      to: [{ group: 'string', kind: 'string', 'name?': 'string' }],
    },
  },
  BackendTLSPolicy: {
    spec: {
      targetRefs: [{ group: 'string', kind: 'string', name: 'string', 'sectionName?': 'string' }],
      validation: {
        hostname: 'string',
        'caCertificateRefs?': [caReference],
        'wellKnownCACertificates?': 'string',
        'subjectAltNames?': [{ type: 'string', 'hostname?': 'string', 'uri?': 'string' }],
      },
    },
  },
  Namespace: {},
  Service: {
    'spec?': {
      'type?': 'string',
      'clusterIP?': 'string',
      'externalName?': 'string',
      'ports?': [{ port: 'number', 'name?': 'string', 'protocol?': 'string', 'appProtocol?': 'string' }],
      'selector?': 'map',
      'loadBalancerIP?': 'string',
    },
  },
  EndpointSlice: {
    'addressType?': 'string',
    'endpoints?': [{ addresses: ['string'], 'conditions?': 'object', 'targetRef?': 'object' }],
    'ports?': [{ 'name?': 'string', 'port?': 'number', 'protocol?': 'string', 'appProtocol?': 'string' }],
  },
  Secret: { 'type?': 'string', 'data?': 'map' },
  ConfigMap: { 'data?': 'map' },
  CustomResourceDefinition: {},
  GatewayClassConfig: {
    spec: {
      'cloudflareCredentialsSecretRef?': { ...secretKey, 'namespace?': 'string' },
      'accountId?': 'string',
      'tunnelID?': 'string',
      'deriveFromToken?': 'boolean',
      'configPolicy?': 'string',
      'tunnels?': 'string',
      'edge?': { 'certificates?': 'string' },
      'entry?': 'string',
      'service?': { 'type?': 'string' },
    },
  },
  GatewayConfig: {
    spec: {
      tunnelTokenSecretRef: secretKey,
      'dataPlane?': 'string',
      'cloudflareCredentialsSecretRef?': secretKey,
      'authTokenSecretRef?': secretKey,
      'replicas?': 'number',
      'autoscaling?': 'object',
      'resources?': 'object',
      'image?': 'string',
    },
  },
  ExternalBackend: { spec: { scheme: 'string', host: 'string', port: 'number', 'path?': 'string' } },
};

const condition = { type: 'string', status: 'string', 'reason?': 'string', 'message?': 'string' } as const;

/** Of a Service only what a load balancer has given it. */
export const serviceStatusShape: Shape = { loadBalancer: { ingress: [{ 'ip?': 'string', 'hostname?': 'string' }] } };

export const statusShape: Shape = {
  'conditions?': [condition],
  'addresses?': [{ value: 'string' }],
  'listeners?': [{ name: 'string', 'conditions?': [condition] }],
  'parents?': [{ parentRef: { name: 'string' }, controllerName: 'string', 'conditions?': [condition] }],
  'ancestors?': [{ ancestorRef: { name: 'string' }, controllerName: 'string', 'conditions?': [condition] }],
};
