// spec.tls of a Gateway: certificates of visitors, port by port, and the Gateway's own certificate for backends.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KubeObject } from '#controller/api/core.ts';
import type { Gateway, Listener } from '#controller/api/gateway.ts';
import { buildGraph, createGraphBuilder } from '#controller/graph/build.ts';
import { wantedObjects } from '#controller/graph/references.ts';
import type { ListenerNode } from '#controller/graph/types.ts';
import { CA_A, CA_B, caMap, configMap } from '#test/build/ca.ts';
import {
  certificate,
  classConfig,
  credentials,
  gateway,
  gatewayClass,
  grant,
  listener,
  listenerSet,
  secret,
  settings,
} from '#test/build/objects.ts';
import { conditions, message, planOf } from '#test/build/plan.ts';
import { snapshotOf, withObject, withoutObject } from '#test/build/snapshot.ts';

type Tls = NonNullable<Gateway['spec']['tls']>;
type Validation = NonNullable<NonNullable<NonNullable<Tls['frontend']>['default']>['validation']>;

const ref = (name: string, changes: { readonly kind?: string; readonly group?: string; readonly namespace?: string } = {}) => ({
  group: '',
  kind: 'ConfigMap',
  name,
  ...changes,
});
const validation = (...refs: readonly ReturnType<typeof ref>[]): Validation => ({ caCertificateRefs: refs });
const insecure = (...refs: readonly ReturnType<typeof ref>[]): Validation => ({ ...validation(...refs), mode: 'AllowInsecureFallback' });

const local = settings({ localEntry: true });
/** A class whose Gateways are served at the proxies themselves, where the handshake of visitors is seen. */
const platform = (entry: 'Tunnel' | 'Local' | 'Both') => [gatewayClass(), classConfig({ entry }), credentials()];

const https = (port: number): Listener => listener({ name: `https-${port}`, port, tls: { certificateRefs: [{ name: 'cert' }] } });
const http = listener({ name: 'http', port: 80, protocol: 'HTTP' });

const gatewayWith = (tls: Tls, listeners: readonly Listener[] = [https(443), https(8443), http]): Gateway =>
  gateway({ listeners, spec: { tls } });

const world = (tls: Tls, objects: readonly KubeObject[], entry: 'Tunnel' | 'Local' | 'Both' = 'Local'): readonly KubeObject[] => [
  ...platform(entry),
  gatewayWith(tls),
  certificate('cert'),
  ...objects,
];

const states = (objects: readonly KubeObject[], name: string): readonly (string | undefined)[] => {
  const found = conditions(planOf(objects, local).plan, 'Gateway default/tunnel', name);
  return [found['Accepted'], found['ResolvedRefs']];
};
const programmed = (objects: readonly KubeObject[], name: string): string | undefined =>
  conditions(planOf(objects, local).plan, 'Gateway default/tunnel', name)['Programmed'];

const listenerNode = (objects: readonly KubeObject[], name: string): ListenerNode | undefined =>
  buildGraph(snapshotOf(objects), local).gateways[0]?.listeners.find(({ spec }) => spec.name === name);

const GOOD = ['True/Accepted', 'True/ResolvedRefs'];
const closedFor = (reason: string) => ['False/NoValidCACertificate', `False/${reason}`];

