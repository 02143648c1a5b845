// Merging statuses: everybody else's words stay, ours do not move without need, and nothing is written that is there already.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import type { Condition } from '#controller/api/core.ts';
import type { ListenerStatus } from '#controller/api/gateway.ts';
import type { DesiredStatus, StatusUpdate } from '#controller/api/plan.ts';
import { equalJson } from '#controller/output/equal.ts';
import { mergeStatus, type ObjectWithStatus } from '#controller/output/merge-status.ts';

const EARLIER = '2026-01-01T00:00:00Z';
const NOW = '2026-02-02T00:00:00Z';
const OURS = 'cf.k8s.lex.la/tunnel-controller';

const condition = (type: string, status: Condition['status'] = 'True', fields: Partial<Condition> = {}): Condition => ({
  type,
  status,
  reason: 'R',
  message: 'm',
  observedGeneration: 1,
  ...fields,
});
const stored = (type: string, status: Condition['status'] = 'True', fields: Partial<Condition> = {}): Condition =>
  condition(type, status, { lastTransitionTime: EARLIER, ...fields });

const object = (status?: unknown, generation = 1): ObjectWithStatus => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'n', namespace: 'a', uid: 'u', generation, resourceVersion: '1' },
  ...(status !== undefined && { status }),
});

const update = (desired: DesiredStatus, generation = 1): StatusUpdate => ({
  ref: { kind: 'HTTPRoute', namespace: 'a', name: 'n' },
  key: 'a/n',
  uid: 'u',
  generation,
  desired,
});

const conditions = (...list: readonly Condition[]) => ({
  form: 'conditions' as const,
  conditions: list,
  ownTypes: ['Accepted', 'Programmed'],
});
const merge = (status: unknown, desired: DesiredStatus, generation = 1) =>
  mergeStatus(object(status, generation), update(desired, generation), NOW)?.status;

suite('conditions', () => {
  test('the first status', () => {
    assert.deepEqual(merge(undefined, conditions(condition('Accepted'))), {
      conditions: [condition('Accepted', 'True', { lastTransitionTime: NOW })],
    });
  });

  test('the transition time moves with the status only', () => {
    const changed = merge(
      { conditions: [stored('Accepted'), stored('Programmed', 'False')] },
      conditions(condition('Accepted', 'True', { reason: 'New', message: 'new' }), condition('Programmed')),
    ) as { readonly conditions: readonly Condition[] };
    assert.deepEqual(changed.conditions, [
      stored('Accepted', 'True', { reason: 'New', message: 'new' }),
      condition('Programmed', 'True', { lastTransitionTime: NOW }),
    ]);
  });

  test('nothing is written when it is there already, whatever the order of fields', () => {
    const { type, ...rest } = stored('Accepted');
    assert.equal(mergeStatus(object({ conditions: [{ ...rest, type }] }), update(conditions(condition('Accepted'))), NOW), null);
  });

  test('foreign types stay as and where they are; ours that are no longer desired go', () => {
    const foreign = { ...stored('Other'), extra: { kept: true } };
    const result = merge(
      { conditions: [stored('Programmed'), foreign, stored('cf.k8s.lex.la/Old'), stored('Accepted')], supportedFeatures: ['x'] },
      conditions(condition('Accepted')),
    );
    assert.deepEqual(result, { conditions: [foreign, stored('Accepted')], supportedFeatures: ['x'] });
  });

  test('the generation that was looked at is filled in', () => {
    const bare: Condition = { type: 'Accepted', status: 'True', reason: 'R', message: 'm' };
    const result = merge(undefined, conditions(bare), 7) as { readonly conditions: readonly Condition[] };
    assert.equal(result.conditions[0]?.observedGeneration, 7);
  });

  test('a stored condition of ours about a newer generation makes the update void', () => {
    const newer = object({ conditions: [stored('Accepted', 'True', { observedGeneration: 5 })] }, 5);
    assert.equal(mergeStatus(newer, update(conditions(condition('Accepted', 'False')), 4), NOW), null);
    assert.notEqual(mergeStatus(newer, update(conditions(condition('Accepted', 'False')), 5), NOW), null);
  });

  test('but not a foreign one, nor one beyond the object itself', () => {
    for (const list of [[stored('Other', 'True', { observedGeneration: 5 })], [stored('Accepted', 'True', { observedGeneration: 999 })]]) {
      assert.notEqual(mergeStatus(object({ conditions: list }, 5), update(conditions(condition('Accepted', 'False')), 4), NOW), null);
    }
  });

  test('stays within the limits of the schema, at our cost', () => {
    const foreign = Array.from({ length: 7 }, (_, index) => stored(`Foreign${index}`));
    const long = condition('Accepted', 'True', { message: `${'x'.repeat(32_766)}😀😀` });
    const result = merge({ conditions: foreign }, conditions(long, condition('Programmed'))) as {
      readonly conditions: readonly Condition[];
    };
    assert.deepEqual(
      result.conditions.map(({ type }) => type),
      [...foreign.map(({ type }) => type), 'Accepted'],
    );
    assert.equal(result.conditions[7]?.message, `${'x'.repeat(32_766)}…`);
  });

  test('a status of any shape is survived', () => {
    for (const status of [
      null,
      5,
      'x',
      [],
      { conditions: 'x' },
      { conditions: [null, 5, {}, []] },
      { parents: [null, 5] },
      { listeners: [null] },
    ]) {
      assert.doesNotThrow(() => merge(status, conditions(condition('Accepted'))));
      assert.doesNotThrow(() => merge(status, parents(parent('g'))));
      assert.doesNotThrow(() => merge(status, gateway({})));
    }
  });
});

