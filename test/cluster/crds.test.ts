// Our CRDs before the real API server, and our folder source beside it: both must judge every object alike, and complete it alike.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { decodeDocument } from '#controller/watch/folder/decode.ts';
import { validate } from '#controller/watch/folder/validate.ts';
import { folderKinds, type FolderKind } from '#controller/watch/folder/kinds.ts';
import { rowOf } from '#controller/kube/kinds.ts';
import { refusal, type ApiResponse } from './api-client.ts';
import { clusterUnavailable, startControlPlane, type Cluster } from './control-plane.ts';
import { mutate, randomFrom } from '../crds/mutate.ts';
import { gatewayVectors } from '../crds/gateway-vectors.ts';
import { ownVectors } from '../crds/own-vectors.ts';
import { vectors } from '../crds/vectors.ts';

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec?: unknown;
}

const decode = (yaml: string): Manifest => {
  const decoded = decodeDocument(yaml);
  assert.ok('value' in decoded, yaml);
  return decoded.value as Manifest;
};

suite('objects before the real API server', { skip: clusterUnavailable() ?? false }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startControlPlane();
  });
  after(() => cluster?.stop());

  for (const { name, yaml, wrong } of vectors) {
    test(name, async () => {
      const manifest = decode(yaml);
      const response = await judge(cluster, manifest);
      if (wrong !== undefined) {
        assert.ok(response.status === 400 || response.status === 422, `the server answers ${response.status}: ${refusal(response)}`);
        assert.ok(refusal(response).includes(wrong), `expected ${wrong} in: ${refusal(response)}`);
        return;
      }
      assert.equal(response.status, 201, refusal(response));
      const verdict = validate(decode(yaml));
      assert.ok(verdict.outcome === 'object');
      if (verdict.kind.group !== '') assert.deepEqual(specOf(verdict.object), specOf(response.body), 'the same defaults');
    });
  }

  test('both judges agree on objects with random damage', async () => {
    const random = randomFrom(20);
    const good = [...ownVectors, ...gatewayVectors].filter(({ wrong }) => wrong === undefined).map(({ yaml }) => yaml);
    for (let round = 0; round < 400; round++) {
      const manifest = mutate(decode(good[round % good.length] ?? ''), random) as unknown as Manifest;
      const text = JSON.stringify(manifest);
      const response = await judge(cluster, manifest);
      const verdict = validate(JSON.parse(text));
      assert.equal(
        verdict.outcome === 'object',
        response.status === 201,
        `${text}\n${refusal(response)}\n${JSON.stringify(verdict, ['findings', 'message'])}`,
      );
      if (verdict.outcome === 'object') assert.deepEqual(specOf(verdict.object), specOf(response.body), text);
    }
  });

  test('kubectl finds our kinds by their short names and shows their columns', async () => {
    for (const [short, kind, columns] of [
      ['gcconfig', 'GatewayClassConfig', /^NAME +TUNNEL ID +VALID +SYNCED +AGE\nx +01234567-/],
      ['gwconfig', 'GatewayConfig', /^NAME +TUNNEL TOKEN SECRET +VALID +SYNCED +AGE\nx +token /],
      ['extbackend', 'ExternalBackend', /^NAME +SCHEME +HOST +PORT +AGE\nx +https +api\.example\.com +443 /],
    ] as const) {
      const vector = vectors.find(({ yaml, wrong }) => wrong === undefined && yaml.includes(`kind: ${kind},`));
      const applied = await cluster.kubectl(['apply', '-f', '-'], { input: vector?.yaml ?? '' });
      assert.equal(applied.code, 0, applied.stderr);
      const { stdout, stderr } = await cluster.kubectl(['get', short]);
      assert.match(stdout, columns, stderr);
    }
    const { stdout } = await cluster.kubectl(['get', 'gateway-api', '--output=name']);
    assert.match(stdout, /gatewayclassconfig\.cf\.k8s\.lex\.la\/x/, 'they belong to the category of the Gateway API');
  });

  test('a status is stored through its subresource, one condition of a type', async () => {
    const address = '/apis/cf.k8s.lex.la/v1alpha1/gatewayclassconfigs/x/status';
    const condition = {
      type: 'Valid',
      status: 'True',
      reason: 'Valid',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: 1,
    };
    const patch = (conditions: readonly object[]) =>
      cluster.request('PATCH', address, { body: { status: { conditions } }, contentType: 'application/merge-patch+json' });
    assert.equal((await patch([condition])).status, 200);
    const { stdout } = await cluster.kubectl(['get', 'gcconfig']);
    assert.match(stdout, / True /);
    assert.match(refusal(await patch([condition, condition])), /Duplicate value/);
  });
});

const specOf = (object: unknown): unknown => (object as Manifest).spec;

/** A dry run stores nothing; Strict is what kubectl asks for. */
function judge(cluster: Cluster, manifest: Manifest): Promise<ApiResponse> {
  const kind = folderKinds.find((row) => row.kind === manifest.kind);
  assert.ok(kind, manifest.kind);
  return cluster.request('POST', `${collection(kind, manifest)}?dryRun=All&fieldValidation=Strict`, { body: manifest });
}

function collection(kind: FolderKind, { apiVersion }: Manifest): string {
  const root = apiVersion.includes('/') ? 'apis' : 'api';
  return `/${root}/${apiVersion}${kind.namespaced ? '/namespaces/default' : ''}/${rowOf(kind.kind).plural}`;
}
