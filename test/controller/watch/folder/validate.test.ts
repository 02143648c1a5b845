// The same table of objects that the real API server judges in test/cluster, judged without one.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { decodeDocument } from '#controller/watch/folder/decode.ts';
import { formatPath } from '#controller/watch/folder/finding.ts';
import { validate, type Verdict } from '#controller/watch/folder/validate.ts';
import { vectors } from '#test/crds/vectors.ts';

function judge(yaml: string): Verdict {
  const decoded = decodeDocument(yaml);
  assert.ok('value' in decoded, JSON.stringify(decoded));
  return validate(decoded.value);
}

const complaints = (yaml: string): readonly string[] => {
  const verdict = judge(yaml);
  return verdict.outcome === 'refused' ? verdict.findings.map(({ path, message }) => `${formatPath(path)}: ${message}`) : [];
};

suite('objects', () => {
  for (const { name, yaml, wrong } of vectors) {
    test(name, () => {
      const found = complaints(yaml);
      if (wrong === undefined) assert.deepEqual(found, []);
      else
        assert.ok(
          found.some((text) => text.includes(wrong)),
          `expected ${wrong} in ${JSON.stringify(found)}`,
        );
    });
  }
});

const route = (rest: string): string => `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: shop}, ${rest}}`;

test('messages name the field, the mistake and the way out', () => {
  const cases: readonly (readonly [string, ...string[]])[] = [
    [route('spec: {rules: [{backendRef: []}]}'), 'spec.rules[0].backendRef: unknown field; did you mean "backendRefs"?'],
    [route('spec: {hostname: [a.b]}'), 'spec.hostname: unknown field; did you mean "hostnames"?'],
    [
      route('spec: {rules: [{matches: [{path: {type: pathprefix}}]}]}'),
      'spec.rules[0].matches[0].path.type: must be one of "Exact", "PathPrefix", "RegularExpression", not "pathprefix"; did you mean "PathPrefix"?',
    ],
    [
      route('spec: {rules: [{matches: [{headers: [{name: a, value: 1}]}]}]}'),
      'spec.rules[0].matches[0].headers[0].value: must be text, is a number (put it in quotes)',
    ],
    [
      route('spec: {rules: [{matches: [{headers: [{name: on, value: "1"}]}]}]}'),
      'spec.rules[0].matches[0].headers[0].name: must be text, is true or false (put it in quotes)',
    ],
    [
      route('spec: {hostnames: ["Shop.example.com"], rules: [{timeouts: {request: 1.5s}}]}'),
      'spec.hostnames[0]: must be a host name in lower case, without port; only its first part may be *, not "Shop.example.com"',
      'spec.rules[0].timeouts.request: must be a duration of whole numbers such as 10s, 1500ms or 1m30s, not "1.5s"',
    ],
    [route('spec: {rules: {a: b}}'), 'spec.rules: must be a list, is an object'],
    [
      '{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: a}, spec: {gatewayClassName: a, listeners: [{name: a, port: 80, protocol: HTTP}], addresses: [{value: 999.1.1.1}]}}',
      'spec.addresses[0].value: must be an IPv4 address, not "999.1.1.1"',
      'spec.addresses[0].value: must be an IPv6 address, not "999.1.1.1"',
    ],
    [route('spec: {parentRefs: [{}]}'), 'spec.parentRefs[0].name: is required'],
    [
      '{apiVersion: gateway.networking.k8s.io/v1, kind: BackendTLSPolicy, metadata: {name: a}, spec: {targetRefs: [{group: "", kind: Service, name: a}], validation: {hostname: b}}}',
      'spec.validation: must specify either CACertificateRefs or WellKnownCACertificates',
    ],
    [route('sepc: {}, spec: {}'), 'sepc: unknown field; did you mean "spec"?'],
    ['{apiVersion: gateway.networking.k8s.io/v1, kind: HttpRoute, metadata: {name: a}}', 'kind: unknown kind; did you mean "HTTPRoute"?'],
    [
      '{apiVersion: gateway.networking.k8s.io/v1alpha2, kind: HTTPRoute, metadata: {name: a}}',
      'apiVersion: HTTPRoute has no version "v1alpha2" here; write gateway.networking.k8s.io/v1',
    ],
    [
      '{apiVersion: gateway.networking.k8s.oi/v1, kind: HTTPRoute, metadata: {name: a}}',
      'apiVersion: unknown group; did you mean "gateway.networking.k8s.io/v1"?',
    ],
    ['{kind: HTTPRoute}', 'apiVersion: is required'],
    ['[1, 2]', ': a document must be an object with apiVersion, kind and metadata'],
    [
      '{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: a, namespace: b}, spec: {controllerName: a.b/c}}',
      'metadata.namespace: a GatewayClass belongs to no namespace; remove it',
    ],
  ];
  for (const [yaml, ...messages] of cases) assert.deepEqual(complaints(yaml), messages);
});

