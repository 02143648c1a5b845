// What differs between a cluster and a folder: where objects come from, where statuses go, who may write. The rest of the app is one.
import type { EventSink } from './apply/events.ts';
import type { ObjectSink } from './apply/objects.ts';
import type { TunnelSecrets } from './apply/tunnel-secrets.ts';
import type { StatusSink } from './apply/status-sink.ts';
import type { Authority } from './loop/reconcile.ts';
import type { Source } from './watch/source.ts';

export interface Ground {
  readonly source: Source;
  readonly statuses: StatusSink;
  readonly events: EventSink | null;
  readonly objects: ObjectSink | null;
  /** Keeps the tokens of tunnels that are made; null where that cannot be. */
  readonly tunnelSecrets: TunnelSecrets | null;
  readonly authority: Authority;
  /** Token that the proxies share with us; null where their config API is open. */
  readonly proxyToken: string | null;
  /** A proxy follows a controller with a higher epoch than ours. */
  raiseEpochAbove(epoch: number): void;
  /** Called when leadership comes or goes; returns at once. */
  onAuthority(listener: () => void): void;
  /** Reads everything anew, beside the running source: asked before many hostnames are taken away. */
  freshSource(): Source;
  stop(): Promise<void>;
}
