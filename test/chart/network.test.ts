// The network policies let through what is dialled, and nothing that is not.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readConfig } from '#controller/config.ts';
import { LOCAL_PORTS } from '#controller/output/ports.ts';
import { containerOf, deployment, helmUnavailable, one, render, type Manifest, type Values } from './helm.ts';
import { everything } from './values.ts';

interface Peer {
  readonly podSelector?: Values;
  readonly namespaceSelector?: Values;
  readonly ipBlock?: { readonly cidr: string };
}

interface Port {
  readonly port: number;
  readonly endPort?: number;
  readonly protocol: string;
}

interface Rule {
  readonly ports: readonly Port[];
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
}

interface Policy {
  readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly policyTypes: readonly string[];
  readonly ingress: readonly Rule[];
  readonly egress?: readonly Rule[];
}

const policyOf = (objects: readonly Manifest[], role: 'controller' | 'proxy'): Policy =>
  one(objects, 'NetworkPolicy', deployment(objects, role).metadata.name)['spec'] as Policy;

const covers = ({ ports }: Rule, port: number, protocol: string): boolean =>
  ports.some((allowed) => allowed.protocol === protocol && port >= allowed.port && port <= (allowed.endPort ?? allowed.port));

/** The rules that let a connection to this port leave. */
const leaving = (policy: Policy, port: number, protocol = 'TCP'): readonly Rule[] =>
  policy.egress?.filter((rule) => covers(rule, port, protocol)) ?? [];

const cidrs = (peers: readonly Peer[] | undefined): readonly string[] => (peers ?? []).map(({ ipBlock }) => ipBlock?.cidr ?? '');

suite('the policy of the proxy', { skip: helmUnavailable() ?? false }, () => {
  test('is there by default, closes all but the config API, and opens that to its own namespace', async () => {
    const policy = policyOf(await render(), 'proxy');
    assert.deepEqual(policy.policyTypes, ['Ingress']);
    assert.deepEqual(policy.ingress, [{ ports: [{ port: 8081, protocol: 'TCP' }], from: [{ podSelector: {} }] }]);
  });

  test('lets visitors in where the proxies have entries of their own: by the target ports that the controller gives out, no others', async () => {
    const { ingress } = policyOf(await render({ localEntry: { enabled: true } }), 'proxy');
    assert.deepEqual(ingress[1], { ports: [{ port: LOCAL_PORTS.first, endPort: LOCAL_PORTS.last, protocol: 'TCP' }] });
    assert.equal(ingress.length, 2);
  });

  test('lets in the pushes of the controller and the probes of a moved config API', async () => {
    const objects = await render({ proxy: { configAPIPort: 9002 } });
    const config = readConfig(containerOf(objects, 'controller').args.slice(1), {});
    if ('errors' in config) assert.fail(config.errors.join('\n'));
    const dialled = Number(new URL(config.proxyEndpoints[0] ?? '').port);
    assert.ok(policyOf(objects, 'proxy').ingress.some((rule) => covers(rule, dialled, 'TCP')));
  });

  test('adds the peers that are given', async () => {
    const from = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];
    const [rule] = policyOf(await render({ proxy: { networkPolicy: { ingress: { from } } } }), 'proxy').ingress;
    assert.deepEqual(rule?.from, [{ podSelector: {} }, ...from]);
  });

  test('with restricted egress lets out DNS, both transports of the edge, and backends', async () => {
    const policy = policyOf(await render({ proxy: { networkPolicy: { egressRestricted: true } } }), 'proxy');
    assert.deepEqual(policy.policyTypes, ['Ingress', 'Egress']);
    for (const protocol of ['TCP', 'UDP']) {
      assert.equal(leaving(policy, 53, protocol)[0]?.to, undefined);
      const toEdge = leaving(policy, 7844, protocol).flatMap(({ to }) => cidrs(to));
      assert.ok(toEdge.includes('198.41.128.0/17') && toEdge.includes('2606:4700::/32'), protocol);
    }
    for (const port of [80, 8080, 30_000, 65_535])
      assert.deepEqual(
        leaving(policy, port).flatMap(({ to }) => to),
        [{ namespaceSelector: {} }],
      );
    assert.ok(
      (policy.egress ?? []).every((rule) => rule.to === undefined || rule.to.length > 0),
      'a rule without peers allows everything',
    );
  });

  test('can be off', async () => {
    assert.ok(!(await render({ proxy: { networkPolicy: { enabled: false } } })).some(({ kind }) => kind === 'NetworkPolicy'));
  });
});

suite('the policy of the controller', { skip: helmUnavailable() ?? false }, () => {
  test('is off by default', async () => {
    const objects = await render();
    assert.ok(
      !objects.some(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === deployment(objects, 'controller').metadata.name),
    );
  });

  test('lets out pushes to the proxies, DNS, the API server and the Cloudflare API', async () => {
    const objects = await render({ networkPolicy: { enabled: true }, proxy: { configAPIPort: 9002 } });
    const policy = policyOf(objects, 'controller');
    const proxies = { podSelector: { matchLabels: deployment(objects, 'proxy').spec.selector.matchLabels } };
    assert.deepEqual(
      leaving(policy, 9002).flatMap(({ to }) => to),
      [proxies],
    );
    for (const protocol of ['TCP', 'UDP']) assert.equal(leaving(policy, 53, protocol)[0]?.to, undefined);
    for (const port of [443, 6443])
      assert.ok(
        leaving(policy, port).some(({ to }) => to === undefined),
        `${port} towards any API server`,
      );
    assert.deepEqual(leaving(policy, 80), []);
    assert.deepEqual(leaving(policy, 8081), []);
  });

  test('told where the API server is, limits 443 to it and to Cloudflare', async () => {
    const policy = policyOf(await render({ networkPolicy: { enabled: true, kubernetesApiIpBlocks: ['10.0.0.0/8'] } }), 'controller');
    assert.deepEqual(
      leaving(policy, 6443).flatMap(({ to }) => cidrs(to)),
      ['10.0.0.0/8'],
    );
    const everywhere = leaving(policy, 443).flatMap(({ to }) => cidrs(to));
    assert.ok(everywhere.includes('10.0.0.0/8') && everywhere.includes('104.16.0.0/13'));
    assert.ok(leaving(policy, 443).every(({ to }) => to !== undefined));
  });

  test('lets in scrapes and probes, from anywhere or from the peers that are given', async () => {
    const [open] = policyOf(await render({ networkPolicy: { enabled: true } }), 'controller').ingress;
    assert.deepEqual(
      open?.ports.map(({ port }) => port),
      [8080, 8081],
    );
    assert.equal(open?.from, undefined);
    const [limited] = policyOf(await render(everything), 'controller').ingress;
    assert.equal(limited?.from?.length, 1);
  });
});
