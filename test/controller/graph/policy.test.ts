// BackendTLSPolicies: who governs what, what they trust, and which Gateways they are told about.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KubeObject, ServicePort } from '#controller/api/core.ts';
import type { BackendTLSPolicy } from '#controller/api/policy.ts';
import { buildGraph, createGraphBuilder } from '#controller/graph/build.ts';
import { CA_A, CA_B, caMap, configMap } from '#test/build/ca.ts';
import {
  application,
  backendTlsPolicy,
  CONTROLLER,
  endpointSlice,
  gateway,
  grant,
  grpcRoute,
  httpRoute,
  listener,
  listenerSet,
  platform,
  secret,
  service,
  settings,
} from '#test/build/objects.ts';
import { conditions, message, planOf } from '#test/build/plan.ts';
import { snapshotOf, withObject } from '#test/build/snapshot.ts';

const world = (...objects: readonly KubeObject[]): readonly KubeObject[] => [...platform(), gateway(), ...application(), ...objects];

const states = (objects: readonly KubeObject[], name = 'policy', namespace = 'default'): readonly (string | undefined)[] => {
  const found = conditions(planOf(objects).plan, `BackendTLSPolicy ${namespace}/${name}`);
  return [found['Accepted'], found['ResolvedRefs']];
};
const text = (objects: readonly KubeObject[], type: string, name = 'policy'): string =>
  message(planOf(objects).plan, `BackendTLSPolicy default/${name}`, type);

const GOOD = ['True/Accepted', 'True/ResolvedRefs'];

/** Names of the Gateways that are told about a policy, null when nothing is written about it. */
function ancestors(objects: readonly KubeObject[], name = 'policy'): readonly string[] | null {
  const status = planOf(objects).plan.statuses.find(({ ref }) => ref.kind === 'BackendTLSPolicy' && ref.name === name);
  if (status?.desired.form !== 'ancestors') return null;
  return status.desired.ancestors.map(({ ancestorRef: { kind, namespace, name: gatewayName } }) => `${kind} ${namespace}/${gatewayName}`);
}

suite('what a policy trusts', () => {
  const refs = (...list: readonly { readonly kind?: string; readonly group?: string; readonly name: string }[]) => ({
    validation: { caCertificateRefs: list.map((ref) => ({ group: '', kind: 'ConfigMap', ...ref })) },
  });
  const trust = (objects: readonly KubeObject[]) => buildGraph(snapshotOf(objects), settings()).policies[0]?.trust;

  test('CA certificates of ConfigMaps and Secrets of its namespace, or those of the system', () => {
    const mixed = world(
      backendTlsPolicy(refs({ name: 'ca' }, { name: 'ca', kind: 'Secret' })),
      caMap('ca'),
      secret('ca', 'default', { 'ca.crt': CA_B }),
    );
    assert.deepEqual(states(mixed), GOOD);
    assert.deepEqual(trust(mixed), { ca: CA_A + CA_B });
    const system = world(backendTlsPolicy({ validation: { caCertificateRefs: [], wellKnownCACertificates: 'System' } }));
    assert.deepEqual(states(system), GOOD);
    assert.equal(trust(system), 'System');
  });

  const bad: readonly (readonly [string, KubeObject[], string])[] = [
    ['ConfigMap absent', [], 'InvalidCACertificateRef'],
    ['ConfigMap in another namespace only', [caMap('ca', CA_A, 'elsewhere')], 'InvalidCACertificateRef'],
    ['no key ca.crt', [configMap('ca', {})], 'InvalidCACertificateRef'],
    ['empty', [caMap('ca', '')], 'InvalidCACertificateRef'],
    ['not PEM', [caMap('ca', 'hello')], 'InvalidCACertificateRef'],
  ];
  for (const [what, objects, reason] of bad) {
    test(`rule 69: ${what}`, () => {
      const all = world(backendTlsPolicy(), ...objects);
      assert.deepEqual(states(all), ['False/NoValidCACertificate', `False/${reason}`]);
      assert.match(text(all, 'ResolvedRefs'), /ConfigMap default\/ca \(spec\.validation\.caCertificateRefs\[0\]\)/);
      assert.equal(trust(all), null);
    });
  }

  test('rule 69: a kind or a group that holds no certificates', () => {
    for (const ref of [
      { kind: 'Service', name: 'app' },
      { group: 'example.com', name: 'ca' },
    ])
      assert.deepEqual(states(world(backendTlsPolicy(refs(ref)), caMap('ca'))), ['False/NoValidCACertificate', 'False/InvalidKind']);
  });

  test('one good reference of several keeps the policy accepted, without the bad one', () => {
    const partly = world(backendTlsPolicy(refs({ name: 'nowhere' }, { name: 'ca' })), caMap('ca'));
    assert.deepEqual(states(partly), ['True/Accepted', 'False/InvalidCACertificateRef']);
    assert.deepEqual(trust(partly), { ca: CA_A });
  });

  test('a set of well-known certificates that is unknown here, or nothing at all', () => {
    const unknown = backendTlsPolicy({ validation: { caCertificateRefs: [], wellKnownCACertificates: 'example.com/our-own' } });
    assert.deepEqual(states(world(unknown)), ['False/Invalid', 'True/ResolvedRefs']);
    assert.deepEqual(states(world(backendTlsPolicy({ validation: { caCertificateRefs: [] } }))), [
      'False/NoValidCACertificate',
      'True/ResolvedRefs',
    ]);
  });

  test('rule 70: a CA that comes, changes and goes is told each time', () => {
    const build = createGraphBuilder();
    let snapshot = snapshotOf(world(backendTlsPolicy()));
    const seen = (): readonly unknown[] => build(snapshot, settings()).policies.map((node) => node.trust);
    assert.deepEqual(seen(), [null]);
    snapshot = withObject(snapshot, caMap('ca'));
    assert.deepEqual(seen(), [{ ca: CA_A }]);
    snapshot = withObject(snapshot, caMap('ca', ''));
    assert.deepEqual(seen(), [null]);
    snapshot = withObject(snapshot, caMap('ca', CA_B));
    assert.deepEqual(seen(), [{ ca: CA_B }]);
  });
});

