// A cluster of many tenants on one tunnel, hostnames owned by namespace: half of the routes on the platform's Gateway, half on Gateways of their
// own where the namespace has one.
import type { KubeObject } from '#controller/api/core.ts';
import type { HTTPRoute } from '#controller/api/gateway.ts';
import { endpointSlice, gateway, httpRoute, listener, namespace, platform, service, settings } from './objects.ts';

export interface Size {
  readonly routes: number;
  readonly gateways: number;
  readonly namespaces: number;
}

const LABEL = 'example.com/domain';

export const tenantRules = settings({
  ownership: { enforce: true, labelKey: LABEL, namespaceSelector: 'system!=true', unlabelled: 'Deny', emptyHostnames: 'Reject' },
});

const everyone = { namespaces: { from: 'All' } } as const;
const tenants = { namespaces: { from: 'Selector', selector: { matchLabels: { tenant: 'yes' } } } } as const;

/** As a platform renders it: HTTP for every host, HTTPS for the domain and what is below it. */
export const tenantGateway = (tenant: string) =>
  gateway({
    namespace: tenant,
    name: 'own',
    listeners: [
      listener({ name: 'http', protocol: 'HTTP', port: 80, allowedRoutes: tenants }),
      listener({ hostname: `*.${tenant}.example.com`, allowedRoutes: tenants }),
      listener({ name: 'apex', hostname: `${tenant}.example.com`, allowedRoutes: tenants }),
    ],
  });

const tenantOf = (index: number, { namespaces }: Size): string => `tenant-${index % namespaces}`;

export function tenantRoute(index: number, size: Size, hostname?: string): HTTPRoute {
  const tenant = tenantOf(index, size);
  const hasOwn = index % size.namespaces < size.gateways - 1 && index % 2 === 0;
  const backendRefs = [{ name: `app-${index}`, port: 80 }];
  return httpRoute({
    name: `app-${index}`,
    namespace: tenant,
    parents: [hasOwn ? { namespace: tenant, name: 'own' } : { namespace: 'infra' }],
    hostnames: [hostname ?? `app-${index}.${tenant}.example.com`],
    rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/api' }, method: 'GET' }], backendRefs }, { backendRefs }],
  });
}

export const tenantSlice = (index: number, size: Size, addresses?: readonly string[]) =>
  endpointSlice(addresses ?? [`10.1.${index >> 8}.${index & 255}`, `10.2.${index >> 8}.${index & 255}`], {
    service: `app-${index}`,
    namespace: tenantOf(index, size),
  });

export const tenantNamespace = (index: number, labels: Readonly<Record<string, string>> = {}) =>
  namespace(`tenant-${index}`, { [LABEL]: `tenant-${index}.example.com`, tenant: 'yes', ...labels });

export function tenantCluster(size: Size): readonly KubeObject[] {
  const upTo = <T>(count: number, make: (index: number) => T): readonly T[] => Array.from({ length: count }, (_, index) => make(index));
  return [
    ...platform(),
    namespace('infra', { system: 'true' }),
    gateway({
      namespace: 'infra',
      listeners: [listener({ allowedRoutes: everyone }), listener({ name: 'http', protocol: 'HTTP', port: 80, allowedRoutes: everyone })],
    }),
    ...upTo(size.namespaces, (index) => tenantNamespace(index)),
    ...upTo(size.gateways - 1, (index) => tenantGateway(`tenant-${index}`)),
    ...upTo(size.routes, (index) => [
      tenantRoute(index, size),
      service({ name: `app-${index}`, namespace: tenantOf(index, size) }),
      tenantSlice(index, size),
    ]).flat(),
  ];
}
