// Objects for tests, as short as they can be while still being complete.
import { Buffer } from 'node:buffer';
import type { EndpointSlice, Namespace, Secret, Service } from '#controller/api/core.ts';
import {
  GATEWAY_GROUP,
  type Gateway,
  type GatewayClass,
  type GRPCRoute,
  type GRPCRouteRule,
  type HTTPRoute,
  type HTTPRouteRule,
  type Listener,
  type ListenerSet,
  type ParentReference,
  type ReferenceGrant,
} from '#controller/api/gateway.ts';
import type { GatewayClassConfig, GatewayConfig } from '#controller/api/own.ts';
import type { BackendTLSPolicy, PolicyTargetReference } from '#controller/api/policy.ts';
import type { Settings } from '#controller/api/settings.ts';

export const TUNNEL = '11111111-2222-3333-4444-555555555555';
export const ACCOUNT = '0123456789abcdef0123456789abcdef';
export const CONTROLLER = 'cf.k8s.lex.la/tunnel-controller';
/** Values that must never show up in any output but the plan's own `apiToken`. */
export const API_TOKEN = 'api-token-that-nobody-may-see';
export const TUNNEL_SECRET = 'tunnel-secret-that-nobody-may-see';

export const settings = (changes: Partial<Settings> = {}): Settings => ({
  controllerName: CONTROLLER,
  controllerNamespace: 'cloudflare',
  clusterDomain: 'cluster.local',
  ownership: {
    enforce: false,
    labelKey: 'cf.k8s.lex.la/hostname-suffix',
    namespaceSelector: '',
    unlabelled: 'Deny',
    emptyHostnames: 'Reject',
  },
  tokenSecret: null,
  makesTunnels: true,
  tunnelsPerPool: 20,
  tunnelProtocol: 'auto',
  allowLoopbackEndpoints: false,
  localEntry: false,
  ...changes,
});

interface Named {
  readonly name?: string;
  readonly namespace?: string;
  readonly created?: string;
}

const metadataOf = ({ name, namespace, created }: Named, fallback: string) => ({
  name: name ?? fallback,
  namespace: namespace ?? 'default',
  ...(created === undefined ? {} : { creationTimestamp: created }),
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

export const connectorToken = (token: { readonly a?: unknown; readonly t?: unknown; readonly s?: unknown } = {}): string =>
  base64(JSON.stringify({ a: ACCOUNT, t: TUNNEL, s: TUNNEL_SECRET, ...token }));

export const secret = (name: string, namespace: string, data: Readonly<Record<string, string>>, type = 'Opaque'): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  type,
  data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)])),
});

export const credentials = (data: Readonly<Record<string, string>> = { 'api-token': API_TOKEN }): Secret =>
  secret('credentials', 'cloudflare', data);

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const PRIVATE_KEY = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n';

export const certificate = (name: string, namespace = 'default'): Secret =>
  secret(name, namespace, { 'tls.crt': CERTIFICATE, 'tls.key': PRIVATE_KEY }, 'kubernetes.io/tls');

export const gatewayClass = ({ name, config = 'main', created }: Named & { readonly config?: string } = {}): GatewayClass => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: name ?? 'cloudflare-tunnel', ...(created === undefined ? {} : { creationTimestamp: created }) },
  spec: { controllerName: CONTROLLER, parametersRef: { group: 'cf.k8s.lex.la', kind: 'GatewayClassConfig', name: config } },
});

export const classConfig = (spec: Partial<GatewayClassConfig['spec']> = {}, { name, created }: Named = {}): GatewayClassConfig => ({
  apiVersion: 'cf.k8s.lex.la/v1alpha1',
  kind: 'GatewayClassConfig',
  metadata: { name: name ?? 'main', ...(created === undefined ? {} : { creationTimestamp: created }) },
  spec: {
    cloudflareCredentialsSecretRef: { name: 'credentials' },
    tunnelID: TUNNEL,
    configPolicy: 'Exclusive',
    entry: 'Tunnel',
    tunnels: 'Shared',
    ...spec,
  },
});

export const gatewayConfig = (spec: Partial<GatewayConfig['spec']> = {}, named: Named = {}): GatewayConfig => ({
  apiVersion: 'cf.k8s.lex.la/v1alpha1',
  kind: 'GatewayConfig',
  metadata: metadataOf(named, 'own'),
  spec: { tunnelTokenSecretRef: { name: 'own-tunnel' }, ...spec },
});

/** Class, configuration and credentials: what every Gateway needs. */
export const platform = () => [gatewayClass(), classConfig(), credentials()] as const;

export const listener = (changes: Partial<Listener> = {}): Listener => ({ name: 'https', protocol: 'HTTPS', port: 443, ...changes });

const everyone = { namespaces: { from: 'All' } } as const;

