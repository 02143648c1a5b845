// Objects for the tests of bad input: a good installation, and short ways to write what is wrong with another one.

export const TUNNEL_ID = '6ba7b810-9dad-41d1-80b4-00c04fd430c8';
export const ACCOUNT_ID = '0123456789abcdef0123456789abcdef';
export const GOOD_HOST = 'good.example.com';
export const NAMESPACE = 'tenant';

const GATEWAY_API = 'gateway.networking.k8s.io/v1';
const OWN_API = 'cf.k8s.lex.la/v1alpha1';

export type Fields = Readonly<Record<string, unknown>>;

/** JSON is YAML. */
export const yaml = (...documents: readonly unknown[]): string => documents.map((object) => `---\n${JSON.stringify(object)}\n`).join('');

const meta = (name: string, more: Fields = {}): Fields => ({ name, namespace: NAMESPACE, ...more });

export const gatewayClass = (name: string, config: string, spec: Fields = {}): Fields => ({
  apiVersion: GATEWAY_API,
  kind: 'GatewayClass',
  metadata: { name },
  spec: {
    controllerName: 'cf.k8s.lex.la/tunnel-controller',
    parametersRef: { group: 'cf.k8s.lex.la', kind: 'GatewayClassConfig', name: config },
    ...spec,
  },
});

export const classConfig = (name: string, spec: Fields): Fields => ({
  apiVersion: OWN_API,
  kind: 'GatewayClassConfig',
  metadata: { name },
  spec: { cloudflareCredentialsSecretRef: { name: 'cloudflare', namespace: NAMESPACE }, ...spec },
});

export const secret = (name: string, stringData: Fields, more: Fields = {}): Fields => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: meta(name),
  stringData,
  ...more,
});

export const gateway = (name: string, spec: Fields = {}): Fields => ({
  apiVersion: GATEWAY_API,
  kind: 'Gateway',
  metadata: meta(name),
  spec: { gatewayClassName: 'good', listeners: [{ name: 'https', protocol: 'HTTPS', port: 443 }], ...spec },
});

export const httpRoute = (name: string, spec: Fields, metadata: Fields = {}): Fields => ({
  apiVersion: GATEWAY_API,
  kind: 'HTTPRoute',
  metadata: meta(name, metadata),
  spec: { parentRefs: [{ name: 'good' }], hostnames: [`${name}.example.com`], ...spec },
});

/** A route with one rule. */
export const rule = (name: string, fields: Fields): Fields =>
  httpRoute(name, { rules: [{ backendRefs: [{ name: 'good', port: 80 }], ...fields }] });

export const service = (name: string, ports: readonly unknown[] = [{ port: 80 }], spec: Fields = {}): Fields => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: meta(name),
  spec: { ports, ...spec },
});

export const slice = (name: string, of: string, addresses: readonly unknown[], port: unknown, more: Fields = {}): Fields => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: meta(name, { labels: { 'kubernetes.io/service-name': of } }),
  addressType: 'IPv4',
  endpoints: [{ addresses }],
  ports: [{ port }],
  ...more,
});

/** Class, Gateway, route, Service and endpoint of which nothing is wrong. */
export const good = (apiToken: string, port: number): readonly Fields[] => [
  gatewayClass('good', 'good'),
  classConfig('good', { tunnelID: TUNNEL_ID, accountId: ACCOUNT_ID }),
  secret('cloudflare', { 'api-token': apiToken }),
  gateway('good'),
  rule('good', {}),
  service('good'),
  slice('good', 'good', ['127.0.0.1'], port),
];
