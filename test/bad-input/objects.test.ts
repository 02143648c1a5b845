// Objects that are well-formed and nonsense: each is told by a problem or a condition that names object, field and fix, requests for it
// are answered, and the good route beside it goes on.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { repeat, type Case } from './case.ts';
import * as o from './objects.ts';
import { referenceCases } from './reference-cases.ts';
import { System } from './rig.ts';
import { routeCases } from './route-cases.ts';
import { textOf } from './statuses.ts';

let system: System;
before(async () => (system = await System.start()));
after(() => system?.stop());

const cases = { ...routeCases, ...referenceCases };

interface Identity {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** What is not as it should be yet. */
async function missing(name: string, { objects, problem, conditions = {}, answer }: Case): Promise<readonly string[]> {
  const wrong: string[] = [];
  const said = system.problems().filter(({ where }) => where.startsWith(`${name}.yaml:`));
  if (problem === undefined && said.length > 0) wrong.push(`refused: ${said[0]?.text}`);
  if (problem !== undefined && !said.some(({ text }) => problem.test(text) && /^[A-Z]\w+ tenant\//.test(text)))
    wrong.push(`${problem} is not in ${JSON.stringify(said)}`);
  const { kind, metadata } = objects.at(-1) as unknown as Identity;
  const found = system.conditions(kind, metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`);
  for (const [type, pattern] of Object.entries(conditions)) {
    const text = textOf(found, type);
    if (!pattern.test(text)) wrong.push(`${type} is "${text}", not ${pattern}`);
  }
  if (answer !== undefined && wrong.length === 0) {
    const { status, body } = await system.visit(`${name}.example.com`, '/x');
    if (status !== answer) wrong.push(`answer ${status} ${body.trim()}, not ${answer}`);
  }
  return wrong.map((text) => `${name}: ${text}`);
}

suite('bad objects', () => {
  test('are each told with object, field and fix, and answered', async () => {
    await system.endures(
      'bad objects',
      () => {
        for (const [name, { objects }] of Object.entries(cases)) system.write(`${name}.yaml`, o.yaml(...objects));
        system.write('zzz.yaml', o.yaml(o.rule('last', {})));
      },
      () => system.conditions('HTTPRoute', 'tenant/last')['Accepted'] !== undefined,
    );
    const wrong = (await Promise.all(Object.entries(cases).map(([name, one]) => missing(name, one)))).flat();
    assert.deepEqual(wrong, []);
  });

  test('expressions that are made to be slow do not hold up other requests', async () => {
    const slow = [
      ...repeat(20, () => system.visit('hostile.example.com', `/${'x'.repeat(60_000)}`)),
      ...repeat(20, () =>
        system.visit('sixteen-headers.example.com', '/', Object.fromEntries(repeat(16, (index) => [`h${index}`, 'ab'.repeat(3000)]))),
      ),
    ];
    await system.endures(
      'hostile expressions',
      () => {},
      async () => {
        const answers = await Promise.all(slow);
        return answers.every(({ status }) => [404, 431].includes(status));
      },
    );
  });

  test('leave both processes small and silent about secrets', () => system.checkEnd({ controller: 400, proxy: 250 }));
});
