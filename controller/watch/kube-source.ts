// The Kubernetes API as a source: a reflector per kind, one more per wanted Secret and ConfigMap, all into one store.
import type { WantedObjects } from '#controller/api/plan.ts';
import type { KindName, Snapshot } from '#controller/api/snapshot.ts';
import type { KubeClient } from '#controller/kube/client.ts';
import { type Clock, systemClock } from '#controller/kube/clock.ts';
import { kindRows, rowOf } from '#controller/kube/kinds.ts';
import type { Log } from '#controller/kube/log.ts';
import { Slots } from '#controller/kube/slots.ts';
import type { ListLimits } from './list.ts';
import { Reflector } from './reflector.ts';
import type { ReflectorContext, ReflectorStats } from './reflector-context.ts';
import type { Source, SourceProblem } from './source.ts';
import { Store } from './store.ts';
import { defaultTimings, type ReflectorTimings } from './timings.ts';
import { WantedObjectsOf } from './wanted.ts';

export interface KubeSourceOptions {
  /** Stays open when the source stops: others use it too. */
  readonly client: KubeClient;
  readonly log: Log;
  /** Kinds to watch as a whole; all by default. */
  readonly kinds?: readonly KindName[];
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly timings?: Partial<ReflectorTimings>;
  readonly listLimits?: ListLimits;
}

export interface KubeSource extends Source {
  /** Resolves when every kind has been listed anew, in full: what is missing then is really gone. Waits as long as the API server takes. */
  confirm(): Promise<void>;
  /** One row per collection that is followed, for metrics and debugging. */
  stats(): readonly ReflectorStats[];
}

/** Lists at the same time; each holds a page in memory. */
const PARALLEL_LISTS = 8;

export function createKubeSource(options: KubeSourceOptions): KubeSource {
  const store = new Store();
  const listeners = new Set<() => void>();
  const context: ReflectorContext = {
    client: options.client,
    store,
    log: options.log,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    timings: { ...defaultTimings, ...options.timings },
    slots: new Slots(PARALLEL_LISTS),
    changed: () => {
      for (const listener of listeners) listener();
    },
    ...(options.listLimits && { listLimits: options.listLimits }),
  };
  const whole = (options.kinds ?? [...kindRows.keys()]).map(rowOf).filter((row) => !row.wantedOnly);
  const reflectors = whole.map((row) => new Reflector(context, row));
  const secrets = new WantedObjectsOf(context, rowOf('Secret'));
  const configMaps = new WantedObjectsOf(context, rowOf('ConfigMap'));
  const parts = [...reflectors, secrets, configMaps];
  let started = false;

  return {
    start(): void {
      if (started) return;
      started = true;
      store.setServed('Secret', true);
      store.setServed('ConfigMap', true);
      for (const reflector of reflectors) reflector.start();
    },
    snapshot: (): Snapshot => store.snapshot(),
    get synced(): boolean {
      return started && parts.every((part) => part.settled);
    },
    onChange(listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    want(wanted: WantedObjects): void {
      secrets.set(wanted.secrets);
      configMaps.set(wanted.configMaps);
    },
    async confirm(): Promise<void> {
      await Promise.all(reflectors.map((reflector) => reflector.refresh()));
    },
    async stop(): Promise<void> {
      await Promise.all(parts.map((part) => part.stop()));
    },
    problems: (): readonly SourceProblem[] => parts.flatMap((part) => part.problems()),
    stats: (): readonly ReflectorStats[] => [
      ...reflectors.map((reflector) => reflector.stats()),
      ...secrets.stats(),
      ...configMaps.stats(),
    ],
  };
}
