// The image's program runs with nothing beside it, and as the user that the chart asks for. The image itself is read here, not built.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { bundle } from '#tools/bundle.ts';
import { chartFolder, type Values } from './helm.ts';

const root = path.join(chartFolder, '..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

const lines = read('Dockerfile')
  .replaceAll(/\\\n/g, ' ')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));
const lastStage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));

const entryPoint = JSON.parse(
  lastStage.find((line) => line.startsWith('ENTRYPOINT '))?.replace('ENTRYPOINT ', '') ?? '[]',
) as readonly string[];
const nodeFlags = entryPoint.filter((word) => word.startsWith('--') && word !== '--');

/** What the last stage takes from the folder, without what it takes from other stages. */
const copied = lastStage
  .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
  .flatMap((line) => line.split(/\s+/).slice(1, -1));

test('everything that is copied into the image exists, and nothing of it is kept out of the build', () => {
  assert.ok(lines.includes('COPY --from=bundle /app/dist ./'));
  for (const source of copied) assert.ok(existsSync(path.join(root, source)), source);
  const ignored = read('.dockerignore').split('\n');
  const all = lines
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(/\s+/).slice(1, -1));
  for (const source of all) assert.ok(ignored.includes(`!${source}`), source);
});

test('the bundle runs in both roles with nothing beside it', async (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'bundle-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  await bundle(dir);
  const program = path.join(dir, 'main.mjs');
  const run = (args: readonly string[], env: NodeJS.ProcessEnv) =>
    spawnSync(process.execPath, [...nodeFlags, program, ...args], { cwd: dir, env, encoding: 'utf8', timeout: 30_000 });
  const proxy = run(['proxy'], {});
  assert.deepEqual([proxy.status, proxy.stderr.split(':')[0]], [1, 'PROXY_AUTH_TOKEN'], proxy.stderr);
  const controller = run(['--proxy-endpoints=http://127.0.0.1:1/config', '--kubeconfig=/nonexistent'], {});
  assert.equal(controller.status, 1);
  assert.match(controller.stdout, /nonexistent/);
});

test('the user of the image is the one that the chart asks for, by number, so that it can be told from root', () => {
  const values = load(readFileSync(path.join(chartFolder, 'values.yaml'), 'utf8')) as Values;
  const { runAsUser } = values['podSecurityContext'] as Values;
  assert.deepEqual(
    lastStage.filter((line) => line.startsWith('USER ')),
    [`USER ${String(runAsUser)}:${String(runAsUser)}`],
  );
});

test('the first process of the image gets signals itself and passes its arguments on', () => {
  assert.equal(entryPoint[0], '/usr/bin/tini');
  assert.equal(entryPoint.at(-1), 'main.mjs');
});