suite('certificates of visitors', () => {
  test('the default is for all HTTPS listeners, and a setting for a port replaces it as a whole', () => {
    const tls = {
      frontend: {
        default: { validation: validation(ref('a')) },
        perPort: [{ port: 8443, tls: { validation: insecure(ref('b'), ref('a')) } }],
      },
    };
    const objects = world(tls, [caMap('a'), caMap('b', CA_B)]);
    assert.deepEqual(listenerNode(objects, 'https-443')?.clientValidation, { mode: 'AllowValidOnly', ca: CA_A });
    assert.deepEqual(listenerNode(objects, 'https-8443')?.clientValidation, { mode: 'AllowInsecureFallback', ca: CA_B + CA_A });
    assert.equal(listenerNode(objects, 'http')?.clientValidation, null);
    for (const name of ['https-443', 'https-8443', 'http']) assert.deepEqual(states(objects, name), GOOD);
  });

  test('a port without validation of its own asks for nothing, whatever the default is', () => {
    const objects = world({ frontend: { default: { validation: validation(ref('none')) }, perPort: [{ port: 8443, tls: {} }] } }, []);
    assert.deepEqual(states(objects, 'https-443'), closedFor('InvalidCACertificateRef'));
    assert.deepEqual(states(objects, 'https-8443'), GOOD);
    assert.equal(listenerNode(objects, 'https-8443')?.clientValidation, null);
  });

  const bad: readonly (readonly [string, Validation, string])[] = [
    ['absent', validation(ref('nowhere')), 'InvalidCACertificateRef'],
    ['without ca.crt', validation(ref('empty')), 'InvalidCACertificateRef'],
    ['no PEM', validation(ref('text')), 'InvalidCACertificateRef'],
    ['another kind', validation(ref('a', { kind: 'Service' })), 'InvalidCACertificateKind'],
    ['another group', validation(ref('a', { group: 'example.com' })), 'InvalidCACertificateKind'],
    ['another namespace without a grant', validation(ref('a', { namespace: 'elsewhere' })), 'RefNotPermitted'],
  ];
  for (const [what, broken, reason] of bad) {
    test(`rule 72: ${what}: the HTTPS listener is closed in both modes, HTTP is untouched`, () => {
      for (const mode of ['AllowValidOnly', 'AllowInsecureFallback']) {
        const tls = { frontend: { default: { validation: { ...broken, mode } }, perPort: [{ port: 80, tls: { validation: broken } }] } };
        const objects = world(tls, [caMap('a', CA_A, 'elsewhere'), configMap('empty', {}), caMap('text', 'hello')]);
        assert.deepEqual(states(objects, 'https-443'), closedFor(reason));
        assert.equal(programmed(objects, 'https-443'), 'False/Invalid');
        assert.deepEqual(states(objects, 'http'), GOOD);
        assert.equal(listenerNode(objects, 'https-443')?.clientValidation, null);
        assert.match(message(planOf(objects, local).plan, 'Gateway default/tunnel', 'Accepted', 'https-443'), /caCertificateRefs\[0\]/);
      }
    });
  }

  test('what is left of several references verifies; one to a stranger closes the listener', () => {
    const partly = world({ frontend: { default: { validation: validation(ref('nowhere'), ref('a')) } } }, [caMap('a')]);
    assert.deepEqual(states(partly, 'https-443'), ['True/Accepted', 'False/InvalidCACertificateRef']);
    assert.equal(listenerNode(partly, 'https-443')?.unusable, null);
    const foreign = world({ frontend: { default: { validation: validation(ref('b', { namespace: 'elsewhere' }), ref('a')) } } }, [
      caMap('a'),
    ]);
    assert.deepEqual(states(foreign, 'https-443'), ['True/Accepted', 'False/RefNotPermitted']);
    assert.equal(programmed(foreign, 'https-443'), 'False/Invalid');
  });

  test('a grant for Gateways opens another namespace, one for ListenerSets does not', () => {
    const tls = { frontend: { default: { validation: validation(ref('a', { namespace: 'elsewhere' })) } } };
    const from = (kind: string) =>
      grant('elsewhere', { group: 'gateway.networking.k8s.io', kind, namespace: 'default' }, { group: '', kind: 'ConfigMap' });
    const objects = (kind: string) => world(tls, [caMap('a', CA_A, 'elsewhere'), from(kind)]);
    assert.deepEqual(states(objects('Gateway'), 'https-443'), GOOD);
    assert.deepEqual(states(objects('ListenerSet'), 'https-443'), closedFor('RefNotPermitted'));
  });

  test('listeners of a ListenerSet on the port are held to it as well', () => {
    const objects = [
      ...platform('Local'),
      gateway({
        listeners: [http],
        spec: {
          tls: { frontend: { default: { validation: validation(ref('nowhere')) } } },
          allowedListeners: { namespaces: { from: 'Same' } },
        },
      }),
      listenerSet({ listeners: [https(443)] }),
      certificate('cert'),
    ];
    assert.equal(conditions(planOf(objects, local).plan, 'ListenerSet default/set', 'https-443')['Accepted'], 'False/NoValidCACertificate');
  });

  test('rule 73: the Gateway says that somebody is let in unverified, and takes it back', () => {
    const of = (frontend: Tls['frontend']) =>
      conditions(planOf(world(frontend === undefined ? {} : { frontend }, [caMap('a')]), local).plan, 'Gateway default/tunnel')[
        'InsecureFrontendValidationMode'
      ];
    assert.equal(of({ default: { validation: insecure(ref('a')) } }), 'True/ConfigurationChanged');
    assert.equal(of({ default: {}, perPort: [{ port: 443, tls: { validation: insecure(ref('a')) } }] }), 'True/ConfigurationChanged');
    assert.equal(of({ default: { validation: validation(ref('a')) } }), undefined);
    assert.equal(of(undefined), undefined);
  });

  test('behind a tunnel nobody can be verified: closed, unless unverified visitors are welcome', () => {
    const strict = world({ frontend: { default: { validation: validation(ref('a')) } } }, [caMap('a')], 'Tunnel');
    assert.deepEqual(states(strict, 'https-443'), ['False/NoValidCACertificate', 'True/ResolvedRefs']);
    const welcome = world({ frontend: { default: { validation: insecure(ref('a')) } } }, [caMap('a')], 'Tunnel');
    assert.deepEqual(states(welcome, 'https-443'), GOOD);
  });
});

