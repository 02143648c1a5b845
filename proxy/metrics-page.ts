// The proxy's `/metrics`: requests as the data plane counts them, plus the configuration in force and the state of each connector.
import type { ConfigHeader } from './config/schema.ts';
import type { ConnectorState } from './connector/connector.ts';
import { Metrics } from './observe/metrics.ts';

export class MetricsPage {
  readonly requests = new Metrics();

  render(header: ConfigHeader | null, connectors: ReadonlyMap<string, ConnectorState>): string {
    const memory = process.memoryUsage();
    const cpu = process.cpuUsage();
    return [
      this.requests.exposition().trimEnd(),
      ...gauge('cftunnel_proxy_config_epoch', 'Epoch of the configuration in force.', [['', header?.epoch ?? 0]]),
      ...gauge('cftunnel_proxy_config_sequence', 'Sequence of the configuration in force.', [['', header?.sequence ?? 0]]),
      ...gauge(
        'cftunnel_proxy_tunnel_connections',
        'Connections of this proxy that are registered at the edge.',
        perTunnel(connectors, 'connections'),
      ),
      ...gauge(
        'cftunnel_proxy_tunnel_config_version',
        'Version of the tunnel document that the connector applied.',
        perTunnel(connectors, 'configVersion'),
      ),
      ...gauge('process_resident_memory_bytes', 'Resident memory.', [['', memory.rss]]),
      ...gauge('nodejs_heap_size_used_bytes', 'Heap in use.', [['', memory.heapUsed]]),
      '# HELP process_cpu_seconds_total CPU time.',
      '# TYPE process_cpu_seconds_total counter',
      `process_cpu_seconds_total ${(cpu.user + cpu.system) / 1e6}`,
      '',
    ].join('\n');
  }
}

type Sample = readonly [label: string, value: number];

const perTunnel = (connectors: ReadonlyMap<string, ConnectorState>, field: 'connections' | 'configVersion'): Sample[] =>
  [...connectors].map(([tunnel, state]) => [`{tunnel="${tunnel}"}`, state[field]]);

const gauge = (name: string, help: string, samples: readonly Sample[]): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} gauge`,
  ...samples.map(([label, value]) => `${name}${label} ${value}`),
];
