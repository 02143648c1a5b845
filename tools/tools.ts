// `npm run tools`: builds the Go programs that tests and people use here, each once, into a cache outside the tree.
import { existsSync, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { BuildFailure, buildTool, goProblem, type BuildProgress } from './go-build.ts';
import { isToolName, toolEntry, toolNames, type Recipe, type ToolName } from './tool-catalog.ts';
import { toolRecipe, toolsRoot, toolTarget } from './tool-paths.ts';
import { buildSummary, listing, seconds } from './tools-report.ts';

const HEARTBEAT_MS = 10_000;
const usage = `usage: npm run tools -- [--list] [name…]

Builds the named tools, all without a name, into ${toolsRoot()}
(CFTUNNEL_TOOLS names another folder). Needs Go. What is there already is kept; an interrupted run continues.

  --list   show name, version and state, build nothing

names: ${toolNames.join(' ')}`;

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const choice = readArguments(argv);
  if (typeof choice === 'string') {
    console.error(choice);
    return 2;
  }
  if (choice.help) {
    console.log(usage);
    return 0;
  }
  const recipes = choice.names.map(toolRecipe);
  const isBuilt = (what: Recipe): boolean => existsSync(toolTarget(what));
  if (choice.list) {
    console.log(listing(recipes.map((what) => ({ ...what, target: toolTarget(what), built: isBuilt(what) }))));
    return 0;
  }
  const missing = recipes.filter((what) => !isBuilt(what));
  console.log(`${recipes.length - missing.length} of ${recipes.length} tools are built, in ${toolsRoot()}`);
  return missing.length === 0 ? 0 : await buildAll(missing);
}

interface Choice {
  readonly names: readonly ToolName[];
  readonly list: boolean;
  readonly help: boolean;
}

function readArguments(argv: readonly string[]): Choice | string {
  try {
    const options = { list: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } } as const;
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    const unknown = positionals.filter((name) => !isToolName(name));
    if (unknown.length > 0) return `no such tool: ${unknown.join(', ')}\n\n${usage}`;
    const names = toolNames.filter((name) => positionals.length === 0 || positionals.includes(name));
    return { names, ...values };
  } catch (error) {
    return `${(error as Error).message}\n\n${usage}`;
  }
}

async function buildAll(missing: readonly Recipe[]): Promise<number> {
  for (const what of missing) {
    const problem = await goProblem(what);
    if (problem === null) continue;
    console.error(`Cannot build ${missing.map(({ name }) => name).join(', ')}: ${problem}.\nThen run this again.`);
    return 1;
  }
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort(new Error(signal)));
  const failed: string[] = [];
  for (const [index, what] of missing.entries()) {
    console.log(`[${index + 1}/${missing.length}] ${what.name} ${what.version}: ${toolEntry(what.name).does}`);
    const started = performance.now();
    try {
      await buildReporting(what, interrupt.signal);
      console.log(`      ${buildSummary(statSync(toolTarget(what)), performance.now() - started)}: ${toolTarget(what)}`);
    } catch (error) {
      if (interrupt.signal.aborted) {
        console.log('\nInterrupted. What is built stays; run this again to continue.');
        return 130;
      }
      failed.push(what.name);
      // Anything else than a failed build (a full disk, a folder that cannot be written) also concerns this tool only, and says what it is.
      console.error(`      FAILED: ${error instanceof BuildFailure ? error.message : String(error)}`);
    }
  }
  if (failed.length === 0) console.log('All built.');
  else console.error(`Not built: ${failed.join(', ')}. The others are there.`);
  return failed.length === 0 ? 0 : 1;
}

async function buildReporting(what: Recipe, signal: AbortSignal): Promise<void> {
  const started = performance.now();
  let progress: BuildProgress = { downloaded: 0, compiled: 0 };
  const heartbeat = setInterval(() => {
    const { downloaded, compiled } = progress;
    console.log(`      ${seconds(performance.now() - started)}: ${downloaded} modules downloaded, ${compiled} packages compiled`);
  }, HEARTBEAT_MS);
  try {
    await buildTool(what, signal, (now) => (progress = now));
  } finally {
    clearInterval(heartbeat);
  }
}
