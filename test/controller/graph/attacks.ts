// A victim, alpha, with routes of every kind, and what a tenant who owns another domain may write against it. Timestamps make attackers older.
import type { KubeObject } from '#controller/api/core.ts';
import type { HTTPRouteRule, Listener, ParentReference } from '#controller/api/gateway.ts';
import { gateway, grant, grpcRoute, httpRoute, listener, listenerSet, namespace, settings } from '#test/build/objects.ts';

export const LABEL = 'cf.k8s.lex.la/hostname-suffix';

export const policed = settings({
  ownership: { enforce: true, labelKey: LABEL, namespaceSelector: 'system!=true', unlabelled: 'Deny', emptyHostnames: 'Reject' },
});

const everyone = { namespaces: { from: 'All' } } as const;
const shared = [{ namespace: 'infra' }];
const SHARED = { name: 'tunnel', namespace: 'infra' };

/** The platform's Gateway, which takes routes and ListenerSets of everybody, and who owns what. */
export const rooms: readonly KubeObject[] = [
  namespace('infra', { system: 'true' }),
  namespace('parent', { [LABEL]: 'example.com' }),
  namespace('alpha', { [LABEL]: 'alpha.example.com' }),
  gateway({ namespace: 'infra', listeners: [listener({ allowedRoutes: everyone })], spec: { allowedListeners: everyone } }),
];

const ofAlpha = { namespace: 'alpha', created: '2026-01-01T00:00:00Z' };

export const victims: readonly KubeObject[] = [
  httpRoute({ ...ofAlpha, parents: shared, hostnames: ['app.alpha.example.com'] }),
  httpRoute({ ...ofAlpha, name: 'wild', parents: shared, hostnames: ['*.wild.alpha.example.com'] }),
  grpcRoute({ ...ofAlpha, name: 'grpc', parents: shared, hostnames: ['grpc.alpha.example.com'] }),
  gateway({
    ...ofAlpha,
    name: 'own',
    listeners: [
      listener({ hostname: 'own.alpha.example.com' }),
      listener({ name: 'http', protocol: 'HTTP', port: 80, hostname: 'own-http.alpha.example.com' }),
    ],
  }),
  httpRoute({
    ...ofAlpha,
    name: 'own',
    parents: [{ namespace: 'alpha', name: 'own', sectionName: 'https' }],
    hostnames: ['own.alpha.example.com'],
  }),
  httpRoute({
    ...ofAlpha,
    name: 'own-http',
    parents: [{ namespace: 'alpha', name: 'own', sectionName: 'http' }],
    hostnames: ['own-http.alpha.example.com'],
  }),
  listenerSet({ ...ofAlpha, listeners: [listener({ name: 'set', port: 8443, hostname: 'on-set.alpha.example.com' })], gateway: SHARED }),
  httpRoute({
    ...ofAlpha,
    name: 'on-set',
    parents: [{ kind: 'ListenerSet', name: 'set', namespace: 'alpha' }],
    hostnames: ['on-set.alpha.example.com'],
  }),
];

export type Attack = readonly KubeObject[];

const NAMES = ['app', 'grpc', 'own', 'own-http', 'x.wild', '*.wild', 'on-set'].map((name) => `${name}.alpha.example.com`);

