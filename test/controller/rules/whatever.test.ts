// What holds for whatever Gateways, ListenerSets and routes there are: statuses that the schemas of the CRDs accept, and that agree with each other.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { load } from 'js-yaml';
import type { Condition, KubeObject } from '#controller/api/core.ts';
import type { Gateway, Listener, ListenerSet } from '#controller/api/gateway.ts';
import type { DesiredStatus, StatusUpdate } from '#controller/api/plan.ts';
import type { KindName } from '#controller/api/snapshot.ts';
import type { StructuralSchema } from '#controller/api/structural.ts';
import { mergeStatus } from '#controller/output/merge-status.ts';
import { Findings } from '#controller/watch/folder/finding.ts';
import { ruleCheck } from '#controller/watch/folder/rules.ts';
import { shapeCheck } from '#controller/watch/folder/shape.ts';
import { certificate, gateway, grant, grpcRoute, httpRoute, listenerSet, namespace, platform } from '#test/build/objects.ts';
import { planOf } from '#test/build/plan.ts';
import { buildHint, gatewayApiCrds } from '../../../tools/tool-paths.ts';

const NOW = '2026-01-01T00:00:00Z';

/** Mostly of a few values, so that things meet; `undefined` leaves the field out. */
const oneOf = fc.constantFrom;
const optional = <K extends string, T>(key: K, value: fc.Arbitrary<T>): fc.Arbitrary<{ readonly [key in K]?: T }> =>
  fc.option(value, { nil: undefined }).map((chosen) => (chosen === undefined ? {} : { [key]: chosen }) as { readonly [key in K]?: T });

const selectors = oneOf(
  { matchLabels: { team: 'a' } },
  {},
  { matchExpressions: [{ key: 'team', operator: 'Exists' }] },
  { matchExpressions: [{ key: '-', operator: 'Near', values: ['?'] }] },
);
const fromNamespaces = fc.oneof(
  oneOf({ from: 'All' }, { from: 'Same' }, { from: 'None' }, { from: 'Selector' }, { from: 'Elsewhere' }),
  selectors.map((selector) => ({ from: 'Selector', selector })),
);
const kinds = fc.array(
  oneOf({ kind: 'HTTPRoute' }, { kind: 'GRPCRoute' }, { kind: 'TCPRoute' }, { group: 'example.com', kind: 'HTTPRoute' }),
  { maxLength: 3 },
);
const certificateRef = oneOf(
  { name: 'cert' },
  { name: 'absent' },
  { name: 'cert', namespace: 'a' },
  { name: 'cert', namespace: 'b' },
  { kind: 'ConfigMap', name: 'cert' },
);

const listeners: fc.Arbitrary<readonly Listener[]> = fc
  .array(
    fc
      .tuple(
        fc.record({
          name: oneOf('one', 'two', 'three', 'x'.repeat(253)),
          protocol: oneOf('HTTP', 'HTTP', 'HTTP', 'HTTPS', 'HTTPS', 'HTTPS', 'TLS', 'TCP', 'UDP', 'example.com/own'),
          port: oneOf(80, 443),
        }),
        optional('hostname', oneOf('a.test', 'a.test', 'A.test', 'A.test', '*.a.test', '10.0.0.1', `${'y'.repeat(64)}.test`)),
        optional(
          'allowedRoutes',
          fc.tuple(optional('namespaces', fromNamespaces), optional('kinds', kinds)).map(([a, b]) => ({ ...a, ...b })),
        ),
        optional(
          'tls',
          fc
            .tuple(
              optional('mode', oneOf('Terminate', 'Passthrough')),
              optional('certificateRefs', fc.array(certificateRef, { maxLength: 2 })),
            )
            .map(([a, b]) => ({ ...a, ...b })),
        ),
      )
      .map(([base, ...rest]): Listener => Object.assign({ ...base }, ...rest) as Listener),
    { maxLength: 5 },
  )
  .map((list) => [...new Map(list.map((entry) => [entry.name, entry])).values()]);

