// Statuses without a cluster: stories that are told once, files that are whole, and nothing left of what is gone.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { load } from 'js-yaml';
import type { Condition, KubeObject } from '#controller/api/core.ts';
import type { StatusUpdate } from '#controller/api/plan.ts';
import type { KindName } from '#controller/api/snapshot.ts';
import { FolderStatusSink } from '#controller/apply/status-folder.ts';
import { systemClock } from '#controller/kube/clock.ts';

const condition = (type: string, status: Condition['status'] = 'True', reason = type, message = 'fine'): Condition => ({
  type,
  status,
  reason,
  message,
  observedGeneration: 1,
});

const metadata = (name: string) => ({ name, namespace: 'default', uid: `uid-${name}`, generation: 1 });
const route = (name: string): KubeObject => ({ apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: metadata(name) });

const update = (name: string, ...conditions: readonly Condition[]): StatusUpdate => ({
  ref: { kind: 'HTTPRoute', namespace: 'default', name },
  key: `default/${name}`,
  uid: `uid-${name}`,
  generation: 1,
  desired: { form: 'parents', controllerName: 'c', parents: [{ parentRef: { name: 'tunnel' }, controllerName: 'c', conditions }] },
});

interface Rig {
  readonly sink: FolderStatusSink;
  readonly statusDir: string;
  readonly stories: string[];
  readonly objects: Map<string, KubeObject>;
  /** Milliseconds that the clock is ahead. */
  ahead: number;
  /** What the sink wants to do later. */
  retry: () => void;
  status(file: string): { readonly parents: readonly { readonly conditions: readonly Condition[] }[] };
}

