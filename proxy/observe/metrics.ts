// Counters of the data path: numbers in typed arrays, one array per hostname pattern, written out in Prometheus' text format on demand.

/** How an exchange ended: a class of status codes, or `aborted` when one side went away before the end. */
const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx', 'aborted', 'other'] as const;
/** Why a try at a backend failed. */
const ERROR_REASONS = ['dial', 'timeout', 'tls', 'canceled', 'ws_dial', 'ws_handshake', 'other'] as const;
export type ErrorReason = (typeof ERROR_REASONS)[number];

/** Upper bounds in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

const ABORTED = 5;
const OTHER = 6;

// Places in the array of one hostname.
const CLASS = 0;
const BUCKET = CLASS + STATUS_CLASSES.length;
const COUNT = BUCKET + BUCKETS.length;
const SUM = COUNT + 1;
const RESPONSE_BYTES = SUM + 1;
const REQUEST_BYTES = RESPONSE_BYTES + 1;
const ERRORS = REQUEST_BYTES + 1;
const SIZE = ERRORS + ERROR_REASONS.length;

/** What is known of an exchange when it ends. */
export interface FinishedExchange {
  /** 0: no status was sent. */
  readonly status: number;
  readonly aborted: boolean;
  readonly milliseconds: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
}

export class Metrics {
  /** Exchanges that are open; upgraded ones not counted. */
  inFlight = 0;
  /** Upgraded connections that are open. */
  tunnels = 0;
  private readonly series = new Map<string, Float64Array>();
  private readonly maxHostnames: number;

  /** Hostnames are patterns of the configuration, so bounded already; beyond the maximum they share the empty label. */
  constructor(maxHostnames = 2000) {
    this.maxHostnames = maxHostnames;
    this.series.set('', new Float64Array(SIZE));
  }

  /** `hostname`: the pattern under which the request was found, '' when none. */
  finished(hostname: string, exchange: FinishedExchange): void {
    const row = this.row(hostname);
    const seconds = exchange.milliseconds / 1000;
    row[CLASS + statusClass(exchange)]! += 1;
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket += 1;
    if (bucket < BUCKETS.length) row[BUCKET + bucket]! += 1;
    row[COUNT]! += 1;
    row[SUM]! += seconds;
    row[RESPONSE_BYTES]! += exchange.responseBytes;
    row[REQUEST_BYTES]! += exchange.requestBytes;
  }

  backendError(hostname: string, reason: ErrorReason): void {
    this.row(hostname)[ERRORS + ERROR_REASONS.indexOf(reason)]! += 1;
  }

  private row(hostname: string): Float64Array {
    const row = this.series.get(hostname);
    if (row !== undefined) return row;
    if (this.series.size >= this.maxHostnames) return this.series.get('')!;
    const added = new Float64Array(SIZE);
    this.series.set(hostname, added);
    return added;
  }

  /** Text for a scrape; ends with a line end. */
  exposition(): string {
    const lines: string[] = [];
    const head = (name: string, type: string, help: string): void => {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    };
    const rows = [...this.series].map(([hostname, row]) => ({ label: `hostname="${escapeLabel(hostname)}"`, row }));

    head('cftunnel_proxy_requests_in_flight', 'gauge', 'Requests being served, without upgraded connections.');
    lines.push(`cftunnel_proxy_requests_in_flight ${this.inFlight}`);
    head('cftunnel_proxy_websocket_active_sessions', 'gauge', 'Upgraded connections that are open.');
    lines.push(`cftunnel_proxy_websocket_active_sessions ${this.tunnels}`);

    const durations = 'cftunnel_proxy_request_duration_seconds';
    head(durations, 'histogram', 'Time from the head of the request to the end of the answer.');
    for (const { label, row } of rows.filter((one) => one.row[COUNT]! > 0)) {
      let cumulated = 0;
      for (const [index, bound] of BUCKETS.entries()) {
        cumulated += row[BUCKET + index]!;
        lines.push(`${durations}_bucket{${label},le="${bound}"} ${cumulated}`);
      }
      lines.push(`${durations}_bucket{${label},le="+Inf"} ${row[COUNT]}`, `${durations}_sum{${label}} ${row[SUM]}`);
      lines.push(`${durations}_count{${label}} ${row[COUNT]}`);
    }

    head('cftunnel_proxy_requests_total', 'counter', 'Requests by the class of their answer.');
    for (const { label, row } of rows) {
      for (const [index, name] of STATUS_CLASSES.entries()) {
        if (row[CLASS + index]! > 0) lines.push(`cftunnel_proxy_requests_total{${label},status_class="${name}"} ${row[CLASS + index]}`);
      }
    }
    head('cftunnel_proxy_backend_errors_total', 'counter', 'Failed tries at backends by reason.');
    for (const { label, row } of rows) {
      for (const [index, name] of ERROR_REASONS.entries()) {
        if (row[ERRORS + index]! > 0) lines.push(`cftunnel_proxy_backend_errors_total{${label},reason="${name}"} ${row[ERRORS + index]}`);
      }
    }
    head('cftunnel_proxy_response_bytes_total', 'counter', 'Bytes of response bodies sent to visitors.');
    for (const { label, row } of rows)
      if (row[COUNT]! > 0) lines.push(`cftunnel_proxy_response_bytes_total{${label}} ${row[RESPONSE_BYTES]}`);
    head('cftunnel_proxy_request_bytes_total', 'counter', 'Bytes of request bodies received from visitors.');
    for (const { label, row } of rows)
      if (row[COUNT]! > 0) lines.push(`cftunnel_proxy_request_bytes_total{${label}} ${row[REQUEST_BYTES]}`);
    return `${lines.join('\n')}\n`;
  }
}

function statusClass({ status, aborted }: FinishedExchange): number {
  if (aborted) return ABORTED;
  const hundreds = Math.floor(status / 100);
  return hundreds >= 1 && hundreds <= 5 ? hundreds - 1 : OTHER;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