test('objects of others are ignored by name', () => {
  for (const what of ['Deployment (apps/v1)', 'Gateway (networking.istio.io/v1)', 'TCPRoute (gateway.networking.k8s.io/v1)', 'Pod (v1)']) {
    const [, kind, apiVersion] = /^(\w+) \((.*)\)$/.exec(what) ?? [];
    assert.deepEqual(judge(`{apiVersion: ${apiVersion}, kind: ${kind}}`), { outcome: 'ignored', what });
  }
});

test('an export of a cluster is taken: status and what the server wrote are left out', () => {
  const verdict = judge(
    '{apiVersion: gateway.networking.k8s.io/v1beta1, kind: Gateway, status: {zzz: 1}, spec: {gatewayClassName: c, listeners: [{name: a, port: 80, protocol: HTTP}]}, ' +
      'metadata: {name: a, namespace: b, uid: u, resourceVersion: "5", generation: 7, creationTimestamp: "2026-01-01T00:00:00Z", managedFields: [], finalizers: [x/y]}}',
  );
  assert.ok(verdict.outcome === 'object');
  assert.deepEqual(verdict.object, {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'a', namespace: 'b', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: {
      gatewayClassName: 'c',
      listeners: [{ name: 'a', port: 80, protocol: 'HTTP', allowedRoutes: { namespaces: { from: 'Same' } } }],
    },
  });
});

test('a Secret has its plain texts encoded, and its values stand in no message', () => {
  const good = judge('{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {x: YQ==, z: YQ==}, stringData: {z: "b\\nc"}}');
  assert.ok(good.outcome === 'object');
  assert.deepEqual(good.object, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'a', namespace: 'default' },
    type: 'Opaque',
    data: { x: 'YQ==', z: Buffer.from('b\nc').toString('base64') },
  });
  for (const wrong of [
    'data: {x: hunter2}',
    'stringData: hunter2',
    'stringData: [hunter2]',
    'data: {x: {hunter2: 1}}',
    'type: [hunter2]',
    'immutable: hunter2',
  ]) {
    const found = complaints(`{apiVersion: v1, kind: Secret, metadata: {name: a}, ${wrong}}`);
    assert.equal(found.length, 1, wrong);
    assert.doesNotMatch(found.join(), /hunter2/);
  }
});

test('hostile objects end in a bounded number of findings', () => {
  const many = Array.from({ length: 100_000 }, (_, index) => index);
  const unknown = judge(route(`spec: {${many.map((index) => `f${index}: 1`).join(', ')}}`));
  assert.ok(unknown.outcome === 'refused' && unknown.findings.length === 10 && unknown.more === 99_990);
  const list = judge(route(`spec: {rules: [${many.join(',')}]}`));
  assert.ok(list.outcome === 'refused');
  assert.deepEqual(
    list.findings.map(({ message }) => message),
    ['has 100000 items, at most 16 are allowed'],
  );
  const long = judge(route(`spec: {hostnames: ["${'a-'.repeat(500_000)}"]}`));
  assert.ok(long.outcome === 'refused');
  assert.ok(JSON.stringify(long.findings).length < 1000);
});
