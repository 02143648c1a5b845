import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSlice, KubeObject, Service } from '#controller/api/core.ts';
import type { BackendConfig, WeightedBackendConfig } from '#proxy/config/schema.ts';
import { application, endpointSlice, gateway, grant, grpcRoute, httpRoute, platform, service, settings } from '#test/build/objects.ts';
import { conditions, message, planOf } from '#test/build/plan.ts';

interface Outcome {
  readonly backends: readonly BackendConfig[];
  readonly shares: readonly WeightedBackendConfig[];
  readonly resolved: string | undefined;
  readonly message: string;
}

/** What becomes of `route` (default: HTTPRoute to Service app, port 80) among `objects`. */
function resolve(objects: readonly KubeObject[], route: KubeObject = httpRoute(), configuration = settings()): Outcome {
  const { plan } = planOf([...platform(), gateway(), route, ...objects], configuration);
  const items = plan.planes[0]?.items ?? [];
  const name = `${route.kind} default/app`;
  return {
    backends: items.filter((item) => item.kind === 'backend'),
    shares: items.flatMap((item) => (item.kind === 'route' ? item.rules.flatMap(({ backends }) => backends) : [])),
    resolved: conditions(plan, name)['ResolvedRefs'],
    message: message(plan, name, 'ResolvedRefs'),
  };
}

const endpoints = (
  slices: readonly EndpointSlice[],
  spec: NonNullable<Service['spec']> = {},
  configuration = settings(),
): readonly string[] => resolve([service({}, spec), ...slices], httpRoute(), configuration).backends[0]?.endpoints ?? [];

test('slices are joined by label and port name: several, both families, each endpoint once', () => {
  const ports = [{ name: 'http', port: 3000, protocol: 'TCP' }];
  const spec = {
    ports: [
      { name: 'http', port: 80 },
      { name: 'metrics', port: 9090 },
    ],
  };
  const slices = [
    endpointSlice(['10.0.0.2', '10.0.0.1'], { suffix: 'b' }, { ports: [...ports, { name: 'metrics', port: 9090 }] }),
    endpointSlice(['10.0.0.1', '10.0.0.3'], { suffix: 'a' }, { ports }),
    endpointSlice(['2001:db8::1'], { suffix: 'v6' }, { ports, addressType: 'IPv6' }),
    endpointSlice(['10.0.0.9'], { service: 'other' }, { ports }),
    endpointSlice(['10.0.0.8'], { namespace: 'elsewhere' }, { ports }),
    endpointSlice(['10.0.0.7'], { suffix: 'udp' }, { ports: [{ name: 'http', port: 3000, protocol: 'UDP' }] }),
    endpointSlice(['10.0.0.6'], { suffix: 'unnamed' }, { ports: [{ port: 3000 }] }),
  ];
  assert.deepEqual(endpoints(slices, spec), ['10.0.0.1:3000', '10.0.0.2:3000', '10.0.0.3:3000', '[2001:db8::1]:3000']);
});

test('an unnamed port is the unnamed port of the slices', () => {
  const slices = [
    endpointSlice(['10.0.0.1'], { suffix: 'a' }, { ports: [{ port: 1 }] }),
    endpointSlice(['10.0.0.2'], { suffix: 'b' }, { ports: [{ name: '', port: 2 }] }),
  ];
  assert.deepEqual(endpoints(slices), ['10.0.0.1:1', '10.0.0.2:2']);
  assert.deepEqual(endpoints([endpointSlice(['10.0.0.1'], {}, { ports: [{ name: 'http', port: 1 }] })]), []);
});

test('only endpoints that are ready and stay', () => {
  const states = [
    { addresses: ['10.0.0.1'], conditions: { ready: true } },
    { addresses: ['10.0.0.2'], conditions: {} },
    { addresses: ['10.0.0.3'] },
    { addresses: ['10.0.0.4'], conditions: { ready: false, serving: true } },
    { addresses: ['10.0.0.5'], conditions: { ready: true, terminating: true } },
    { addresses: ['10.0.0.6', '10.0.0.7'] },
    { addresses: [] },
  ];
  assert.deepEqual(endpoints([endpointSlice([], {}, { endpoints: states })]), [
    '10.0.0.1:8080',
    '10.0.0.2:8080',
    '10.0.0.3:8080',
    '10.0.0.6:8080',
  ]);
});

