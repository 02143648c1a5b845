// Bad input by way of a real API server: what it refuses is refused by the folder too, what it lets in ends in conditions, and with CRDs
// that check nothing the controller checks for itself.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import type { Case } from '#test/bad-input/case.ts';
import { ClusterSystem } from '#test/bad-input/cluster-rig.ts';
import * as o from '#test/bad-input/objects.ts';
import { referenceCases } from '#test/bad-input/reference-cases.ts';
import { routeCases } from '#test/bad-input/route-cases.ts';
import { textOf } from '#test/bad-input/statuses.ts';
import type { TunnelSeed } from '#test/cloudflare/api/state.ts';
import { clusterUnavailable } from './control-plane.ts';

/** An API server refuses such endpoints itself, and takes a port of 0. */
const NOT_HERE = new Set(['endpoints-forbidden', 'endpoint-port']);

const allCases: readonly (readonly [string, Case])[] = Object.entries({ ...routeCases, ...referenceCases }).filter(
  ([name]) => !NOT_HERE.has(name),
);

suite('bad input on a cluster', { skip: clusterUnavailable() ?? false }, () => {
  let world: ClusterSystem;
  before(async () => {
    world = await ClusterSystem.start();
  });
  after(() => world?.stop());

  test('what the folder refuses is refused by the API server', async () => {
    const letIn: string[] = [];
    for (const [name, { objects, problem }] of allCases) {
      if (problem === undefined) continue;
      const { status } = await world.tryCreate(objects.at(-1) ?? {});
      if (status < 400) letIn.push(name);
    }
    assert.deepEqual(letIn, []);
  });

  test('what the API server lets in is told by conditions', async () => {
    const told = allCases.filter(([, { conditions }]) => conditions !== undefined);
    const wrong = async (): Promise<readonly string[]> => {
      const found = await Promise.all(
        told.map(async ([name, { objects, conditions = {} }]) => {
          const actual = await world.conditions(objects.at(-1) ?? {});
          return Object.entries(conditions).flatMap(([type, pattern]) => {
            const text = textOf(actual, type);
            return pattern.test(text) ? [] : [`${name}: ${type} is "${text}", not ${pattern}`];
          });
        }),
      );
      return found.flat();
    };
    let missing: readonly string[] = [];
    await world.vigil.endures(
      'bad objects',
      async () => {
        for (const [, { objects }] of told) for (const object of objects) await world.create(object);
      },
      async () => (missing = await wrong()).length === 0,
      { missing: () => missing },
    );
  });

  test('Secrets, API tokens and tunnels: each class says what is wrong with its own', async () => {
    interface Credentials {
      readonly data: Readonly<Record<string, string>> | null;
      readonly tunnel?: Partial<TunnelSeed> | null;
      readonly condition: readonly [string, RegExp];
    }
    const base64 = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64');
    const cases: Readonly<Record<string, Credentials>> = {
      'no-secret': {
        data: null,
        condition: ['SecretsResolved', /^False SecretsMissing: Secret tenant\/no-secret .* does not exist: create it/],
      },
      'no-key': {
        data: { other: base64(world.secret('other key')) },
        condition: ['SecretsResolved', /^False SecretsMissing: Secret tenant\/no-key .* has no key api-token: put/],
      },
      'empty-key': {
        data: { 'api-token': '' },
        condition: ['SecretsResolved', /^False SecretsMissing: key api-token of Secret tenant\/empty-key .* is empty: put/],
      },
      'binary-key': {
        data: { 'api-token': base64(randomBytes(64)) },
        condition: ['SecretsResolved', /^False SecretsMissing: key api-token of Secret tenant\/binary-key .* is not base64 of a text/],
      },
      unknown: {
        data: { 'api-token': base64(world.secret('unknown token')) },
        condition: ['TunnelSynced', /^False ApiTokenInvalid: .*\(HTTP 401/],
      },
      powerless: {
        data: { 'api-token': base64(world.token({ permissions: [] })) },
        condition: ['TunnelSynced', /^False PermissionDenied: .*Account → Cloudflare Tunnel: Edit/],
      },
      'no-tunnel': {
        data: { 'api-token': base64(world.token()) },
        tunnel: null,
        condition: ['TunnelSynced', /^False TunnelNotFound: .*Check spec\.tunnelID/],
      },
      'local-tunnel': {
        data: { 'api-token': base64(world.token()) },
        tunnel: { configSrc: 'local' },
        condition: ['TunnelSynced', /^False TunnelLocallyManaged/],
      },
    };
    const config = (name: string, index: number): o.Fields =>
      o.classConfig(name, {
        tunnelID: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
        accountId: o.ACCOUNT_ID,
        cloudflareCredentialsSecretRef: { name, namespace: o.NAMESPACE },
      });
    const said = async ([name, { condition }]: readonly [string, Credentials], index: number): Promise<string> => {
      const text = textOf(await world.conditions(config(name, index)), condition[0]);
      return condition[1].test(text) ? '' : `${name}: ${text}`;
    };
    let missing: readonly string[] = [];
    await world.vigil.endures(
      'bad credentials',
      async () => {
        for (const [index, [name, { data, tunnel = {} }]] of Object.entries(cases).entries()) {
          const { tunnelID } = config(name, index)['spec'] as { readonly tunnelID: string };
          if (tunnel !== null) world.api.addTunnel(o.ACCOUNT_ID, { id: tunnelID, name, ...tunnel });
          if (data !== null) await world.create({ ...o.secret(name, {}), data });
          await world.create(config(name, index));
          await world.create(o.gatewayClass(name, name));
          await world.create(o.gateway(name, { gatewayClassName: name }));
        }
      },
      async () => (missing = (await Promise.all(Object.entries(cases).map(said))).filter((text) => text !== '')).length === 0,
      { missing: () => missing },
    );
  });

  test('with CRDs that check nothing, garbage is left out and everything else goes on', async () => {
    for (const plural of ['httproutes', 'gateways', 'gatewayclasses']) {
      const crd = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.gateway.networking.k8s.io`;
      const { body } = await world.cluster.request('GET', crd);
      const stored = body as { readonly spec: { readonly versions: readonly object[] } };
      const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
      const versions = stored.spec.versions.map((version) => ({ ...version, schema }));
      const { status, body: answer } = await world.cluster.request('PUT', crd, { body: { ...stored, spec: { ...stored.spec, versions } } });
      assert.equal(status, 200, JSON.stringify(answer));
    }
    const garbage: readonly (readonly [o.Fields, RegExp])[] = [
      [{ ...o.httpRoute('g-number', {}), spec: 5 }, /g-number.*spec must be an object/],
      [{ ...o.httpRoute('g-list', {}), spec: [] }, /g-list.*spec must be an object/],
      [o.httpRoute('g-rules', { rules: 'x' }), /g-rules.*spec\.rules must be a list/],
      [o.httpRoute('g-rule', { rules: [5] }), /g-rule.*spec\.rules\[0\] must be an object/],
      [o.httpRoute('g-hostnames', { hostnames: [1] }), /g-hostnames.*spec\.hostnames\[0\] must be a string/],
      [o.httpRoute('g-parents', { parentRefs: { name: 'good' } }), /g-parents.*spec\.parentRefs must be a list/],
      [o.gateway('g-tls', { tls: { frontend: { perPort: 5 } } }), /g-tls.*spec\.tls\.frontend\.perPort must be a list/],
      [o.gateway('g-listeners', { listeners: null }), /g-listeners.*spec\.listeners must be a list/],
      [{ ...o.gatewayClass('g-class', 'x'), spec: { controllerName: 7 } }, /g-class.*spec\.controllerName must be a string/],
    ];
    // As far as the shape goes these are routes, and the rest is for their statuses.
    const odd: readonly (readonly [o.Fields, RegExp])[] = [
      [
        o.httpRoute('odd-names', { hostnames: ['fine.example.com', 'a.*.com', 'ÄÖ', ''] }),
        /^False UnsupportedValue: spec\.hostnames: a\.\*\.com cannot be the host/,
      ],
      [
        o.httpRoute('odd-rules', { rules: [{ matches: [{ path: { type: 'Nonsense', value: '' } }], timeouts: { request: 'soon' } }] }),
        /^False UnsupportedValue: spec\.rules\[0\]\.matches\[0\]\.path\.type is Nonsense: use .*spec\.rules\[0\]\.timeouts\.request is soon, which is not a duration/,
      ],
    ];
    const beside = o.httpRoute('beside', { rules: [{ filters: [{ type: 'RequestRedirect', requestRedirect: { port: 81 } }] }] });
    const wrong = async (): Promise<readonly string[]> => [
      ...garbage.filter(([, said]) => !world.heard(said)).map(([, said]) => String(said)),
      ...(
        await Promise.all(
          [...odd, [beside, /^True/] as const].map(async ([object, expected]) => {
            const text = textOf(await world.conditions(object), 'Accepted');
            return expected.test(text) ? [] : [`${expected} is not "${text}"`];
          }),
        )
      ).flat(),
      // One that Cloudflare refuses would keep everybody's changes out of the tunnel.
      ...(JSON.stringify(world.api.document(o.TUNNEL_ID).config).includes('beside.example.com')
        ? []
        : ['the tunnel has no rule for beside.example.com']),
    ];
    let missing: readonly string[] = [];
    await world.vigil.endures(
      'garbage',
      async () => {
        // The API server takes a moment to believe in its new CRDs.
        await world.vigil.until('garbage is let in', async () => (await world.tryCreate(garbage[0]?.[0] ?? {})).status < 300);
        for (const [object] of garbage.slice(1)) await world.create(object);
        for (const [object] of odd) await world.create(object);
        await world.create(beside);
      },
      async () => (missing = await wrong()).length === 0,
      { missing: () => missing },
    );
  });

  test('both processes stay small and silent about secrets', async () => {
    world.vigil.check({ controller: 500, proxy: 300 });
    assert.deepEqual(world.secrets.secretsIn(await world.everythingSaid()), []);
  });
});
