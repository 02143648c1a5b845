// Objects that a real API server takes or refuses: one table for two judges, that server and our folder source.

export interface Vector {
  readonly name: string;
  readonly yaml: string;
  /** The field that is wrong, as both judges must name it; absent when the object is taken. */
  readonly wrong?: string;
}

const taken = (name: string, yaml: string): Vector => ({ name, yaml });
const refused = (name: string, wrong: string, yaml: string): Vector => ({ name, yaml, wrong });

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
  refused('class config: neither tunnel nor derived', 'spec', classConfig(`{${CREDENTIALS}}`)),
  refused('class config: derived false', 'spec', classConfig(`{${CREDENTIALS}, deriveFromToken: false}`)),
  refused('class config: no credentials', 'spec.cloudflareCredentialsSecretRef', classConfig(`{tunnelID: ${ID}}`)),
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

const gateway = (kind: string, spec: string): string =>
  `{apiVersion: gateway.networking.k8s.io/v1, kind: ${kind}, metadata: {name: x}, spec: ${spec}}`;
const listeners = (list: string): string => gateway('Gateway', `{gatewayClassName: c, listeners: [${list}]}`);
const http = (rule: string): string => gateway('HTTPRoute', `{parentRefs: [{name: g}], rules: [${rule}]}`);
const grpc = (rule: string): string => gateway('GRPCRoute', `{rules: [${rule}]}`);
const match = (text: string): string => http(`{matches: [{${text}}], backendRefs: [{name: s, port: 80}]}`);
const filter = (text: string): string => http(`{filters: [${text}], backendRefs: [{name: s, port: 80}]}`);