test('the ClusterIP is the fallback, unless there is none', () => {
  const fallback = (spec: NonNullable<Service['spec']>) => resolve([service({}, spec), endpointSlice(['10.0.0.1'])]).backends[0]?.fallback;
  assert.equal(fallback({}), '10.96.0.10:80');
  assert.equal(fallback({ clusterIP: 'None' }), undefined);
  assert.equal(fallback({ clusterIP: 'fd00::10' }), '[fd00::10]:80');
  assert.equal(fallback({ clusterIP: '127.0.0.1' }), undefined);
});

test('no ready endpoint is no broken reference: its share is answered with 503', () => {
  for (const slices of [[], [endpointSlice([])]]) {
    const { shares, resolved, backends } = resolve([service(), ...slices]);
    assert.deepEqual(shares, [{ status: 503, weight: 1 }]);
    assert.equal(resolved, 'True/ResolvedRefs');
    assert.deepEqual(backends, []);
  }
});

test('loopback endpoints are for the folder source only, and link-local ones for nobody', () => {
  const slices = [endpointSlice(['127.0.0.1', '169.254.169.254', '10.0.0.1'])];
  assert.deepEqual(endpoints(slices), ['10.0.0.1:8080']);
  assert.deepEqual(endpoints(slices, {}, settings({ allowLoopbackEndpoints: true })), ['10.0.0.1:8080', '127.0.0.1:8080']);
  const { resolved, message, shares } = resolve([service(), ...slices]);
  assert.equal(resolved, 'False/UnsupportedValue');
  assert.match(message, /127\.0\.0\.1 \(loopback\), 169\.254\.169\.254 \(link-local\)/);
  assert.deepEqual(shares, [{ backend: 'Service/default/app:80/http1', weight: 1 }]);
});

test('ports that there are not are left out and told: an API server checks none of them in slices', () => {
  const slices = [0, -1, 65_536, 1.5, 8080].map((port, index) =>
    endpointSlice(['10.0.0.1'], { suffix: String(index) }, { ports: [{ name: '', port, protocol: 'TCP' }] }),
  );
  assert.deepEqual(endpoints(slices), ['10.0.0.1:8080']);
  const { resolved, message } = resolve([service(), ...slices]);
  assert.equal(resolved, 'False/UnsupportedValue');
  assert.match(message, /10\.0\.0\.1 \(port -?\d.*, which there is not\)/);
});

test('appProtocol decides what is spoken, and never turns TLS into cleartext', () => {
  const ask = (appProtocol: string | undefined, route: KubeObject) => {
    const port = { port: 80, ...(appProtocol === undefined ? {} : { appProtocol }) };
    const { backends, shares, resolved } = resolve([service({}, { ports: [port] }), endpointSlice(['10.0.0.1'])], route);
    return [backends[0]?.protocol ?? shares[0]?.status, resolved];
  };
  for (const [appProtocol, http, grpc] of [
    [undefined, ['http1', 'True/ResolvedRefs'], ['h2c', 'True/ResolvedRefs']],
    ['http', ['http1', 'True/ResolvedRefs'], ['h2c', 'True/ResolvedRefs']],
    ['HTTP', ['http1', 'True/ResolvedRefs'], ['h2c', 'True/ResolvedRefs']],
    ['kubernetes.io/h2c', ['h2c', 'True/ResolvedRefs'], ['h2c', 'True/ResolvedRefs']],
    ['kubernetes.io/ws', ['http1', 'True/ResolvedRefs'], ['h2c', 'True/ResolvedRefs']],
    ['https', [502, 'False/UnsupportedProtocol'], [502, 'False/UnsupportedProtocol']],
    ['HTTPS', [502, 'False/UnsupportedProtocol'], [502, 'False/UnsupportedProtocol']],
    ['kubernetes.io/wss', [502, 'False/UnsupportedProtocol'], [502, 'False/UnsupportedProtocol']],
    ['tls', [502, 'False/UnsupportedProtocol'], [502, 'False/UnsupportedProtocol']],
    ['grpc', ['http1', 'False/UnsupportedProtocol'], ['h2c', 'True/ResolvedRefs']],
  ] as const) {
    assert.deepEqual(ask(appProtocol, httpRoute()), http, `HTTPRoute ${appProtocol}`);
    assert.deepEqual(ask(appProtocol, grpcRoute()), grpc, `GRPCRoute ${appProtocol}`);
  }
});