suite('the Gateway’s certificate for backends', () => {
  const withClient = (clientCertificateRef: NonNullable<Tls['backend']>['clientCertificateRef'], objects: readonly KubeObject[] = []) => {
    const found = conditions(
      planOf(world({ backend: { ...(clientCertificateRef && { clientCertificateRef }) } }, objects), local).plan,
      'Gateway default/tunnel',
    );
    return [found['Accepted'], found['ResolvedRefs'], found['Programmed']?.split('/')[0]];
  };
  const refused = (reason: string) => ['True/Accepted', `False/${reason}`];

  test('rule 71: what cannot be used is told on ResolvedRefs, and the Gateway stays accepted', () => {
    assert.deepEqual(withClient({ name: 'cert' }).slice(0, 2), GOOD);
    assert.deepEqual(withClient({ name: 'nowhere' }).slice(0, 2), refused('InvalidClientCertificateRef'));
    assert.deepEqual(withClient({ name: 'cert', group: 'example.com' }).slice(0, 2), refused('InvalidClientCertificateRef'));
    assert.deepEqual(withClient({ name: 'cert', kind: 'Certificate' }).slice(0, 2), refused('InvalidClientCertificateRef'));
    assert.deepEqual(withClient({ name: 'empty' }, [secret('empty', 'default', {})]).slice(0, 2), refused('InvalidClientCertificateRef'));
    assert.deepEqual(
      withClient({ name: 'cert', namespace: 'elsewhere' }, [certificate('cert', 'elsewhere')]).slice(0, 2),
      refused('RefNotPermitted'),
    );
  });

  test('a grant opens another namespace', () => {
    const from = { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'default' };
    const objects = [certificate('cert', 'elsewhere'), grant('elsewhere', from, { group: '', kind: 'Secret', name: 'cert' })];
    assert.deepEqual(withClient({ name: 'cert', namespace: 'elsewhere' }, objects).slice(0, 2), GOOD);
  });
});

test('a ConfigMap that no Gateway refers to is no reason to look at Gateways again', () => {
  const build = createGraphBuilder();
  const snapshot = snapshotOf(world({ frontend: { default: { validation: validation(ref('a')) } } }, [caMap('a'), caMap('other')]));
  const before = build(snapshot, local).gateways;
  assert.equal(build(withObject(snapshot, caMap('other', CA_B)), local).gateways, before);
  const after = build(withObject(snapshot, caMap('a', CA_B)), local).gateways;
  assert.equal(after[0]?.listeners[0]?.clientValidation?.ca, CA_B);
  assert.equal(build(withoutObject(snapshot, 'ConfigMap', 'default/a'), local).gateways[0]?.listeners[0]?.clientValidation, null);
});

test('what must be read: certificates and CAs of our Gateways, of other namespaces only with a grant', () => {
  const tls: Tls = {
    backend: { clientCertificateRef: { name: 'client' } },
    frontend: {
      default: { validation: validation(ref('a'), ref('s', { kind: 'Secret' }), ref('x', { kind: 'Service' })) },
      perPort: [{ port: 8443, tls: { validation: validation(ref('b', { namespace: 'granted' }), ref('c', { namespace: 'elsewhere' })) } }],
    },
  };
  const from = { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'default' };
  const foreign = gateway({ name: 'foreign', spec: { gatewayClassName: 'other', tls } });
  const own = [...world(tls, [grant('granted', from, { group: '', kind: 'ConfigMap' })])];
  const { secrets, configMaps } = wantedObjects(snapshotOf([...own, foreign]), local);
  assert.deepEqual([...configMaps].sort(), ['default/a', 'granted/b']);
  assert.deepEqual([...secrets].sort(), ['default/cert', 'default/client', 'default/s']);
  assert.deepEqual([...wantedObjects(snapshotOf([...platform('Local'), foreign]), local).configMaps], []);
});
