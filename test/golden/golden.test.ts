// The whole pure pipeline: Kubernetes YAML in, statuses, tunnel documents and proxy configurations out. `UPDATE_GOLDEN=1` rewrites the
// outputs; read what changed before it is committed, because these files are what the controller promises.
import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { dump, loadAll } from 'js-yaml';
import type { KubeObject, Secret } from '#controller/api/core.ts';
import type { Facts } from '#controller/api/plan.ts';
import type { Settings } from '#controller/api/settings.ts';
import { buildGraph } from '#controller/graph/build.ts';
import { secretValue } from '#controller/graph/token.ts';
import { renderPlan } from '#controller/output/plan.ts';
import { allocatePorts } from '#controller/output/ports.ts';
import { itemSchema } from '#proxy/config/schema.ts';
import { compileTable } from '#proxy/table/compile.ts';
import { settings as defaults } from '#test/build/objects.ts';
import { happyFacts, readablePlan } from '#test/build/plan.ts';
import { snapshotOf } from '#test/build/snapshot.ts';

/** A first document without `kind` sets what differs from the ordinary. */
interface Frame {
  readonly settings?: Partial<Settings>;
  /** Addresses of the proxies. */
  readonly proxies?: readonly string[];
  readonly facts?: {
    readonly tunnels?: Readonly<Record<string, unknown>>;
    readonly planes?: Readonly<Record<string, unknown>>;
    readonly objects?: Readonly<Record<string, unknown>>;
  };
}

interface Golden {
  readonly frame: Frame;
  readonly objects: readonly KubeObject[];
}

function read(file: string): Golden {
  // A separator at the end of a file begins an empty document.
  const documents = loadAll(readFileSync(file, 'utf8')).filter((document) => document !== null) as readonly (KubeObject | Frame)[];
  const [first] = documents;
  const frame = first !== undefined && !('kind' in first) ? first : {};
  return { frame, objects: documents.filter((document): document is KubeObject => 'kind' in document) };
}

function factsOf(frame: Frame, graph: ReturnType<typeof buildGraph>): Facts {
  const { tunnels, planes, objects, provisions } = happyFacts(graph);
  return {
    tunnels: new Map([...tunnels, ...Object.entries(frame.facts?.tunnels ?? {})]) as Facts['tunnels'],
    planes: new Map([...planes, ...Object.entries(frame.facts?.planes ?? {})]) as Facts['planes'],
    objects: new Map([...objects, ...Object.entries(frame.facts?.objects ?? {})]) as Facts['objects'],
    provisions,
  };
}

/** Account ids are no secrets, although they may stand in one. */
const secretValues = (objects: readonly KubeObject[]): readonly string[] =>
  objects
    .filter((object): object is Secret => object.kind === 'Secret')
    .flatMap((secret) => Object.keys({ ...secret.data, ...secret.stringData }).filter((key) => key !== 'account-id').map((key) => secretValue(secret, key) ?? ''))
    .filter((value) => value.length > 8);

for (const file of globSync(join(import.meta.dirname, '*.in.yaml')).sort()) {
  test(basename(file, '.in.yaml'), () => {
    const { frame, objects } = read(file);
    const settings = defaults(frame.settings);
    const snapshot = snapshotOf(objects);
    const graph = buildGraph(snapshot, settings);
    const plan = renderPlan(graph, factsOf(frame, graph), snapshot, allocatePorts(graph, new Map()), frame.proxies);

    const items = plan.planes.flatMap((plane) => plane.items);
    for (const item of items) assert.deepEqual(itemSchema.parse(item), item);
    const table = compileTable({
      tunnels: items.filter((item) => item.kind === 'tunnel'),
      entries: items.filter((item) => item.kind === 'entry'),
      certificates: items.filter((item) => item.kind === 'certificate'),
      localEntries: items.filter((item) => item.kind === 'localEntry'),
      backends: items.filter((item) => item.kind === 'backend'),
      routes: items.filter((item) => item.kind === 'route'),
    });
    assert.deepEqual(table.problems, [], 'the proxy finds nothing that the controller has not found before');

    const text = dump(readablePlan(plan), { lineWidth: 140, noRefs: true });
    assert.doesNotMatch(text, /STALE/);
    for (const value of secretValues(objects)) assert.ok(!text.includes(value), 'a value of a Secret is in the output');

    const expected = file.replace('.in.yaml', '.out.yaml');
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(expected, text);
    assert.equal(text, readFileSync(expected, 'utf8'));
  });
}