suite('rule 68: several policies for one Service', () => {
  const policy = (name: string, created: string, sectionName?: string): BackendTLSPolicy =>
    backendTlsPolicy({ name, created, targets: [sectionName === undefined ? {} : { sectionName }] });
  const older = '2026-01-01T00:00:00Z';
  const younger = '2026-01-01T00:00:01Z';
  const ports: readonly ServicePort[] = [
    { name: 'one', port: 80 },
    { name: 'two', port: 8443 },
  ];
  const competing = (...policies: readonly BackendTLSPolicy[]) => [...world(caMap('ca'), ...policies), service({}, { ports })];

  test('the older wins, at the same age the first by name; the loser is told by whom', () => {
    const byAge = competing(policy('a', younger), policy('b', older));
    assert.deepEqual(states(byAge, 'b'), GOOD);
    assert.deepEqual(states(byAge, 'a'), ['False/Conflicted', 'True/ResolvedRefs']);
    assert.match(text(byAge, 'Accepted', 'a'), /Service default\/app is governed by BackendTLSPolicy b,/);
    const byName = competing(policy('b', older), policy('a', older));
    assert.deepEqual([states(byName, 'a')[0], states(byName, 'b')[0]], ['True/Accepted', 'False/Conflicted']);
  });

  test('for one port likewise, and two ports do not meet', () => {
    const same = competing(policy('a', older, 'one'), policy('b', younger, 'one'));
    assert.deepEqual([states(same, 'a')[0], states(same, 'b')[0]], ['True/Accepted', 'False/Conflicted']);
    const two = competing(policy('a', older, 'one'), policy('b', younger, 'two'));
    assert.deepEqual([states(two, 'a'), states(two, 'b')], [GOOD, GOOD]);
  });

  test('one for a port beside one for the whole Service is no conflict, whichever is older', () => {
    for (const [whole, section] of [[older, younger] as const, [younger, older] as const]) {
      const both = competing(policy('whole', whole), policy('section', section, 'one'));
      assert.deepEqual([states(both, 'whole'), states(both, 'section')], [GOOD, GOOD]);
    }
  });

  test('an older policy that is invalid keeps its place: what it governs must not fall to another', () => {
    const broken = backendTlsPolicy({
      name: 'a',
      created: older,
      validation: { caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'nowhere' }] },
    });
    const objects = competing(broken, policy('b', younger));
    assert.deepEqual([states(objects, 'a')[0], states(objects, 'b')[0]], ['False/NoValidCACertificate', 'False/Conflicted']);
  });

  test('a policy that wins one of its targets is accepted and told of the other', () => {
    const many = backendTlsPolicy({ name: 'many', created: younger, targets: [{ sectionName: 'one' }, { sectionName: 'two' }] });
    const objects = competing(policy('a', older, 'one'), many);
    assert.deepEqual(states(objects, 'many'), GOOD);
    assert.match(text(objects, 'Accepted', 'many'), /port one of Service default\/app is governed by BackendTLSPolicy a,/);
  });

  test('a port that the Service does not have', () => {
    const objects = competing(policy('a', older, 'three'));
    assert.deepEqual(states(objects, 'a'), ['False/TargetNotFound', 'True/ResolvedRefs']);
    assert.match(text(objects, 'Accepted', 'a'), /no port named three/);
  });
});

