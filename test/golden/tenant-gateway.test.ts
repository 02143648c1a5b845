// What Cozystack's TenantGateway makes of the statuses in tenantgateway.in.yaml, and what visitors of its listeners get: through the plan, the
// compiled table and the proxy's decision, redirects followed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { loadAll } from 'js-yaml';
import type { Condition, KubeObject } from '#controller/api/core.ts';
import type { Gateway } from '#controller/api/gateway.ts';
import type { Plan } from '#controller/output/plan.ts';
import { decide } from '#proxy/http/routing.ts';
import { compileTable } from '#proxy/table/compile.ts';
import { httpRoute } from '#test/build/objects.ts';
import { planOf } from '#test/build/plan.ts';
import { request } from '#test/proxy/table/build.ts';

const objects = loadAll(readFileSync(join(import.meta.dirname, 'tenantgateway.in.yaml'), 'utf8')) as readonly KubeObject[];

/** The platform's rule: accepted, programmed, and every listener of the spec has an entry that is both. */
function readiness({ statuses }: Plan, namespace: string, from = objects): string {
  const update = statuses.find(({ ref }) => ref.kind === 'Gateway' && ref.namespace === namespace);
  const gateway = from.find(({ kind, metadata }) => kind === 'Gateway' && metadata.namespace === namespace) as Gateway | undefined;
  assert.ok(update !== undefined && 'listeners' in update.desired && gateway !== undefined);
  const { conditions, listeners } = update.desired;
  const isTrue = (all: readonly Condition[], type: string) => all.some((one) => one.type === type && one.status === 'True');
  if (!isTrue(conditions, 'Accepted')) return 'GatewayNotAccepted';
  if (!isTrue(conditions, 'Programmed')) return 'GatewayNotProgrammed';
  const lagging = (gateway.spec.listeners ?? []).filter(({ name }) => {
    const entry = listeners.find((one) => one.name === name);
    return entry === undefined || !isTrue(entry.conditions, 'Accepted') || !isTrue(entry.conditions, 'Programmed');
  });
  return lagging.length === 0 ? 'Ready' : `ListenersNotReady: ${lagging.map(({ name }) => name).join(', ')}`;
}

/** Where a visitor ends up who follows redirects: the rule's route, or `none`. */
function visit({ planes }: Plan, url: string): string {
  const items = planes.flatMap((plane) => plane.items);
  const table = compileTable({
    tunnels: items.filter((item) => item.kind === 'tunnel'),
    entries: items.filter((item) => item.kind === 'entry'),
    localEntries: [],
    certificates: [],
    backends: items.filter((item) => item.kind === 'backend'),
    routes: items.filter((item) => item.kind === 'route'),
  });
  const [entry] = table.entries.values();
  const steps: string[] = [];
  for (let next = new URL(url); steps.length < 5; ) {
    const scheme = next.protocol === 'https:' ? 'https' : 'http';
    const key = request({ host: next.hostname, scheme, path: next.pathname });
    const arm = entry?.match(key) ?? null;
    if (arm === null) return [...steps, 'none'].join(' → ');
    const outcome = decide(arm, key, next.hostname, 0);
    steps.push(arm.rule.routeId.replace('HTTPRoute/', ''));
    if (outcome.kind !== 'redirect') return steps.join(' → ');
    next = new URL(outcome.location);
  }
  return `${steps.join(' → ')} → and so on`;
}

const redirect = (namespace: string, hostnames: readonly string[]) =>
  httpRoute({
    namespace,
    name: 'cozystack-http-redirect',
    parents: [{ name: 'cozystack', namespace, sectionName: 'http' }],
    hostnames,
    rules: [{ filters: [{ type: 'RequestRedirect', requestRedirect: { scheme: 'https', statusCode: 301 } }] }],
  });

const app = (namespace: string, hostname: string) =>
  httpRoute({ namespace, name: 'shop', parents: [{ name: 'cozystack', namespace, sectionName: 'https' }], hostnames: [hostname], rules: [{}] });

const planWith = (...more: readonly KubeObject[]) =>
  planOf([...objects.filter(({ metadata: { name } }) => name !== 'cozystack-http-redirect' && name !== 'cm-acme-http-solver'), ...more]).plan;

test('a TenantGateway becomes ready in every shape that a tunnel can serve, and says which listeners it cannot', () => {
  const { plan } = planOf(objects);
  assert.deepEqual(
    Object.fromEntries(['dns01', 'existing', 'edge', 'http01', 'passthrough'].map((shape) => [shape, readiness(plan, `tenant-${shape}`)])),
    {
      dns01: 'Ready',
      existing: 'Ready',
      edge: 'Ready',
      http01: 'ListenersNotReady: tls-api',
      passthrough: 'GatewayNotAccepted',
    },
  );
});

