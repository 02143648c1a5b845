// `npm test`: first everything that Node alone can run, then what the installed tools allow; at the end, by name, what was skipped and how to get it.
//
//   npm test                      all tiers
//   npm test -- test/proxy        only files below (or matching) these paths
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

/** Tiers that need programs of `npm run tools`; everything else needs Node alone. */
const TOOL_TIERS = ['test/cluster/', 'test/chart/'];
const filters = process.argv.slice(2);

const files = globSync('test/**/*.test.ts')
  .filter((file) => filters.length === 0 || filters.some((filter) => file.startsWith(filter) || file === filter))
  .sort();
const needsTools = (file: string): boolean => TOOL_TIERS.some((tier) => file.startsWith(tier));

const skipped = new Map<string, string>();
let failed = 0;
let passed = 0;

/** Runs one tier in processes of their own and adds up what happened. */
async function tier(title: string, tierFiles: string[], concurrency: number): Promise<void> {
  if (tierFiles.length === 0) return;
  console.log(`\n== ${title}: ${tierFiles.length} files\n`);
  const events = run({ files: tierFiles, concurrency, timeout: 240_000 });
  events.on('test:pass', (event) => {
    if (event.skip !== undefined) skipped.set(event.name, typeof event.skip === 'string' ? event.skip : 'no reason given');
    else passed += 1;
  });
  events.on('test:fail', (event) => {
    if (event.todo === undefined) failed += 1;
  });
  const report = events.compose(spec);
  for await (const chunk of report) process.stdout.write(chunk as Buffer);
}

const parallel = Math.max(2, availableParallelism());
await tier(
  'Node alone',
  files.filter((file) => !needsTools(file)),
  parallel,
);
await tier('with the tools of `npm run tools`', files.filter(needsTools), 1);

if (skipped.size > 0) {
  console.log(`\nSKIPPED ${skipped.size} (not passed, not run):`);
  for (const [name, reason] of skipped) console.log(`  - ${name}: ${reason}`);
}
console.log(`\n${passed} passed, ${failed} failed, ${skipped.size} skipped`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