export const gateway = ({
  listeners,
  spec,
  ...named
}: Named & { readonly listeners?: readonly Listener[]; readonly spec?: Partial<Gateway['spec']> } = {}): Gateway => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: metadataOf(named, 'tunnel'),
  spec: { gatewayClassName: 'cloudflare-tunnel', listeners: listeners ?? [listener({ allowedRoutes: everyone })], ...spec },
});

export const listenerSet = ({
  listeners = [listener({ name: 'set' })],
  gateway = { name: 'tunnel', namespace: 'default' },
  ...named
}: Named & {
  readonly listeners?: readonly Listener[];
  readonly gateway?: { readonly name: string; readonly namespace?: string };
} = {}): ListenerSet => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'ListenerSet',
  metadata: metadataOf(named, 'set'),
  spec: { parentRef: { group: GATEWAY_GROUP, kind: 'Gateway', ...gateway }, listeners },
});

interface RouteChanges<Rule> extends Named {
  readonly hostnames?: readonly string[];
  readonly rules?: readonly Rule[];
  readonly parents?: readonly Partial<ParentReference>[];
}

const parentRefs = (parents: readonly Partial<ParentReference>[] = [{}]): readonly ParentReference[] =>
  parents.map((parent) => ({ group: GATEWAY_GROUP, kind: 'Gateway', name: 'tunnel', namespace: 'default', ...parent }));

/** Without changes: `app.example.com` → Service `app`, port 80. */
export const httpRoute = ({ hostnames = ['app.example.com'], rules, parents, ...named }: RouteChanges<HTTPRouteRule> = {}): HTTPRoute => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: metadataOf(named, 'app'),
  spec: { parentRefs: parentRefs(parents), hostnames, rules: rules ?? [{ backendRefs: [{ name: 'app', port: 80 }] }] },
});

export const grpcRoute = ({ hostnames = ['app.example.com'], rules, parents, ...named }: RouteChanges<GRPCRouteRule> = {}): GRPCRoute => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GRPCRoute',
  metadata: metadataOf(named, 'app'),
  spec: { parentRefs: parentRefs(parents), hostnames, rules: rules ?? [{ backendRefs: [{ name: 'app', port: 80 }] }] },
});

export const service = (named: Named = {}, spec: NonNullable<Service['spec']> = {}): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: metadataOf(named, 'app'),
  spec: { clusterIP: '10.96.0.10', ports: [{ port: 80, protocol: 'TCP', targetPort: 8080 }], ...spec },
});

export const endpointSlice = (
  addresses: readonly string[],
  { service = 'app', suffix = 'a', ...named }: Named & { readonly service?: string; readonly suffix?: string } = {},
  changes: Partial<Pick<EndpointSlice, 'ports' | 'endpoints' | 'addressType'>> = {},
): EndpointSlice => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { ...metadataOf(named, `${service}-${suffix}`), labels: { 'kubernetes.io/service-name': service } },
  addressType: 'IPv4',
  endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  ports: [{ name: '', port: 8080, protocol: 'TCP' }],
  ...changes,
});

export const namespace = (name: string, labels: Readonly<Record<string, string>> = {}): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});

export const grant = (
  namespace: string,
  from: ReferenceGrant['spec']['from'][number],
  to: ReferenceGrant['spec']['to'][number],
  name = 'grant',
): ReferenceGrant => ({
  apiVersion: 'gateway.networking.k8s.io/v1beta1',
  kind: 'ReferenceGrant',
  metadata: { name, namespace },
  spec: { from: [from], to: [to] },
});

/** Without changes: Service `app` is trusted by what ConfigMap `ca` holds. */
export const backendTlsPolicy = ({
  targets = [{}],
  validation,
  ...named
}: Named & {
  readonly targets?: readonly Partial<PolicyTargetReference>[];
  readonly validation?: Partial<BackendTLSPolicy['spec']['validation']>;
} = {}): BackendTLSPolicy => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'BackendTLSPolicy',
  metadata: metadataOf(named, 'policy'),
  spec: {
    targetRefs: targets.map((target) => ({ group: '', kind: 'Service', name: 'app', ...target })),
    validation: { hostname: 'app.internal', caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'ca' }], ...validation },
  },
});

/** A working application: route, Service and two endpoints. */
export const application = (named: Named & { readonly hostname?: string } = {}) => {
  const { hostname, ...rest } = named;
  const name = named.name ?? 'app';
  return [
    httpRoute({ ...rest, ...(hostname === undefined ? {} : { hostnames: [hostname] }), rules: [{ backendRefs: [{ name, port: 80 }] }] }),
    service({ ...rest, name }),
    endpointSlice(['10.0.0.1', '10.0.0.2'], { service: name, ...(named.namespace === undefined ? {} : { namespace: named.namespace }) }),
  ] as const;
};
