// The admission policies of the chart on the real API server: hostname ownership by the vectors of the controller, and unique rule names.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Cluster } from '#test/cluster/control-plane.ts';
import { until } from '#test/cluster/until.ts';
import { ownershipVectors } from '#test/controller/graph/ownership-vectors.ts';
import type { Values } from '../helm.ts';
import { apply, namespace, release, uninstall } from './release.ts';

const LABEL = 'example.com/domain';
const DOMAIN = 'team-a.example.com';

const policy = (hostnameOwnershipPolicy: Values): Values => ({
  gatewayClass: { create: false },
  hostnameOwnershipPolicy: { enabled: true, labelKey: LABEL, ...hostnameOwnershipPolicy },
});

const plural = { HTTPRoute: 'httproutes', GRPCRoute: 'grpcroutes' } as const;
type Kind = keyof typeof plural;

const collection = (kind: Kind, namespace: string): string => `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/${plural[kind]}`;

const route = (kind: Kind, spec: object, metadata: object = {}): object => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind,
  metadata: { name: 'route', ...metadata },
  spec: { parentRefs: [{ name: 'gateway' }], ...spec },
});

export function admissionTests(running: () => Cluster): void {
  /** What the API server says to a new route that it does not keep; null when it is taken. */
  const dryRun = async (kind: Kind, namespace: string, spec: object): Promise<string | null> => {
    const { status, body } = await running().request('POST', `${collection(kind, namespace)}?dryRun=All`, { body: route(kind, spec) });
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
    test('says what the controller says, for HTTPRoutes and GRPCRoutes', async (t) => {
      t.after(() => uninstall(running()));
      const labels = [...new Set(ownershipVectors.map(({ label }) => label))];
      const namespaceOf = (label: string | undefined): string => `vectors-${labels.indexOf(label)}`;
      await apply(running(), ...labels.map((label) => namespace(namespaceOf(label), label === undefined ? {} : { [LABEL]: label })));
      await release(running(), 'install', policy({}));
      await inForce('GRPCRoute', namespaceOf(undefined), {});
      for (const kind of ['HTTPRoute', 'GRPCRoute'] as const) {
        for (const { title, label, hostnames, allowed } of ownershipVectors) {
          const message = await dryRun(kind, namespaceOf(label), hostnames === undefined ? {} : { hostnames });
          const isLowerCase = (hostnames ?? []).every((hostname) => hostname === hostname.toLowerCase());
          // The schema of routes takes no other names, so that the policy never sees them.
          if (!isLowerCase) assert.match(message ?? '', /spec\.hostnames\[0\].*should match/, title);
          else if (allowed) assert.equal(message, null, `${kind}, ${title}`);
          else assert.match(message ?? 'was taken', /hostname-ownership' denied request: /, `${kind}, ${title}`);
        }
      }
      await withdrawn('HTTPRoute', namespaceOf(undefined), {});
    });

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
      const older = route('HTTPRoute', { hostnames: ['example.org'] }, { namespace: 'tenant', finalizers: ['example.com/wait'] });
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
