// `npm run cluster` as a person meets it: what it prints, and that nothing outlives it.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { runningWith } from '../tools/processes.ts';
import { clusterUnavailable } from './control-plane.ts';

const entry = path.join(import.meta.dirname, '..', '..', 'tools', 'cluster.ts');
const run = (args: readonly string[], env: NodeJS.ProcessEnv = process.env) =>
  spawnSync(process.execPath, [entry, ...args], { env, encoding: 'utf8' });

test('without the tools it says which are missing and how to get them', () => {
  const { status, stderr } = run([], { ...process.env, CFTUNNEL_TOOLS: path.join(os.tmpdir(), 'no-tools-here') });
  assert.equal(status, 1);
  assert.match(stderr, /not built: etcd, kube-apiserver, .*; get them with: npm run tools -- etcd kube-apiserver /);
});

test('a channel that does not exist is refused with the usage', () => {
  const { status, stderr } = run(['--channel', 'stable']);
  assert.equal(status, 2);
  assert.match(stderr, /^usage: npm run cluster/);
});

test('prints its kubeconfig and what to try, and ends on SIGTERM without a trace', { skip: clusterUnavailable() ?? false }, async () => {
  const child = spawn(process.execPath, [entry, '--channel', 'standard'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    output += String(chunk);
    if (output.includes('Ctrl-C ends everything.')) child.kill('SIGTERM');
  }
  if (child.exitCode === null) await once(child, 'exit');
  assert.equal(child.exitCode, 0, output);
  assert.match(output, /etcd started\n.*kube-apiserver ready on https:\/\/127\.0\.0\.1:\d+\n.*standard channel[^]*ready\n/);
  const kubeconfig = /export KUBECONFIG=(\S+)/.exec(output)?.[1] ?? '';
  assert.ok(path.isAbsolute(kubeconfig));
  assert.ok(!existsSync(path.dirname(kubeconfig)));
  assert.deepEqual(runningWith(path.dirname(kubeconfig)), []);
});