export function attacksOf(attacker: string): Readonly<Record<string, Attack>> {
  const mine = (name: string) => ({ name, namespace: attacker, created: '2020-01-01T00:00:00Z' });
  const route = (hostnames: readonly string[], rules?: readonly HTTPRouteRule[], parents: readonly Partial<ParentReference>[] = shared) =>
    httpRoute({ ...mine('attack'), parents, hostnames, ...(rules === undefined ? {} : { rules }) });
  const own = [{ namespace: attacker, name: 'attack' }];
  const ownGateway = (...listeners: readonly Listener[]) => gateway({ ...mine('attack'), listeners });
  /** A domain of the attacker's own, so that the objects are taken. */
  const domain = attacker === 'parent' ? 'example.com' : `${attacker}.example.com`;
  const harmless = route([`attack.${domain}`], undefined, own);

  return {
    'an HTTPRoute with the same hostnames': [route(NAMES)],
    'an HTTPRoute with a deeper name below a wildcard': [route(['y.x.wild.alpha.example.com'])],
    'an HTTPRoute with a wildcard above': [route(['*.alpha.example.com', '*.example.com', '*.com'])],
    'an HTTPRoute without hostnames': [route([])],
    'an HTTPRoute with a regular expression that cannot be read': [
      route(NAMES, [{ matches: [{ path: { type: 'RegularExpression', value: '(' } }] }]),
    ],
    'a GRPCRoute with the same hostnames': [grpcRoute({ ...mine('attack'), parents: shared, hostnames: NAMES })],
    'routes on the Gateway and the ListenerSet of the victim': [
      route(NAMES, undefined, [
        { namespace: 'alpha', name: 'own' },
        { kind: 'ListenerSet', namespace: 'alpha', name: 'set' },
      ]),
    ],
    'a ListenerSet with the names of the victim': [
      listenerSet({ ...mine('attack'), listeners: NAMES.map((hostname, i) => listener({ name: `l${i}`, hostname })), gateway: SHARED }),
      route(NAMES, undefined, [{ kind: 'ListenerSet', namespace: attacker, name: 'attack' }]),
    ],
    'a ListenerSet with the place of the victim’s': [
      listenerSet({
        ...mine('attack'),
        created: '2027-01-01T00:00:00Z',
        listeners: [listener({ port: 8443, hostname: 'on-set.alpha.example.com' })],
        gateway: SHARED,
      }),
    ],
    'a ListenerSet with another protocol on the port of the victim’s': [
      listenerSet({
        ...mine('attack'),
        created: '2027-01-01T00:00:00Z',
        listeners: [listener({ protocol: 'HTTP', port: 8443, hostname: `attack.${domain}` })],
        gateway: SHARED,
      }),
    ],
    'a ListenerSet on the Gateway of the victim': [
      listenerSet({ ...mine('attack'), listeners: [listener()], gateway: { namespace: 'alpha', name: 'own' } }),
    ],
    'a Gateway with the names of the victim': [
      ownGateway(...NAMES.map((hostname, i) => listener({ name: `l${i}`, hostname }))),
      route(NAMES, undefined, own),
    ],
    'a Gateway with the names of the victim, over HTTP': [
      ownGateway(...NAMES.map((hostname, i) => listener({ name: `l${i}`, protocol: 'HTTP', port: 80, hostname }))),
      route(NAMES, undefined, own),
    ],
    'a Gateway with wildcards above': [
      ownGateway(listener({ hostname: '*.example.com' }), listener({ name: 'below', hostname: '*.alpha.example.com' })),
      route(['*.example.com', '*.alpha.example.com'], undefined, own),
    ],
    'a Gateway for every host': [ownGateway(listener()), harmless],
    'a Gateway for every host over HTTP': [ownGateway(listener({ protocol: 'HTTP', port: 80 })), harmless],
    'a Gateway for every host on odd ports': [
      ownGateway(
        listener({ port: 8443 }),
        listener({ name: 'http', protocol: 'HTTP', port: 8080 }),
        listener({ name: 'odd', protocol: 'HTTP', port: 443 }),
      ),
      harmless,
    ],
    'a Gateway that is broken in every way': [
      gateway({
        ...mine('attack'),
        listeners: [listener({ protocol: 'TLS' }), listener(), listener({ name: 'a', port: 0 }), listener({ name: 'b', hostname: 'a..b' })],
        spec: { addresses: [{ type: 'IPAddress', value: '10.0.0.1' }] },
      }),
    ],
    'solvers of challenges for the names of the victim, which would get certificates for them': [
      ownGateway(listener({ protocol: 'HTTP', port: 80 })),
      route(NAMES, [{ matches: [{ path: { type: 'PathPrefix', value: '/.well-known/acme-challenge/' } }] }], [...own, ...shared]),
    ],
    'references to Services of the victim': [
      route([`attack.${domain}`], [{ backendRefs: [{ name: 'app', namespace: 'alpha', port: 80 }] }]),
    ],
    'a grant of its own to itself': [
      route([`attack.${domain}`], [{ backendRefs: [{ name: 'app', namespace: 'alpha', port: 80 }] }]),
      grant(attacker, { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: attacker }, { group: '', kind: 'Service' }),
    ],
    'mirrors to Services of the victim, and filters that refer to its objects': [
      route(
        [`attack.${domain}`],
        [
          {
            filters: [
              { type: 'RequestMirror', requestMirror: { backendRef: { name: 'app', namespace: 'alpha', port: 80 } } },
              { type: 'ExtensionRef', extensionRef: { group: 'cf.k8s.lex.la', kind: 'ExternalBackend', name: 'alpha' } },
            ],
          },
        ],
      ),
    ],
    'an ExternalBackend that leads to the victim, and to the inside': [
      {
        apiVersion: 'cf.k8s.lex.la/v1alpha1',
        kind: 'ExternalBackend',
        metadata: mine('attack'),
        spec: { host: 'app.alpha.svc', port: 80 },
      } as KubeObject,
      route(
        [`attack.${domain}`],
        [
          {
            backendRefs: [
              { group: 'cf.k8s.lex.la', kind: 'ExternalBackend', name: 'attack', port: 80 },
              { group: 'cf.k8s.lex.la', kind: 'ExternalBackend', name: 'attack', namespace: 'alpha', port: 80 },
            ],
          },
        ],
      ),
    ],
    'the victim’s tunnel, taken by parameters': [
      gateway({
        ...mine('attack'),
        spec: { infrastructure: { parametersRef: { group: 'cf.k8s.lex.la', kind: 'GatewayConfig', name: 'alpha' } } },
      }),
      route(NAMES, undefined, own),
    ],
  };
}
