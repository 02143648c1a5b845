// The connectors of this proxy: one per tunnel, started only when a configuration asks for it, switched without a gap.
import type { Connector, ConnectorState } from './connector.ts';

export interface WantedTunnel {
  readonly id: string;
  /** Secret. */
  readonly token: string;
  readonly protocol: 'auto' | 'http2' | 'quic';
}

export interface ConnectorSetOptions {
  readonly create: (wanted: WantedTunnel) => Connector;
  readonly onChange: () => void;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** `active` serves; `next` was started to take over and does so once it is connected. */
interface Slot {
  wanted: WantedTunnel;
  active: Connector;
  next: Connector | null;
}

const same = (a: WantedTunnel, b: WantedTunnel): boolean => a.token === b.token && a.protocol === b.protocol;

export class ConnectorSet {
  private readonly slots = new Map<string, Slot>();
  private readonly leaving = new Set<Promise<void>>();
  private readonly options: ConnectorSetOptions;

  constructor(options: ConnectorSetOptions) {
    this.options = options;
  }

  /** Makes `tunnels` the wanted set. A new token or protocol starts a second connector; the first is drained when the second is connected. */
  want(tunnels: readonly WantedTunnel[]): void {
    const ids = new Set(tunnels.map((tunnel) => tunnel.id));
    for (const [id, slot] of this.slots) {
      if (ids.has(id)) continue;
      this.slots.delete(id);
      this.retire(id, slot.active, slot.next);
    }
    for (const tunnel of tunnels) {
      const slot = this.slots.get(tunnel.id);
      if (!slot) this.slots.set(tunnel.id, { wanted: tunnel, active: this.start(tunnel), next: null });
      else if (!same(slot.wanted, tunnel)) this.replace(slot, tunnel);
    }
  }

  state(id: string): ConnectorState | null {
    return this.slots.get(id)?.active.state ?? null;
  }

  states(): ReadonlyMap<string, ConnectorState> {
    return new Map([...this.slots].map(([id, slot]) => [id, slot.active.state]));
  }

  /** Unregisters everywhere and waits until what is in flight has ended. */
  async drain(): Promise<void> {
    this.want([]);
    await this.left();
  }

  /** Resolves when the connectors that are leaving now have left. */
  async left(): Promise<void> {
    await Promise.all(this.leaving);
  }

  private start(wanted: WantedTunnel): Connector {
    const connector = this.options.create(wanted);
    connector.onState(() => this.changed(wanted.id));
    connector.start();
    return connector;
  }

  private replace(slot: Slot, wanted: WantedTunnel): void {
    this.options.log.info(
      { tunnel: wanted.id, protocol: wanted.protocol },
      'connector settings changed: starting a second one before the first ends',
    );
    if (slot.next) this.retire(wanted.id, slot.next);
    slot.wanted = wanted;
    slot.next = this.start(wanted);
  }

  private changed(id: string): void {
    const slot = this.slots.get(id);
    if (slot?.next && slot.next.state.phase === 'connected') {
      const former = slot.active;
      slot.active = slot.next;
      slot.next = null;
      // Last, because draining changes the state of the former one, which comes back here.
      this.retire(id, former);
    }
    this.options.onChange();
  }

  private retire(id: string, ...connectors: (Connector | null)[]): void {
    for (const connector of connectors) {
      if (!connector) continue;
      const left = connector
        .drain()
        .catch((error: unknown) => this.options.log.warn({ tunnel: id, error: String(error) }, 'connector did not drain cleanly'))
        .finally(() => this.leaving.delete(left));
      this.leaving.add(left);
    }
  }
}