test('the same port for both kinds of routes is two backends', () => {
  const { plan } = planOf([...platform(), gateway(), ...application(), grpcRoute({ hostnames: ['grpc.example.com'] })]);
  const ids = plan.planes[0]?.items.flatMap((item) => (item.kind === 'backend' ? [item.id] : []));
  assert.deepEqual(ids, ['Service/default/app:80/h2c', 'Service/default/app:80/http1']);
});

test('grants: each respect counts, one verdict for each route and reference, existence is not told', () => {
  const route = httpRoute({ rules: [{ backendRefs: [{ group: 'core', name: 'app', namespace: 'backends', port: 80 }] }] });
  const target = [service({ namespace: 'backends' }), endpointSlice(['10.0.0.1'], { namespace: 'backends' })];
  const from = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'default' };
  const to = { group: '', kind: 'Service' };
  for (const [title, given, expected] of [
    ['all of a kind', grant('backends', from, to), 'True/ResolvedRefs'],
    ['by name', grant('backends', from, { ...to, name: 'app' }), 'True/ResolvedRefs'],
    ['an empty name is all', grant('backends', from, { ...to, name: '' }), 'True/ResolvedRefs'],
    ['core', grant('backends', from, { ...to, group: 'core' }), 'True/ResolvedRefs'],
    ['another name', grant('backends', from, { ...to, name: 'other' }), 'False/RefNotPermitted'],
    ['another target kind', grant('backends', from, { ...to, kind: 'Secret' }), 'False/RefNotPermitted'],
    ['another target group', grant('backends', from, { ...to, group: 'example.com' }), 'False/RefNotPermitted'],
    ['another route kind', grant('backends', { ...from, kind: 'GRPCRoute' }, to), 'False/RefNotPermitted'],
    ['another route group', grant('backends', { ...from, group: '' }, to), 'False/RefNotPermitted'],
    ['another route namespace', grant('backends', { ...from, namespace: 'x' }, to), 'False/RefNotPermitted'],
    ['in another namespace', grant('default', from, to), 'False/RefNotPermitted'],
  ] as const) {
    assert.equal(resolve([...target, given], route).resolved, expected, title);
  }
  assert.equal(resolve(target, route).resolved, 'False/RefNotPermitted');
  assert.equal(resolve([], route).resolved, 'False/RefNotPermitted', 'the Service does not even exist');
});

test('references that mean nothing keep their weight and answer 500', () => {
  const refs = [
    { name: 'app', port: 80, weight: 5 },
    { name: 'missing', port: 80, weight: 3 },
    { name: 'app', port: 81, weight: 2 },
    { name: 'app' },
    { group: 'cf.k8s.lex.la', kind: 'ExternalBackend', name: 'origin', weight: 0 },
  ];
  const { shares, resolved, message } = resolve([service(), endpointSlice(['10.0.0.1'])], httpRoute({ rules: [{ backendRefs: refs }] }));
  assert.deepEqual(shares, [
    { backend: 'Service/default/app:80/http1', weight: 5 },
    { status: 500, weight: 3 },
    { status: 500, weight: 2 },
    { status: 500, weight: 1 },
    { status: 500, weight: 0 },
  ]);
  assert.equal(resolved, 'False/BackendNotFound');
  assert.match(message, /Service default\/missing .*no port 81.*backendRefs\[3\]\.port is missing.*ExternalBackend origin/);
});

test('no backendRefs at all is no broken reference', () => {
  assert.deepEqual(resolve([], httpRoute({ rules: [{}] })), {
    backends: [],
    shares: [],
    resolved: 'True/ResolvedRefs',
    message: 'all references are resolved',
  });
});

test('a port number that a Service has for TCP and UDP is the TCP one', () => {
  const ports = [
    { name: 'dns', port: 80, protocol: 'UDP' },
    { name: 'web', port: 80, protocol: 'TCP' },
  ];
  const slice = endpointSlice(
    ['10.0.0.1'],
    {},
    {
      ports: [
        { name: 'dns', port: 53 },
        { name: 'web', port: 8080 },
      ],
    },
  );
  assert.deepEqual(endpoints([slice], { ports }), ['10.0.0.1:8080']);
  const udp = resolve([service({}, { ports: ports.slice(0, 1) }), slice]);
  assert.deepEqual([udp.resolved, udp.shares], ['False/UnsupportedProtocol', [{ status: 502, weight: 1 }]]);
});
