// `npm run quickstart -- --once`: right answers end with 0, wrong ones with 1 and a row that says why.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createStandIn } from '#test/cloudflare/stand-in/stand-in.ts';
import { copyOfExample, QuickStart } from './rig.ts';

const ROWS = 9;

test(
  'through npm, from another folder, without HOME: all is right, no escape sequences, no secrets, nothing left',
  { timeout: 120_000 },
  async (context) => {
    const quickstart = new QuickStart(context, { npm: true, args: ['--once'], cwd: tmpdir() });
    await quickstart.says(/connector registered/);
    const processes = quickstart.descendants();
    assert.equal(await quickstart.ended, 'exit code 0', quickstart.output);
    assert.match(quickstart.output, new RegExp(`^${ROWS} right, 0 wrong$`, 'm'));
    assert.ok(!quickstart.output.includes('\u001b'), 'stdout is a pipe');
    quickstart.showsNoSecret();
    assert.match(quickstart.output, /^ +app\.example\.com +http:\/\/127\.0\.0\.1:\d+$/m, 'the table of ingress rules');
    await quickstart.leavesNothing(processes);
  },
);

test('a mistake in the YAML: exit code 1, with its place and what it breaks', { timeout: 120_000 }, async (context) => {
  const dir = copyOfExample(context);
  const file = path.join(dir, '20-app.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('- backendRefs:', '- backendRef:'));
  const quickstart = new QuickStart(context, { args: ['--once', '--dir', dir] });
  assert.equal(await quickstart.ended, 'exit code 1', quickstart.output);
  assert.match(quickstart.output, /^ +FAIL +20-app\.yaml:\d+:\d+ .*backendRef: unknown field; did you mean "backendRefs"/m);
  assert.match(quickstart.output, /^ +FAIL +GET https:\/\/app\.example\.com\/hello +404 \(expected: 200/m);
  assert.match(quickstart.output, /^ +ok +gRPC /m, 'the other file is fine');
});

test('cloudflared (the stand-in) as connector', { timeout: 120_000 }, async (context) => {
  const { program, remove } = createStandIn();
  context.after(remove);
  const quickstart = new QuickStart(context, { args: ['--once', '--connector', 'cloudflared'], env: { CLOUDFLARED: program } });
  await quickstart.says(/connector registered \(cloudflared\)/);
  const processes = quickstart.descendants();
  assert.equal(await quickstart.ended, 'exit code 0', quickstart.output);
  quickstart.showsNoSecret();
  await quickstart.leavesNothing(processes);
});

test('arguments that cannot be meant: exit code 2, and what to do', { timeout: 120_000 }, async (context) => {
  const cases: readonly { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>>; readonly says: RegExp }[] = [
    { args: ['--connector', 'cloudflared'], env: { PATH: '/usr/bin/nowhere:/bin' }, says: /no cloudflared is installed: set CLOUDFLARED/ },
    { args: ['--connector', 'cloudflared'], env: { CLOUDFLARED: '/no/such' }, says: /CLOUDFLARED is '\/no\/such', which is not a program/ },
    { args: ['--connector', 'telegraph'], env: {}, says: /--connector is native or cloudflared, not 'telegraph'/ },
    { args: ['--dir', '/no/such'], env: {}, says: /--dir: \/no\/such cannot be read/ },
    { args: [], env: { npm_config_once: 'true' }, says: /put -- before them/ },
  ];
  await Promise.all(
    cases.map(async ({ args, env, says }) => {
      const quickstart = new QuickStart(context, { args, env });
      assert.equal(await quickstart.ended, 'exit code 2');
      assert.match(quickstart.output, says);
      assert.match(quickstart.output, /^usage: npm run quickstart/m);
    }),
  );
});
