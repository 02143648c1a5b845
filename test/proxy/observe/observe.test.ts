// Metrics text and access lines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AccessLog, type AccessEntry } from '#proxy/observe/access-log.ts';
import { Metrics } from '#proxy/observe/metrics.ts';

const DONE = { status: 200, aborted: false, milliseconds: 7, requestBytes: 3, responseBytes: 5 };

test('a histogram cumulates, classes and reasons have their names', () => {
  const metrics = new Metrics();
  metrics.finished('a', DONE);
  metrics.finished('a', { ...DONE, milliseconds: 40_000, status: 503 });
  metrics.finished('a', { ...DONE, milliseconds: 5, aborted: true });
  metrics.finished('a', { ...DONE, status: 0 });
  metrics.backendError('a', 'ws_dial');
  const text = metrics.exposition();
  for (const line of [
    '# TYPE cftunnel_proxy_request_duration_seconds histogram',
    'cftunnel_proxy_request_duration_seconds_bucket{hostname="a",le="0.005"} 1',
    'cftunnel_proxy_request_duration_seconds_bucket{hostname="a",le="0.01"} 3',
    'cftunnel_proxy_request_duration_seconds_bucket{hostname="a",le="30"} 3',
    'cftunnel_proxy_request_duration_seconds_bucket{hostname="a",le="+Inf"} 4',
    'cftunnel_proxy_request_duration_seconds_count{hostname="a"} 4',
    'cftunnel_proxy_requests_total{hostname="a",status_class="2xx"} 1',
    'cftunnel_proxy_requests_total{hostname="a",status_class="5xx"} 1',
    'cftunnel_proxy_requests_total{hostname="a",status_class="aborted"} 1',
    'cftunnel_proxy_requests_total{hostname="a",status_class="other"} 1',
    'cftunnel_proxy_backend_errors_total{hostname="a",reason="ws_dial"} 1',
    'cftunnel_proxy_response_bytes_total{hostname="a"} 20',
    'cftunnel_proxy_request_bytes_total{hostname="a"} 12',
  ])
    assert.ok(text.split('\n').includes(line), line);
});

test('labels are escaped, and bounded in number', () => {
  const metrics = new Metrics(3);
  for (const name of ['"\\\n', 'b', 'c', 'd']) metrics.finished(name, DONE);
  const text = metrics.exposition();
  assert.ok(text.includes('{hostname="\\"\\\\\\n",status_class="2xx"} 1'));
  assert.ok(text.includes('requests_total{hostname="",status_class="2xx"} 2'));
});

const ENTRY: AccessEntry = {
  method: 'GET',
  host: 'a"b',
  path: '/\u00e9\n',
  query: 'secret=1',
  status: 200,
  bytesWritten: 1,
  durationMs: 1.23456,
  userAgent: '"',
  route: 'r',
  endpoint: 'e',
  client: 'c',
};

test('lines are JSON whatever the visitor sends; queries can be left out', () => {
  const lines: string[] = [];
  const log = new AccessLog({
    sink: { write: (line) => lines.push(line) },
    sampleRate: 5,
    omitQuery: true,
    random: () => 0.99,
    now: () => 1,
  });
  log.write(ENTRY);
  const parsed: Record<string, unknown> = JSON.parse(lines[0] ?? '');
  assert.equal(parsed['path'], '/\u00e9\n');
  assert.equal(parsed['query'], '');
  assert.equal(parsed['duration_ms'], 1.235);
});

test('sampling leaves errors in, and upgrades and broken exchanges out', () => {
  const statuses: number[] = [];
  const sink = { write: (line: string) => statuses.push((JSON.parse(line) as { status: number }).status) };
  const log = new AccessLog({ sink, sampleRate: 0, omitQuery: false, random: () => 0, now: () => 1 });
  for (const status of [200, 404, 500, 503, 101, 0]) log.write({ ...ENTRY, status });
  assert.deepEqual(statuses, [500, 503]);
});
