// Keep-alive pools towards the origins, one for each origin and set of settings that a document names.
import http from 'node:http';
import type { Socket } from 'node:net';
import type { Service, TunnelDocument } from './ingress.ts';

export type HttpService = Service & { readonly kind: 'http' };

export class OriginPools {
  readonly #agents = new Map<string, http.Agent>();

  agent(service: HttpService): http.Agent {
    const key = poolKey(service);
    const existing = this.#agents.get(key);
    if (existing !== undefined) return existing;
    const agent = new http.Agent({
      keepAlive: true,
      // The most recently used socket is the least likely to be closed by the origin just now.
      scheduling: 'lifo',
      maxSockets: Infinity,
      maxTotalSockets: Infinity,
      maxFreeSockets: service.settings.keepAliveConnections,
      timeout: service.settings.keepAliveTimeoutMs,
    });
    this.#agents.set(key, agent);
    return agent;
  }

  /** Lets go of the pools that no rule of the document uses. What is in flight on them ends normally. */
  retain(document: TunnelDocument): void {
    const used = new Set(document.rules.map((rule) => (rule.service.kind === 'http' ? poolKey(rule.service) : '')));
    for (const [key, agent] of this.#agents) {
      if (used.has(key)) continue;
      this.#agents.delete(key);
      agent.maxFreeSockets = 0;
      for (const socket of idleSockets(agent)) socket.destroy();
    }
  }

  destroy(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }
}

function poolKey({ host, port, settings }: HttpService): string {
  return `${host} ${port} ${settings.keepAliveConnections} ${settings.keepAliveTimeoutMs}`;
}

function idleSockets(agent: http.Agent): readonly Socket[] {
  return Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []);
}
