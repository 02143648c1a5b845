// The catalogue of Go tools agrees with the locked modules, and what a tool is kept under changes with every input of its build.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { moduleVersion, recipe, requiredGo, toolEntry, toolNames } from '../../tools/tool-catalog.ts';
import { moduleFolder, toolRecipe } from '../../tools/tool-paths.ts';

const goMod =
  'module tools/etcd\n\ngo 1.26.0\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 v3.7.3 // indirect\n\tgo.etcd.io/etcd/api/v3 v3.7.0\n)\n';
const locked = { goMod, goSum: 'go.etcd.io/etcd/server/v3 v3.7.3 h1:x=\n' };
const read = (name: (typeof toolNames)[number], file: string): string => readFileSync(path.join(moduleFolder(name), file), 'utf8');

for (const name of toolNames) {
  test(`${name}: its module requires it, names it as a tool, and its checksums are locked`, () => {
    const entry = toolEntry(name);
    const text = read(name, 'go.mod');
    const version = moduleVersion(text, entry.versionOf);
    if (entry.package !== null) assert.ok(text.includes(entry.package), `no tool line for ${entry.package}`);
    assert.ok(read(name, 'go.sum').includes(`${entry.versionOf} ${version} h1:`), 'no checksum of its sources');
    assert.equal(toolRecipe(name).version, version);
  });
}

test('every staging module of Kubernetes is replaced by the one of the same release', () => {
  const text = read('kube-apiserver', 'go.mod');
  const [, minor, patch] = moduleVersion(text, 'k8s.io/kubernetes').split('.');
  const replaced = [...text.matchAll(/^\t(k8s\.io\/\S+) => (\S+) (\S+)$/gm)];
  assert.equal(replaced.length, 33);
  for (const [, from, to, version] of replaced) assert.deepEqual([to, version], [from, `v0.${minor}.${patch}`]);
});

test('the API server is told its version, major and minor, so that charts with a kubeVersion install', () => {
  const { ldflags } = recipe('kube-apiserver', { goMod: 'require k8s.io/kubernetes v1.36.3', goSum: '' }, 'linux-x64');
  const prefix = '-X k8s.io/component-base/version.git';
  assert.equal(ldflags, `-s -w ${prefix}Version=v1.36.3 ${prefix}Major=1 ${prefix}Minor=36`);
});

test('the same inputs give the same folder, any other input another', () => {
  const folder = (change: Partial<typeof locked> = {}, platform = 'linux-x64'): string =>
    recipe('etcd', { ...locked, ...change }, platform).folder;
  assert.match(folder(), /^etcd-v3\.7\.3-[0-9a-f]{12}$/);
  assert.equal(folder(), folder());
  const all = [folder(), folder({ goSum: '' }), folder({ goMod: goMod.replace('v3.7.0', 'v3.7.1') }), folder({}, 'linux-arm64')];
  assert.equal(new Set(all).size, all.length);
});

test('a version is read from a block, a single line, and never from a longer path', () => {
  assert.equal(moduleVersion(goMod, 'go.etcd.io/etcd/server/v3'), 'v3.7.3');
  assert.equal(moduleVersion('require example.org/a v1.2.3', 'example.org/a'), 'v1.2.3');
  assert.throws(() => moduleVersion(goMod, 'go.etcd.io/etcd'), /does not require go\.etcd\.io\/etcd/);
});

test('the Go line is read, and a file without one is refused', () => {
  assert.equal(requiredGo(goMod), '1.26.0');
  assert.throws(() => requiredGo('module x\n'), /no go line/);
});
