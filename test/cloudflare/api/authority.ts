// What the edge asks the API side: is this connector's token right, which document does it get, and whose tunnel is this hostname.
import type { State, Tunnel, TunnelConnection, TunnelDocument } from './state.ts';

export interface TunnelIdentity {
  readonly accountTag: string;
  /** Base64. */
  readonly secret: string;
  readonly configSrc: 'local' | 'cloudflare';
  readonly document: TunnelDocument;
}

export type ConfigListener = (tunnelId: string, document: TunnelDocument) => void;

export interface Authority {
  /** Undefined for a tunnel that does not exist or was deleted. */
  tunnel(id: string): TunnelIdentity | undefined;
  /** Called after each new version of a tunnel's document; the returned function ends it. */
  onConfigChange(listener: ConfigListener): () => void;
  /** The tunnel that a proxied CNAME in one of the account's own zones points to; the closest wildcard if there is no exact name. */
  resolve(hostname: string): string | undefined;
  /** Notes a connection, so that the API shows it and refuses to delete the tunnel; the returned function ends it. */
  connected(tunnelId: string, connection: TunnelConnection): () => void;
}

function targetOf(state: State, accountId: string, content: string): string | undefined {
  const id = /^([0-9a-f-]{36})\.cfargotunnel\.com$/.exec(content)?.[1];
  const tunnel: Tunnel | undefined = id === undefined ? undefined : state.tunnels.get(id);
  return tunnel !== undefined && tunnel.deletedAt === null && tunnel.accountId === accountId ? tunnel.id : undefined;
}

/** The name itself, then `*.` of each parent down to the zone: the first that has records decides, whatever they are. */
function candidates(hostname: string, zoneName: string): readonly string[] {
  const names = [hostname];
  for (let rest = hostname; rest !== zoneName;) {
    rest = rest.slice(rest.indexOf('.') + 1);
    names.push(`*.${rest}`);
  }
  return names;
}

export function createAuthority(state: State, listeners: Set<ConfigListener>): Authority {
  return {
    tunnel(id) {
      const tunnel = state.tunnels.get(id);
      if (tunnel === undefined || tunnel.deletedAt !== null) return undefined;
      return { accountTag: tunnel.accountId, secret: tunnel.secret, configSrc: tunnel.configSrc, document: tunnel.document };
    },
    onConfigChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    resolve(hostname) {
      const name = hostname.toLowerCase().replace(/\.$/, '');
      const zones = [...state.zones.values()].filter((zone) => name === zone.name || name.endsWith(`.${zone.name}`));
      const zone = zones.sort((a, b) => b.name.length - a.name.length)[0];
      if (zone === undefined) return undefined;
      const records = [...(state.records.get(zone.id)?.values() ?? [])];
      for (const candidate of candidates(name, zone.name)) {
        const found = records.filter((record) => record.name === candidate);
        const cname = found.find((record) => record.type === 'CNAME' && record.proxied);
        if (cname !== undefined) return targetOf(state, zone.accountId, cname.content);
        if (found.length > 0) return undefined;
      }
      return undefined;
    },
    connected(tunnelId, connection) {
      const connections = state.tunnels.get(tunnelId)?.connections;
      connections?.set(connection.id, connection);
      return () => {
        if (connections?.get(connection.id) === connection) connections.delete(connection.id);
      };
    },
  };
}
