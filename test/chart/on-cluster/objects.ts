// The API server takes every object that the chart renders, field by field, and a release can be installed, changed and removed.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Cluster } from '#test/cluster/control-plane.ts';
import { CHART_NAME, renderText, type ReleaseOptions, type Values } from '../helm.ts';
import { classConfig, everything } from '../values.ts';
import { apply, namespace, NAMESPACE, read, RELEASE, release, uninstall } from './release.ts';

/** As much of the Prometheus operator's kind as the chart uses; fields that are not here are refused. */
const serviceMonitors = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'servicemonitors.monitoring.coreos.com' },
  spec: {
    group: 'monitoring.coreos.com',
    scope: 'Namespaced',
    names: { kind: 'ServiceMonitor', plural: 'servicemonitors' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['selector', 'endpoints'],
                properties: {
                  selector: { type: 'object', properties: { matchLabels: { type: 'object', additionalProperties: { type: 'string' } } } },
                  endpoints: {
                    type: 'array',
                    items: {
                      type: 'object',
                      properties: { port: { type: 'string' }, path: { type: 'string' }, interval: { type: 'string' } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

const classes = '/apis/gateway.networking.k8s.io/v1/gatewayclasses';
const configs = '/apis/cf.k8s.lex.la/v1alpha1/gatewayclassconfigs';
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const deployments = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;

export function objectTests(running: () => Cluster): void {
  const taken = async (values: Values, options: ReleaseOptions = {}): Promise<void> => {
    const input = await renderText(values, { namespace: NAMESPACE, ...options });
    const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '--filename=-'];
    const { code, stdout, stderr } = await running().kubectl(args, { input });
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '');
    assert.equal(stdout.trimEnd().split('\n').length, [...input.matchAll(/^kind: /gm)].length);
  };

  suite('rendered objects are taken', () => {
    test('by default, and with everything on', async () => {
      await apply(running(), namespace(NAMESPACE), serviceMonitors);
      await running().kubectl(['wait', '--for=condition=Established', `crd/${serviceMonitors.metadata.name}`]);
      await taken({});
      await taken(everything);
    });

    test('with names and namespaces that are numbers, and with long ones', async () => {
      await apply(running(), namespace('2'), namespace('vault'));
      const gatewayClassConfig = {
        ...classConfig,
        name: '3',
        cloudflareCredentialsSecretRef: { name: '0x10', namespace: 'vault', key: '1' },
      };
      await taken({ ...everything, gatewayClassConfig }, { release: '1', namespace: '2' });
      await taken(everything, { release: 'r'.repeat(53) });
    });

    test('with each kind of disruption budget', async () => {
      for (const limit of [{}, { minAvailable: 0 }, { maxUnavailable: 0 }, { minAvailable: '10%' }, { maxUnavailable: 1 }]) {
        await taken({ podDisruptionBudget: { enabled: true, ...limit }, proxy: { podDisruptionBudget: { enabled: true, ...limit } } });
      }
    });
  });

  suite('a release', () => {
    test('is installed together with its CRDs, and with an object of one of them', async () => {
      const cluster = running();
      const { items } = (await read(cluster, crds)) as { readonly items: readonly { readonly metadata: { readonly name: string } }[] };
      const own = items.map(({ metadata }) => metadata.name).filter((name) => name.endsWith('.cf.k8s.lex.la'));
      assert.equal(own.length, 3);
      await cluster.kubectl(['delete', 'crd', ...own]);
      await release(cluster, 'install', { gatewayClassConfig: classConfig });
      const { spec } = (await read(cluster, `${classes}/cloudflare-tunnel`)) as {
        readonly spec: { readonly parametersRef: { readonly name: string } };
      };
      await read(cluster, `${configs}/${spec.parametersRef.name}`);
    });

    test('is changed from one controller to two and back', async () => {
      const cluster = running();
      const strategyOf = async (): Promise<unknown> =>
        ((await read(cluster, `${deployments}/${RELEASE}-${CHART_NAME}`))['spec'] as Values)['strategy'];
      await release(cluster, 'upgrade', { gatewayClassConfig: classConfig, replicaCount: 2, leaderElection: { enabled: true } });
      assert.deepEqual(await strategyOf(), { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } });
      await release(cluster, 'upgrade', { gatewayClassConfig: classConfig });
      assert.deepEqual(await strategyOf(), { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } });
    });

    test('takes over its CRDs on request, upgrades them, and leaves them and their objects when it goes', async () => {
      const cluster = running();
      const name = 'externalbackends.cf.k8s.lex.la';
      const columnsOf = async (): Promise<number> => {
        const { spec } = (await read(cluster, `${crds}/${name}`)) as {
          readonly spec: { readonly versions: readonly { readonly additionalPrinterColumns: readonly unknown[] }[] };
        };
        return spec.versions[0]?.additionalPrinterColumns.length ?? 0;
      };
      const columns = await columnsOf();
      const older = [{ op: 'remove', path: '/spec/versions/0/additionalPrinterColumns/0' }];
      await cluster.request('PATCH', `${crds}/${name}`, { body: older, contentType: 'application/json-patch+json' });
      assert.equal(await columnsOf(), columns - 1);
      const values = { gatewayClassConfig: classConfig, crds: { upgrade: true } };
      await release(cluster, 'upgrade', values, { args: ['--take-ownership', '--force-conflicts'] });
      assert.equal(await columnsOf(), columns);
      await release(cluster, 'upgrade', values);

      await uninstall(cluster);
      assert.equal((await cluster.request('GET', `${classes}/cloudflare-tunnel`)).status, 404);
      assert.equal(await columnsOf(), columns);
    });
  });
}