export const gatewayVectors: readonly Vector[] = [
  taken('class', gateway('GatewayClass', '{controllerName: example.com/c, parametersRef: {group: a, kind: B, name: c}}')),
  refused('class: controller name without path', 'spec.controllerName', gateway('GatewayClass', '{controllerName: example.com}')),
  refused(
    'class: long description',
    'spec.description',
    gateway('GatewayClass', `{controllerName: example.com/c, description: ${'x'.repeat(65)}}`),
  ),

  taken('gateway: HTTP', listeners('{name: a, protocol: HTTP, port: 80}')),
  taken('gateway: HTTPS without tls', listeners('{name: a, protocol: HTTPS, port: 443}')),
  taken('gateway: HTTPS with a certificate', listeners('{name: a, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: c}]}}')),
  taken(
    'gateway: the same port with two hostnames',
    listeners('{name: a, protocol: HTTP, port: 80, hostname: a.b}, {name: b, protocol: HTTP, port: 80, hostname: "*.b"}'),
  ),
  taken(
    'gateway: selector',
    listeners(
      '{name: a, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {a: b}}}, kinds: [{kind: HTTPRoute}]}}',
    ),
  ),
  taken(
    'gateway: addresses',
    gateway(
      'Gateway',
      '{gatewayClassName: c, addresses: [{value: 10.0.0.1}, {type: Hostname, value: a.b}], listeners: [{name: a, protocol: HTTP, port: 80}]}',
    ),
  ),
  taken(
    'gateway: own parameters',
    gateway(
      'Gateway',
      '{gatewayClassName: c, infrastructure: {annotations: {a/b: c}, parametersRef: {group: cf.k8s.lex.la, kind: GatewayConfig, name: x}}, listeners: [{name: a, protocol: HTTP, port: 80}]}',
    ),
  ),
  refused('gateway: no class', 'spec.gatewayClassName', gateway('Gateway', '{listeners: [{name: a, protocol: HTTP, port: 80}]}')),
  refused('gateway: no listeners', 'spec.listeners', listeners('')),
  refused(
    'gateway: two listeners of one name',
    'spec.listeners',
    listeners('{name: a, protocol: HTTP, port: 80}, {name: a, protocol: HTTP, port: 81}'),
  ),
  refused(
    'gateway: two listeners of one port',
    'spec.listeners',
    listeners('{name: a, protocol: HTTP, port: 80}, {name: b, protocol: HTTP, port: 80}'),
  ),
  refused('gateway: tls on HTTP', 'spec.listeners', listeners('{name: a, protocol: HTTP, port: 80, tls: {certificateRefs: [{name: c}]}}')),
  refused('gateway: terminating without certificate', 'spec.listeners[0].tls', listeners('{name: a, protocol: HTTPS, port: 443, tls: {}}')),
  refused('gateway: passthrough on HTTPS', 'spec.listeners', listeners('{name: a, protocol: HTTPS, port: 443, tls: {mode: Passthrough}}')),
  refused('gateway: hostname in capitals', 'spec.listeners[0].hostname', listeners('{name: a, protocol: HTTP, port: 80, hostname: A.b}')),
  refused('gateway: port beyond', 'spec.listeners[0].port', listeners('{name: a, protocol: HTTP, port: 70000}')),
  refused(
    'gateway: bad IP address',
    'spec.addresses[0]',
    gateway(
      'Gateway',
      '{gatewayClassName: c, addresses: [{type: IPAddress, value: 10.0.0.256}], listeners: [{name: a, protocol: HTTP, port: 80}]}',
    ),
  ),
  refused(
    'gateway: an address twice',
    'spec.addresses',
    gateway(
      'Gateway',
      '{gatewayClassName: c, addresses: [{value: 10.0.0.1}, {value: 10.0.0.1}], listeners: [{name: a, protocol: HTTP, port: 80}]}',
    ),
  ),
  refused(
    'gateway: unknown field in a listener',
    'spec.listeners[0].hostnames',
    listeners('{name: a, protocol: HTTP, port: 80, hostnames: [a.b]}'),
  ),
  refused(
    'gateway: an empty label prefix',
    'metadata.labels',
    listeners('{name: a, protocol: HTTP, port: 80}').replace('name: x', 'name: x, labels: {/a: b}'),
  ),

  taken('listener set', gateway('ListenerSet', '{parentRef: {name: g}, listeners: [{name: a, protocol: HTTP, port: 80}]}')),
  refused('listener set: no parent', 'spec.parentRef', gateway('ListenerSet', '{listeners: [{name: a, protocol: HTTP, port: 80}]}')),

  taken('http: nothing but a parent', gateway('HTTPRoute', '{parentRefs: [{name: g}]}')),
  taken('http: an empty rule', http('{}')),
  taken('http: no path in a match', match('method: GET')),
  taken('http: half a path', match('path: {value: /a}')),
  taken('http: regular expression', match("path: {type: RegularExpression, value: 'a(b|c'}")),
  taken('http: encoded path', match('path: {type: Exact, value: /a%20b}')),
  taken('http: headers and queries', match('headers: [{name: a, value: b}], queryParams: [{type: RegularExpression, name: q, value: .*}]')),
  taken('http: two parents by section', gateway('HTTPRoute', '{parentRefs: [{name: g, sectionName: a}, {name: g, sectionName: b}]}')),
  taken(
    'http: filters',
    filter(
      '{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}], remove: [c]}}, {type: RequestMirror, requestMirror: {backendRef: {name: m, port: 1}, fraction: {numerator: 1}}}',
    ),
  ),
  taken('http: redirect', http('{filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]}')),
  taken(
    'http: prefix rewrite',
    http(
      '{matches: [{path: {value: /a}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}]}',
    ),
  ),
  taken('http: timeouts', http('{timeouts: {request: 10s, backendRequest: 1500ms}}')),
  taken('http: no request timeout', http('{timeouts: {request: 0s, backendRequest: 10s}}')),
  taken('http: session persistence', http('{sessionPersistence: {type: Cookie, cookieConfig: {}}}')),
  taken('http: weights', http('{backendRefs: [{name: a, port: 80, weight: 0}, {name: b, port: 80, weight: 1000000}]}')),
  taken('http: another kind of backend', http('{backendRefs: [{group: cf.k8s.lex.la, kind: ExternalBackend, name: a}]}')),
  refused('http: path without slash', 'spec.rules[0].matches[0].path', match('path: {value: a}')),
  refused('http: path with dots', 'spec.rules[0].matches[0].path', match('path: {type: Exact, value: /a/../b}')),
  refused('http: path with a fragment', 'spec.rules[0].matches[0].path', match('path: {value: "/a#b"}')),
  refused('http: path with a blank', 'spec.rules[0].matches[0].path', match('path: {value: "/a b"}')),
  refused('http: long path', 'spec.rules[0].matches[0].path.value', match(`path: {value: /${'a'.repeat(1024)}}`)),
  refused('http: unknown path type', 'spec.rules[0].matches[0].path.type', match('path: {type: Prefix, value: /}')),
  refused('http: unknown method', 'spec.rules[0].matches[0].method', match('method: get')),
  refused('http: header name with a blank', 'spec.rules[0].matches[0].headers[0].name', match('headers: [{name: "a b", value: c}]')),
  refused('http: a header twice', 'spec.rules[0].matches[0].headers[1]', match('headers: [{name: a, value: b}, {name: a, value: c}]')),
  refused('http: backend without port', 'spec.rules[0].backendRefs[0]', http('{backendRefs: [{name: a}]}')),
  refused('http: weight beyond', 'spec.rules[0].backendRefs[0].weight', http('{backendRefs: [{name: a, port: 80, weight: 1000001}]}')),
  refused('http: the same parent twice', 'spec.parentRefs', gateway('HTTPRoute', '{parentRefs: [{name: g}, {name: g}]}')),
  refused('http: no rules in the list', 'spec.rules', gateway('HTTPRoute', '{rules: []}')),
  refused('http: hostname with a port', 'spec.hostnames[0]', gateway('HTTPRoute', '{hostnames: ["a.b:80"]}')),
  refused(
    'http: too many hostnames',
    'spec.hostnames',
    gateway('HTTPRoute', `{hostnames: [${Array.from({ length: 17 }, (_, i) => `a${i}.b`).join(', ')}]}`),
  ),
  refused('http: filter without its body', 'spec.rules[0].filters[0]', filter('{type: RequestHeaderModifier}')),
  refused(
    'http: filter with another body',
    'spec.rules[0].filters[0]',
    filter('{type: RequestHeaderModifier, requestHeaderModifier: {}, urlRewrite: {}}'),
  ),
  refused(
    'http: a filter twice',
    'spec.rules[0].filters',
    filter('{type: URLRewrite, urlRewrite: {hostname: a.b}}, {type: URLRewrite, urlRewrite: {hostname: a.b}}'),
  ),
  refused('http: redirect and backend', 'spec.rules[0]', filter('{type: RequestRedirect, requestRedirect: {}}')),
  refused(
    'http: redirect code',
    'spec.rules[0].filters[0].requestRedirect.statusCode',
    http('{filters: [{type: RequestRedirect, requestRedirect: {statusCode: 304}}]}'),
  ),
  refused(
    'http: prefix rewrite of an exact path',
    'spec.rules[0]',
    http(
      '{matches: [{path: {type: Exact, value: /a}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}]}',
    ),
  ),
  refused(
    'http: fraction above one',
    'spec.rules[0].filters[0].requestMirror.fraction',
    filter('{type: RequestMirror, requestMirror: {backendRef: {name: m, port: 1}, fraction: {numerator: 2, denominator: 1}}}'),
  ),
  refused('http: backend timeout beyond the request', 'spec.rules[0].timeouts', http('{timeouts: {request: 1s, backendRequest: 2s}}')),
  refused('http: timeout without unit', 'spec.rules[0].timeouts.request', http("{timeouts: {request: '10'}}")),
  refused(
    'http: permanent cookie without end',
    'spec.rules[0].sessionPersistence',
    http('{sessionPersistence: {cookieConfig: {lifetimeType: Permanent}}}'),
  ),
  refused('http: unknown field', 'spec.rules[0].backendRef', http('{backendRef: [{name: a, port: 80}]}')),
  refused('http: unknown metadata', 'metadata.label', http('{}').replace('name: x', 'name: x, label: {a: b}')),
  refused('http: a number for a label', 'labels', http('{}').replace('name: x', 'name: x, labels: {a: 1}')),
  refused('http: name in capitals', 'metadata.name', http('{}').replace('name: x', 'name: X')),
  refused('http: rules as an object', 'spec.rules', gateway('HTTPRoute', '{rules: {}}')),
  refused('http: names of rules', 'spec.rules', http('{name: a}, {name: a}')),

  taken('grpc: method', grpc('{matches: [{method: {service: a.B, method: C}}], backendRefs: [{name: a, port: 80}]}')),
  taken('grpc: nothing', grpc('{}')),
  refused('grpc: empty method', 'spec.rules[0].matches[0].method', grpc('{matches: [{method: {}}]}')),
  refused('grpc: service name with a slash', 'spec.rules[0].matches[0].method', grpc('{matches: [{method: {service: a/b}}]}')),
  refused('grpc: a filter of HTTP', 'spec.rules[0].filters[0].type', grpc('{filters: [{type: URLRewrite}]}')),

  taken(
    'grant',
    gateway(
      'ReferenceGrant',
      '{from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: a}], to: [{group: "", kind: Service}]}',
    ),
  ),
  taken(
    'grant: old version',
    gateway('ReferenceGrant', '{from: [{group: a, kind: B, namespace: a}], to: [{group: "", kind: C, name: d}]}').replace(
      '/v1,',
      '/v1beta1,',
    ),
  ),
  refused('grant: from nothing', 'spec.from', gateway('ReferenceGrant', '{from: [], to: [{group: "", kind: Service}]}')),
];

const core = (kind: string, rest: string, metadata = 'name: x'): string =>
  `{apiVersion: v1, kind: ${kind}, metadata: {${metadata}}, ${rest}}`;
const slice = (rest: string): string =>
  `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: x, labels: {kubernetes.io/service-name: x}}, ${rest}}`;

/** Of the core kinds only what we read is compared. */
export const coreVectors: readonly Vector[] = [
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