function rig(context: TestContext, names: readonly string[], statusDir = mkdtempSync(path.join(os.tmpdir(), 'status-'))): Rig {
  context.after(() => rmSync(statusDir, { recursive: true, force: true }));
  const stories: string[] = [];
  const objects = new Map(names.map((name) => [`HTTPRoute default/${name}`, route(name)]));
  const say = (level: string) => (_fields: unknown, message: string) => void stories.push(`${level} ${message}`);
  const made: Rig = {
    statusDir,
    stories,
    objects,
    ahead: 0,
    retry: () => assert.fail('nothing is planned'),
    status: (file) => (load(readFileSync(path.join(statusDir, file), 'utf8')) as { status: never }).status,
    sink: new FolderStatusSink({
      statusDir,
      current: (kind: KindName, key: string) => objects.get(`${kind} ${key}`),
      log: { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') },
      clock: {
        ...systemClock,
        now: () => Date.UTC(2030, 0, 1) + made.ahead,
        after: (_ms, action) => {
          made.retry = action;
          return () => {};
        },
      },
    }),
  };
  context.after(() => made.sink.stop());
  return made;
}

test('a story is told when it changes, and only then', async (context) => {
  const { sink, stories } = rig(context, ['shop']);
  const good = update('shop', condition('Accepted'), condition('ResolvedRefs'), condition('PartiallyInvalid', 'False'));
  await sink.apply([good]);
  await sink.apply([good]);
  await sink.apply([update('shop', condition('Accepted'), condition('ResolvedRefs'))]);
  await sink.apply([
    update(
      'shop',
      condition('Accepted'),
      condition('ResolvedRefs', 'False', 'BackendNotFound', 'Service "x"\nis not there'),
      condition('cf.k8s.lex.la/RouteShadowed', 'True', 'HostnameMatchShadowed', 'by y'),
    ),
  ]);
  assert.deepEqual(stories, [
    'info HTTPRoute default/shop: Accepted, ResolvedRefs',
    'warn HTTPRoute default/shop: Accepted, ResolvedRefs=False (BackendNotFound: Service "x" is not there), RouteShadowed (HostnameMatchShadowed: by y)',
  ]);
});

test('stories of Gateways tell address and listeners, those of several parents each by its name', async (context) => {
  const { sink, stories, objects } = rig(context, ['shop', 'policy', 'left']);
  objects.set('Gateway default/tunnel', { ...route('tunnel'), kind: 'Gateway' });
  const conflicted = [condition('Conflicted', 'True', 'HostnameConflict', 'with b'), condition('Accepted')];
  await sink.apply([
    {
      ...update('tunnel'),
      ref: { kind: 'Gateway', namespace: 'default', name: 'tunnel' },
      desired: {
        form: 'gateway',
        conditions: [condition('Programmed', 'Unknown', 'Pending', 'waits')],
        ownTypes: ['Programmed'],
        addresses: [{ type: 'Hostname', value: 'id.cfargotunnel.com' }],
        listeners: [
          { name: 'a', attachedRoutes: 1, conditions: conflicted },
          { name: 'b', attachedRoutes: 0, conditions: [condition('Accepted')] },
        ],
      },
    },
    {
      ...update('shop'),
      desired: {
        form: 'parents',
        controllerName: 'c',
        parents: [
          { parentRef: { name: 'tunnel', sectionName: 'a' }, controllerName: 'c', conditions: [condition('Accepted')] },
          { parentRef: { name: 'x', namespace: 'infra', port: 80 }, controllerName: 'c', conditions: [condition('Accepted')] },
        ],
      },
    },
    {
      ...update('policy'),
      desired: {
        form: 'ancestors',
        controllerName: 'c',
        ownTypes: ['Accepted'],
        ancestors: [
          { ancestorRef: { name: 'tunnel', namespace: 'default' }, controllerName: 'c', conditions: [condition('Accepted')] },
          {
            ancestorRef: { name: 'x', namespace: 'infra' },
            controllerName: 'c',
            conditions: [condition('Accepted', 'False', 'Conflicted', 'with b')],
          },
        ],
      },
    },
    { ...update('left'), desired: { form: 'ancestors', controllerName: 'c', ownTypes: ['Accepted'], ancestors: [] } },
  ]);
  assert.deepEqual(stories, [
    'warn Gateway default/tunnel: Programmed=Unknown (Pending: waits); address id.cfargotunnel.com; listener a: 1 route, Conflicted (HostnameConflict: with b); listener b: 0 routes',
    'info HTTPRoute default/shop: Gateway default/tunnel/a: Accepted; Gateway infra/x:80: Accepted',
    'warn HTTPRoute default/policy: Gateway default/tunnel: Accepted; Gateway infra/x: Accepted=False (Conflicted: with b)',
    'info HTTPRoute default/left: no Gateway of this controller sends to what it targets',
  ]);
});

test('the file is the object with its status; a transition has its own time', async (context) => {
  const made = rig(context, ['shop']);
  await made.sink.apply([update('shop', condition('Accepted'), condition('ResolvedRefs'))]);
  made.ahead = 60_000;
  await made.sink.apply([update('shop', condition('Accepted'), condition('ResolvedRefs', 'False'))]);
  const text = readFileSync(path.join(made.statusDir, 'HTTPRoute/default/shop.yaml'), 'utf8');
  const { status, ...object } = load(text) as { status: unknown };
  assert.ok(status);
  assert.deepEqual(object, route('shop'));
  const times = made
    .status('HTTPRoute/default/shop.yaml')
    .parents[0]?.conditions.map(({ type, lastTransitionTime }) => [type, lastTransitionTime]);
  assert.deepEqual(times, [
    ['Accepted', '2030-01-01T00:00:00Z'],
    ['ResolvedRefs', '2030-01-01T00:01:00Z'],
  ]);
});

test('transition times outlive a restart, unless the object is another one', async (context) => {
  const first = rig(context, ['shop', 'other']);
  await first.sink.apply([update('shop', condition('Accepted')), update('other', condition('Accepted'))]);
  const second = rig(context, ['shop'], first.statusDir);
  second.ahead = 60_000;
  second.objects.set('HTTPRoute default/other', { ...route('other'), metadata: { ...metadata('other'), uid: 'new' } });
  await second.sink.apply([update('shop', condition('Accepted')), { ...update('other', condition('Accepted')), uid: 'new' }]);
  assert.equal(second.stories.length, 2, 'a new process tells the state of things');
  const time = (file: string) => second.status(file).parents[0]?.conditions[0]?.lastTransitionTime;
  assert.equal(time('HTTPRoute/default/shop.yaml'), '2030-01-01T00:00:00Z');
  assert.equal(time('HTTPRoute/default/other.yaml'), '2030-01-01T00:01:00Z');
});

test('files of what is gone are removed, also those of an earlier run; files of others stay', async (context) => {
  const first = rig(context, ['shop', 'old']);
  await first.sink.apply([update('shop', condition('Accepted')), update('old', condition('Accepted'))]);
  writeFileSync(path.join(first.statusDir, 'HTTPRoute/default/mine.yaml'), 'mine: true\n');
  mkdirSync(path.join(first.statusDir, 'notes'));
  writeFileSync(path.join(first.statusDir, 'notes/a.yaml'), readFileSync(path.join(first.statusDir, 'HTTPRoute/default/old.yaml')));
  const second = rig(context, ['shop'], first.statusDir);
  await second.sink.apply([update('shop', condition('Accepted'))]);
  const there = (file: string) => existsSync(path.join(first.statusDir, file));
  assert.deepEqual(
    ['shop', 'old', 'mine'].map((name) => there(`HTTPRoute/default/${name}.yaml`)),
    [true, false, true],
  );
  assert.ok(there('notes/a.yaml'));
  second.objects.clear();
  await second.sink.apply([]);
  assert.ok(!there('HTTPRoute/default/shop.yaml'));
  assert.equal(second.stories.at(-1), 'info HTTPRoute default/shop: is gone');
});

test('an update of an object that was replaced meanwhile is void', async (context) => {
  const made = rig(context, ['shop']);
  await made.sink.apply([{ ...update('shop', condition('Accepted')), uid: 'old' }]);
  assert.deepEqual(made.stories, []);
  assert.ok(!existsSync(path.join(made.statusDir, 'HTTPRoute')));
});

test('a folder that cannot be written is told once, and written when it can be', async (context) => {
  const made = rig(context, ['shop']);
  writeFileSync(path.join(made.statusDir, 'HTTPRoute'), 'in the way');
  await made.sink.apply([update('shop', condition('Accepted'))]);
  await made.sink.apply([update('shop', condition('Accepted'))]);
  assert.deepEqual(made.stories, ['info HTTPRoute default/shop: Accepted', 'warn statuses cannot be written to files; tried again']);
  rmSync(path.join(made.statusDir, 'HTTPRoute'));
  made.retry();
  await made.sink.stop();
  assert.ok(existsSync(path.join(made.statusDir, 'HTTPRoute/default/shop.yaml')));
  assert.equal(made.stories.at(-1), 'info statuses can be written to files again');
});

test('the longest names that objects may have are names of files, too', async (context) => {
  const names = ['a', 'b'].map((end) => `${'x'.repeat(252)}${end}`);
  const { sink, statusDir } = rig(context, [...names, 'other']);
  await sink.apply([...names, 'other'].map((name) => update(name, condition('Accepted'))));
  const files = readdirSync(path.join(statusDir, 'HTTPRoute', 'default'));
  assert.equal(files.length, 3);
  const stored = files.map((file) => load(readFileSync(path.join(statusDir, 'HTTPRoute', 'default', file), 'utf8')) as KubeObject);
  assert.deepEqual(stored.map((object) => object.metadata.name).sort(), ['other', ...names]);
});

test('a status that cannot be written does not hold up the others', async (context) => {
  const { sink, statusDir, status } = rig(context, ['first', 'second']);
  mkdirSync(path.join(statusDir, 'HTTPRoute', 'default', 'first.yaml'), { recursive: true });
  await sink.apply(['first', 'second'].map((name) => update(name, condition('Accepted'))));
  assert.equal(status('HTTPRoute/default/second.yaml').parents.length, 1);
});
