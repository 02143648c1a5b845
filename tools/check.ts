// `npm run check`: every static check at once, each with its own verdict and time. Exits 1 if any fails.
import { spawn } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { buildHint, missingTools } from './tool-paths.ts';

const checks: readonly (readonly [string, string, readonly string[]])[] = [
  ['types', 'tsc', ['--pretty', 'false', '-p', '.']],
  ['lint', 'oxlint', ['--type-aware', '--deny-warnings']],
  ['format', 'oxfmt', ['--check']],
  ['imports', process.execPath, ['--test', '--test-reporter=dot', 'test/arch/*.test.ts']],
  ['unused', 'knip', ['--no-progress']],
  ['crds', process.execPath, ['tools/generate-crds.ts', '--check']],
];

/** Compares with files that only the tools have. */
const schemas: (typeof checks)[number] = ['schemas', process.execPath, ['tools/generate-schemas.ts', '--check']];
const missing = missingTools(['gateway-api-crds']);
if (missing.length > 0) console.log(`SKIP schemas  ${buildHint(missing)}`);

/** Runs one check and keeps its output for the report. */
async function run([name, command, args]: (typeof checks)[number]): Promise<boolean> {
  const started = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
  const code = await new Promise<number>((resolve) => {
    child.on('error', (error) => {
      output.push(Buffer.from(String(error)));
      resolve(127);
    });
    child.on('close', (exit) => resolve(exit ?? 1));
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name.padEnd(8)} ${seconds}s`);
  if (code !== 0) console.log(Buffer.concat(output).toString());
  return code === 0;
}

const results = await Promise.all((missing.length > 0 ? checks : [...checks, schemas]).map(run));
process.exit(results.every(Boolean) ? 0 : 1);
