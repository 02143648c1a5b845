// The admission policies of the chart on the real API server: hostname ownership by the vectors of the controller, and unique rule names.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Cluster } from '#test/cluster/control-plane.ts';
import { until } from '#test/cluster/until.ts';
import { ownershipOptions, ownershipVectors, verdict } from '#test/controller/graph/ownership-vectors.ts';
import type { Values } from '../helm.ts';
import { apply, namespace, release, uninstall } from './release.ts';

const LABEL = 'example.com/domain';
const DOMAIN = 'team-a.example.com';

const policy = (hostnameOwnershipPolicy: Values): Values => ({
  gatewayClass: { create: false },
  hostnameOwnershipPolicy: { enabled: true, labelKey: LABEL, ...hostnameOwnershipPolicy },
});

const plural = { HTTPRoute: 'httproutes', GRPCRoute: 'grpcroutes', Gateway: 'gateways', ListenerSet: 'listenersets' } as const;
type Kind = keyof typeof plural;

const collection = (kind: Kind, namespace: string): string => `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/${plural[kind]}`;

const object = (kind: Kind, spec: object, metadata: object = {}): object => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind,
  metadata: { name: 'route', ...metadata },
  spec: { ...(kind === 'HTTPRoute' || kind === 'GRPCRoute' ? { parentRefs: [{ name: 'gateway' }] } : {}), ...spec },
});

/** What the schemas demand besides the hostnames: one listener for each of them, one without when there is none. */
const specOf = (kind: Kind, hostnames: readonly string[] | undefined): object => {
  if (kind === 'HTTPRoute' || kind === 'GRPCRoute') return hostnames === undefined ? {} : { hostnames };
  const names = hostnames === undefined || hostnames.length === 0 ? [undefined] : hostnames;
  const listeners = names.map((hostname, index) => ({
    name: `l${index}`,
    protocol: 'HTTP',
    port: 80,
    ...(hostname === undefined ? {} : { hostname }),
  }));
  return kind === 'Gateway' ? { gatewayClassName: 'any', listeners } : { parentRef: { name: 'gateway' }, listeners };
};

