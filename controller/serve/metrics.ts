// Every metric name of the controller, in one place. Names and labels are those that existing dashboards use.
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class ControllerMetrics {
  readonly registry = new Registry();
  readonly syncDuration: Histogram<'status'>;
  readonly syncedRoutes: Gauge<'type'>;
  readonly ingressRules: Gauge;
  readonly failedBackendRefs: Gauge<'type'>;
  readonly syncErrors: Counter<'error_type'>;
  readonly apiDuration: Histogram<'method' | 'resource'>;
  readonly apiCalls: Counter<'method' | 'resource' | 'status'>;
  readonly apiErrors: Counter<'method' | 'error_type'>;
  readonly skippedWrites: Counter;
  readonly configPushes: Gauge<'plane' | 'state'>;
  readonly leader: Gauge;

  constructor() {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.syncDuration = new Histogram({
      name: 'cftunnel_sync_duration_seconds',
      help: 'Duration of one reconcile, from snapshot to written statuses.',
      labelNames: ['status'],
      buckets: SECONDS,
      registers,
    });
    this.syncedRoutes = new Gauge({ name: 'cftunnel_synced_routes', help: 'Accepted routes.', labelNames: ['type'], registers });
    this.ingressRules = new Gauge({ name: 'cftunnel_ingress_rules', help: 'Ingress rules of all tunnels.', registers });
    this.failedBackendRefs = new Gauge({
      name: 'cftunnel_failed_backend_refs',
      help: 'Backend references that cannot be resolved.',
      labelNames: ['type'],
      registers,
    });
    this.syncErrors = new Counter({
      name: 'cftunnel_sync_errors_total',
      help: 'Failed reconcile steps.',
      labelNames: ['error_type'],
      registers,
    });
    this.apiDuration = new Histogram({
      name: 'cftunnel_cloudflare_api_duration_seconds',
      help: 'Duration of Cloudflare API calls.',
      labelNames: ['method', 'resource'],
      buckets: SECONDS,
      registers,
    });
    this.apiCalls = new Counter({
      name: 'cftunnel_cloudflare_api_calls_total',
      help: 'Cloudflare API calls.',
      labelNames: ['method', 'resource', 'status'],
      registers,
    });
    this.apiErrors = new Counter({
      name: 'cftunnel_cloudflare_api_errors_total',
      help: 'Failed Cloudflare API calls.',
      labelNames: ['method', 'error_type'],
      registers,
    });
    this.skippedWrites = new Counter({
      name: 'cftunnel_tunnel_writes_skipped_total',
      help: 'Tunnel documents that were as they should be.',
      registers,
    });
    this.configPushes = new Gauge({
      name: 'cftunnel_proxy_config_state',
      help: '1 for the state that the plane is in: Unknown, Acknowledged, Behind, Unreachable or Rejected.',
      labelNames: ['plane', 'state'],
      registers,
    });
    this.leader = new Gauge({ name: 'cftunnel_controller_leader', help: '1 while this replica holds the Lease.', registers });
  }
}
