// Nanoseconds per routing decision against the size of the table: the curve must stay flat, on one host and on many.
//
// `node test/bench/table.ts` prints a row per shape of table; ratios are against the smallest table of the same shape.
import type { ProxyConfig, RuleConfig } from '#proxy/config/schema.ts';
import { compileSteps } from '#proxy/table/compile.ts';
import type { EntryTable, RequestKey } from '#proxy/table/types.ts';
import { config, entry, exact, listener, pattern, PORT, prefix, request, route, rule } from '#test/proxy/table/build.ts';

const SIZES = [10, 1000, 10_000];
/** Requests per round; each has strings of its own, as on the wire, so that no hash is cached from before. */
const REQUESTS = 20_000;
const ROUNDS = 7;

interface Shape {
  readonly title: string;
  readonly config: (size: number) => ProxyConfig;
  /** Host, path and headers of the request number `i` for a table of this size. */
  readonly key: (i: number, size: number) => { readonly host: string; readonly path: string; readonly headers?: readonly string[] };
}

/** Rules of one host in routes of 16, as the Gateway API limits them. */
function oneHost(size: number, ruleOf: (i: number) => RuleConfig): ProxyConfig {
  const routes = Array.from({ length: Math.ceil(size / 16) }, (_, r) =>
    route(`r${r}`, {
      hostnames: ['app.example.com'],
      rules: Array.from({ length: Math.min(16, size - r * 16) }, (_, i) => ruleOf(r * 16 + i)),
    }),
  );
  return config(routes, [entry(listener())]);
}

function manyHosts(size: number, hostname: (i: number) => string): ProxyConfig {
  return config(
    Array.from({ length: size }, (_, i) => route(`r${i}`, { hostnames: [hostname(i)], rules: [rule(prefix('/'))] })),
    [entry(listener())],
  );
}

const HOST = 'app.example.com';

const shapes: readonly Shape[] = [
  {
    title: 'one host, prefixes',
    config: (size) => oneHost(size, (i) => rule(prefix(`/api/v1/service-${i}`))),
    key: (i, size) => ({ host: HOST, path: `/api/v1/service-${i % size}/items/4711` }),
  },
  {
    title: 'one host, exact paths',
    config: (size) => oneHost(size, (i) => rule(exact(`/api/v1/service-${i}/items`))),
    key: (i, size) => ({ host: HOST, path: `/api/v1/service-${i % size}/items` }),
  },
  {
    title: 'one host, prefixes, nothing matches',
    config: (size) => oneHost(size, (i) => rule(prefix(`/api/v1/service-${i}`))),
    key: (i) => ({ host: HOST, path: `/assets/v1/${i}/none/of/these` }),
  },
  {
    title: 'one host, expressions with a prefix',
    config: (size) => oneHost(size, (i) => rule(pattern(`^/api/v1/service-${i}/items/[0-9]+$`))),
    key: (i, size) => ({ host: HOST, path: `/api/v1/service-${i % size}/items/4711` }),
  },
  {
    title: 'one host, one path, header values',
    config: (size) => oneHost(size, (i) => rule({ ...prefix('/'), headers: [{ name: 'X-Tenant', type: 'Exact', value: `t${i}` }] })),
    key: (i, size) => ({ host: HOST, path: '/items/4711', headers: ['x-tenant', `t${i % size}`] }),
  },
  {
    title: 'a host for each rule',
    config: (size) => manyHosts(size, (i) => `app-${i}.example.com`),
    key: (i, size) => ({ host: `app-${i % size}.example.com`, path: '/items/4711' }),
  },
  {
    title: 'a wildcard for each rule',
    config: (size) => manyHosts(size, (i) => `*.tenant-${i}.example.com`),
    key: (i, size) => ({ host: `app.tenant-${i % size}.example.com`, path: '/items/4711' }),
  },
];

const BROWSER_HEADERS = [
  'Host',
  'Connection',
  'User-Agent',
  'Accept',
  'Accept-Encoding',
  'Accept-Language',
  'Cookie',
  'CF-Ray',
  'CF-Visitor',
  'X-Forwarded-For',
];

/** A string that shares nothing with others of the same text. */
function fresh(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

function requests(shape: Shape, size: number): readonly RequestKey[] {
  return Array.from({ length: REQUESTS }, (_, i) => {
    const { host, path, headers = [] } = shape.key(i * 7919, size);
    const rawHeaders = [...BROWSER_HEADERS.flatMap((name) => [name, 'value']), ...headers].map(fresh);
    return request({ host: fresh(host), path: fresh(path), rawHeaders });
  });
}

/** Nanoseconds per decision: the best of several rounds, since everything that disturbs makes it slower. */
function measure(table: EntryTable, shape: Shape, size: number): number {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const keys = requests(shape, size);
    const start = process.hrtime.bigint();
    for (const key of keys) table.match(key);
    best = Math.min(best, Number(process.hrtime.bigint() - start) / keys.length);
  }
  return best;
}

/** The table, how long it took in all, and the longest stretch without a pause, in milliseconds. */
function compile(configuration: ProxyConfig): { readonly table: EntryTable; readonly total: number; readonly longest: number } {
  const steps = compileSteps(configuration);
  let total = 0;
  for (let longest = 0; ;) {
    const start = performance.now();
    const step = steps.next();
    const took = performance.now() - start;
    total += took;
    longest = Math.max(longest, took);
    const table = step.done === true ? step.value.entries.get(PORT) : undefined;
    if (table !== undefined) return { table, total, longest };
  }
}

/**
 * What any table pays: one look-up of a fresh string among as many, and reading what it leads to. It grows by cache misses alone, and tells
 * how much of the growth of the other rows is the machine's.
 */
function floor(size: number): number {
  const map = new Map(Array.from({ length: size }, (_, i) => [`app-${i}.example.com`, { value: { number: i } }]));
  let best = Infinity;
  let sum = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const keys = Array.from({ length: REQUESTS }, (_, i) => request({ host: fresh(`app-${(i * 7919) % size}.example.com`) }));
    const start = process.hrtime.bigint();
    for (const { host } of keys) sum += map.get(host)?.value.number ?? 0;
    best = Math.min(best, Number(process.hrtime.bigint() - start) / keys.length);
  }
  return sum < 0 ? 0 : best;
}

function print(title: string, ns: readonly number[], rest: string): void {
  const [smallest = 1] = ns;
  const ratios = ns.slice(1).map((one) => (one / smallest).toFixed(2));
  console.log(`${title.padEnd(38)}${ns.map((one) => one.toFixed(0).padStart(9)).join('')}   ${ratios.join('  ').padEnd(14)}${rest}`);
}

console.log(
  `${'ns per decision'.padEnd(38)}${SIZES.map((size) => String(size).padStart(9)).join('')}   ratios        compile ms (longest step)`,
);
print('(one look-up in a Map)', SIZES.map(floor), '');
for (const shape of shapes) {
  const results = SIZES.map((size) => {
    const compiled = compile(shape.config(size));
    return { ...compiled, ns: measure(compiled.table, shape, size) };
  });
  const last = results.at(-1);
  print(
    shape.title,
    results.map(({ ns }) => ns),
    `${last?.total.toFixed(0)} (${last?.longest.toFixed(1)})`,
  );
}
