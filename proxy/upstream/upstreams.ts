// All endpoints of the current configuration, with what is known of them; what a configuration drops is drained.
import type { CompiledBackend } from '#proxy/table/types.ts';
import { Endpoint } from './endpoint.ts';
import type { UpstreamOptions } from './options.ts';

/** A backend as the balancer sees it. */
export interface BackendTarget {
  readonly backend: CompiledBackend;
  readonly endpoints: readonly Endpoint[];
  /** Tried when every endpoint refuses the connection. */
  readonly fallback: Endpoint | null;
}

export class Upstreams {
  private readonly options: UpstreamOptions;
  /** By address: an endpoint that two backends share has one load and one health. Made when first used. */
  private readonly endpoints = new Map<string, Endpoint>();
  private readonly retired = new Set<Endpoint>();
  private targets = new Map<CompiledBackend, BackendTarget>();

  constructor(options: UpstreamOptions) {
    this.options = options;
  }

  target(backend: CompiledBackend): BackendTarget {
    let target = this.targets.get(backend);
    if (target === undefined) {
      target = {
        backend,
        endpoints: backend.endpoints.map((address) => this.endpoint(address)),
        fallback: backend.fallback === null ? null : this.endpoint(backend.fallback),
      };
      this.targets.set(backend, target);
    }
    return target;
  }

  private endpoint(address: string): Endpoint {
    let endpoint = this.endpoints.get(address);
    if (endpoint === undefined) {
      endpoint = new Endpoint(address, this.options);
      this.endpoints.set(address, endpoint);
    }
    return endpoint;
  }

  /** Connections to addresses that stay are kept; of the others idle ones close and busy ones finish. */
  swap(backends: Iterable<CompiledBackend>): void {
    this.targets = new Map();
    const gone = new Map(this.endpoints);
    for (const { endpoints, fallback } of backends) {
      for (const address of endpoints) gone.delete(address);
      if (fallback !== null) gone.delete(fallback);
    }
    for (const [address, endpoint] of gone) {
      this.endpoints.delete(address);
      endpoint.retire();
      if (!endpoint.quiet) this.retired.add(endpoint);
    }
  }

  sweep(now: number): void {
    for (const endpoint of this.endpoints.values()) endpoint.sweep(now);
    for (const endpoint of this.retired) {
      endpoint.sweep(now);
      if (endpoint.quiet) this.retired.delete(endpoint);
    }
  }

  closeIdle(): void {
    for (const endpoint of this.endpoints.values()) endpoint.closeIdle();
  }

  destroy(): void {
    for (const endpoint of [...this.endpoints.values(), ...this.retired]) endpoint.destroy();
    this.retired.clear();
  }

  /** Endpoints in use, connections to them (retired ones included), and how many of the endpoints are left out for now. */
  stats(now: number): { readonly endpoints: number; readonly connections: number; readonly ejected: number } {
    let connections = 0;
    let ejected = 0;
    for (const endpoint of [...this.endpoints.values(), ...this.retired]) connections += endpoint.connections;
    for (const endpoint of this.endpoints.values()) if (endpoint.ejectedUntil > now) ejected += 1;
    return { endpoints: this.endpoints.size, connections, ejected };
  }
}