const names = oneOf('one', 'two');
const namespaces = oneOf('a', 'b');
const created = oneOf('2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z');

const gateways = fc
  .record({ name: names, namespace: namespaces, created, listeners, allowed: fc.option(fromNamespaces, { nil: undefined }) })
  .map(({ allowed, ...rest }): KubeObject =>
    gateway({ ...rest, spec: allowed === undefined ? {} : { allowedListeners: { namespaces: allowed } } }),
  );

const sets = fc
  .record({ name: names, namespace: namespaces, created, listeners, gateway: fc.record({ name: names, namespace: namespaces }) })
  .map((fields): KubeObject => listenerSet(fields));

const parents = fc.array(
  fc
    .tuple(
      fc.record({ name: oneOf('one', 'two', 'absent'), namespace: namespaces, kind: oneOf('Gateway', 'ListenerSet', 'Service') }),
      optional('sectionName', oneOf('one', 'three', 'absent')),
      optional('port', oneOf(80, 443, 81)),
    )
    .map(([base, ...rest]): object => Object.assign({ ...base }, ...rest) as object),
  { maxLength: 4 },
);
const routeFields = fc.record({
  name: names,
  namespace: namespaces,
  created,
  parents,
  hostnames: fc.array(oneOf('a.test', 'c.b.a.test', '*.a.test', 'other.test'), { maxLength: 2 }),
});
const routes = fc.oneof(
  routeFields.map((fields): KubeObject => httpRoute({ ...fields, rules: [{}] })),
  routeFields.map((fields): KubeObject => grpcRoute({ ...fields, rules: [{}] })),
);

const others = fc.subarray<KubeObject>([
  namespace('a', { team: 'a' }),
  namespace('b'),
  certificate('cert', 'a'),
  certificate('cert', 'b'),
  grant('b', { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'a' }, { group: '', kind: 'Secret' }),
  grant('a', { group: 'gateway.networking.k8s.io', kind: 'ListenerSet', namespace: 'b' }, { group: '', kind: 'Secret', name: 'cert' }),
]);

