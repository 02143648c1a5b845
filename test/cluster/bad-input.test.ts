// Bad input by way of a real API server: what it refuses is refused by the folder too, what it lets in ends in conditions, and with CRDs
// that check nothing the controller checks for itself.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { KindName } from '#controller/api/snapshot.ts';
import { kindRows } from '#controller/kube/kinds.ts';
import type { Case } from '#test/bad-input/case.ts';
import { freePorts, get } from '#test/bad-input/network.ts';
import * as o from '#test/bad-input/objects.ts';
import { Program } from '#test/bad-input/program.ts';
import { referenceCases } from '#test/bad-input/reference-cases.ts';
import { routeCases } from '#test/bad-input/route-cases.ts';
import { Secrets } from '#test/bad-input/secrets.ts';
import { conditionsOf, textOf, type Conditions, type Status } from '#test/bad-input/statuses.ts';
import { Vigil } from '#test/bad-input/vigil.ts';
import { startCloudflareApi, type CloudflareApiDouble, type TokenSeed } from '#test/cloudflare/api/server.ts';
import type { TunnelSeed } from '#test/cloudflare/api/state.ts';
import { clusterUnavailable, startControlPlane, type Cluster } from './control-plane.ts';

interface Stored {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion?: string };
  readonly status?: Status;
}

/** Served by the proxy itself: an API server takes no EndpointSlice with an address of this machine. */
const GOOD = o.httpRoute('good', {
  rules: [{ filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: 'elsewhere.example.com' } }] }],
});

class World {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-bad-input-'));
  readonly secrets = new Secrets();
  readonly cluster: Cluster;
  readonly api: CloudflareApiDouble;
  #programs: readonly Program[] = [];
  #entry = 0;
  #metrics = 0;
  vigil = new Vigil([]);

  private constructor(cluster: Cluster, api: CloudflareApiDouble) {
    this.cluster = cluster;
    this.api = api;
  }

  static async start(): Promise<World> {
    const world = new World(await startControlPlane(), await startCloudflareApi());
    await world.#start();
    return world;
  }

  async #start(): Promise<void> {
    const { api, cluster, secrets, folder } = this;
    api.addAccount({ id: o.ACCOUNT_ID, name: 'Bad input' });
    api.addTunnel(o.ACCOUNT_ID, { id: o.TUNNEL_ID, name: 'good' });
    secrets.addConnectorToken('connector token', api.connectorToken(o.TUNNEL_ID));
    const authToken = this.secret('auth token');
    await this.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: o.NAMESPACE } });
    const [config = 0, entry = 0, health = 0, metrics = 0] = await freePorts(4);
    [this.#entry, this.#metrics] = [entry, metrics];
    const proxy = new Program('proxy', [], {
      TUNNEL_TOKEN: api.connectorToken(o.TUNNEL_ID),
      PROXY_AUTH_TOKEN: authToken,
      PROXY_CONFIG_ADDR: `127.0.0.1:${config}`,
      PROXY_CONNECTOR: 'native',
      PROXY_EDGE: '127.0.0.1:1',
      PROXY_STATE_DIR: path.join(folder, 'proxy'),
      PROXY_GRACE_PERIOD: '1s',
    });
    const flags = [
      `--kubeconfig=${cluster.kubeconfig}`,
      `--proxy-endpoints=http://127.0.0.1:${config}/config`,
      `--cloudflare-api-url=${api.url}`,
      `--tunnel-entry-port=${entry}`,
      `--health-addr=127.0.0.1:${health}`,
      `--metrics-addr=127.0.0.1:${metrics}`,
    ];
    const controller = new Program('controller', flags, { CF_PROXY_AUTH_TOKEN: authToken });
    this.#programs = [proxy, controller];
    this.vigil = new Vigil(this.#programs);
    for (const object of o.good(this.token(), 1)) {
      const { kind, metadata } = object as unknown as Stored;
      if (kind !== 'EndpointSlice') await this.create(metadata.name === 'good' && kind === 'HTTPRoute' ? GOOD : object);
    }
    await this.vigil.until('the good route is served', async () => (await this.visit()).status === 302);
    this.vigil.watch('the good route', () => this.visit(), { status: 302, body: '' });
    this.vigil.watchHealth('controller', health);
    this.vigil.watchHealth('proxy', config);
  }

  visit(): Promise<{ readonly status: number; readonly body: string }> {
    return get(this.#entry, '/', { host: o.GOOD_HOST });
  }

  /** A random text that must not be seen. */
  secret(name: string): string {
    const text = randomBytes(30).toString('base64url');
    this.secrets.add(name, text);
    return text;
  }

  /** An API token that Cloudflare knows. */
  token(seed: Partial<TokenSeed> = {}): string {
    const value = this.secret('API token');
    this.api.addToken({ name: 'token', value, ...seed });
    return value;
  }

  /** Status and body of the answer of the API server. */
  async tryCreate(object: o.Fields): Promise<{ readonly status: number; readonly body: unknown }> {
    return this.cluster.request('POST', collection(object as unknown as Stored), { body: object });
  }

  async create(object: o.Fields): Promise<void> {
    const { status, body } = await this.tryCreate(object);
    assert.ok(status < 300, `${JSON.stringify(body)} for ${JSON.stringify(object).slice(0, 500)}`);
  }

  async conditions(object: o.Fields): Promise<Conditions> {
    const stored = object as unknown as Stored;
    const { body } = await this.cluster.request('GET', `${collection(stored)}/${stored.metadata.name}`);
    return conditionsOf((body as Stored).status ?? {});
  }

  /** What anybody who may read objects, events, logs and metrics can see. */
  async everythingSaid(): Promise<string> {
    const kinds = [...kindRows.values()]
      .filter(({ kind }) => kind !== 'Secret')
      .map(({ group, versions, plural }) => listPath(group, versions[0] ?? '', plural));
    const paths = [...kinds, listPath('events.k8s.io', 'v1', 'events'), listPath('coordination.k8s.io', 'v1', 'leases')];
    const lists = await Promise.all(paths.map(async (list) => JSON.stringify((await this.cluster.request('GET', list)).body)));
    return [...this.#programs.map(({ output }) => output), (await get(this.#metrics, '/metrics')).body, ...lists].join('\n');
  }

  heard(pattern: RegExp): boolean {
    return this.#programs.some(({ output }) => pattern.test(output));
  }

  async stop(): Promise<void> {
    await this.vigil.stop();
    await this.api.close();
    await this.cluster.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const listPath = (group: string, version: string, plural: string): string =>
  group === '' ? `/api/${version}/${plural}` : `/apis/${group}/${version}/${plural}`;

function collection({ kind, metadata }: Stored): string {
  const row = kindRows.get(kind as KindName);
  assert.ok(row, kind);
  const { group, versions, plural } = row;
  const version = versions[0] ?? '';
  const namespace = metadata.namespace === undefined ? '' : `namespaces/${metadata.namespace}/`;
  return listPath(group, version, `${namespace}${plural}`);
}

/** An API server refuses such endpoints itself, and takes a port of 0. */
const NOT_HERE = new Set(['endpoints-forbidden', 'endpoint-port']);

const allCases: readonly (readonly [string, Case])[] = Object.entries({ ...routeCases, ...referenceCases }).filter(
  ([name]) => !NOT_HERE.has(name),
);

suite('bad input on a cluster', { skip: clusterUnavailable() ?? false }, () => {
  let world: World;
  before(async () => {
    world = await World.start();
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
