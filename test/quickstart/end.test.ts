// However the quick start ends, nothing of it remains: no process, no file.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QuickStart } from './rig.ts';

test('Ctrl-C reaches npm and its children at once: exit code 0', { timeout: 120_000 }, async (context) => {
  const quickstart = new QuickStart(context, { npm: true });
  await quickstart.isReady();
  const processes = quickstart.descendants();
  assert.ok(processes.length >= 4, 'npm, the quick start, controller and proxy');
  quickstart.interrupt();
  // Npm hands on what the terminal has sent to both: the same once more.
  await quickstart.says(/^Ending everything/m);
  quickstart.interrupt();
  assert.equal(await quickstart.ended, 'exit code 0', quickstart.output);
  assert.match(quickstart.output, /Ctrl-C ends everything\.\n\nEnding everything \.\.\.\n/);
  await quickstart.leavesNothing(processes);
});

test('SIGKILL of the quick start itself', { timeout: 120_000 }, async (context) => {
  const quickstart = new QuickStart(context, { inShell: true });
  await quickstart.isReady();
  const [pid = 0] = quickstart.pidsOf('examples/quickstart.ts');
  const processes = quickstart.descendants(pid);
  process.kill(pid, 'SIGKILL');
  await quickstart.leavesNothing(processes);
});

test('SIGKILL of npm, which cannot hand it on', { timeout: 120_000 }, async (context) => {
  const quickstart = new QuickStart(context, { npm: true, inShell: true });
  await quickstart.isReady();
  const [pid = 0] = quickstart.pidsOf('npm run quickstart');
  const processes = quickstart.descendants(pid);
  assert.ok(processes.length >= 4, 'npm, the quick start, controller and proxy');
  process.kill(pid, 'SIGKILL');
  await quickstart.leavesNothing(processes);
});

test('SIGTERM of npm, as a supervisor sends it', { timeout: 120_000 }, async (context) => {
  const quickstart = new QuickStart(context, { npm: true });
  await quickstart.isReady();
  const processes = quickstart.descendants();
  quickstart.signal('SIGTERM');
  assert.equal(await quickstart.ended, 'exit code 0', quickstart.output);
  await quickstart.leavesNothing(processes);
});
