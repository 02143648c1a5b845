// Random damage to objects, the same in every run: what no table of examples thinks of.

/** Numbers from 0 up to 1, from a seed. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state % 1000003) / 1000003;
  };
}

const texts = [
  '',
  'a',
  'A',
  'a.b',
  '*.a',
  '/',
  '/a',
  'HTTP',
  'HTTPS',
  'TLS',
  'Exact',
  'PathPrefix',
  'RegularExpression',
  '10s',
  'ä',
  '\0',
  ' ',
];
const addresses = ['10.0.0.1', '::ffff:10.0.0.1', 'fe80::1%eth0'];
const scalars = ['x'.repeat(300), 0, 1, -1, 80, 65536, 2 ** 31, 2 ** 53, 1.5, 1e20, true, false, null];
const containers = [[], {}, [''], [null], [{}], { name: 'a' }, [{ name: 'a' }], [{ name: 'a', value: 'b' }]];
const values: readonly unknown[] = [...texts, ...addresses, ...scalars, ...containers];

const fields = ['name', 'namespace', 'port', 'type', 'weight', 'filters', 'hostname', 'matches', 'zzz', 'tls', 'kind', 'group'];

/** A copy of `object` with one field of its spec or metadata removed, repeated, added or replaced. */
export function mutate(object: object, random: () => number): Record<string, unknown> {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const copy = structuredClone(object) as Record<string, unknown>;
  const path = pick(pathsOf(copy).filter(([root, ...rest]) => root === 'spec' || (root === 'metadata' && rest.length > 0)));
  const parent = path.slice(0, -1).reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], copy) as Record<string, unknown>;
  const name = path.at(-1) ?? '';
  const old = parent[name];
  const dice = random();
  if (dice < 0.15) {
    if (Array.isArray(parent)) parent.splice(Number(name), 1);
    else delete parent[name];
  } else if (dice < 0.25 && Array.isArray(parent)) parent.push(structuredClone(parent[0]));
  else if (dice < 0.35 && path.length > 1 && !Array.isArray(parent)) parent[pick(fields)] = structuredClone(pick(values));
  else if (dice < 0.5 && typeof old === 'string')
    parent[name] = pick([`${old}x`, old.toUpperCase(), ` ${old}`, `${old}/`, old.slice(1), `${old}\n`]);
  else parent[name] = structuredClone(pick(values));
  return copy;
}

function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, child]) => [[name], ...pathsOf(child).map((rest) => [name, ...rest])]);
}
