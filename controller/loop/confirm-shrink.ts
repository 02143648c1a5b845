// Before many hostnames are taken from a tunnel: does a second, fresh look at everything come to the same conclusion?
import type { TunnelPlan } from '#controller/api/plan.ts';
import type { Settings } from '#controller/api/settings.ts';
import { buildGraph } from '#controller/graph/build.ts';
import { wantedObjects } from '#controller/graph/references.ts';
import { renderTunnels } from '#controller/output/tunnel.ts';
import { allocatePorts } from '#controller/output/ports.ts';
import type { Source } from '#controller/watch/source.ts';

const LOOK_MS = 60_000;

/** True when what `fresh` reads wants no hostname that the plan leaves out. A look that cannot be completed confirms nothing. */
export async function confirmShrink(planned: TunnelPlan, fresh: Source, settings: Settings): Promise<boolean> {
  try {
    if (!(await complete(fresh, settings))) return false;
    const graph = buildGraph(fresh.snapshot(), settings);
    const anew = renderTunnels(graph, allocatePorts(graph, new Map())).find(({ id }) => id === planned.id);
    const known = new Set(planned.rules.map(({ hostname }) => hostname));
    return (anew?.rules ?? []).every(({ hostname }) => known.has(hostname));
  } finally {
    await fresh.stop();
  }
}

/** Reads until nothing that is referred to is missing; false when that takes too long. */
export function complete(source: Source, settings: Settings): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), LOOK_MS);
    const look = (): void => {
      if (!source.synced) return;
      source.want(wantedObjects(source.snapshot(), settings));
      if (!source.synced) return;
      clearTimeout(timer);
      resolve(true);
    };
    source.onChange(look);
    void source.start();
  });
}
