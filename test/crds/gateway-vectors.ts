// Objects of the Gateway API.
import { refused, taken, type Vector } from './vector.ts';

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
