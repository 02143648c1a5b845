// What a GatewayClass claims: no more than what works with the CRDs and settings at hand.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CustomResourceDefinition, KubeObject } from '#controller/api/core.ts';
import type { Settings } from '#controller/api/settings.ts';
import type { InstalledApi } from '#controller/graph/installed.ts';
import { featuresOf, type Offer } from '#controller/output/features.ts';
import { mergeStatus } from '#controller/output/merge-status.ts';
import { gatewayClass, platform, settings } from '#test/build/objects.ts';
import { conditions, planOf } from '#test/build/plan.ts';

const standard: InstalledApi = { bundle: 'v1.6', channel: 'standard' };
const tunnel: Offer = { api: standard, entry: 'Tunnel', makesServices: false, tunnelProtocol: 'http2' };
const local: Offer = { ...tunnel, entry: 'Local', makesServices: true };
const added = (offer: Offer, than = tunnel): readonly string[] => featuresOf(offer).filter((name) => !featuresOf(than).includes(name));

const crd = (version: string, channel: string): CustomResourceDefinition => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'gatewayclasses.gateway.networking.k8s.io',
    annotations: { 'gateway.networking.k8s.io/bundle-version': version, 'gateway.networking.k8s.io/channel': channel },
  },
});

const classUpdate = (objects: readonly KubeObject[] = [], changes: Partial<Settings> = {}) => {
  const update = planOf([...platform(), ...objects], settings(changes)).plan.statuses.find(({ ref }) => ref.kind === 'GatewayClass');
  assert.ok(update?.desired.form === 'class');
  return { update, names: update.desired.supportedFeatures?.map(({ name }) => name) ?? null };
};

test('32. supportedFeatures are sorted by name, each once, and fit the schema', () => {
  for (const offer of [tunnel, local]) {
    const names = featuresOf(offer);
    assert.deepEqual(names, [...new Set(names)].sort());
    assert.ok(names.length <= 64);
    for (const core of ['GRPCRoute', 'Gateway', 'HTTPRoute', 'ReferenceGrant']) assert.ok(names.includes(core), core);
  }
});

test('what only an entry of the proxies themselves can do is claimed there only', () => {
  assert.deepEqual(added(local), [
    'GatewayFrontendClientCertificateValidation',
    'GatewayFrontendClientCertificateValidationInsecureFallback',
    'GatewayHTTPListenerIsolation',
    'GatewayHTTPSListenerDetectMisdirectedRequests',
    'GatewayInfrastructure',
    'GatewayInfrastructurePropagation',
    'GatewayPort8080',
    'GatewayStaticAddresses',
  ]);
  assert.deepEqual(added({ ...local, entry: 'Both' }), ['GatewayInfrastructure', 'GatewayInfrastructurePropagation']);
  assert.deepEqual(
    added({ ...local, makesServices: false }).filter((name) => name.startsWith('GatewayInfra')),
    [],
  );
});

test('gRPC is not claimed where the tunnel loses its trailers', () => {
  const quic = { ...tunnel, tunnelProtocol: 'quic' } as const;
  assert.deepEqual(added(tunnel, quic), ['GRPCRoute', 'GRPCRouteNamedRouteRule']);
  assert.deepEqual(added(local, { ...local, tunnelProtocol: 'quic' }), []);
});

test('a feature whose fields the installed CRDs drop is not claimed', () => {
  const table = { HTTPRouteRetry: ['bundle 1.6', 'experimental channel'], HTTPRoute: [] } as const;
  const claimed = (bundle: InstalledApi['bundle'], channel: InstalledApi['channel']) =>
    featuresOf({ ...tunnel, api: { bundle, channel } }, table);
  assert.deepEqual(claimed('v1.6', 'experimental'), ['HTTPRoute', 'HTTPRouteRetry']);
  assert.deepEqual(claimed('v1.6', 'standard'), ['HTTPRoute']);
  assert.deepEqual(claimed('v1.5', 'experimental'), ['HTTPRoute']);
});

test('both bundles in both channels are supported, and features are published for them', () => {
  for (const version of ['v1.5.0', 'v1.5.1', 'v1.6.0', 'v1.6.3']) {
    for (const channel of ['standard', 'experimental']) {
      const { plan } = planOf([...platform(), crd(version, channel)]);
      assert.equal(conditions(plan, 'GatewayClass cloudflare-tunnel')['SupportedVersion'], 'True/SupportedVersion');
      assert.ok(classUpdate([crd(version, channel)]).names?.includes('HTTPRoute'), `${version} ${channel}`);
    }
  }
  assert.ok(!classUpdate([crd('v1.6.3', 'standard')], { tunnelProtocol: 'quic' }).names?.includes('GRPCRoute'));
});

test('nothing is claimed of CRDs that are others, or that nobody let us see', () => {
  for (const objects of [[], [crd('v1.4.1', 'standard')], [crd('v1.7.0', 'standard')], [crd('latest', '')]]) {
    assert.equal(classUpdate(objects).names, null);
  }
});

test('features are published whether or not the class is accepted', () => {
  const broken = gatewayClass({ name: 'broken', config: 'missing' });
  const { plan } = planOf([broken, crd('v1.6.3', 'standard')]);
  assert.equal(conditions(plan, 'GatewayClass broken')['Accepted'], 'False/InvalidParameters');
  const desired = plan.statuses[0]?.desired;
  assert.ok(desired?.form === 'class' && (desired.supportedFeatures?.length ?? 0) > 0);
});

test('features are written once, replaced when they change, and taken away when CRDs no longer fit', () => {
  const now = '2026-01-01T00:00:00Z';
  const object = { ...gatewayClass(), metadata: { name: 'cloudflare-tunnel', generation: 1 } };
  const { update } = classUpdate([crd('v1.6.3', 'standard')]);
  const first = mergeStatus(object, update, now);
  assert.ok(first !== null && 'supportedFeatures' in first.status);
  assert.deepEqual(
    first.status.supportedFeatures,
    featuresOf(tunnel).map((name) => ({ name })),
  );
  const stored = { ...object, ...first };
  assert.equal(mergeStatus(stored, update, now), null, 'nothing has changed');
  const fewer = mergeStatus(stored, classUpdate([crd('v1.6.3', 'standard')], { tunnelProtocol: 'quic' }).update, now);
  assert.ok(!JSON.stringify(fewer).includes('GRPCRoute'));
  const gone = mergeStatus(stored, classUpdate([crd('v1.4.0', 'standard')]).update, now);
  assert.ok(gone !== null && !('supportedFeatures' in gone.status));
});
