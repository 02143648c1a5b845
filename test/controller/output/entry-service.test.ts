// Entries of the proxies themselves: who gets which target port, what Services look like, which addresses are asked for and published.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSlice, KubeObject, Service } from '#controller/api/core.ts';
import type { Gateway } from '#controller/api/gateway.ts';
import type { Facts, ObjectFact } from '#controller/api/plan.ts';
import { visitorAddresses } from '#controller/apply/proxy-endpoints.ts';
import { buildGraph } from '#controller/graph/build.ts';
import { mustReplace, publishedAddresses, renderEntryObjects, serviceKey } from '#controller/output/entry-service.ts';
import { allocatePorts, LOCAL_PORTS } from '#controller/output/ports.ts';
import { createCertificateAuthority } from '#test/cloudflare/certs.ts';
import * as o from '#test/build/objects.ts';
import { conditions, happyFacts, message, planOf } from '#test/build/plan.ts';
import { snapshotOf } from '#test/build/snapshot.ts';

const configuration = o.settings({ localEntry: true });
const local = [o.gatewayClass(), o.classConfig({ entry: 'Local' })];
const both = [o.gatewayClass(), o.classConfig({ entry: 'Both' }), o.credentials()];
const http = o.listener({ name: 'http', protocol: 'HTTP', port: 80, allowedRoutes: { namespaces: { from: 'All' } } });
const web = (spec: Partial<Gateway['spec']> = {}, name = 'web') => o.gateway({ name, listeners: [http], spec });

/** The Service of a Gateway as the API server has it. */
const made = (clusterIP: string, name = 'web'): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: `cftunnel-${name}`,
    namespace: 'default',
    labels: { 'gateway.networking.k8s.io/gateway-name': name, 'cf.k8s.lex.la/controller': 'cf.k8s.lex.la_tunnel-controller' },
  },
  spec: { type: 'ClusterIP', clusterIP },
});

const graphOf = (...objects: readonly KubeObject[]) => buildGraph(snapshotOf([...local, ...objects]), configuration);

const plan = (objects: readonly KubeObject[], facts: Readonly<Record<string, ObjectFact>> = {}) =>
  planOf(objects, configuration, (graph): Facts => ({ ...happyFacts(graph), objects: new Map(Object.entries(facts)) })).plan;

const programmed = (objects: readonly KubeObject[], facts?: Readonly<Record<string, ObjectFact>>) => {
  const result = plan(objects, facts);
  const { Accepted, Programmed } = conditions(result, 'Gateway default/web');
  const status = result.statuses.find(({ ref }) => ref.kind === 'Gateway')?.desired;
  const addresses = status !== undefined && 'addresses' in status ? status.addresses.map(({ type, value }) => `${type} ${value}`) : [];
  return [Accepted, Programmed, ...addresses];
};

const ip = (value?: string) => ({ type: 'IPAddress', ...(value !== undefined && { value }) });

test('target ports: per Gateway and listener port, kept whoever comes or goes', () => {
  const listeners = [http, o.listener({ name: 'other', protocol: 'HTTP', port: 8080 }), o.listener({ name: 'none' })];
  const ports = (names: readonly string[], previous: ReadonlyMap<string, number> = new Map()) =>
    allocatePorts(graphOf(...names.map((name) => o.gateway({ name, listeners }))), previous);
  const first = ports(['a', 'b']);
  assert.deepEqual(Object.fromEntries(first), {
    'local/default/a/80': 20_000,
    'local/default/a/8080': 20_001,
    'local/default/b/80': 20_002,
    'local/default/b/8080': 20_003,
  });
  assert.deepEqual(Object.fromEntries(ports(['b', 'c'], first)), {
    'local/default/b/80': 20_002,
    'local/default/b/8080': 20_003,
    'local/default/c/80': 20_000,
    'local/default/c/8080': 20_001,
  });
  const full = new Map(
    Array.from({ length: LOCAL_PORTS.last - LOCAL_PORTS.first + 1 }, (_, index) => [`${index}`, LOCAL_PORTS.first + index]),
  );
  assert.equal(ports(['a'], full).size, 2, 'what is gone has given its port back');
});

