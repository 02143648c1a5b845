// What happened, as numbers.
import type { CloudflareObserver } from '#controller/cloudflare/api.ts';
import type { RunReport } from '#controller/loop/reconcile.ts';
import type { ControllerMetrics } from './metrics.ts';

export function observeCloudflare(metrics: ControllerMetrics): CloudflareObserver {
  return {
    call(method, resource, status, seconds) {
      metrics.apiCalls.inc({ method, resource, status });
      metrics.apiDuration.observe({ method, resource }, seconds);
      const type = errorType(status);
      if (type !== null) metrics.apiErrors.inc({ method, error_type: type });
    },
    skipped() {
      metrics.skippedWrites.inc();
    },
  };
}

/** Null for success. `status` is a word where there was no answer. */
function errorType(status: string): string | null {
  const code = Number(status);
  if (Number.isNaN(code)) return status === 'Timeout' ? 'timeout' : 'network';
  if (code >= 200 && code < 300) return null;
  if (code === 401 || code === 403) return 'auth';
  if (code === 429) return 'rate_limit';
  return code >= 500 ? 'server_error' : 'client_error';
}

export function recordRun(metrics: ControllerMetrics, { graph, tunnels, facts }: RunReport): void {
  const accepted = graph.routes.filter(({ parents }) => parents.some(({ refused }) => refused === null));
  metrics.syncedRoutes.set({ type: 'http' }, accepted.filter(({ object }) => object.kind === 'HTTPRoute').length);
  metrics.syncedRoutes.set({ type: 'grpc' }, accepted.filter(({ object }) => object.kind === 'GRPCRoute').length);
  metrics.failedBackendRefs.set({ type: 'all' }, graph.routes.filter(({ references }) => references !== null).length);
  metrics.ingressRules.set(tunnels.reduce((sum, { rules }) => sum + rules.length + 1, 0));
  for (const [plane, fact] of facts.planes) {
    for (const state of ['Unknown', 'Acknowledged', 'Behind', 'Unreachable', 'Rejected']) {
      metrics.configPushes.set({ plane, state }, fact.state === state ? 1 : 0);
    }
  }
}
