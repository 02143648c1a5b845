// What the suite prints is understood line by line, as it comes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SuiteOutput } from './suite-output.ts';

const printed = `\u0016=== RUN   TestConformance
    conformance.go:128: Running conformance tests with:
\u0016=== RUN   TestConformance/HTTPRouteA
    apply.go:1: 2026-11-30T07:00:00Z: Creating a HTTPRoute
\u0016=== RUN   TestConformance/HTTPRouteA/GET_request_to_'/a/b'
\u0016=== NAME  TestConformance/HTTPRouteA/GET_request_to_'/a/b'
    http.go:2: Request failed, not ready yet
\u0016--- FAIL: TestConformance/HTTPRouteA/GET_request_to_'/a/b' (0.50s)
\u0016--- FAIL: TestConformance/HTTPRouteA (1.25s)
\u0016=== RUN   TestConformance/TLSRouteB
\u0016--- SKIP: TestConformance/TLSRouteB (0.00s)
\u0016=== CONT  TestConformance/GatewayC
\u0016--- PASS: TestConformance/GatewayC (3.00s)
\u0016--- FAIL: TestConformance (9.00s)
FAIL`;

test('ends of tests come out as they are printed, with failed parts and the lines of each', () => {
  const output = new SuiteOutput();
  const ends = printed.split('\n').flatMap((line) => output.read(line) ?? []);
  assert.deepEqual(ends, [
    { name: 'HTTPRouteA', outcome: 'fail', seconds: 1.25 },
    { name: 'TLSRouteB', outcome: 'skip', seconds: 0 },
    { name: 'GatewayC', outcome: 'pass', seconds: 3 },
  ]);
  assert.deepEqual([...output.failedParts], [['HTTPRouteA', ["GET_request_to_'/a/b'"]]]);
  assert.ok(output.linesOf('HTTPRouteA').includes('    http.go:2: Request failed, not ready yet'));
  assert.ok(output.linesOf(null).some((line) => line.includes('Running conformance tests with:')));
});
