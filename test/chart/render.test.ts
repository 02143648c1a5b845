// What the chart renders: names, labels, images, pods, Secrets, budgets; and that the same values always give the same text.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { CHART_NAME, chartFolder, containerOf, deployment, helm, helmUnavailable, one, render, renderText, required } from './helm.ts';
import type { Manifest, Values } from './helm.ts';
import { classConfig, everything } from './values.ts';

const namesOf = (objects: readonly Manifest[], kind: string): readonly string[] =>
  objects.flatMap((object) => (object.kind === kind ? [object.metadata.name] : [])).sort();

const budgetOf = async (podDisruptionBudget: Values): Promise<readonly unknown[]> => {
  const enabled = { ...podDisruptionBudget, enabled: true };
  const objects = await render({ podDisruptionBudget: enabled, proxy: { podDisruptionBudget: enabled } });
  return objects
    .filter(({ kind }) => kind === 'PodDisruptionBudget')
    .map(({ spec }) => {
      const { minAvailable, maxUnavailable } = spec as Values;
      return { minAvailable, maxUnavailable };
    });
};

suite('the rendered chart', { skip: helmUnavailable() ?? false }, () => {
  test('helm lint finds nothing to complain about', async () => {
    const { code, stdout, stderr } = await helm(['lint', '--strict', chartFolder, '--values', '-'], required);
    assert.equal(code, 0, stdout + stderr);
  });

  test('by default: two Deployments, three Services, one GatewayClass, and no object that is off', async () => {
    const kinds = (await render()).map(({ kind }) => kind).sort();
    assert.deepEqual(kinds, [
      'ClusterRole',
      'ClusterRoleBinding',
      'Deployment',
      'Deployment',
      'GatewayClass',
      'NetworkPolicy',
      'Role',
      'Role',
      'RoleBinding',
      'RoleBinding',
      'Service',
      'Service',
      'Service',
      'ServiceAccount',
    ]);
  });

  test('every namespaced object is in the namespace of the release', async () => {
    const clusterWide = /^(Cluster|GatewayClass|ValidatingAdmission|CustomResource)/;
    const all = await render(everything, { namespace: 'elsewhere' });
    for (const { kind, metadata } of all) assert.equal(metadata.namespace, clusterWide.test(kind) ? undefined : 'elsewhere', kind);
  });

  test('the same values give the same text: nothing random, nothing looked up, so that Argo CD sees no drift', async () => {
    const [first, second] = await Promise.all([renderText(everything), renderText(everything)]);
    assert.equal(first, second);
    const templates = path.join(chartFolder, 'templates');
    for (const file of readdirSync(templates)) {
      const call = /\{\{[^}]*?[\s(](lookup|rand[A-Z]\w*|gen[A-Z]\w*|uuidv4|now|htpasswd|derivePassword)\s/.exec(
        readFileSync(path.join(templates, file), 'utf8'),
      );
      assert.equal(call?.[1], undefined, file);
    }
  });

  suite('names', () => {
    test('of a release are those of existing installations', async () => {
      const objects = await render({}, { release: 'edge' });
      assert.deepEqual(namesOf(objects, 'Deployment'), [`edge-${CHART_NAME}`, `edge-${CHART_NAME}-proxy`]);
      assert.deepEqual(namesOf(objects, 'Service'), [
        `edge-${CHART_NAME}`,
        `edge-${CHART_NAME}-proxy`,
        `edge-${CHART_NAME}-proxy-headless`,
      ]);
      assert.deepEqual(namesOf(objects, 'GatewayClass'), ['cloudflare-tunnel']);
      assert.ok(containerOf(objects, 'controller').args.includes(`--proxy-auth-secret-ref=system/edge-${CHART_NAME}-proxy-auth-token`));
    });

    test('of a release that is called like the chart do not repeat it', async () => {
      const objects = await render({}, { release: CHART_NAME });
      assert.deepEqual(namesOf(objects, 'Deployment'), [CHART_NAME, `${CHART_NAME}-proxy`]);
    });

    test('of a long release are cut so that what is appended fits into 63 characters', async () => {
      const release = 'r'.repeat(52);
      const objects = await render({}, { release });
      const full = `${release}-cloudflare`; // 63 characters end here
      assert.equal(full.length, 63);
      assert.deepEqual(namesOf(objects, 'Deployment'), [full, `${full.slice(0, 57)}-proxy`].sort());
      assert.ok(namesOf(objects, 'Service').includes(`${full.slice(0, 48)}-proxy-headless`));
      assert.ok(objects.every(({ kind, metadata }) => !['Service', 'Deployment'].includes(kind) || metadata.name.length <= 63));
      const labels = objects.flatMap(({ metadata }) => Object.values(metadata.labels ?? {}));
      assert.ok(labels.every((value) => value.length <= 63));
    });

    test('that are cut at a hyphen do not end with it', async () => {
      const objects = await render({ fullnameOverride: `${'a'.repeat(47)}-${'b'.repeat(8)}-ccccc` });
      const services = namesOf(objects, 'Service');
      assert.ok(services.includes(`${'a'.repeat(47)}-proxy-headless`), services.join());
      assert.ok(services.includes(`${'a'.repeat(47)}-${'b'.repeat(8)}-proxy`), services.join());
    });

    test('can be overridden, in part and as a whole', async () => {
      assert.deepEqual(namesOf(await render({ nameOverride: 'tunnel' }), 'Deployment'), ['rel-tunnel', 'rel-tunnel-proxy']);
      assert.deepEqual(namesOf(await render({ fullnameOverride: 'tunnel' }), 'Deployment'), ['tunnel', 'tunnel-proxy']);
    });

    test('and numbers stay text: a release 1, a namespace 2, a Secret 1e3', async () => {
      const values = { proxy: { tunnelTokenSecretRef: { name: '1e3', key: '0x1' } }, leaderElection: { leaseName: '12' } };
      const objects = await render(values, { release: '1', namespace: '2' });
      for (const { metadata } of objects) {
        if (metadata.namespace !== undefined) assert.equal(metadata.namespace, '2');
        assert.equal(metadata.labels?.['app.kubernetes.io/instance'], '1');
      }
      const token = containerOf(objects, 'proxy').env.find(({ name }) => name === 'TUNNEL_TOKEN');
      assert.deepEqual(token?.valueFrom?.secretKeyRef, { name: '1e3', key: '0x1' });
    });
  });

  suite('labels', () => {
    const subset = (small: Readonly<Record<string, string>>, large: Readonly<Record<string, string>>): boolean =>
      Object.entries(small).every(([key, value]) => large[key] === value);

    test('of selectors are those of existing installations, for a Deployment cannot change its own', async () => {
      const objects = await render({}, { release: 'edge' });
      assert.deepEqual(deployment(objects, 'controller').spec.selector.matchLabels, {
        'app.kubernetes.io/name': CHART_NAME,
        'app.kubernetes.io/instance': 'edge',
      });
      assert.deepEqual(deployment(objects, 'proxy').spec.selector.matchLabels, {
        'app.kubernetes.io/name': `${CHART_NAME}-proxy`,
        'app.kubernetes.io/instance': 'edge',
        'app.kubernetes.io/component': 'proxy',
      });
    });

    test('let every selector find the pods that it is for, and no others', async () => {
      const objects = await render({ ...everything, fullnameOverride: 'tunnel' });
      const pods = { tunnel: deployment(objects, 'controller'), 'tunnel-proxy': deployment(objects, 'proxy') };
      const selectors = objects.flatMap(({ kind, metadata: { name }, spec }) => {
        const { selector, podSelector } = (spec ?? {}) as Readonly<Record<'selector' | 'podSelector', Values>>;
        const labels = { Service: selector, PodDisruptionBudget: selector?.['matchLabels'], NetworkPolicy: podSelector?.['matchLabels'] }[
          kind
        ];
        return labels === undefined ? [] : [{ kind, name, labels: labels as Readonly<Record<string, string>> }];
      });
      assert.equal(selectors.length, 7);
      for (const { kind, name, labels } of selectors) {
        const wanted = name.startsWith('tunnel-proxy') ? 'tunnel-proxy' : 'tunnel';
        for (const [owner, { spec }] of Object.entries(pods)) {
          assert.equal(subset(labels, spec.template.metadata.labels), owner === wanted, `${kind} ${name} and the pods of ${owner}`);
        }
      }
    });

    test('of a ServiceMonitor select one Service, so that no pod is scraped twice', async () => {
      const objects = await render(everything);
      for (const { metadata, spec } of objects.filter(({ kind }) => kind === 'ServiceMonitor')) {
        const { selector, endpoints } = spec as {
          readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
          readonly endpoints: readonly { readonly port: string }[];
        };
        const services = objects.filter(({ kind, metadata }) => kind === 'Service' && subset(selector.matchLabels, metadata.labels ?? {}));
        const [service, ...others] = services;
        assert.ok(service !== undefined && others.length === 0, `${services.length} Services for ${metadata.name}`);
        const { ports } = service['spec'] as { readonly ports: readonly { readonly name: string }[] };
        assert.ok(ports.some(({ name }) => name === endpoints[0]?.port));
      }
    });

    test('of pods do not change with the version of the chart', async () => {
      for (const role of ['controller', 'proxy'] as const) {
        const labels = Object.keys(deployment(await render(), role).spec.template.metadata.labels);
        assert.deepEqual(
          labels.filter((label) => /chart|version/.test(label)),
          [],
        );
      }
    });
  });

  test('images: one for both roles; the proxy may have its own; a tag may carry a digest', async () => {
    const tagged = await render({ image: { repository: 'registry.example/tunnel', tag: '1.2.3@sha256:abc' } });
    assert.equal(containerOf(tagged, 'controller').image, 'registry.example/tunnel:1.2.3@sha256:abc');
    assert.equal(containerOf(tagged, 'proxy').image, 'registry.example/tunnel:1.2.3@sha256:abc');
    assert.ok(containerOf(tagged, 'controller').args.includes('--proxy-image=registry.example/tunnel:1.2.3@sha256:abc'));
    const own = await render({ image: { tag: '1' }, proxy: { image: { repository: 'registry.example/proxy', tag: '2' } } });
    assert.equal(containerOf(own, 'proxy').image, 'registry.example/proxy:2');
    const { version } = JSON.parse(readFileSync(path.join(chartFolder, '..', 'package.json'), 'utf8')) as { readonly version: string };
    assert.equal(containerOf(await render(), 'proxy').image, `${CHART_NAME}:${version}`);
  });

  suite('disruption budgets', () => {
    test('have exactly one limit: the default, the other one, a percentage, and 0', async () => {
      const both = (limits: Values): readonly unknown[] =>
        [limits, limits].map((limit) => ({ minAvailable: undefined, maxUnavailable: undefined, ...limit }));
      assert.deepEqual(await budgetOf({}), both({ minAvailable: 1 }));
      assert.deepEqual(await budgetOf({ maxUnavailable: 1 }), both({ maxUnavailable: 1 }));
      assert.deepEqual(await budgetOf({ maxUnavailable: 0 }), both({ maxUnavailable: 0 }));
      assert.deepEqual(await budgetOf({ minAvailable: 0 }), both({ minAvailable: 0 }));
      assert.deepEqual(await budgetOf({ minAvailable: '50%', maxUnavailable: null }), both({ minAvailable: '50%' }));
    });

    test('with both limits are refused with the name of the values', async () => {
      await assert.rejects(
        budgetOf({ minAvailable: 1, maxUnavailable: 1 }),
        /podDisruptionBudget: set minAvailable or maxUnavailable, not both/,
      );
    });
  });

  test('without election an old controller goes before a new one comes, with it after', async () => {
    const strategy = async (values: Values): Promise<unknown> =>
      (deployment(await render(values), 'controller').spec as unknown as Values)['strategy'];
    assert.deepEqual(await strategy({}), { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } });
    assert.deepEqual(await strategy({ leaderElection: { enabled: true } }), {
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    });
  });

  test('the class refers to the class configuration that is made with it', async () => {
    assert.equal((one(await render(), 'GatewayClass')['spec'] as Values)['parametersRef'], undefined);
    const objects = await render({ gatewayClassConfig: { ...classConfig, name: 'mine' } });
    const parametersRef = { group: 'cf.k8s.lex.la', kind: 'GatewayClassConfig', name: 'mine' };
    assert.deepEqual((one(objects, 'GatewayClass')['spec'] as Values)['parametersRef'], parametersRef);
    assert.equal(one(objects, 'GatewayClassConfig').metadata.name, 'mine');
  });
});
