// Tunnel documents, ports and events as rendered from a graph.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareText } from '#controller/api/ref.ts';
import { allocatePorts } from '#controller/output/ports.ts';
import { renderEvents } from '#controller/output/events.ts';
import {
  API_TOKEN,
  application,
  classConfig,
  credentials,
  gateway,
  gatewayClass,
  grpcRoute,
  httpRoute,
  listener,
  platform,
  settings,
  TUNNEL,
} from '#test/build/objects.ts';
import { happyFacts, planOf } from '#test/build/plan.ts';

const tunnels = (...ids: readonly string[]) => ({
  gateways: [],
  tunnels: ids.map((id) => ({
    id,
    tunnelId: id,
    accountId: null,
    apiToken: null,
    connectorToken: null,
    policy: 'Exclusive' as const,
    configs: [],
  })),
});

/** `a:8080 b:8100`, by tunnel. */
const allocated = (ids: readonly string[], previous: Readonly<Record<string, number>> = {}, firstPort?: number): string =>
  [...allocatePorts(tunnels(...ids), new Map(Object.entries(previous)), firstPort)]
    .map(([id, port]) => `${id}:${port}`)
    .sort(compareText)
    .join(' ');

test('ports: the first tunnel has the well-known one, further ones count on, and everyone keeps theirs', () => {
  assert.equal(allocated(['a', 'b', 'c']), 'a:8080 b:8100 c:8101');
  const first = { a: 8080, b: 8100, c: 8101 };
  assert.equal(allocated(['c', 'a', 'b'], first), 'a:8080 b:8100 c:8101');
  assert.equal(allocated(['new', 'a', 'c'], first), 'a:8080 c:8101 new:8100');
  assert.equal(allocated(['b'], first), 'b:8100', 'a connector is not moved because the first tunnel went');
  assert.equal(allocated(['b', 'new'], { b: 8100 }), 'b:8100 new:8101');
  assert.equal(allocated(['a', 'b'], { a: 8100, b: 8100 }), 'a:8100 b:8101');
  assert.equal(allocated(['a'], {}, 18080), 'a:18080');
});

test('one rule for each hostname, exact before wildcard, each with our own settings', () => {
  const hostnames = ['*.example.com', 'b.example.com', '*.b.example.com', 'a.example.com'];
  const { plan } = planOf([...platform(), gateway(), httpRoute({ hostnames }), httpRoute({ name: 'again', hostnames: ['A.example.com'] })]);
  const [tunnel] = plan.tunnels;
  assert.deepEqual(
    tunnel?.rules.map(({ hostname }) => hostname),
    ['a.example.com', 'b.example.com', '*.b.example.com', '*.example.com'],
  );
  for (const { service, originRequest } of tunnel?.rules ?? []) {
    assert.equal(service, 'http://127.0.0.1:8080');
    assert.deepEqual(originRequest, { keepAliveConnections: 1024, connectTimeout: 5 });
  }
  assert.deepEqual(tunnel?.last, { service: 'http_status:404' });
  assert.deepEqual([tunnel?.apiToken, tunnel?.tunnelId, tunnel?.folded], [API_TOKEN, TUNNEL, false]);
});

test('the last rule leads to the proxy when a route is reached under every host', () => {
  const last = (...objects: Parameters<typeof planOf>[0]) => planOf([...platform(), ...objects]).plan.tunnels[0]?.last.service;
  const hostless = httpRoute({ hostnames: [] });
  assert.equal(last(gateway(), hostless), 'http://127.0.0.1:8080');
  assert.equal(last(gateway({ listeners: [listener({ hostname: 'a.example.com' })] }), hostless), 'http_status:404');
  assert.equal(last(gateway({ listeners: [listener({ protocol: 'TLS' })] }), hostless), 'http_status:404');
  assert.equal(last(gateway()), 'http_status:404');
});

test('routes that fail closed are still reached, those that are refused are not', () => {
  const closed = httpRoute({ hostnames: ['closed.example.com'], rules: [{ filters: [{ type: 'CORS' }] }] });
  const refused = httpRoute({ name: 'refused', hostnames: ['refused.example.com'], parents: [{ sectionName: 'none' }] });
  const { plan } = planOf([...platform(), gateway(), closed, refused]);
  assert.deepEqual(
    plan.tunnels[0]?.rules.map(({ hostname }) => hostname),
    ['closed.example.com'],
  );
});

test('more hostnames than the API takes are folded into the last rule', () => {
  const routes = (count: number) =>
    Array.from({ length: count }, (_, index) => httpRoute({ name: `r${index}`, hostnames: [`h${index}.example.com`] }));
  const fits = planOf([...platform(), gateway(), ...routes(999)]).plan.tunnels[0];
  assert.deepEqual([fits?.rules.length, fits?.folded, fits?.last.service], [999, false, 'http_status:404']);
  const folded = planOf([...platform(), gateway(), ...routes(1000)]).plan.tunnels[0];
  assert.deepEqual([folded?.rules.length, folded?.folded, folded?.last.service], [0, true, 'http://127.0.0.1:8080']);
});

test('without classes there is an empty plane, so that proxies know that nothing is meant', () => {
  const { plan } = planOf([]);
  assert.deepEqual(plan.planes, [{ id: 'shared', items: [] }]);
  assert.deepEqual([plan.tunnels, plan.statuses, plan.events], [[], [], []]);
});

test('the transport is one that carries gRPC unless QUIC was asked for', () => {
  const protocol = (tunnelProtocol: 'auto' | 'http2' | 'quic') => {
    const [item] = planOf([...platform()], settings({ tunnelProtocol })).plan.planes[0]?.items ?? [];
    return item?.kind === 'tunnel' ? item.protocol : null;
  };
  assert.deepEqual([protocol('auto'), protocol('http2'), protocol('quic')], ['http2', 'http2', 'quic']);
});

test('no item carries a secret', () => {
  const { plan } = planOf([...platform(), gateway(), ...application()]);
  assert.ok(!JSON.stringify([plan.planes, plan.statuses, plan.events]).includes(API_TOKEN));
});

test('events: foreign rules go to each configuration of the tunnel, gRPC to each GRPCRoute that is served', () => {
  const kept = { configPolicy: 'Merge' } as const;
  const first = [gatewayClass(), classConfig(kept), credentials()];
  const second = [gatewayClass({ name: 'second', config: 'second' }), classConfig(kept, { name: 'second' })];
  const refused = grpcRoute({ name: 'refused', parents: [{ sectionName: 'none' }] });
  const { graph } = planOf([...first, ...second, gateway(), grpcRoute(), refused]);
  const facts = happyFacts(graph);
  const fact = facts.tunnels.get(TUNNEL);
  assert.ok(fact !== undefined);
  const events = renderEvents(graph, { ...facts, tunnels: new Map([[TUNNEL, { ...fact, foreignRules: ['old.example.com'] }]]) });
  assert.deepEqual(
    events.map(({ ref, type, reason }) => `${ref.kind} ${ref.name} ${type} ${reason}`),
    [
      'GatewayClassConfig main Normal ForeignIngressRules',
      'GatewayClassConfig second Normal ForeignIngressRules',
      'GRPCRoute app Normal GRPCEdgeProxyingRequired',
    ],
  );
  assert.match(events[0]?.message ?? '', /old\.example\.com/);
});
