// What a BackendTLSPolicy does to routes: nothing that it governs is sent in clear; and whose CA certificates are read for it.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KubeObject, ServicePort } from '#controller/api/core.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import { wantedObjects } from '#controller/graph/references.ts';
import { caMap } from '#test/build/ca.ts';
import {
  application,
  backendTlsPolicy,
  endpointSlice,
  gateway,
  httpRoute,
  listenerSet,
  platform,
  service,
  settings,
} from '#test/build/objects.ts';
import { conditions, message, planOf } from '#test/build/plan.ts';
import { snapshotOf, withObject } from '#test/build/snapshot.ts';

const GOOD = ['True/Accepted', 'True/ResolvedRefs'];
const world = (...objects: readonly KubeObject[]): readonly KubeObject[] => [...platform(), gateway(), ...application(), ...objects];

suite('what is governed is not sent in clear', () => {
  const ports: readonly ServicePort[] = [
    { name: 'tls', port: 443, appProtocol: 'HTTPS' },
    { name: 'web', port: 80 },
  ];
  const slices = endpointSlice(
    ['10.0.0.1'],
    {},
    {
      ports: [
        { name: 'tls', port: 8443 },
        { name: 'web', port: 8080 },
      ],
    },
  );
  const outcome = (policies: readonly KubeObject[], refs: readonly { readonly port: number; readonly weight?: number }[]) => {
    const rules = [{ backendRefs: refs.map((ref) => ({ name: 'app', ...ref })) }];
    const { plan } = planOf([...platform(), gateway(), httpRoute({ rules }), service({}, { ports }), slices, ...policies]);
    const items = plan.planes.flatMap((plane) => plane.items);
    return {
      rule: items.flatMap((item) => (item.kind === 'route' ? item.rules : []))[0],
      backends: items.flatMap((item) => (item.kind === 'backend' ? [item.name] : [])),
      states: conditions(plan, 'HTTPRoute default/app'),
      partial: message(plan, 'HTTPRoute default/app', 'PartiallyInvalid'),
    };
  };

  test('a rule whose backends are all governed is closed and says why; its route stays accepted and resolved', () => {
    for (const policies of [[backendTlsPolicy(), caMap('ca')], [backendTlsPolicy()]]) {
      const { rule, backends, states: found, partial } = outcome(policies, [{ port: 443 }]);
      assert.equal(rule?.error?.status, 500);
      assert.match(
        rule?.error?.reason ?? '',
        /port 443 of Service default\/app .* BackendTLSPolicy policy: TLS to backends is not available/,
      );
      assert.deepEqual(backends, []);
      assert.deepEqual([found['Accepted'], found['ResolvedRefs']], GOOD);
      assert.match(partial, /answered with 500/);
    }
  });

  test('the share of a governed backend is answered with 500, the others serve', () => {
    const { rule, backends } = outcome(
      [backendTlsPolicy({ targets: [{ sectionName: 'tls' }] }), caMap('ca')],
      [{ port: 443, weight: 3 }, { port: 80 }],
    );
    assert.deepEqual(rule?.backends, [
      { status: 500, weight: 3 },
      { backend: 'Service/default/app:80/http1', weight: 1 },
    ]);
    assert.deepEqual(backends, ['default/app:80']);
  });

  test('a policy for another port, another Service or another namespace closes nothing', () => {
    const others = [
      backendTlsPolicy({ targets: [{ sectionName: 'tls' }] }),
      backendTlsPolicy({ name: 'b', targets: [{ name: 'other' }] }),
      backendTlsPolicy({ name: 'c', namespace: 'elsewhere' }),
    ];
    assert.deepEqual(outcome(others, [{ port: 80 }]).rule?.backends, [{ backend: 'Service/default/app:80/http1', weight: 1 }]);
  });

  test('it opens again when the policy goes, in the same graph builder', () => {
    const build = createGraphBuilder();
    const open = snapshotOf(world());
    const rules = (snapshot: typeof open) => build(snapshot, settings()).routes[0]?.rules[0]?.error?.status;
    assert.deepEqual([rules(open), rules(withObject(open, backendTlsPolicy())), rules(open)], [undefined, 500, undefined]);
  });
});

test('CA certificates are read for Services that our routes refer to, and for no others', () => {
  const ca = (name: string, kind = 'ConfigMap') => ({ validation: { caCertificateRefs: [{ group: '', kind, name }] } });
  const objects = world(
    backendTlsPolicy({ name: 'a', ...ca('a') }),
    backendTlsPolicy({ name: 'b', ...ca('b', 'Secret') }),
    backendTlsPolicy({ name: 'c', ...ca('c', 'Service') }),
    backendTlsPolicy({ name: 'd', targets: [{ name: 'other' }], ...ca('d') }),
    backendTlsPolicy({ name: 'e', targets: [{ name: 'theirs' }], ...ca('e') }),
    httpRoute({ name: 'theirs', parents: [{ name: 'not-ours' }], rules: [{ backendRefs: [{ name: 'theirs', port: 80 }] }] }),
    gateway({ name: 'not-ours', spec: { gatewayClassName: 'other' } }),
    listenerSet(),
    backendTlsPolicy({ name: 'f', targets: [{ name: 'by-set' }], ...ca('f') }),
    httpRoute({
      name: 'by-set',
      parents: [{ kind: 'ListenerSet', name: 'set' }],
      rules: [{ backendRefs: [{ name: 'by-set', port: 80 }] }],
    }),
  );
  const { secrets, configMaps } = wantedObjects(snapshotOf(objects), settings());
  assert.deepEqual([...configMaps].sort(), ['default/a', 'default/f']);
  assert.deepEqual([...secrets].sort(), ['cloudflare/credentials', 'default/b']);
});
