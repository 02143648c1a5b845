// What a run prints at its end: a table by profile, what is missing by name, and the line with the numbers. Pure.
import { classifiedTests, profileNames, testsOf, type Level, type ProfileName } from './classification.ts';
import type { Verdict } from './expected.ts';
import { summaryLine, unclaimed, type Report } from './report.ts';
import type { TestEnd } from './suite-output.ts';

const levels = ['core', 'extended'] as const satisfies readonly Level[];

export interface RunResult {
  readonly report: Report;
  readonly ends: readonly TestEnd[];
  /** Failed sub-tests by test. */
  readonly failedParts: ReadonlyMap<string, readonly string[]>;
  readonly verdict: Verdict;
}

export function resultText({ report, ends, failedParts, verdict }: RunResult): string {
  const passed = new Set(ends.filter(({ outcome }) => outcome === 'pass').map(({ name }) => name));
  const failed = ends.filter(({ outcome }) => outcome === 'fail').map(({ name }) => name);
  return [
    'profile       level     tests  passed  failed  not run',
    ...profileNames.flatMap((profile) => levels.map((level) => row(profile, level, passed, failed))),
    ...section(
      'Failed',
      failed.flatMap((name) => failure(name, failedParts.get(name) ?? [])),
    ),
    ...section('Not run, with the features that the class does not claim', notRun(ends, report)),
    ...section('REGRESSIONS: these passed when the list was recorded', verdict.regressions),
    ...section('New: these pass and are not recorded (--record)', verdict.gains),
    '',
    summaryLine(report),
  ].join('\n');
}

function row(profile: ProfileName, level: Level, passed: ReadonlySet<string>, failed: readonly string[]): string {
  const tests = testsOf(profile, level);
  const good = tests.filter((name) => passed.has(name)).length;
  const bad = tests.filter((name) => failed.includes(name)).length;
  const numbers = [tests.length, good, bad, tests.length - good - bad];
  const widths = [6, 8, 8, 9];
  return profile.padEnd(14) + level.padEnd(9) + numbers.map((number, index) => String(number).padStart(widths[index] ?? 0)).join('');
}

const failure = (name: string, parts: readonly string[]): readonly string[] => [name, ...parts.map((part) => `  ${part}`)];

// What no profile counts is missed by nobody.
function notRun(ends: readonly TestEnd[], report: Report): readonly string[] {
  const ran = new Set(ends.filter(({ outcome }) => outcome !== 'skip').map(({ name }) => name));
  const missing = new Set(profileNames.flatMap((profile) => unclaimed(report, profile)));
  return Object.entries(classifiedTests)
    .filter(([name, { profiles }]) => profiles.length > 0 && !ran.has(name))
    .map(([name, { features }]) => `${name} (${features.filter((feature) => missing.has(feature)).join(', ') || 'not asked for'})`);
}

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)];
