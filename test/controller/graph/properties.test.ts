// What must hold for every input: order does not matter, inputs stay untouched, a kept graph equals a fresh one, tenants do not disturb each other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { KubeObject } from '#controller/api/core.ts';
import { keyOf } from '#controller/api/ref.ts';
import type { KindName } from '#controller/api/snapshot.ts';
import { buildGraph, createGraphBuilder } from '#controller/graph/build.ts';
import { wantedObjects } from '#controller/graph/references.ts';
import { renderPlan, type Plan } from '#controller/output/plan.ts';
import { allocatePorts } from '#controller/output/ports.ts';
import { caMap } from '#test/build/ca.ts';
import {
  backendTlsPolicy,
  certificate,
  classConfig,
  credentials,
  endpointSlice,
  gateway,
  gatewayClass,
  grant,
  grpcRoute,
  httpRoute,
  listener,
  listenerSet,
  namespace,
  platform,
  secret,
  service,
  settings,
} from '#test/build/objects.ts';
import { happyFacts, nothingKnown, planOf, readablePlan } from '#test/build/plan.ts';
import { snapshotOf, withObject, withoutObject } from '#test/build/snapshot.ts';

const LABEL = 'cf.k8s.lex.la/hostname-suffix';
const enforced = settings({
  ownership: { enforce: true, labelKey: LABEL, namespaceSelector: 'system!=true', unlabelled: 'Deny', emptyHostnames: 'Reject' },
});
const everyone = { namespaces: { from: 'All' } } as const;
const shared = gateway({
  namespace: 'infra',
  listeners: [listener({ allowedRoutes: everyone }), listener({ name: 'http', port: 80, protocol: 'HTTP', allowedRoutes: everyone })],
  spec: { allowedListeners: everyone },
});
const infra = namespace('infra', { system: 'true' });
const parents = [{ namespace: 'infra' }];
const times = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z', '2025-06-01T00:00:00Z'] as const;