test('a Service has the ports, endpoints and decorations; ours win over labels that are asked for', () => {
  const infrastructure = { labels: { team: 'edge', 'cf.k8s.lex.la/controller': 'mine' }, annotations: { note: 'x' } };
  const graph = graphOf(web({ infrastructure }));
  const [service, v4, v6, ...rest] = renderEntryObjects(graph, allocatePorts(graph, new Map()), ['10.244.0.2', 'fd00::2', '10.244.0.1']);
  assert.deepEqual(rest, []);
  assert.deepEqual(service?.manifest.metadata.labels, {
    team: 'edge',
    'gateway.networking.k8s.io/gateway-name': 'web',
    'cf.k8s.lex.la/controller': 'cf.k8s.lex.la_tunnel-controller',
  });
  assert.deepEqual(service?.manifest.metadata.annotations, { note: 'x' });
  assert.equal(service?.manifest.spec?.['selector'], undefined);
  const addresses = (slice: typeof v4) =>
    (slice?.manifest as EndpointSlice | undefined)?.endpoints?.flatMap((endpoint) => endpoint.addresses);
  assert.deepEqual([addresses(v4), addresses(v6)], [['10.244.0.1', '10.244.0.2'], ['fd00::2']]);
});

test('names of 253 characters, and names that begin with a digit, become names of Services', () => {
  const names = ['a'.repeat(253), `${'a'.repeat(252)}b`, '1.example', '1-example'];
  const keys = graphOf(...names.map((name) => web({}, name))).gateways.map(serviceKey);
  assert.equal(new Set(keys).size, 4);
  for (const key of keys) assert.match(key, /^default\/[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
});

test('more ports than a slice takes go into several', () => {
  const listeners = (from: number) => Array.from({ length: 60 }, (_, index) => ({ ...http, name: `l${from + index}`, port: from + index }));
  const set = o.listenerSet({ listeners: listeners(2000), gateway: { name: 'web' } });
  const gateway = o.gateway({ name: 'web', listeners: listeners(1000), spec: { allowedListeners: { namespaces: { from: 'All' } } } });
  const graph = graphOf(gateway, set);
  const [service, ...slices] = renderEntryObjects(graph, allocatePorts(graph, new Map()), ['10.244.0.1']);
  assert.equal((service?.manifest as Service | undefined)?.spec?.ports?.length, 120);
  assert.deepEqual(
    slices.map(({ key, manifest }) => [key, (manifest as unknown as EndpointSlice).ports?.length]),
    [
      ['default/cftunnel-web-ipv4', 100],
      ['default/cftunnel-web-ipv4-2', 20],
    ],
  );
});

test('the address of the Service is published once it has one, and nobody else’s', () => {
  assert.deepEqual(programmed([...local, web()]), ['True/Accepted', 'False/AddressNotAssigned']);
  assert.deepEqual(programmed([...local, web(), made('10.96.0.7')]), ['True/Accepted', 'True/Programmed', 'IPAddress 10.96.0.7']);
  const foreign = { ...made('10.96.0.7'), metadata: { name: 'cftunnel-web', namespace: 'default' } };
  const refused = { state: 'Refused', message: 'it exists and is not from this controller' } as const;
  assert.deepEqual(programmed([...local, web(), foreign], { 'Service default/cftunnel-web': refused }), [
    'True/Accepted',
    'False/AddressNotAssigned',
  ]);
  assert.match(
    message(plan([...local, web(), foreign], { 'Service default/cftunnel-web': refused }), 'Gateway default/web', 'Programmed'),
    /not from/,
  );
});

test('a Gateway whose endpoints cannot be written is not programmed, until it once was', () => {
  const failed = { 'EndpointSlice default/cftunnel-web-ipv4': { state: 'Failed', message: 'HTTP 403: no' } } as const;
  const objects = [...local, web(), made('10.96.0.7')];
  assert.deepEqual(programmed(objects, failed), ['True/Accepted', 'False/Pending', 'IPAddress 10.96.0.7']);
  assert.match(message(plan(objects, failed), 'Gateway default/web', 'Programmed'), /^EndpointSlice .* HTTP 403/);
  const conditions = [{ type: 'Programmed', status: 'True', reason: 'Programmed', message: '', observedGeneration: 1 } as const];
  const before = { ...web(), status: { conditions } };
  assert.deepEqual(programmed([...local, before, made('10.96.0.7')], failed), ['True/Accepted', 'True/Programmed', 'IPAddress 10.96.0.7']);
});

test('static addresses: asked for by type, granted one by one, and nothing else is published', () => {
  const usable = made('10.96.0.50');
  const wants = (...addresses: readonly object[]) => [...local, web({ addresses })];
  const unsupported = { type: 'example.com/own', value: 'x' };
  assert.deepEqual(programmed([...wants(unsupported, ip('10.0.0.1'), ip('10.96.0.50')), usable])[0], 'False/UnsupportedAddress');
  assert.deepEqual(programmed([...wants(ip('192.0.2.1'), ip('10.96.0.50'))]), ['True/Accepted', 'False/AddressNotUsable']);
  assert.deepEqual(programmed([...wants(ip('10.96.0.50')), usable]), ['True/Accepted', 'True/Programmed', 'IPAddress 10.96.0.50']);
  assert.deepEqual(programmed([...wants(ip('')), usable]), ['True/Accepted', 'True/Programmed', 'IPAddress 10.96.0.50'], 'any');
  assert.deepEqual(programmed([...wants(ip('10.96.0.9')), usable]), ['True/Accepted', 'False/AddressNotAssigned'], 'not yet replaced');
  const refused = { state: 'Refused', message: 'HTTP 422: out of range' } as const;
  assert.deepEqual(programmed(wants(ip('10.96.0.9')), { 'Service default/cftunnel-web': refused }), [
    'True/Accepted',
    'False/AddressNotUsable',
  ]);
  assert.deepEqual(programmed(wants(ip('no-address'))), ['True/Accepted', 'False/AddressNotUsable']);
  assert.deepEqual(programmed(wants({ type: 'Hostname', value: 'a.example.com' })), ['False/UnsupportedAddress', 'False/Invalid']);
});

test('with both entries the tunnel comes first, and of addresses that are asked for only those', () => {
  const host = `Hostname ${o.TUNNEL}.cfargotunnel.com`;
  const service = made('10.96.0.7');
  const wants = (...addresses: readonly object[]) => [...both, web({ addresses }), service];
  assert.deepEqual(programmed([...both, web(), service]), ['True/Accepted', 'True/Programmed', host, 'IPAddress 10.96.0.7']);
  assert.deepEqual(programmed(wants({ type: 'Hostname' })), ['True/Accepted', 'True/Programmed', host]);
  assert.deepEqual(programmed(wants(ip())), ['True/Accepted', 'True/Programmed', 'IPAddress 10.96.0.7']);
});

test('another address means another Service', () => {
  const graph = graphOf(web({ addresses: [ip('10.96.0.50')] }));
  const [service] = renderEntryObjects(graph, allocatePorts(graph, new Map()), []);
  assert.ok(service);
  assert.deepEqual(
    ['10.96.0.7', '10.96.0.50', ''].map((clusterIP) => mustReplace(made(clusterIP), service.manifest)),
    [true, false, false],
  );
});

test('an address of IPv6 is the same however it is written, and published as it was asked for', () => {
  const [gateway] = graphOf(web({ addresses: [ip('fd00:0::5')] })).gateways;
  assert.ok(gateway);
  assert.deepEqual(publishedAddresses(gateway, new Map([['default/cftunnel-web', made('fd00::5')]])), [ip('fd00:0::5')]);
});

test('without the right to make Services the class says so, and nothing is rendered', () => {
  const { plan } = planOf([...local, web()], o.settings());
  assert.deepEqual(plan.objects, []);
  assert.equal(conditions(plan, 'Gateway default/web')['Accepted'], 'False/InvalidParameters');
  assert.match(message(plan, 'GatewayClassConfig main', 'Valid'), /--local-entry/);
});

test('on its own entry every Gateway stands alone, and a hostname has one owner on it', () => {
  const settings = o.settings({ localEntry: true, ownership: { ...configuration.ownership, enforce: true, labelKey: 'domain' } });
  const label = (name: string, domain: string) => o.namespace(name, { domain });
  const claim = (namespace: string, gateway: string) =>
    o.httpRoute({ name: `${namespace}-${gateway}`, namespace, hostnames: ['app.child.example.com'], parents: [{ name: gateway }] });
  const { plan } = planOf(
    [
      ...local,
      label('parent', 'example.com'),
      label('child', 'child.example.com'),
      web({}, 'one'),
      web({}, 'two'),
      claim('parent', 'one'),
      claim('child', 'one'),
      claim('parent', 'two'),
    ],
    settings,
  );
  const routes = plan.planes.flatMap(({ items }) => items).filter((item) => item.kind === 'route');
  assert.deepEqual(
    routes.map(({ name, attachments }) => [name, attachments.map(({ entry }) => entry)]),
    [
      ['child-one', ['local/default/one/80']],
      ['parent-two', ['local/default/two/80']],
    ],
  );
});

test('through a tunnel nobody shows a certificate: a listener that demands one is on the own entry alone', async () => {
  const tls = { certificateRefs: [{ name: 'web' }] };
  const listeners = [o.listener({ name: 'https', tls })];
  const { pem } = await createCertificateAuthority();
  const ca = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ca', namespace: 'default' }, data: { 'ca.crt': pem } } as KubeObject;
  const validation = { caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'ca' }] };
  const gateway = o.gateway({ name: 'web', listeners, spec: { tls: { frontend: { default: { validation } } } } });
  const { plan } = planOf([...both, gateway, ca, o.certificate('web'), o.httpRoute({ parents: [{ name: 'web' }] })], configuration);
  const items = plan.planes.flatMap((plane) => plane.items);
  const entry = items.find((item) => item.kind === 'entry');
  const own = items.find((item) => item.kind === 'localEntry');
  assert.deepEqual(entry?.listeners, []);
  assert.equal(own?.clientValidation?.mode, 'AllowValidOnly');
  assert.deepEqual(
    items.filter((item) => item.kind === 'route').flatMap(({ attachments }) => attachments.map((attachment) => attachment.entry)),
    ['local/default/web/443'],
  );
});

test('visitors are sent to proxies that are ready, also where others are published for their configuration', () => {
  const slice = o.endpointSlice(
    [],
    { service: 'proxy', namespace: 'system' },
    {
      endpoints: [
        { addresses: ['10.0.0.1'], conditions: { ready: true, serving: true } },
        { addresses: ['10.0.0.2'], conditions: { ready: true, serving: false } },
        { addresses: ['10.0.0.3'], conditions: { ready: true, serving: true, terminating: true } },
        { addresses: ['10.0.0.4'] },
      ],
    },
  );
  const urls = [
    'http://proxy.system.svc:8081/config',
    'http://10.9.9.9:8081/config',
    'http://[fd00::9]:8081/config',
    'http://elsewhere:8081/config',
  ];
  assert.deepEqual(visitorAddresses(urls, snapshotOf([slice])), ['10.0.0.1', '10.0.0.4', '10.9.9.9', 'fd00::9']);
  const unready = { ...slice, endpoints: slice.endpoints?.slice(1, 3) ?? [] };
  assert.deepEqual(visitorAddresses(urls.slice(0, 1), snapshotOf([unready])), ['10.0.0.2'], 'better than none');
});
