// `npm run tools` as a user meets it, with a stand-in for Go: what it builds, says, keeps, and how it fails.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { toolNames } from '../../tools/tool-paths.ts';
import { until } from '../cluster/until.ts';
import { runningWith } from './processes.ts';

const entry = path.join(import.meta.dirname, '..', '..', 'tools', 'tools.ts');

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

class Sandbox {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'cftunnel-tools-test-'));
  readonly cache = path.join(this.folder, 'cache');
  readonly bin = path.join(this.folder, 'bin');
  /** Empty: a machine without Go. */
  searchPath = this.bin;

  constructor(t: TestContext) {
    mkdirSync(this.bin);
    t.after(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  /** Puts a `go` in PATH that answers `go env` and runs `build` with Go's command as $command, the output's name as $output and the package as $package. */
  withGo(build: string, version = 'go1.26.8'): this {
    const script = `#!/bin/sh
if [ "$1" = env ]; then echo ${version}; exit; fi
command="$1 $2"
while [ "$1" != -o ]; do shift; done
output=$2 package=$3
${build}
`;
    writeFileSync(path.join(this.bin, 'go'), script);
    chmodSync(path.join(this.bin, 'go'), 0o755);
    this.searchPath = `${this.bin}${path.delimiter}/usr/bin${path.delimiter}/bin`;
    return this;
  }

  start(...args: readonly string[]) {
    const env = { PATH: this.searchPath, HOME: this.folder, CFTUNNEL_TOOLS: this.cache };
    return spawn(process.execPath, [entry, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  async run(...args: readonly string[]): Promise<Run> {
    const child = this.start(...args);
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { code: code as number | null, stdout, stderr };
  }
}

test('--list names every tool as missing where nothing is built, and needs no Go', async (t) => {
  const { code, stdout } = await new Sandbox(t).run('--list');
  const lines = stdout.trimEnd().split('\n');
  assert.equal(code, 0);
  assert.deepEqual(
    lines.map((line) => line.split(/\s+/)[0]),
    toolNames,
  );
  assert.ok(lines.every((line) => /v\d+\.\d+\.\d+\s+missing$/.test(line)));
});

test('an unknown name or option is refused with the names there are', async (t) => {
  const sandbox = new Sandbox(t);
  const [name, option] = await Promise.all([sandbox.run('etcd', 'kubelet'), sandbox.run('--fast')]);
  assert.equal(name.code, 2);
  assert.match(name.stderr, /no such tool: kubelet\n[^]*names: .*etcd/);
  assert.equal(option.code, 2);
  assert.match(option.stderr, /--fast/);
});

test('without Go, or with one that is too old, it says what is missing and how to get it', async (t) => {
  const absent = await new Sandbox(t).run('etcd', 'helm');
  assert.equal(absent.code, 1);
  assert.match(absent.stderr, /Cannot build etcd, helm: the Go toolchain is missing: install Go 1\.26\.\d+ or newer/);
  const old = await new Sandbox(t).withGo('exit 1', 'go1.19.8').run('etcd');
  assert.equal(old.code, 1);
  assert.match(old.stderr, /go1\.19\.8 is too old: install Go 1\.26/);
});

test('builds what is asked for, once', async (t) => {
  const sandbox = new Sandbox(t).withGo('echo "built from $package" > "$output"');
  const first = await sandbox.run('kubectl', 'etcd');
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /0 of 2 tools are built[^]*\[1\/2\] etcd v3[^]*\[2\/2\] kubectl v1[^]*All built\./);
  const folders = readdirSync(sandbox.cache);
  assert.equal(folders.length, 2);
  const kubectl = folders.find((folder) => folder.startsWith('kubectl-')) ?? '';
  assert.equal(readFileSync(path.join(sandbox.cache, kubectl, 'kubectl'), 'utf8'), 'built from k8s.io/kubernetes/cmd/kubectl\n');

  const second = await sandbox.withGo('echo must not be called >&2; exit 1').run('kubectl', 'etcd');
  assert.equal(second.code, 0);
  assert.match(second.stdout, /^2 of 2 tools are built/);
  const list = await sandbox.run('--list', 'kubectl', 'helm');
  assert.match(list.stdout, /kubectl +v\S+ +built +\S+\/kubectl\nhelm +v\S+ +missing\n/);
});

test('the conformance suite is the compiled tests of its package', async (t) => {
  const sandbox = new Sandbox(t).withGo('echo "$command $package" > "$output"');
  assert.equal((await sandbox.run('conformance-suite')).code, 0);
  const [folder = ''] = readdirSync(sandbox.cache);
  const made = readFileSync(path.join(sandbox.cache, folder, 'conformance-suite'), 'utf8');
  assert.equal(made, 'test -c sigs.k8s.io/gateway-api/conformance\n');
});

test('a failed build shows the end of its output and does not stop the others', async (t) => {
  const build = `
case $package in
  *etcd*) echo errors; echo "go: downloading example.org/x v1.0.0"; echo "x.go:1:2: undefined: y" >&2; echo part > "$output"; exit 1;;
  *) echo ok > "$output";;
esac`;
  const { code, stdout, stderr } = await new Sandbox(t).withGo(build).run('etcd', 'kubectl');
  assert.equal(code, 1);
  assert.match(stderr, /FAILED: go build ended with exit code 1:\nx\.go:1:2: undefined: y\nNot built: etcd\. The others are there\.\n/);
  assert.match(stdout, /\[2\/2\] kubectl v[^]*built in/);
});

test('a failed build leaves nothing in the cache', async (t) => {
  const sandbox = new Sandbox(t).withGo('echo part > "$output"; exit 1');
  assert.equal((await sandbox.run('etcd')).code, 1);
  assert.deepEqual(readdirSync(sandbox.cache), []);
});

test('interrupted, it ends the build, keeps what is built, and continues there the next time', async (t) => {
  const sandbox = new Sandbox(t).withGo(`
case $package in
  *etcd*) echo ok > "$output";;
  *) : > "$output"; sleep 1000;;
esac`);
  const child = sandbox.start('etcd', 'kubectl');
  const output = text(child.stdout);
  await until('the second build runs', AbortSignal.timeout(20_000), async () =>
    runningWith(sandbox.bin).some(({ commandLine }) => commandLine.includes('cmd/kubectl')),
  );
  child.kill('SIGTERM');
  const [code] = (await once(child, 'exit')) as [number | null];
  assert.equal(code, 130);
  assert.match(await output, /Interrupted\. What is built stays/);
  assert.deepEqual(
    readdirSync(sandbox.cache).map((folder) => folder.split('-')[0]),
    ['etcd'],
  );
  await until('the build has ended', AbortSignal.timeout(20_000), async () => runningWith(sandbox.bin).length === 0);
  const again = await sandbox.withGo('echo ok > "$output"').run('etcd', 'kubectl');
  assert.match(again.stdout, /1 of 2 tools are built[^]*\[1\/1\] kubectl/);
  assert.equal(again.code, 0);
});