/** Objects that a tenant may have, good and bad. Every hostname that is its own contains the tenant's name. */
const tenantObjects = (tenant: string): readonly (() => readonly KubeObject[])[] => {
  const at = (name: string, created: string = times[0]) => ({ name, namespace: tenant, created });
  const host = `${tenant}.example.com`;
  const route = (name: string, rules: Parameters<typeof httpRoute>[0] = {}) => [
    httpRoute({ ...at(name), parents, hostnames: [`${name}.${host}`], ...rules }),
  ];
  return [
    () => [...route('app'), service(at('app')), endpointSlice(['10.0.0.1'], { service: 'app', namespace: tenant })],
    () => [service(at('app'), { type: 'ExternalName', externalName: 'metadata.internal' })],
    () => [
      service(at('app'), { ports: [{ port: 80, appProtocol: 'https' }] }),
      endpointSlice(['127.0.0.1', '10.0.0.2'], { service: 'app', namespace: tenant }),
    ],
    () => route('regex', { rules: [{ matches: [{ path: { type: 'RegularExpression', value: '(' } }] }] }),
    () => route('filter', { rules: [{ filters: [{ type: 'ExtensionRef' }] }, {}] }),
    () =>
      route('refs', {
        rules: [
          {
            backendRefs: [
              { name: 'app', namespace: 'infra', port: 80 },
              { name: 'app', namespace: tenant === 'alpha' ? 'beta' : 'alpha', port: 80 },
              { name: 'nothing', port: 1 },
              { kind: 'Bucket', name: 'x' },
            ],
          },
        ],
      }),
    () =>
      route('sections', {
        parents: [{ namespace: 'infra', sectionName: 'http' }, { namespace: 'infra', sectionName: 'none' }, { name: 'elsewhere' }],
      }),
    () => [httpRoute({ ...at('app', times[1]), parents, hostnames: [] })],
    () => [httpRoute({ ...at('thief', times[2]), parents, hostnames: ['app.alpha.example.com', 'app.beta.example.com', '*.example.com'] })],
    () => [
      grpcRoute({
        ...at('grpc'),
        parents,
        hostnames: [`*.${host}`],
        rules: [{ matches: [{}, { method: { method: 'M' } }], backendRefs: [{ name: 'app', port: 80 }] }],
      }),
    ],
    () => [
      listenerSet({
        ...at('set'),
        listeners: [listener({ hostname: `set.${host}` }), listener({ name: 'foreign', hostname: '*.example.com' })],
        gateway: { name: 'tunnel', namespace: 'infra' },
      }),
    ],
    () => [httpRoute({ ...at('on-set'), parents: [{ kind: 'ListenerSet', name: 'set', namespace: tenant }], hostnames: [] })],
    () => [
      gateway({
        ...at('own'),
        listeners: [
          listener({ hostname: host, tls: { certificateRefs: [{ name: 'cert' }] } }),
          listener({ name: 'bad', port: 81, protocol: 'TCP' }),
        ],
      }),
    ],
    () => [certificate('cert', tenant)],
    () => [secret('cert', tenant, { 'tls.crt': 'broken' }, 'kubernetes.io/tls')],
    () => [
      gateway({
        ...at('dedicated'),
        spec: { infrastructure: { parametersRef: { group: 'cf.k8s.lex.la', kind: 'GatewayConfig', name: 'x' } } },
      }),
    ],
    () => [backendTlsPolicy(at('policy'))],
    () => [backendTlsPolicy({ ...at('another', times[1]), targets: [{ sectionName: 'none' }, {}] }), caMap('ca', undefined, tenant)],
    () => [
      backendTlsPolicy({ ...at('policy', times[2]), targets: [{ name: 'thief' }], validation: { caCertificateRefs: [] } }),
      caMap('ca', 'broken', tenant),
    ],
    () => [
      gateway({
        ...at('own'),
        listeners: [listener({ hostname: host })],
        spec: {
          tls: {
            backend: { clientCertificateRef: { name: 'cert', namespace: tenant === 'alpha' ? 'beta' : 'alpha' } },
            frontend: {
              default: { validation: { caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'ca' }], mode: 'AllowInsecureFallback' } },
            },
          },
        },
      }),
    ],
    () => [grant(tenant, { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'alpha' }, { group: '', kind: 'Service' })],
  ];
};

const tenantWorld = (tenant: string) =>
  fc
    .subarray([...tenantObjects(tenant)])
    .map((makers) => [namespace(tenant, { [LABEL]: `${tenant}.example.com` }), ...makers.flatMap((make) => make())]);

const platformWorld = fc.constantFrom<readonly KubeObject[]>(
  [...platform()],
  [
    ...platform(),
    gatewayClass({ name: 'second', config: 'second' }),
    classConfig({ configPolicy: 'Merge' }, { name: 'second', created: times[1] }),
  ],
  [gatewayClass(), classConfig()],
  [gatewayClass({ config: 'missing' }), credentials()],
  [gatewayClass(), classConfig({ tunnelID: undefined, deriveFromToken: true }), credentials()],
);

const world = fc
  .tuple(platformWorld, tenantWorld('alpha'), tenantWorld('beta'))
  .map(([base, alpha, beta]): readonly KubeObject[] => unique([...base, infra, shared, ...alpha, ...beta]));

/** As in a cluster, the last of several objects with one name is the one that is there. */
const unique = (objects: readonly KubeObject[]): readonly KubeObject[] => [
  ...new Map(objects.map((object) => [`${object.kind} ${keyOf(object.metadata.namespace, object.metadata.name)}`, object])).values(),
];

const everything = (plan: Plan): unknown => ({ readable: readablePlan(plan), tunnels: plan.tunnels });

