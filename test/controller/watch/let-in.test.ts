// What the border lets in, the pure stages can judge: objects of a server whose CRDs check nothing never end a run.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadAll } from 'js-yaml';
import type { KubeObject } from '#controller/api/core.ts';
import type { KindName } from '#controller/api/snapshot.ts';
import { kindRows } from '#controller/kube/kinds.ts';
import { decode } from '#controller/watch/decode.ts';
import { settings } from '#test/build/objects.ts';
import { planOf } from '#test/build/plan.ts';
import { snapshotOf } from '#test/build/snapshot.ts';
import { mutate, randomFrom } from '#test/crds/mutate.ts';

const goldens = globSync(join(import.meta.dirname, '../../golden/*.in.yaml')).sort();
const objectsOf = (file: string): readonly KubeObject[] =>
  loadAll(readFileSync(file, 'utf8')).filter((document): document is KubeObject => document !== null && 'kind' in (document as object));

/** Fields that the pure stages read and no golden has. */
const rich: readonly unknown[] = [
  {
    kind: 'Gateway',
    metadata: { name: 'rich', namespace: 'default' },
    spec: {
      gatewayClassName: 'cloudflare-tunnel',
      listeners: [{ name: 'https', protocol: 'HTTPS', port: 443, tls: { mode: 'Terminate', certificateRefs: [{ name: 'a' }] } }],
      tls: {
        backend: { clientCertificateRef: { name: 'a' } },
        frontend: {
          default: { validation: { caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'a' }] } },
          perPort: [
            {
              port: 443,
              tls: {
                validation: {
                  caCertificateRefs: [{ group: '', kind: 'Secret', name: 'a', namespace: 'b' }],
                  mode: 'AllowInsecureFallback',
                },
              },
            },
          ],
        },
      },
      addresses: [{ type: 'Hostname', value: 'a' }],
      infrastructure: { parametersRef: { group: 'a', kind: 'b', name: 'c' } },
      allowedListeners: { namespaces: { from: 'Selector', selector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] } } },
    },
  },
  {
    kind: 'BackendTLSPolicy',
    metadata: { name: 'rich', namespace: 'default' },
    spec: {
      targetRefs: [{ group: '', kind: 'Service', name: 'app', sectionName: 'tls' }],
      validation: {
        hostname: 'a',
        caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'a' }],
        subjectAltNames: [{ type: 'Hostname', hostname: 'a' }],
      },
    },
  },
  {
    kind: 'HTTPRoute',
    metadata: { name: 'rich', namespace: 'default' },
    spec: {
      parentRefs: [{ name: 'tunnel', sectionName: 'https', port: 443 }],
      rules: [
        {
          matches: [
            {
              path: { type: 'Exact', value: '/a' },
              headers: [{ name: 'a', value: 'b' }],
              queryParams: [{ name: 'a', value: 'b' }],
              method: 'GET',
            },
          ],
          retry: { attempts: 1 },
          sessionPersistence: { type: 'Cookie' },
          timeouts: { request: '1s', backendRequest: '1s' },
          backendRefs: [{ name: 'a', port: 80, weight: 1, filters: [{ type: 'URLRewrite', urlRewrite: { hostname: 'a' } }] }],
        },
      ],
    },
  },
];

const withServerFields = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { uid: `${object.kind}/${object.metadata.name}`, resourceVersion: '1', ...object.metadata },
});

test('whatever is let in is judged without an exception', () => {
  const random = randomFrom(20_261_130);
  let letIn = 0;
  for (const file of goldens) {
    const whole = [
      ...snapshotOf([...objectsOf(file), ...(rich as KubeObject[])]).objects.Namespace.values(),
      ...objectsOf(file),
      ...(rich as KubeObject[]),
    ];
    const pick = (): number => Math.floor(random() * whole.length);
    for (let round = 0; round < 300; round++) {
      const objects = [...whole];
      const damaged: unknown[] = [];
      for (let count = 0; count < 3; count++) {
        const at = pick();
        const object = objects[at];
        const row = kindRows.get(object?.kind as KindName);
        if (object === undefined || row === undefined || !('spec' in object)) continue;
        const broken = mutate(mutate(structuredClone(withServerFields(object)), random), random);
        const decoded = decode(row, row.versions[0] ?? 'v1', structuredClone(broken));
        if (!decoded.ok) continue;
        letIn++;
        damaged.push(broken);
        objects[at] = decoded.object;
      }
      try {
        planOf(objects, settings());
      } catch (error) {
        assert.fail(`${(error as Error).stack}\n${JSON.stringify(damaged)}`);
      }
    }
  }
  assert.ok(letIn > 1000, String(letIn));
});