suite('rule 66: ancestors', () => {
  const policy = backendTlsPolicy();
  const base = [...platform(), service(), endpointSlice(['10.0.0.1']), caMap('ca'), policy];

  test('every Gateway that routes to the Service, the oldest first, once', () => {
    const objects = [
      ...base,
      gateway({ name: 'young', created: '2026-03-01T00:00:00Z' }),
      gateway({ name: 'old', created: '2026-02-01T00:00:00Z' }),
      gateway({ name: 'unused' }),
      httpRoute({ name: 'a', parents: [{ name: 'young' }, { name: 'old' }] }),
      grpcRoute({ name: 'b', parents: [{ name: 'young' }] }),
    ];
    assert.deepEqual(ancestors(objects), ['Gateway default/old', 'Gateway default/young']);
  });

  test('also by a ListenerSet, and from another namespace with a grant', () => {
    const set = [
      ...base,
      gateway({ listeners: [listener({ name: 'own' })], spec: { allowedListeners: { namespaces: { from: 'Same' } } } }),
      listenerSet({ listeners: [listener({ name: 'set', port: 8443 })] }),
      httpRoute({ parents: [{ kind: 'ListenerSet', name: 'set' }] }),
    ];
    assert.deepEqual(ancestors(set), ['Gateway default/tunnel']);
    const rules = [{ backendRefs: [{ name: 'app', namespace: 'default', port: 80 }] }];
    const foreign = [...base, gateway({ namespace: 'front' }), httpRoute({ namespace: 'front', parents: [{ namespace: 'front' }], rules })];
    assert.equal(ancestors(foreign), null, 'nobody gets into the status of a policy without a grant of its namespace');
    const from = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'front' };
    assert.deepEqual(ancestors([...foreign, grant('default', from, { group: '', kind: 'Service' })]), ['Gateway front/tunnel']);
  });

  test('none without a route, without the Service, by a refused route, or for another kind of target', () => {
    assert.equal(ancestors([...base, gateway()]), null);
    assert.equal(ancestors([...platform(), gateway(), httpRoute(), caMap('ca'), policy]), null);
    assert.equal(ancestors([...base, gateway(), httpRoute({ parents: [{ sectionName: 'none' }] })]), null);
    assert.equal(ancestors([...base, gateway({ spec: { gatewayClassName: 'other' } }), httpRoute()]), null);
    for (const target of [{ kind: 'ServiceImport' }, { group: 'example.com' }])
      assert.equal(ancestors(world(caMap('ca'), backendTlsPolicy({ targets: [target] }))), null);
  });

  test('entries of ours go when no Gateway sends there any more; policies of others are not touched', () => {
    const entry = (controllerName: string) => ({ ancestorRef: { name: 'x' }, controllerName, conditions: [] });
    const left = { ...backendTlsPolicy({ name: 'left' }), status: { ancestors: [entry('example.com/other'), entry(CONTROLLER)] } };
    const never = { ...backendTlsPolicy({ name: 'never' }), status: { ancestors: [entry('example.com/other')] } };
    const { plan } = planOf([...platform(), gateway(), service(), left, never]);
    const told = plan.statuses.filter(({ ref }) => ref.kind === 'BackendTLSPolicy');
    assert.deepEqual(
      told.map(({ ref, desired }) => [ref.name, desired.form === 'ancestors' && desired.ancestors]),
      [['left', []]],
    );
  });

  test('the node stays the same object while nothing about it changes', () => {
    const build = createGraphBuilder();
    const snapshot = snapshotOf(world(caMap('ca'), policy));
    const [before] = build(snapshot, settings()).policies;
    const [after] = build(withObject(snapshot, endpointSlice(['10.0.0.9'], { suffix: 'more' })), settings()).policies;
    assert.ok(before !== undefined && before === after);
  });
});