test('the order in which objects arrive never matters', () => {
  fc.assert(
    fc.property(
      world.chain((objects) => fc.tuple(fc.constant(objects), fc.shuffledSubarray([...objects], { minLength: objects.length }))),
      ([objects, shuffled]) => {
        assert.deepEqual(everything(planOf(shuffled, enforced).plan), everything(planOf(objects, enforced).plan));
      },
    ),
    { numRuns: 60 },
  );
});

interface Step {
  readonly remove: boolean;
  readonly pick: number;
  readonly with: readonly KubeObject[];
}

test('a graph that was kept up to date equals one that was built anew', () => {
  const step: fc.Arbitrary<Step> = fc.record({
    remove: fc.boolean(),
    pick: fc.nat(),
    with: fc.oneof(tenantWorld('alpha'), tenantWorld('beta')),
  });
  fc.assert(
    fc.property(world, fc.array(step, { maxLength: 6 }), (objects, steps) => {
      const build = createGraphBuilder();
      let snapshot = snapshotOf(objects);
      let present = [...objects];
      build(snapshot, enforced);
      for (const { remove, pick, with: others } of steps) {
        if (remove) {
          const [gone] = present.splice(pick % present.length, 1);
          if (gone === undefined || gone.kind === 'Namespace') continue;
          snapshot = withoutObject(snapshot, gone.kind as KindName, keyOf(gone.metadata.namespace, gone.metadata.name));
        } else {
          for (const other of others) snapshot = withObject(snapshot, other);
          present = [...unique([...present, ...others])];
        }
        const kept = build(snapshot, enforced);
        const fresh = buildGraph(snapshot, enforced);
        const ports = allocatePorts(fresh, new Map());
        const render = (graph: typeof kept) => everything(renderPlan(graph, happyFacts(graph), snapshot, ports));
        assert.deepEqual(render(kept), render(fresh));
      }
    }),
    { numRuns: 60 },
  );
});

test('whatever one tenant does, the output of another stays the same', () => {
  const ofAlpha = (plan: Plan): unknown => ({
    statuses: plan.statuses.filter(({ ref }) => ref.namespace === 'alpha').map(({ desired }) => desired),
    routes: plan.planes.flatMap(({ items }) => items.filter((item) => item.kind === 'route' && item.namespace === 'alpha')),
    backends: plan.planes.flatMap(({ items }) => items.filter((item) => item.kind === 'backend' && item.id.startsWith('Service/alpha/'))),
    listeners: plan.planes.flatMap(({ items }) =>
      items.flatMap((item) => (item.kind === 'entry' ? item.listeners.filter(({ id }) => id.split('/')[1] === 'alpha') : [])),
    ),
    rules: plan.tunnels.flatMap(({ rules }) => rules.filter(({ hostname }) => hostname?.endsWith('alpha.example.com'))),
  });
  fc.assert(
    fc.property(platformWorld, tenantWorld('alpha'), tenantWorld('beta'), (base, alpha, beta) => {
      const alone = planOf(unique([...base, infra, shared, ...alpha]), enforced).plan;
      const beside = planOf(
        unique([...base, infra, shared, ...alpha, ...beta.filter(({ kind }) => kind !== 'ReferenceGrant')]),
        enforced,
      ).plan;
      assert.deepEqual(ofAlpha(beside), ofAlpha(alone));
    }),
    { numRuns: 80 },
  );
});

test('nothing throws while nothing is known, and wanted Secrets and ConfigMaps do not depend on having them', () => {
  fc.assert(
    fc.property(world, (objects) => {
      const snapshot = snapshotOf(objects);
      const graph = buildGraph(snapshot, enforced);
      renderPlan(graph, nothingKnown, snapshot, new Map());
      const without = wantedObjects(snapshotOf(objects.filter(({ kind }) => kind !== 'Secret' && kind !== 'ConfigMap')), enforced);
      const having = wantedObjects(snapshot, enforced);
      assert.deepEqual([...without.secrets].sort(), [...having.secrets].sort());
      assert.deepEqual([...without.configMaps].sort(), [...having.configMaps].sort());
    }),
    { numRuns: 40 },
  );
});