const key = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.namespace}/${metadata.name}`;
const world = fc
  .tuple(others, fc.array(gateways, { maxLength: 4 }), fc.array(sets, { maxLength: 4 }), fc.array(routes, { maxLength: 4 }))
  .map((parts) => [...platform(), ...new Map(parts.flat().map((object) => [key(object), object])).values()]);

const told = (conditions: readonly Condition[], type: string): string => {
  const found = conditions.find((condition) => condition.type === type);
  return `${found?.status}/${found?.reason}`;
};

type Listing = Extract<DesiredStatus, { form: 'gateway' | 'listeners' }>;
const listing = ({ desired }: StatusUpdate): readonly Listing[] => ('listeners' in desired ? [desired] : []);

test('statuses agree with each other', () => {
  fc.assert(
    fc.property(world, (objects) => {
      const { snapshot, plan } = planOf(objects);
      for (const update of plan.statuses) {
        for (const { conditions, listeners } of listing(update)) {
          const { spec } = snapshot.objects[update.ref.kind].get(update.key) as Gateway | ListenerSet;
          assert.deepEqual(
            listeners.map(({ name }) => name),
            spec.listeners.map(({ name }) => name),
          );
          for (const listener of listeners) {
            const reasons = ['Accepted', 'Programmed', 'Conflicted'].map((type) => told(listener.conditions, type));
            const [accepted, programmed, conflicted] = reasons;
            const reason = conflicted?.split('/')[1];
            if (conflicted?.startsWith('True')) assert.deepEqual([accepted, programmed], [`False/${reason}`, `False/${reason}`]);
            if (accepted?.startsWith('False')) {
              assert.ok(programmed?.startsWith('False'));
              assert.equal(listener.attachedRoutes, 0);
            }
            if (told(conditions, 'Programmed').startsWith('False')) assert.ok(programmed?.startsWith('False'));
          }
          const programmed = listeners.filter((listener) => told(listener.conditions, 'Programmed').startsWith('True'));
          if (update.desired.form === 'listeners') {
            assert.equal(told(conditions, 'Programmed').startsWith('True'), programmed.length > 0);
          } else if (programmed.length > 0) assert.equal(told(conditions, 'Programmed'), 'True/Programmed');
        }
        if (update.desired.form !== 'gateway') continue;
        const attached = plan.statuses.filter(({ ref, key: of, desired }) => {
          const set = ref.kind === 'ListenerSet' ? snapshot.objects.ListenerSet.get(of) : undefined;
          const { parentRef } = set?.spec ?? {};
          const isChild = `${parentRef?.namespace}/${parentRef?.name}` === update.key;
          return isChild && desired.form === 'listeners' && told(desired.conditions, 'Accepted').startsWith('True');
        });
        assert.equal(update.desired.attachedListenerSets, attached.length);
      }
    }),
    { numRuns: 150 },
  );
});

test('no two listeners of a Gateway that are served hold one place', () => {
  fc.assert(
    fc.property(world, (objects) => {
      const { graph } = planOf(objects);
      for (const { listeners: own, sets: attached } of graph.gateways) {
        const served = [...own, ...attached.flatMap(({ listeners }) => listeners)].filter(({ unusable }) => unusable === null);
        const places = served.map(({ spec: { port, protocol }, hostname }) => `${protocol} ${port} ${hostname}`);
        assert.equal(new Set(places).size, places.length, places.join());
        const protocols = new Map(served.map(({ spec: { port, protocol } }) => [port, protocol]));
        for (const { spec } of served) assert.equal(protocols.get(spec.port), spec.protocol);
      }
    }),
    { numRuns: 150 },
  );
});

const missing = gatewayApiCrds('standard') === null;
suite('before the schemas of the CRDs', { skip: missing ? buildHint(['gateway-api-crds']) : false }, () => {
  const PLURALS: Readonly<Partial<Record<KindName, string>>> = {
    GatewayClass: 'gatewayclasses',
    Gateway: 'gateways',
    ListenerSet: 'listenersets',
    HTTPRoute: 'httproutes',
    GRPCRoute: 'grpcroutes',
  };

  function statusSchema(channel: 'standard' | 'experimental', plural: string): StructuralSchema {
    const file = path.join(gatewayApiCrds(channel) ?? '', `gateway.networking.k8s.io_${plural}.yaml`);
    const { spec } = load(readFileSync(file, 'utf8')) as {
      readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: StructuralSchema } }[] };
    };
    return spec.versions[0]?.schema.openAPIV3Schema.properties?.['status'] ?? assert.fail(`${file} has no status`);
  }

  for (const channel of ['standard', 'experimental'] as const) {
    test(`every status is valid in the ${channel} channel, and writing it once is enough`, () => {
      const checks = new Map(
        Object.entries(PLURALS).map(([kind, plural]) => {
          const schema = statusSchema(channel, plural);
          return [kind, { shape: shapeCheck(schema, false), rules: ruleCheck(schema) }];
        }),
      );
      fc.assert(
        fc.property(world, (objects) => {
          const { snapshot, plan } = planOf(objects);
          for (const update of plan.statuses) {
            const check = checks.get(update.ref.kind);
            const object = snapshot.objects[update.ref.kind].get(update.key);
            if (check === undefined || object === undefined) continue;
            const written = mergeStatus(object, update, NOW);
            if (written === null) continue;
            const findings = new Findings();
            check.shape(structuredClone(written.status), findings);
            check.rules(structuredClone(written.status), findings);
            assert.deepEqual(findings.list, [], key(object));
            assert.equal(mergeStatus({ ...object, ...written }, update, NOW), null);
          }
        }),
        { numRuns: 100 },
      );
    });
  }
});