const parent = (name: string, fields: object = {}, list: readonly Condition[] = [condition('Accepted')]) => ({
  parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', name, ...fields },
  controllerName: OURS,
  conditions: list,
});
const parents = (...list: readonly ReturnType<typeof parent>[]) => ({ form: 'parents' as const, controllerName: OURS, parents: list });
const storedParent = (name: string, fields: object = {}) => parent(name, fields, [stored('Accepted')]);
const foreignParent = (name: string) => ({ ...storedParent(name), controllerName: 'other/controller' });

suite('parents', () => {
  test('ours come first; foreign ones stay verbatim', () => {
    const foreign = { ...foreignParent('x'), odd: 1 };
    const result = merge({ parents: [foreign] }, parents(parent('g')));
    assert.deepEqual(result, { parents: [parent('g', {}, [condition('Accepted', 'True', { lastTransitionTime: NOW })]), foreign] });
  });

  test('no entry moves: two controllers that each want to be first would fight for ever', () => {
    const before = { parents: [foreignParent('x'), storedParent('g'), foreignParent('y')] };
    assert.equal(merge(before, parents(parent('g'))), undefined);
    const result = merge(before, parents(parent('h'), parent('g'))) as {
      readonly parents: readonly { readonly parentRef: { readonly name: string } }[];
    };
    assert.deepEqual(
      result.parents.map((entry) => entry.parentRef.name),
      ['x', 'g', 'h', 'y'],
    );
  });

  test('a default spelled out is the same parent', () => {
    const result = merge({ parents: [storedParent('g')] }, parents(parent('g', { namespace: 'a' }))) as {
      readonly parents: readonly unknown[];
    };
    assert.deepEqual(result.parents, [storedParent('g', { namespace: 'a' })], 'the transition time stays');
    const bare = { ...parent('g'), parentRef: { name: 'g' } };
    assert.equal(merge({ parents: [storedParent('g')] }, { form: 'parents', controllerName: OURS, parents: [bare] }), undefined);
  });

  test('sections and ports tell parents apart', () => {
    const result = merge(
      { parents: [storedParent('g', { sectionName: 's' })] },
      parents(parent('g', { sectionName: 's' }), parent('g', { port: 80 })),
    );
    assert.equal((result as { readonly parents: readonly unknown[] }).parents.length, 2);
  });

  test('ours that are not desired go, with their stale conditions and duplicates', () => {
    const stale = parent('g', {}, [stored('Accepted'), stored('PartiallyInvalid')]);
    const result = merge({ parents: [stale, storedParent('g'), storedParent('gone'), foreignParent('x')] }, parents(parent('g')));
    assert.deepEqual(result, { parents: [storedParent('g'), foreignParent('x')] });
    assert.deepEqual(merge({ parents: [storedParent('g')] }, parents()), { parents: [] });
    assert.equal(merge(undefined, parents()), undefined, 'a route that is none of ours is not touched');
    assert.equal(merge({ parents: [foreignParent('x')] }, parents()), undefined);
  });

  test('never more than 32 together, and never at the cost of others', () => {
    const foreign = Array.from({ length: 30 }, (_, index) => foreignParent(`f${index}`));
    const result = merge({ parents: foreign }, parents(parent('a'), parent('b'), parent('c'))) as {
      readonly parents: readonly { readonly parentRef: { readonly name: string } }[];
    };
    assert.deepEqual(
      result.parents.map((entry) => entry.parentRef.name),
      ['a', 'b', ...foreign.map((entry) => entry.parentRef.name)],
    );
  });

  test('a newer generation in our entry makes the update void; one in a foreign entry does not', () => {
    const about = (controllerName: string) => ({
      parents: [{ ...parent('g', {}, [stored('Accepted', 'True', { observedGeneration: 3 })]), controllerName }],
    });
    assert.equal(mergeStatus(object(about(OURS), 3), update(parents(parent('g')), 2), NOW), null);
    assert.notEqual(mergeStatus(object(about('other/controller'), 3), update(parents(parent('g')), 2), NOW), null);
  });
});

const listener = (name: string, ...list: readonly Condition[]): ListenerStatus => ({
  name,
  attachedRoutes: 0,
  supportedKinds: [],
  conditions: list,
});
const gateway = (fields: Partial<Extract<DesiredStatus, { form: 'gateway' }>>) =>
  ({ form: 'gateway', conditions: [], ownTypes: ['Accepted', 'Programmed'], addresses: [], listeners: [], ...fields }) as const;