test('without passthrough services nothing is in the way, although no certificate is there yet', () => {
  const served = objects.map((object) => {
    if (object.kind !== 'Gateway') return object;
    const { spec } = object as Gateway;
    return { ...object, spec: { ...spec, listeners: spec.listeners?.filter(({ protocol }) => protocol !== 'TLS') } };
  });
  const { plan } = planOf(served);
  assert.equal(readiness(plan, 'tenant-http01', served), 'Ready');
});

suite('the redirect never loops', () => {
  const apex = 'dns01.example.com';
  for (const [title, hostnames] of [
    ['without hostnames', []],
    ['with hostnames', [apex, `*.${apex}`]],
  ] as const) {
    test(title, () => {
      const plan = planWith(redirect('tenant-dns01', hostnames), app('tenant-dns01', `shop.${apex}`));
      assert.equal(visit(plan, `http://shop.${apex}/`), 'tenant-dns01/cozystack-http-redirect → tenant-dns01/shop');
      assert.equal(visit(plan, `https://shop.${apex}/`), 'tenant-dns01/shop');
      assert.equal(visit(plan, `http://unknown.${apex}/x`), 'tenant-dns01/cozystack-http-redirect → none');
      assert.equal(visit(plan, `https://unknown.${apex}/x`), 'none');
    });

    test(`${title}, where no listener speaks HTTPS for the host`, () => {
      const plan = planWith(redirect('tenant-http01', hostnames.map((name) => name.replace('dns01', 'http01'))));
      const host = 'later.http01.example.com';
      // The one that the visitor was sent to is the redirect again, which is skipped then.
      const twice = 'tenant-http01/cozystack-http-redirect → tenant-http01/cozystack-http-redirect';
      assert.equal(visit(plan, `http://${host}/`), twice);
      assert.equal(visit(plan, `https://${host}/`), 'tenant-http01/cozystack-http-redirect');
    });
  }
});

suite('a solver answers challenges', () => {
  const path = '/.well-known/acme-challenge/abc';
  const solver = (hostname: string) =>
    httpRoute({
      namespace: 'cozy-cert-manager',
      name: 'solver',
      parents: [{ name: 'cozystack', namespace: 'tenant-http01', sectionName: 'http' }],
      hostnames: [hostname],
      rules: [{ matches: [{ path: { type: 'Exact', value: path } }] }],
    });
  for (const hostnames of [[], ['http01.example.com', '*.http01.example.com']]) {
    const title = hostnames.length === 0 ? 'without hostnames' : 'with hostnames';
    for (const host of ['harbor.http01.example.com', 'later.http01.example.com']) {
      test(`of ${host}, before a redirect ${title}, whichever way the edge sends the asker`, () => {
        const plan = planWith(redirect('tenant-http01', hostnames), solver(host));
        assert.equal(visit(plan, `http://${host}${path}`), 'cozy-cert-manager/solver');
        assert.equal(visit(plan, `https://${host}${path}`), 'cozy-cert-manager/solver');
      });
    }
  }

  test('and takes nothing else of the host', () => {
    const plan = planWith(redirect('tenant-http01', []), solver('harbor.http01.example.com'));
    for (const other of ['/', '/.well-known/acme-challenge/abcd', '/.well-known/acme-challenge'])
      assert.equal(visit(plan, `https://harbor.http01.example.com${other}`), 'tenant-http01/harbor');
    const counts = plan.statuses.flatMap(({ ref, desired }) =>
      ref.namespace === 'tenant-http01' && 'listeners' in desired ? desired.listeners.map(({ name, attachedRoutes }) => [name, attachedRoutes]) : [],
    );
    assert.deepEqual(Object.fromEntries(counts), { http: 3, 'https-harbor-1a2b3c4d': 1, 'https-api-5e6f7a8b': 0, 'tls-api': 0 });
  });

  test('only if it is nothing but a solver: others stay where their listener is', () => {
    const mixed = httpRoute({
      namespace: 'cozy-cert-manager',
      name: 'solver',
      parents: [{ name: 'cozystack', namespace: 'tenant-http01', sectionName: 'http' }],
      hostnames: ['harbor.http01.example.com'],
      rules: [{ matches: [{ path: { type: 'Exact', value: path } }, { path: { type: 'PathPrefix', value: '/admin' } }] }],
    });
    const plan = planWith(mixed);
    assert.equal(visit(plan, `https://harbor.http01.example.com${path}`), 'tenant-http01/harbor');
    assert.equal(visit(plan, 'https://harbor.http01.example.com/admin'), 'tenant-http01/harbor');
  });
});
