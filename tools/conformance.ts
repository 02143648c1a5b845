// `npm run conformance`: the official suite of the Gateway API, unmodified, against the chart's release on a cluster of its own.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { clusterUnavailable } from '#test/cluster/control-plane.ts';
import { enterNode, nodeUnavailable } from '#test/cluster/node/ground.ts';
import { classifiedTests } from '#test/conformance/classification.ts';
import { channels, compare, entries, expectedTests, recordExpected, type Channel, type EntryName } from '#test/conformance/expected.ts';
import { parseReport } from '#test/conformance/report.ts';
import type { TestEnd } from '#test/conformance/suite-output.ts';
import { runSuite, type SuiteResult } from '#test/conformance/suite-run.ts';
import { resultText } from '#test/conformance/table.ts';
import { CLASS_NAME, startWorld, type World } from '#test/conformance/world.ts';
import { buildHint, missingTools } from './tool-paths.ts';

const root = path.join(import.meta.dirname, '..');
const usage = `usage: npm run conformance -- [options]

Starts a cluster with a node in a network of its own, installs the chart, and runs the official conformance suite against it.
Needs Linux, root, and: npm run tools

  --channel experimental|standard   the CRDs (experimental)
  --entry local|tunnel              how requests come in: the proxies' own listeners, or a tunnel for each Gateway (local)
  --run NAME                        one test, by its short name
  --parallel N                      of those tests that may (8)
  --report                          put the report into docs/conformance/
  --record                          put what passed into test/conformance/expected.json

Exits 0 when every recorded test passed. The folder with logs is named at the start.`;

/** The static band of the Service range, from which no ClusterIP is given by itself; and an address of nobody (RFC 5737). */
const USABLE_ADDRESS = '10.96.0.80';
const UNUSABLE_ADDRESS = '192.0.2.1';

interface Choice {
  readonly channel: Channel;
  readonly entry: EntryName;
  readonly only: string | null;
  readonly parallel: number;
  readonly report: boolean;
  readonly record: boolean;
}

// All is stopped by then. Node's own way out now and then turns for ever over a request of a socket that is long closed.
process.exit(await main(process.argv.slice(2)));

async function main(argv: readonly string[]): Promise<number> {
  const choice = readArguments(argv);
  if (typeof choice === 'string') {
    console.error(choice);
    return argv.includes('--help') ? 0 : 2;
  }
  const obstacle = unavailable();
  if (obstacle !== null) {
    console.error(`The conformance suite cannot run here: ${obstacle}`);
    return 1;
  }
  // The node brings a temporary folder that is gone with it; the logs are to stay.
  const lasting = os.tmpdir();
  enterNode();
  const folder = mkdtempSync(path.join(lasting, 'conformance-'));
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort(new Error(signal)));
  try {
    return await run(choice, folder, interrupt.signal);
  } catch (error) {
    console.error(interrupt.signal.aborted ? 'Interrupted.' : (error as Error).message);
    return interrupt.signal.aborted ? 130 : 1;
  }
}

async function run(choice: Choice, folder: string, signal: AbortSignal): Promise<number> {
  const started = performance.now();
  const say = (step: string): void => console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${step}`);
  say(`logs and report: ${folder}`);
  const world = await startWorld({ ...choice, say, signal });
  try {
    return finish(choice, await judge(world, choice, folder, { say, signal }), folder);
  } finally {
    await world.saveLogs(folder);
    await world.stop();
  }
}

interface Surroundings {
  readonly say: (step: string) => void;
  readonly signal: AbortSignal;
}

function judge({ cluster, features }: World, choice: Choice, folder: string, { say, signal }: Surroundings): Promise<SuiteResult> {
  const claimed = new Set([...features, 'Gateway', 'ReferenceGrant', 'HTTPRoute', 'GRPCRoute']);
  const runnable = Object.values(classifiedTests).filter((test) => test.features.every((feature) => claimed.has(feature)));
  const total = choice.only === null ? runnable.length : 1;
  let count = 0;
  const onEnd = ({ name, outcome, seconds }: TestEnd): void => {
    if (outcome === 'skip') return;
    count += 1;
    say(`${String(count).padStart(3)}/${total} ${outcome === 'pass' ? 'ok  ' : 'FAIL'} ${name} (${seconds.toFixed(1)} s)`);
  };
  const { kubeconfig } = cluster;
  const addresses = { usableAddress: USABLE_ADDRESS, unusableAddress: UNUSABLE_ADDRESS };
  return runSuite({ ...choice, ...addresses, kubeconfig, className: CLASS_NAME, version: ownVersion(), folder, signal, onEnd });
}

/** Prints, keeps what is to be kept, and gives the exit code. */
function finish({ channel, entry, only, report: keep, record }: Choice, result: SuiteResult, folder: string): number {
  const { ends, output, reportFile } = result;
  const passed = ends.filter(({ outcome }) => outcome === 'pass').map(({ name }) => name);
  for (const { name, outcome } of ends) {
    if (outcome === 'fail') writeFileSync(path.join(folder, `${name}.log`), `${output.linesOf(name).join('\n')}\n`);
  }
  const ran = ends.some(({ outcome }) => outcome !== 'skip');
  if (!ran) {
    console.error(
      `The suite ran no test. The end of what it printed (${folder}/suite.log):\n${output.linesOf(null).slice(-20).join('\n')}`,
    );
    return 1;
  }
  if (record) recordExpected(entry, channel, passed);
  const verdict = compare(expectedTests(entry, channel), ends, only);
  const report = parseReport(readFileSync(reportFile, 'utf8'));
  console.log(`\n${only === null ? resultText({ report, ends, failedParts: output.failedParts, verdict }) : failuresText(result)}`);
  if (keep) {
    const docs = path.join(root, 'docs', 'conformance');
    mkdirSync(docs, { recursive: true });
    copyFileSync(reportFile, path.join(docs, `${channel}-${ownVersion()}-${entry}-report.yaml`));
  }
  return verdict.regressions.length > 0 || (only !== null && !passed.includes(only)) ? 1 : 0;
}

/** For one test: what it complained about, as it was printed. */
function failuresText({ ends, output }: SuiteResult): string {
  const failed = ends.filter(({ outcome }) => outcome === 'fail');
  return failed.length === 0 ? 'Passed.' : failed.flatMap(({ name }) => output.linesOf(name).slice(-40)).join('\n');
}

function unavailable(): string | null {
  const missing = missingTools(['conformance-suite', 'echo-basic', 'helm']);
  return missing.length > 0 ? buildHint(missing) : (clusterUnavailable() ?? nodeUnavailable());
}

function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { readonly version: string };
  return version;
}

function readArguments(argv: readonly string[]): Choice | string {
  try {
    const options = {
      channel: { type: 'string', default: 'experimental' },
      entry: { type: 'string', default: 'local' },
      run: { type: 'string' },
      parallel: { type: 'string', default: '8' },
      report: { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
    } as const;
    const { values } = parseArgs({ args: [...argv], options });
    const channel = channels.find((name) => name === values.channel);
    const entry = entries.find((name) => name === values.entry);
    const parallel = Number(values.parallel);
    const only = values.run ?? null;
    if (channel === undefined || entry === undefined || !(Number.isInteger(parallel) && parallel > 0)) return usage;
    if (only !== null && !(only in classifiedTests)) return `the suite has no test ${only}\n\n${usage}`;
    if (only !== null && (values.report || values.record)) return `--report and --record are for whole runs\n\n${usage}`;
    return { channel, entry, only, parallel, report: values.report, record: values.record };
  } catch (error) {
    return `${(error as Error).message}\n\n${usage}`;
  }
}
