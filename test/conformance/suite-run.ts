// Runs the suite's program, unmodified, with arguments alone, and follows what it prints.
import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { ended, signalGroup, spawnTethered } from '#proxy/connector/tethered-process.ts';
import { buildHint, toolPath } from '../../tools/tool-paths.ts';
import { profileNames } from './classification.ts';
import type { EntryName } from './expected.ts';
import { SuiteOutput, type TestEnd } from './suite-output.ts';

/** Longer than any run that goes well; a deadlock is to end with Go's own dump of what waits for what. */
const LIMIT = '40m';

export interface SuiteOptions {
  readonly kubeconfig: string;
  readonly className: string;
  /** Becomes the report's mode of operation. */
  readonly entry: EntryName;
  readonly version: string;
  readonly parallel: number;
  /** One test by its short name; null for all. */
  readonly only: string | null;
  /** Both IP addresses: one that a Gateway can have and that is free, and one that none can have. */
  readonly usableAddress: string;
  readonly unusableAddress: string;
  /** Where output and report are written. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly onEnd: (end: TestEnd) => void;
}

export interface SuiteResult {
  readonly ends: readonly TestEnd[];
  readonly output: SuiteOutput;
  readonly reportFile: string;
  readonly isGreen: boolean;
}

export async function runSuite(options: SuiteOptions): Promise<SuiteResult> {
  const program = toolPath('conformance-suite');
  if (program === null) throw new Error(buildHint(['conformance-suite']));
  const reportFile = path.join(options.folder, 'report.yaml');
  const env = { PATH: process.env['PATH'], HOME: options.folder, KUBECONFIG: options.kubeconfig };
  const child = spawnTethered(program, suiteArguments(options, reportFile), {
    cwd: options.folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = (): void => signalGroup(child, 'SIGKILL');
  options.signal.addEventListener('abort', stop, { once: true });
  const log = createWriteStream(path.join(options.folder, 'suite.log'));
  const output = new SuiteOutput();
  const ends: TestEnd[] = [];
  const reading = [child.stdout, child.stderr].map(async (stream) => {
    if (stream === null) return;
    for await (const line of createInterface({ input: stream })) {
      log.write(`${line}\n`);
      const end = output.read(line);
      if (end === null) continue;
      ends.push(end);
      options.onEnd(end);
    }
  });
  const how = await ended(child);
  await Promise.all(reading);
  options.signal.removeEventListener('abort', stop);
  log.end();
  options.signal.throwIfAborted();
  return { ends, output, reportFile, isGreen: how === 'exit code 0' };
}

// No flag for features, exemptions or skips: then the suite reads them from the status of the class.
function suiteArguments(options: SuiteOptions, reportFile: string): readonly string[] {
  return [
    '-test.run=^TestConformance$',
    '-test.v=test2json',
    `-test.timeout=${LIMIT}`,
    `-test.parallel=${options.parallel}`,
    `-gateway-class=${options.className}`,
    `-conformance-profiles=${profileNames.join(',')}`,
    `-usable-address=${options.usableAddress}`,
    `-unusable-address=${options.unusableAddress}`,
    // The cluster is thrown away as a whole.
    '-cleanup-base-resources=false',
    ...(options.only === null ? [] : [`-run-test=${options.only}`]),
    `-report-output=${reportFile}`,
    `-mode=${options.entry}`,
    '-organization=cloudflare-tunnel-gateway-controller',
    '-project=cloudflare-tunnel-gateway-controller',
    '-url=README.md',
    '-contact=SECURITY.md',
    `-version=${options.version}`,
  ];
}
