// Random values out of the structural schemas of the kinds: every field that the API server takes, filled so that objects meet each other. CEL
// rules are not obeyed: what they forbid reaches us when they are missing.
import fc from 'fast-check';
import { RE2JS } from 're2js';
import type { StructuralSchema } from '#controller/api/structural.ts';

export const NAMESPACES = ['infra', 'alpha', 'beta'] as const;
const NAMES = ['one', 'two', 'tunnel'] as const;

const likely = (...texts: readonly string[]): readonly string[] =>
  texts.flatMap((text, index) => (index === 0 ? [text, text, text, text] : [text]));

/** By the name of the field, so that references often lead somewhere. */
const POOLS: Readonly<Record<string, readonly string[]>> = {
  name: [...NAMES, 'http', 'https', 'app', 'X-Header', 'content-type'],
  namespace: NAMESPACES,
  sectionName: ['http', 'https', 'none'],
  gatewayClassName: ['cloudflare-tunnel', 'cloudflare-tunnel', 'other'],
  hostname: ['a.alpha.example.com', '*.alpha.example.com', '*.example.com', 'beta.example.com', 'x.test', '1.2.3.4'],
  hostnames: ['a.alpha.example.com', '*.alpha.example.com', '*.example.com', 'beta.example.com', 'x.test', '*.1.2'],
  group: ['gateway.networking.k8s.io', '', 'cf.k8s.lex.la', 'core', 'example.com'],
  kind: ['Gateway', 'ListenerSet', 'Service', 'HTTPRoute', 'GRPCRoute', 'Secret', 'ConfigMap', 'ExternalBackend', 'GatewayConfig', 'Thing'],
  protocol: [...likely('HTTPS', 'HTTP'), 'TLS', 'TCP', 'UDP', 'example.com/own'],
  from: ['All', 'Same', 'Selector', 'None'],
  operator: ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt'],
  type: ['Exact', 'PathPrefix', 'RegularExpression', 'RequestHeaderModifier', 'IPAddress', 'Hostname'],
  value: ['/', '/api', '/a/../b', '(', '[a-z]+', '10.0.0.1', 'text'],
  scheme: ['http', 'https', 'ftp'],
  appProtocol: ['http', 'https', 'kubernetes.io/h2c', 'other'],
  service: ['pkg.Service', 'Other'],
  addresses: ['10.0.0.1', '127.0.0.1', '169.254.169.254', 'fd00::1', 'name.example', ''],
  externalName: ['metadata.internal'],
};
const GATEWAY = 'gateway.networking.k8s.io';

/** The same below these fields: most references lead to something that can be what is asked for. */
const BELOW: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  parentRefs: {
    name: likely('tunnel', 'one', 'two'),
    namespace: likely('infra', 'alpha', 'beta'),
    group: likely(GATEWAY, ''),
    kind: likely('Gateway', 'ListenerSet', 'Service'),
    sectionName: ['https', 'http', 'none'],
  },
  parentRef: { name: likely('tunnel', 'one'), namespace: likely('infra', 'alpha'), group: [GATEWAY], kind: ['Gateway'] },
  backendRefs: {
    name: likely('app', 'one', 'none'),
    group: likely('', 'cf.k8s.lex.la'),
    kind: likely('Service', 'ExternalBackend', 'Thing'),
  },
  certificateRefs: { group: likely('', 'example.com'), kind: likely('Secret', 'ConfigMap') },
  matches: { type: ['Exact', 'PathPrefix', 'RegularExpression'], value: ['/', '/api', '/.well-known/acme-challenge/x', '(', 'v'] },
  addresses: { type: likely('Hostname', 'IPAddress'), value: ['', '10.0.0.1', 'x.test'] },
};
/** Without them an object means little. */
const ALWAYS: ReadonlySet<string> = new Set(['spec', 'parentRefs', 'rules', 'backendRefs', 'listeners', 'port']);
const RARE: ReadonlySet<string> = new Set(['infrastructure', 'addresses', 'tls', 'sectionName', 'port']);

const ANYTHING = [
  '',
  '/',
  'a',
  'one',
  'A b',
  '5s',
  '10m',
  '0',
  '*',
  '__proto__',
  'constructor',
  'é',
  'x'.repeat(300),
  '11111111-2222-3333-4444-555555555555',
];
const NUMBERS = [-1, 0, 1, 80, 443, 8080, 8443, 301, 302, 65_535, 65_536, 2 ** 31];

const MOST_OPTIONAL = 5;
const MOST_ITEMS = 3;

type Pools = Readonly<Record<string, readonly string[]>>;

export function fromSchema(schema: StructuralSchema, field = '', outer: Pools = POOLS): fc.Arbitrary<unknown> {
  const pools = BELOW[field] === undefined ? outer : { ...outer, ...BELOW[field] };
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema['x-kubernetes-int-or-string'] === true) return fc.constantFrom<unknown>(80, 8080, 'http');
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return numbers(schema);
    case 'string':
      return strings(schema, pools[field] ?? []);
    case 'array':
      return fc.array(fromSchema(schema.items ?? { type: 'string' }, field, pools), {
        minLength: Math.max(schema.minItems ?? 0, ALWAYS.has(field) ? 1 : 0),
        maxLength: Math.max(schema.minItems ?? 1, Math.min(schema.maxItems ?? MOST_ITEMS, MOST_ITEMS)),
      });
    default:
      return objects(schema, field, pools);
  }
}

function numbers({ minimum = -Infinity, maximum = Infinity }: StructuralSchema): fc.Arbitrary<number> {
  const fitting = NUMBERS.filter((number) => number >= minimum && number <= maximum);
  return fc.constantFrom(...(fitting.length > 0 ? fitting : [Number.isFinite(minimum) ? minimum : maximum]));
}

function strings({ pattern, minLength = 0, maxLength = Infinity }: StructuralSchema, pool: readonly string[]): fc.Arbitrary<string> {
  const matcher = pattern === undefined ? null : RE2JS.compile(pattern);
  const fits = (text: string): boolean => text.length >= minLength && text.length <= maxLength && (matcher?.matcher(text).find() ?? true);
  const own = pool.filter(fits);
  const others = [...ANYTHING, ...Object.values(POOLS).flat()].filter(fits);
  if (own.length > 0 && others.length > 0) {
    return fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...own) }, { weight: 1, arbitrary: fc.constantFrom(...others) });
  }
  if (others.length > 0) return fc.constantFrom(...others);
  return fc.stringMatching(new RegExp(pattern ?? '', 'u'), { size: 'small' });
}

function objects(
  { properties, additionalProperties, required = [] }: StructuralSchema,
  field: string,
  pools: Pools,
): fc.Arbitrary<unknown> {
  if (properties === undefined) {
    const value =
      typeof additionalProperties === 'object' ? fromSchema(additionalProperties, 'value', pools) : fc.constantFrom('yes', 'true');
    return fc.dictionary(fc.constantFrom('system', 'tls.crt', 'ca.crt', 'example.com/domain', '__proto__'), value, { maxKeys: 2 });
  }
  const fields = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, fromSchema(schema, name, pools)]));
  const always = [...new Set([...required, ...Object.keys(fields).filter((name) => ALWAYS.has(name) && field !== 'parentRefs')])];
  const optional = Object.keys(fields).filter((name) => !always.includes(name));
  return fc.subarray(optional, { maxLength: Math.min(MOST_OPTIONAL, optional.length) }).chain((some) => {
    const chosen = some.filter((name, index) => !RARE.has(name) || index === 0);
    return fc.record(Object.fromEntries([...always, ...chosen].map((name) => [name, fields[name] ?? fc.constant(null)])));
  });
}
