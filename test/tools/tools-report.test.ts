// What `npm run tools` prints.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildSummary, listing, seconds } from '../../tools/tools-report.ts';

test('a listing has aligned columns: name, version, state, place', () => {
  const tools = [
    { name: 'etcd', version: 'v3.7.3', target: '/cache/etcd', built: true },
    { name: 'kube-apiserver', version: 'v1.36.3', target: '/cache/a', built: false },
  ];
  assert.equal(listing(tools), 'etcd            v3.7.3   built    /cache/etcd\nkube-apiserver  v1.36.3  missing');
});

test('durations are said in the words of their size', () => {
  assert.deepEqual([42, 9_400, 25_400, 59_600, 302_000].map(seconds), ['0.0 s', '9.4 s', '25 s', '1 min 00 s', '5 min 02 s']);
});

test('a program has a size, a folder none', () => {
  assert.equal(buildSummary({ size: 24_400_000, isFile: () => true }, 25_000), 'built in 25 s, 24 MB');
  assert.equal(buildSummary({ size: 4096, isFile: () => false }, 1_000), 'built in 1.0 s');
});
