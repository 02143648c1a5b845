// `npm run conformance` as a person meets it who asks for what there is not.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const entry = path.join(import.meta.dirname, '..', '..', 'tools', 'conformance.ts');
const env = { ...process.env, CFTUNNEL_TOOLS: path.join(os.tmpdir(), 'no-tools-here') };
const run = (...args: readonly string[]) => spawnSync(process.execPath, [entry, ...args], { env, encoding: 'utf8' });

test('without the tools it says which are missing and how to get them', () => {
  const { status, stderr } = run();
  assert.equal(status, 1);
  assert.match(stderr, /cannot run here: not built: conformance-suite, .*; get them with: npm run tools -- conformance-suite /);
});

for (const [args, complaint] of [
  [['--channel', 'stable'], /^usage: npm run conformance/],
  [['--entry', 'side'], /^usage: npm run conformance/],
  [['--parallel', '0'], /^usage: npm run conformance/],
  [['--run', 'HTTPRouteWait'], /^the suite has no test HTTPRouteWait\n/],
  [['--run', 'HTTPRouteWeight', '--record'], /^--report and --record are for whole runs\n/],
  [['--skip-tests', 'HTTPRouteWeight'], /--skip-tests/],
] as const) {
  test(`${args.join(' ')} is refused`, () => {
    const { status, stderr } = run(...args);
    assert.equal(status, 2);
    assert.match(stderr, complaint);
    assert.match(stderr, /usage: npm run conformance/);
  });
}
