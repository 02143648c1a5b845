// Where the edge is: given addresses, or those that DNS names; and which connection uses which.
import dns from 'node:dns/promises';
import { isIP } from 'node:net';

export interface EdgeAddress {
  readonly host: string;
  readonly port: number;
}

/** Service record of the tunnel edge; its targets are two regions. */
const EDGE_SERVICE = '_v2-origintunneld._tcp.argotunnel.com';

/** Reads `host:port` or `[v6]:port`; null when it is neither. */
export function parseAddress(text: string): EdgeAddress | null {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text);
  const host = parts?.[1] ?? parts?.[2];
  const port = Number(parts?.[3]);
  return host === undefined || port < 1 || port > 65535 ? null : { host, port };
}

/** The addresses of both regions in turn, so that the first few connections are spread over them. */
export async function discoverEdge(): Promise<readonly EdgeAddress[]> {
  const targets = await dns.resolveSrv(EDGE_SERVICE);
  const regions = await Promise.all(targets.map((target) => resolveRegion(target.name, target.port)));
  const longest = Math.max(0, ...regions.map((region) => region.length));
  return Array.from({ length: longest }, (_, i) => regions.flatMap((region) => region[i] ?? [])).flat();
}

async function resolveRegion(name: string, port: number): Promise<readonly EdgeAddress[]> {
  if (isIP(name) !== 0) return [{ host: name, port }];
  const hosts = await dns.resolve4(name).catch(() => dns.resolve6(name));
  return hosts.map((host) => ({ host, port }));
}

/** Hands each connection an address that no other one uses, as long as there are enough. */
export class AddressPool {
  readonly #addresses: readonly EdgeAddress[];
  readonly #users = new Map<EdgeAddress, number>();

  constructor(addresses: readonly EdgeAddress[]) {
    this.#addresses = addresses;
  }

  get size(): number {
    return this.#addresses.length;
  }

  /** The least used address after `previous`, so that repeated failures walk through all of them. */
  take(previous: EdgeAddress | null): EdgeAddress {
    const start = previous === null ? 0 : this.#addresses.indexOf(previous) + 1;
    const order = this.#addresses.map((_, i) => this.#addresses[(start + i) % this.#addresses.length] as EdgeAddress);
    const chosen = order.reduce((best, address) => (this.#use(address) < this.#use(best) ? address : best));
    this.#users.set(chosen, this.#use(chosen) + 1);
    return chosen;
  }

  release(address: EdgeAddress): void {
    this.#users.set(address, this.#use(address) - 1);
  }

  #use(address: EdgeAddress): number {
    return this.#users.get(address) ?? 0;
  }
}
