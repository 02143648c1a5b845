// What is said at the end of a run: the numbers, what is missing by name, and what got worse.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testsOf } from './classification.ts';
import { compare } from './expected.ts';
import { parseReport, summaryLine } from './report.ts';
import type { TestEnd } from './suite-output.ts';
import { resultText } from './table.ts';

const report = parseReport(`
apiVersion: gateway.networking.k8s.io/v1
kind: ConformanceReport
date: "2026-11-30T07:00:00Z"
gatewayAPIChannel: experimental
gatewayAPIVersion: v1.6.3
mode: local
implementation: { organization: o, project: p, url: u, version: v, contact: [c] }
profiles:
- name: GATEWAY-GRPC
  core: { result: success, statistics: { Failed: 0, Passed: 14, Skipped: 0 } }
- name: GATEWAY-HTTP
  core:
    result: failure
    statistics: { Failed: 1, Passed: 35, Skipped: 0 }
    failedTests: [HTTPRouteWeight]
  extended:
    result: success
    statistics: { Failed: 0, Passed: 57, Skipped: 0 }
    supportedFeatures: [ListenerSet, GatewayPort8080]
    unsupportedFeatures: [HTTPRouteRetry]
`);

const end = (name: string, outcome: TestEnd['outcome']): TestEnd => ({ name, outcome, seconds: 1 });

test('the last line has the numbers of each profile, over what the release has', () => {
  assert.equal(
    summaryLine(report),
    'GATEWAY-HTTP core 35/36 extended 57/58 (2/3 features); GATEWAY-GRPC core 14/14 extended 0/11 (0/0 features)',
  );
});

test('a file that is no report is refused', () => {
  assert.throws(() => parseReport('kind: Pod'));
});

test('a recorded test that failed, was skipped or did not run is a regression; one that passes for the first time a gain', () => {
  const ends = [end('A', 'pass'), end('B', 'fail'), end('C', 'skip'), end('N', 'pass'), end('F', 'fail')];
  assert.deepEqual(compare(['A', 'B', 'C', 'D'], ends, null), { regressions: ['B', 'C', 'D'], gains: ['N'] });
  assert.deepEqual(compare(['A', 'B', 'C', 'D'], ends, 'B').regressions, ['B'], 'of one test, only that one counts');
  assert.deepEqual(compare(['A', 'B'], ends, 'A').regressions, []);
});

test('the table counts by profile, and names what failed, what did not run and why', () => {
  const all = [...testsOf('GATEWAY-HTTP', 'core'), ...testsOf('GATEWAY-HTTP', 'extended')];
  const ends = all.map((name) => end(name, name === 'HTTPRouteWeight' ? 'fail' : name === 'HTTPRouteRetry' ? 'skip' : 'pass'));
  const verdict = compare(['HTTPRouteWeight'], ends, null);
  const text = resultText({ report, ends, failedParts: new Map([['HTTPRouteWeight', ['a part']]]), verdict });
  assert.match(text, /GATEWAY-HTTP +core +36 +35 +1 +0\nGATEWAY-HTTP +extended +58 +57 +0 +1\n/);
  assert.match(text, /Failed:\n {2}HTTPRouteWeight\n {4}a part\n/);
  assert.match(text, /Not run[^\n]*:\n[^]* {2}HTTPRouteRetry \(HTTPRouteRetry\)\n/);
  assert.match(text, /REGRESSIONS[^\n]*:\n {2}HTTPRouteWeight\n/);
  assert.ok(text.endsWith(`\n${summaryLine(report)}`));
});
