// The admission policies of the chart on the real API server: the rule of hostname ownership with its vectors, and unique rule names.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Cluster } from '#test/cluster/control-plane.ts';
import { until } from '#test/cluster/until.ts';
import type { Values } from '../helm.ts';
import { apply, namespace, release, uninstall } from './release.ts';

const LABEL = 'example.com/domain';
const DOMAIN = 'team-a.example.com';

interface Vector {
  readonly what: string;
  /** Absent: the namespace has no such label. */
  readonly label?: string;
  /** Absent: the route has no such field. */
  readonly hostnames?: readonly string[];
  readonly refused: RegExp | null;
}

const outside = (hostname: string): RegExp =>
  new RegExp(`spec.hostnames: ${hostname.replace('*', '\\*')} is outside of ${DOMAIN}, the domain of namespace`);
const allowed = (what: string, hostnames: readonly string[], label = DOMAIN): Vector => ({ what, label, hostnames, refused: null });
const foreign = (what: string, ...hostnames: readonly string[]): Vector => ({
  what,
  label: DOMAIN,
  hostnames,
  refused: outside(hostnames.at(-1) ?? ''),
});

const vectors: readonly Vector[] = [
  allowed('the domain itself', [DOMAIN]),
  allowed('a name below it', [`app.${DOMAIN}`]),
  allowed('a name far below it', [`x.y.${DOMAIN}`]),
  allowed('a wildcard below it', [`*.${DOMAIN}`]),
  allowed('a wildcard further below it', [`*.x.${DOMAIN}`]),
  allowed('several names', [`a.${DOMAIN}`, `b.${DOMAIN}`]),
  allowed('a label in upper case', [`app.${DOMAIN}`], 'Team-A.Example.COM'),
  foreign("another team's name", 'app.team-b.example.com'),
  foreign('a name that merely ends with the same letters', 'evilteam-a.example.com'),
  foreign('a wildcard that merely ends with the same letters', '*.evilteam-a.example.com'),
  foreign('the domain as the beginning of a foreign one', 'team-a.example.com.evil.net'),
  foreign('a wildcard above the domain', '*.example.com'),
  foreign('the zone above the domain', 'example.com'),
  foreign('one name within and one outside', `app.${DOMAIN}`, 'app.example.org'),
  { what: 'no hostnames', label: DOMAIN, refused: new RegExp(`spec.hostnames is empty: name hostnames within ${DOMAIN}`) },
  { what: 'an empty list of hostnames', label: DOMAIN, hostnames: [], refused: /spec.hostnames is empty/ },
  { what: 'a namespace without the label', hostnames: [`app.${DOMAIN}`], refused: new RegExp(`has no domain: set its label ${LABEL}`) },
  { what: 'a namespace whose label is empty', label: '', hostnames: [`app.${DOMAIN}`], refused: /has no domain/ },
];

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
    test('the vectors, for HTTPRoutes and GRPCRoutes', async (t) => {
      t.after(() => uninstall(running()));
      const namespaceOf = ({ label }: Vector): string => {
        if (label === undefined) return 'unlabelled';
        return label === '' ? 'empty' : label === DOMAIN ? 'team-a' : 'team-upper';
      };
      const namespaces = new Map(vectors.map((vector) => [namespaceOf(vector), vector.label]));
      await apply(running(), ...[...namespaces].map(([name, label]) => namespace(name, label === undefined ? {} : { [LABEL]: label })));
      await release(running(), 'install', policy({}));
      await inForce('GRPCRoute', 'unlabelled', {});
      for (const kind of ['HTTPRoute', 'GRPCRoute'] as const) {
        for (const vector of vectors) {
          const { what, hostnames, refused } = vector;
          const message = await dryRun(kind, namespaceOf(vector), hostnames === undefined ? {} : { hostnames });
          if (refused === null) assert.equal(message, null, `${kind}, ${what}`);
          else assert.match(message ?? 'was taken', refused, `${kind}, ${what}`);
        }
      }
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