suite('gateways and their listeners', () => {
  test('the listeners are those desired, in that order, with the foreign conditions of those before', () => {
    const before = {
      listeners: [
        listener('gone', stored('Accepted')),
        listener('b', stored('Other'), stored('Conflicted'), stored('cf.k8s.lex.la/X'), stored('Accepted')),
      ],
      conditions: [],
    };
    const result = merge(before, gateway({ listeners: [listener('a', condition('Accepted')), listener('b', condition('Accepted'))] }));
    assert.deepEqual(result, {
      conditions: [],
      listeners: [
        listener('a', condition('Accepted', 'True', { lastTransitionTime: NOW })),
        listener('b', stored('Other'), stored('Accepted')),
      ],
    });
  });

  test('the default group of a supported kind is spelled out as the schema does', () => {
    const kinds = (kind: { readonly group?: string; readonly kind: string }): ListenerStatus => ({
      ...listener('a'),
      supportedKinds: [kind],
    });
    const full = { conditions: [], listeners: [kinds({ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute' })] };
    assert.equal(merge(full, gateway({ listeners: [kinds({ kind: 'HTTPRoute' })] })), undefined);
  });

  test('addresses are ours: set, replaced and taken away', () => {
    const addresses = [{ type: 'Hostname', value: 't.cfargotunnel.com' }];
    assert.deepEqual(merge({ conditions: [], listeners: [] }, gateway({ addresses })), { conditions: [], listeners: [], addresses });
    assert.deepEqual(merge({ conditions: [], listeners: [], addresses }, gateway({})), { conditions: [], listeners: [] });
    assert.equal(merge({ conditions: [], listeners: [], addresses }, gateway({ addresses })), undefined);
  });

  test('attachedListenerSets is written when known and otherwise left', () => {
    const before = { conditions: [], listeners: [], attachedListenerSets: 2 };
    assert.equal(merge(before, gateway({})), undefined);
    assert.deepEqual(merge(before, gateway({ attachedListenerSets: 0 })), { ...before, attachedListenerSets: 0 });
  });

  test('a newer generation on a listener makes the update void', () => {
    const newer = { listeners: [listener('a', stored('Accepted', 'True', { observedGeneration: 2 }))] };
    assert.equal(mergeStatus(object(newer, 2), update(gateway({ listeners: [listener('a')] }), 1), NOW), null);
  });
});

suite('for any status', () => {
  const anyCondition = fc.record({
    type: fc.constantFrom('Accepted', 'Programmed', 'Other', 'cf.k8s.lex.la/X'),
    status: fc.constantFrom('True', 'False', 'Unknown'),
    reason: fc.constantFrom('A', 'B'),
    message: fc.string({ maxLength: 3 }),
    observedGeneration: fc.nat(1),
    lastTransitionTime: fc.constant(EARLIER),
  });
  const anyConditions = fc.uniqueArray(anyCondition, { selector: (one) => one.type, maxLength: 4 });
  const anyParent = fc.record({
    parentRef: fc.record({ name: fc.constantFrom('g', 'h'), sectionName: fc.constantFrom('s', 't') }),
    controllerName: fc.constantFrom(OURS, 'other/a', 'other/b'),
    conditions: anyConditions,
  });
  const anyParents = fc.array(anyParent, { maxLength: 40 });

  test('a merged status is final: merging again writes nothing', () => {
    fc.assert(
      fc.property(anyParents, anyParents, (before, wanted) => {
        const desired = parents(...(wanted.filter((one) => one.controllerName === OURS) as unknown as ReturnType<typeof parent>[]));
        const first = mergeStatus(object({ parents: before }), update(desired), NOW);
        if (first === null) return;
        assert.equal(mergeStatus(object(first.status), update(desired), '2027-01-01T00:00:00Z'), null);
        const isForeign = (one: { readonly controllerName: string }): boolean => one.controllerName !== OURS;
        const after = (first.status as { readonly parents: readonly (typeof before)[number][] }).parents;
        assert.deepEqual(after.filter(isForeign), before.filter(isForeign));
      }),
    );
  });

  test('so it is for conditions', () => {
    fc.assert(
      fc.property(anyConditions, anyConditions, (before, wanted) => {
        const desired = conditions(...(wanted.filter((one) => one.type !== 'Other') as unknown as Condition[]));
        const first = mergeStatus(object({ conditions: before }), update(desired), NOW);
        if (first !== null) assert.equal(mergeStatus(object(first.status), update(desired), NOW), null);
      }),
    );
  });

  test('equality is that of JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        assert.equal(equalJson(a, structuredClone(a)), true);
        assert.equal(equalJson(a, b), equalJson(b, a));
      }),
    );
    assert.equal(equalJson({ a: 1, b: undefined }, { a: 1 }), true);
    assert.equal(equalJson({ a: 1 }, { a: 1, b: null }), false);
    assert.equal(equalJson([1, 2], [2, 1]), false);
    assert.equal(equalJson([], {}), false);
    assert.equal(equalJson({ toString: 1 }, {}), false);
  });
});
