// A hostile tenant beside its victim, and a hostile parent above it, on one tunnel: whatever either writes, what the victim is told and what
// its visitors get stays the same. Asked of the compiled route table, because equal routes alone do not mean equal answers.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KubeObject } from '#controller/api/core.ts';
import { createGraphBuilder } from '#controller/graph/build.ts';
import { renderPlan, type Plan } from '#controller/output/plan.ts';
import { allocatePorts } from '#controller/output/ports.ts';
import { compileTable } from '#proxy/table/compile.ts';
import { endpointSlice, namespace, platform, service } from '#test/build/objects.ts';
import { happyFacts } from '#test/build/plan.ts';
import { snapshotOf, withObject } from '#test/build/snapshot.ts';
import { request } from '#test/proxy/table/build.ts';
import { attacksOf, LABEL, policed, rooms, type Attack, victims } from './attacks.ts';

/** Names that routes of the victim have. */
const HOSTS = ['app', 'grpc', 'own', 'own-http', 'x.wild', 'y.x.wild', 'on-set'].map((name) => `${name}.alpha.example.com`);
const PROBES = HOSTS.flatMap((host) =>
  (['http', 'https'] as const).flatMap((scheme) =>
    [0, 80, 443, 8080, 8443].flatMap((hostPort) =>
      ['/', '/api/x', '/.well-known/acme-challenge/abc'].map((path) => ({ host, scheme, hostPort, path })),
    ),
  ),
);

/** What visitors of the victim's names get, question by question. */
function answers({ planes }: Plan): Readonly<Record<string, string>> {
  const items = planes.flatMap((plane) => plane.items);
  const table = compileTable({
    tunnels: items.filter((item) => item.kind === 'tunnel'),
    entries: items.filter((item) => item.kind === 'entry'),
    certificates: [],
    localEntries: [],
    backends: items.filter((item) => item.kind === 'backend'),
    routes: items.filter((item) => item.kind === 'route'),
  });
  const [entry] = table.entries.values();
  return Object.fromEntries(
    PROBES.flatMap((probe) =>
      ['text/html', 'application/grpc'].map((type) => {
        const grpc = type === 'application/grpc';
        const arm = entry?.match(request({ ...probe, method: grpc ? 'POST' : 'GET', rawHeaders: ['content-type', type] }));
        const { scheme, host, hostPort, path } = probe;
        return [`${type} ${scheme}://${host}:${hostPort}${path}`, arm == null ? '404' : `${arm.rule.routeId} ${arm.rule.ruleIndex}`];
      }),
    ),
  );
}

/** Questions whose answer was lost, or comes from somebody else. That more of the victim's is found, on a port that is new, harms nobody. */
const harm = (before: Readonly<Record<string, string>>, after: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(before)
    .filter(([question, answer]) => after[question] !== answer && !(answer === '404' && after[question]?.includes('/alpha/') === true))
    .map(([question, answer]) => `${question}: ${answer}, now ${after[question]}`);

/** What the victim reads and what concerns it in every output. */
const concerns = (plan: Plan): unknown => ({
  statuses: plan.statuses.filter(({ ref }) => ref.namespace === 'alpha'),
  routes: plan.planes.flatMap(({ items }) => items.filter((item) => item.kind === 'route' && item.namespace === 'alpha')),
  backends: plan.planes.flatMap(({ items }) => items.filter((item) => item.kind === 'backend' && item.id.startsWith('Service/alpha/'))),
  rules: plan.tunnels.flatMap(({ rules }) => rules.filter(({ hostname }) => HOSTS.includes(hostname ?? ''))),
  last: plan.tunnels.map(({ last }) => last),
  events: plan.events.filter(({ ref }) => ref.namespace === 'alpha'),
});

function planner(): (snapshot: ReturnType<typeof snapshotOf>) => Plan {
  const build = createGraphBuilder();
  return (snapshot) => {
    const graph = build(snapshot, policed);
    return renderPlan(graph, happyFacts(graph), snapshot, allocatePorts(graph, new Map()));
  };
}

const world: readonly KubeObject[] = [
  ...platform(),
  ...rooms,
  namespace('beta', { [LABEL]: 'beta.example.com' }),
  ...['alpha', 'beta', 'parent'].flatMap((tenant) => [
    service({ namespace: tenant }),
    endpointSlice(['10.0.0.1'], { service: 'app', namespace: tenant }),
  ]),
  ...victims,
];

test('the victim is served, so that there is something to lose', () => {
  const plan = planner()(snapshotOf(world));
  const served = answers(plan);
  assert.equal(served['text/html https://app.alpha.example.com:0/'], 'HTTPRoute/alpha/app 0');
  assert.equal(served['text/html http://app.alpha.example.com:0/'], 'HTTPRoute/alpha/app 0');
  assert.equal(served['text/html http://own-http.alpha.example.com:80/'], 'HTTPRoute/alpha/own-http 0');
  assert.equal(served['text/html https://y.x.wild.alpha.example.com:0/'], 'HTTPRoute/alpha/wild 0');
  assert.equal(served['application/grpc https://grpc.alpha.example.com:0/api/x'], 'GRPCRoute/alpha/grpc 0');
  assert.equal(served['text/html https://on-set.alpha.example.com:0/'], 'HTTPRoute/alpha/on-set 0');
});

for (const [who, domain] of [
  ['beta', 'beta.example.com'],
  ['parent', 'example.com'],
] as const) {
  suite(`${who}, who owns ${domain}, attacks by`, () => {
    for (const [title, attack] of Object.entries<Attack>(attacksOf(who))) {
      test(title, () => {
        const plan = planner();
        const before = snapshotOf(world);
        const quiet = plan(before);
        let after = before;
        for (const object of attack) after = withObject(after, object);
        const attacked = plan(after);
        assert.deepEqual(concerns(attacked), concerns(quiet));
        assert.deepEqual(harm(answers(quiet), answers(attacked)), []);
        assert.notDeepEqual(attacked.statuses, quiet.statuses, 'the attack is told of to whoever made it');
      });
    }
  });
}
