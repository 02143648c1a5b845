// What a person is told of two snapshots.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '#controller/api/core.ts';
import { changesBetween } from '#controller/watch/changes.ts';
import { Store } from '#controller/watch/store.ts';

const object = (name: string, version: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default', uid: name, resourceVersion: version },
});

test('added, changed and removed objects by kind and key; what is the same is not told', () => {
  const store = new Store();
  for (const name of ['same', 'other', 'gone']) store.put('Service', `default/${name}`, object(name, '1'));
  const before = store.snapshot();
  store.put('Service', 'default/same', object('same', '1'));
  store.put('Service', 'default/other', object('other', '2'));
  store.remove('Service', 'default/gone');
  store.put('HTTPRoute', 'default/new', object('new', '1'));
  assert.deepEqual(changesBetween(before, store.snapshot()), {
    added: ['HTTPRoute default/new'],
    changed: ['Service default/other'],
    removed: ['Service default/gone'],
  });
  assert.deepEqual(changesBetween(before, before), { added: [], changed: [], removed: [] });
});

test('of many only some are listed, and the rest counted', () => {
  const store = new Store();
  const before = store.snapshot();
  for (let index = 0; index < 250; index++) store.put('Service', `default/${index}`, object(String(index), '1'));
  const { added, unlisted } = changesBetween(before, store.snapshot());
  assert.equal(added.length, 100);
  assert.deepEqual(unlisted, { added: 150, changed: 0, removed: 0 });
});
