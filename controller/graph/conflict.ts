// Listeners that compete for one place: within a Gateway and its ListenerSets the first one in order keeps it.
import * as cause from '../api/cause-listener.ts';
import type { Cause } from '../api/condition.ts';
import type { ListenerNode } from './types.ts';

/**
 * Protocols that one port can carry together. HTTPS and TLS are told apart by what the visitor asks for (SNI), so that a TLS listener beside
 * an HTTPS one is no conflict, also with the same hostname.
 */
const family = (protocol: string): string => (protocol === 'HTTPS' || protocol === 'TLS' ? 'TLS' : protocol);

/** UDP ports are other ports than TCP ports. */
const portKey = ({ spec }: ListenerNode): string => `${spec.protocol === 'UDP' ? 'udp' : 'tcp'}/${spec.port}`;

const placeKey = (listener: ListenerNode): string => `${portKey(listener)}/${listener.spec.protocol}/${listener.hostname}`;

/** Places taken so far. Feed it listeners in order of precedence; one that loses, or that was refused anyway for its owner's sake, takes nothing. */
export class Claims {
  readonly #ports = new Map<string, ListenerNode>();
  readonly #places = new Map<string, ListenerNode>();

  claim(listener: ListenerNode, mayTake: boolean): ListenerNode {
    // Without a port there is no place: that is what is wrong with it.
    if (!listener.spec.port) return listener;
    const conflict = this.#conflict(listener);
    if (conflict !== null) return { ...listener, conflict, unusable: conflict, permissive: false };
    if (mayTake) {
      if (!this.#ports.has(portKey(listener))) this.#ports.set(portKey(listener), listener);
      this.#places.set(placeKey(listener), listener);
    }
    return listener;
  }

  #conflict(listener: ListenerNode): Cause | null {
    const { protocol, port } = listener.spec;
    const holder = this.#ports.get(portKey(listener));
    if (holder !== undefined && family(holder.spec.protocol) !== family(protocol)) {
      return cause.protocolConflict(protocol, port, holder.id, holder.spec.protocol);
    }
    const same = this.#places.get(placeKey(listener));
    return same === undefined ? null : cause.hostnameConflict(listener.hostname, port, same.id);
  }
}