export function admissionTests(running: () => Cluster): void {
  /** What the API server says to a new object that it does not keep; null when it is taken. */
  const dryRun = async (kind: Kind, namespace: string, spec: object): Promise<string | null> => {
    const { status, body } = await running().request('POST', `${collection(kind, namespace)}?dryRun=All`, { body: object(kind, spec) });
    const { message } = body as { readonly message?: string };
    assert.ok(status === 201 || status === 403 || status === 422, `HTTP ${status}: ${message}`);
    return status === 201 ? null : (message ?? '');
  };

  // The API server hears of a new or removed policy a moment after it took it.
  const inForce = async (kind: Kind, namespace: string, spec: object): Promise<void> =>
    until('the policy is in force', AbortSignal.timeout(20_000), async () => (await dryRun(kind, namespace, spec)) !== null);

  const withdrawn = async (kind: Kind, namespace: string, spec: object): Promise<void> => {
    await uninstall(running());
    await until(
      'the policy is no longer in force',
      AbortSignal.timeout(20_000),
      async () => (await dryRun(kind, namespace, spec)) === null,
    );
  };

  suite('hostname ownership at admission', () => {
    for (const options of ownershipOptions) {
      test(`says what the controller says of every vector, unlabelled: ${options.unlabelled}`, async (t) => {
        t.after(() => uninstall(running()));
        const labels = [...new Set(ownershipVectors.map(({ label }) => label))];
        const namespaceOf = (label: string | undefined): string => `vectors-${labels.indexOf(label)}`;
        await apply(running(), ...labels.map((label) => namespace(namespaceOf(label), label === undefined ? {} : { [LABEL]: label })));
        await release(running(), 'install', policy({ listenerAdmissionPolicy: true, ...options }));
        const foreign = ['x.test'];
        for (const kind of ['GRPCRoute', 'ListenerSet'] as const) await inForce(kind, namespaceOf(DOMAIN), specOf(kind, foreign));
        for (const kind of ['HTTPRoute', 'GRPCRoute', 'Gateway', 'ListenerSet'] as const) {
          for (const vector of ownershipVectors) {
            const { title, label, hostnames } = vector;
            const message = await dryRun(kind, namespaceOf(label), specOf(kind, hostnames));
            const isLowerCase = (hostnames ?? []).every((hostname) => hostname === hostname.toLowerCase());
            const allowed = verdict(vector, kind === 'HTTPRoute' || kind === 'GRPCRoute' ? 'routes' : 'listeners', options);
            // The schemas take no other names, so that the policy never sees them.
            if (!isLowerCase) assert.match(message ?? '', /hostname.*should match/, title);
            else if (allowed) assert.equal(message, null, `${kind}, ${title}`);
            else assert.match(message ?? 'was taken', /-ownership' denied request: /, `${kind}, ${title}`);
          }
        }
        for (const kind of ['HTTPRoute', 'Gateway'] as const) await withdrawn(kind, namespaceOf(DOMAIN), specOf(kind, foreign));
      });
    }

    test('names what is wrong, and with which domain', async (t) => {
      t.after(() => uninstall(running()));
      await apply(running(), namespace('team-a', { [LABEL]: DOMAIN }), namespace('unlabelled'));
      await release(running(), 'install', policy({}));
      await inForce('HTTPRoute', 'unlabelled', {});
      const messages = await Promise.all([
        dryRun('HTTPRoute', 'team-a', { hostnames: [`app.${DOMAIN}`, '*.example.com'] }),
        dryRun('GRPCRoute', 'team-a', {}),
        dryRun('HTTPRoute', 'unlabelled', { hostnames: ['example.com'] }),
      ]);
      const words = messages.map((message) => message?.replace(/^.*denied request: /, ''));
      assert.deepEqual(words, [
        `spec.hostnames: *.example.com is outside of ${DOMAIN}, the domain of namespace team-a`,
        `spec.hostnames is empty: name hostnames within ${DOMAIN}, the domain of namespace team-a`,
        `namespace unlabelled has no domain: set its label ${LABEL}, then it may publish that domain and what is below it`,
      ]);
      await withdrawn('HTTPRoute', 'unlabelled', {});
    });

    test('leaves alone: namespaces that are not selected, statuses, and the deletion of older routes', async (t) => {
      const cluster = running();
      t.after(() => uninstall(cluster));
      await apply(cluster, namespace('tenant', { tenant: 'yes', [LABEL]: DOMAIN }), namespace('platform', { tenant: 'no' }));
      const older = object('HTTPRoute', { hostnames: ['example.org'] }, { namespace: 'tenant', finalizers: ['example.com/wait'] });
      await apply(cluster, older);
      await release(
        cluster,
        'install',
        policy({ namespaceSelector: { matchExpressions: [{ key: 'tenant', operator: 'In', values: ['yes'] }] } }),
      );
      await inForce('HTTPRoute', 'tenant', { hostnames: ['example.org'] });
      assert.equal(await dryRun('HTTPRoute', 'platform', { hostnames: ['example.org'] }), null);

      const path = `${collection('HTTPRoute', 'tenant')}/route`;
      const patch = async (body: object, subresource = ''): Promise<number> =>
        (await cluster.request('PATCH', path + subresource, { body, contentType: 'application/merge-patch+json' })).status;
      assert.equal(await patch({ metadata: { labels: { touched: 'yes' } } }), 403);
      assert.equal(await patch({ status: { parents: [] } }, '/status'), 200);
      assert.equal((await cluster.request('DELETE', path)).status, 200);
      assert.equal(await patch({ spec: { hostnames: ['example.net'] } }), 403, 'a route that is being deleted is still policed');
      assert.equal(await patch({ metadata: { finalizers: null } }), 200);
      assert.equal((await cluster.request('GET', path)).status, 404);
      await withdrawn('HTTPRoute', 'tenant', { hostnames: ['example.org'] });
    });

    test('leaves listeners to the controller unless told otherwise', async (t) => {
      t.after(() => uninstall(running()));
      await apply(running(), namespace('team-a', { [LABEL]: DOMAIN }));
      await release(running(), 'install', policy({}));
      await inForce('HTTPRoute', 'team-a', {});
      assert.equal(await dryRun('Gateway', 'team-a', specOf('Gateway', ['x.test'])), null);
      await withdrawn('HTTPRoute', 'team-a', {});
      await release(running(), 'install', policy({ listenerAdmissionPolicy: true }));
      await inForce('Gateway', 'team-a', specOf('Gateway', ['x.test']));
      const message = await dryRun('Gateway', 'team-a', specOf('Gateway', [`app.${DOMAIN}`, 'x.test']));
      assert.match(message ?? '', /request: spec\.listeners: x\.test is outside of team-a\.example\.com, the domain of namespace team-a$/);
      await withdrawn('Gateway', 'team-a', specOf('Gateway', ['x.test']));
    });

    test('is not there when only the controller is to enforce it', async (t) => {
      t.after(() => uninstall(running()));
      await release(running(), 'install', policy({ admissionPolicy: false }));
      const { stdout } = await running().kubectl(['get', 'validatingadmissionpolicies,validatingadmissionpolicybindings', '--output=name']);
      assert.doesNotMatch(stdout, /hostname-ownership/);
    });
  });

  test('rule names that repeat are refused where that is on', async (t) => {
    t.after(() => uninstall(running()));
    await apply(running(), namespace('names'));
    await release(running(), 'install', { gatewayClass: { create: false }, ruleNameUniquenessPolicy: { enabled: true } });
    const rules = (...names: readonly (string | undefined)[]): object => ({
      rules: names.map((name) => (name === undefined ? {} : { name })),
    });
    await inForce('HTTPRoute', 'names', rules('a', 'a'));
    for (const kind of ['HTTPRoute', 'GRPCRoute'] as const) {
      assert.match((await dryRun(kind, 'names', rules('a', 'b', 'a'))) ?? 'was taken', /two rules have the same name/);
      assert.equal(await dryRun(kind, 'names', rules('a', 'b', undefined, undefined)), null);
      assert.equal(await dryRun(kind, 'names', {}), null);
    }
    await withdrawn('HTTPRoute', 'names', rules('a', 'a'));
  });
}
