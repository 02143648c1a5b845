// Objects that refer to what is not there, not allowed, or to themselves: backends, Gateways, classes.
import { backend, refused, repeat, served, unresolved, type Case } from './case.ts';
import * as o from './objects.ts';

const listener = (name: string, fields: o.Fields): o.Fields =>
  o.gateway(name, { listeners: [{ name: 'a', protocol: 'HTTP', port: 80, ...fields }] });

/** By name of the file and of the host. */
export const referenceCases: Readonly<Record<string, Case>> = {
  // Backends
  'no-service': unresolved(
    'BackendNotFound',
    /Service tenant\/missing \(spec\.rules\[0\]\.backendRefs\[0\]\) does not exist: create it/,
    500,
    backend('no-service', { name: 'missing' }),
  ),
  'no-port': refused(
    o.httpRoute('x', { rules: [{ backendRefs: [{ name: 'good' }] }] }),
    /backendRefs\[0\]: Must have port for Service reference/,
  ),
  'other-port': unresolved(
    'BackendNotFound',
    /Service tenant\/good has no port 81 \(spec\.rules\[0\]\.backendRefs\[0\]\.port\): use 80/,
    500,
    backend('other-port', { port: 81 }),
  ),
  'service-without-ports': unresolved(
    'BackendNotFound',
    /Service tenant\/no-ports has no port 80 .*: it has no ports/,
    500,
    o.service('no-ports', [], { clusterIP: 'None' }),
    backend('service-without-ports', { name: 'no-ports' }),
  ),
  'service-external': unresolved(
    'UnsupportedValue',
    /Service tenant\/external .* is of type ExternalName, .* refused/,
    500,
    o.service('external', [], { type: 'ExternalName', externalName: 'evil.example.com' }),
    backend('service-external', { name: 'external' }),
  ),
  'service-udp': unresolved(
    'UnsupportedProtocol',
    /port 80 of Service tenant\/udp .* has protocol UDP: HTTP needs TCP/,
    502,
    o.service('udp', [{ port: 80, protocol: 'UDP' }]),
    backend('service-udp', { name: 'udp' }),
  ),
  'service-without-endpoints': {
    ...served(backend('service-without-endpoints', { name: 'empty' }), 503),
    objects: [o.service('empty'), backend('service-without-endpoints', { name: 'empty' })],
  },
  'endpoints-forbidden': unresolved(
    'UnsupportedValue',
    /EndpointSlices of Service tenant\/forbidden .* list 0\.0\.0\.0 \(unspecified\), 169\.254\.169\.254 \(link-local\), evil\.example\.com \(a name .*left out; list addresses of pods/,
    503,
    o.service('forbidden'),
    o.slice('forbidden-1', 'forbidden', ['169.254.169.254'], 80),
    o.slice('forbidden-2', 'forbidden', ['0.0.0.0'], 80),
    o.slice('forbidden-3', 'forbidden', ['evil.example.com'], 80, { addressType: 'FQDN' }),
    backend('endpoints-forbidden', { name: 'forbidden' }),
  ),
  'endpoint-address': refused(
    o.slice('x', 'empty', ['999.1.1.1'], 80),
    /EndpointSlice tenant\/x: endpoints: with addressType IPv4 every address must be an IPv4 address/,
  ),
  'endpoint-port': refused(o.slice('x', 'empty', ['10.0.0.1'], 0), /EndpointSlice tenant\/x: ports\[0\]\.port: must be at least 1, not 0/),
  'backend-pod': unresolved(
    'InvalidKind',
    /spec\.rules\[0\]\.backendRefs\[0\] names Pod of group "": only Services/,
    500,
    backend('backend-pod', { kind: 'Pod' }),
  ),
  'backend-itself': unresolved(
    'InvalidKind',
    /spec\.rules\[0\]\.backendRefs\[0\] names HTTPRoute of group/,
    500,
    backend('backend-itself', { name: 'backend-itself', kind: 'HTTPRoute', group: 'gateway.networking.k8s.io' }),
  ),
  // Gateways and classes, also in circles
  'no-section': {
    objects: [o.httpRoute('no-section', { parentRefs: [{ name: 'good', sectionName: 'nope' }] })],
    conditions: { Accepted: /^False NoMatchingParent: Gateway tenant\/good has no listener named nope: correct sectionName in parentRefs/ },
    answer: 404,
  },
  'class-itself': {
    objects: [
      o.gatewayClass('class-itself', 'x', {
        parametersRef: { group: 'gateway.networking.k8s.io', kind: 'GatewayClass', name: 'class-itself' },
      }),
    ],
    conditions: {
      Accepted: /^False InvalidParameters: spec\.parametersRef names GatewayClass of group .*: point it to a GatewayClassConfig/,
    },
  },
  'class-missing': {
    objects: [o.gatewayClass('class-missing', 'not-there')],
    conditions: { Accepted: /^False InvalidParameters: GatewayClassConfig not-there \(spec\.parametersRef\) does not exist: create it/ },
  },
  'gateway-of-class-itself': {
    objects: [o.gateway('gateway-of-class-itself', { gatewayClassName: 'class-itself' })],
    conditions: {
      Accepted: /^False InvalidParameters: GatewayClass class-itself is not accepted: spec\.parametersRef/,
      Programmed: /^False Invalid/,
    },
  },
  'route-of-class-itself': {
    objects: [o.httpRoute('route-of-class-itself', { parentRefs: [{ name: 'gateway-of-class-itself' }] })],
    conditions: { Accepted: /^False Pending: Gateway tenant\/gateway-of-class-itself is not served: GatewayClass class-itself/ },
    answer: 404,
  },
  // It belongs to no Gateway of ours, so nobody here says anything about it.
  'set-itself': {
    objects: [
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'ListenerSet',
        metadata: { name: 'set-itself', namespace: o.NAMESPACE },
        spec: {
          parentRef: { group: 'gateway.networking.k8s.io', kind: 'ListenerSet', name: 'set-itself' },
          listeners: [{ name: 'a', protocol: 'HTTP', port: 80 }],
        },
      },
      o.httpRoute('set-itself', { parentRefs: [{ kind: 'ListenerSet', name: 'set-itself' }] }),
    ],
    answer: 404,
  },
  'gateway-tcp': {
    objects: [listener('gateway-tcp', { protocol: 'TCP' })],
    conditions: {
      Accepted: /^False ListenersNotValid: listener a: protocol is TCP: .* change the protocol or remove the listener/,
      Programmed: /^False Invalid/,
    },
  },
  'gateway-address': refused(
    o.gateway('x', { addresses: [{ type: 'IPAddress', value: '999.1.1.1' }] }),
    /spec\.addresses\[0\]\.value: must be an IPv4 address, not "999\.1\.1\.1"; .*must be an IPv6 address/,
  ),
  'gateway-hostname': refused(
    listener('x', { hostname: 'a.*.com' }),
    /Gateway tenant\/x: spec\.listeners\[0\]\.hostname: must be a host name/,
  ),
  'gateway-listeners': refused(
    o.gateway('x', { listeners: repeat(65, (index) => ({ name: `l${index}`, protocol: 'HTTP', port: 80 + index })) }),
    /spec\.listeners: has 65 items, at most 64/,
  ),
  'gateway-twice': refused(
    o.gateway('x', { listeners: repeat(2, (index) => ({ name: `l${index}`, protocol: 'HTTP', port: 80 })) }),
    /spec\.listeners: Combination of port, protocol and hostname must be unique/,
  ),
  'gateway-selector': {
    objects: [
      listener('gateway-selector', {
        allowedRoutes: {
          namespaces: { from: 'Selector', selector: { matchExpressions: [{ key: 'a', operator: 'Near', values: ['x'] }] } },
        },
      }),
    ],
    conditions: {
      Accepted:
        /^False ListenersNotValid: listener a: allowedRoutes\.namespaces\.selector cannot be used: operator "Near" .* correct the selector/,
    },
  },
  'gateway-certificate': {
    objects: [listener('gateway-certificate', { protocol: 'HTTPS', port: 443, tls: { certificateRefs: [{ name: 'cloudflare' }] } })],
    conditions: {
      Programmed:
        /^False Invalid: no listener can be used; a: Secret tenant\/cloudflare \(tls\.certificateRefs\[0\]\) is of type Opaque: it must be of type kubernetes\.io\/tls/,
    },
  },
};
